"""Extremes in one pass, against NumPy."""

import math

import numpy as np
import pytest

from trueodds.kernels.scan import extremes, first_row_off, has_zeros_and_ones_only


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 1001])
def test_extremes_wherever_they_stand(n):
    rng = np.random.default_rng(n)
    for _ in range(20):
        values = rng.normal(size=n)
        assert extremes(values) == (values.min(), values.max())


@pytest.mark.parametrize("place", range(9))
def test_nan_is_found_wherever_it_stands(place):
    values = np.arange(9.0)
    values[place] = math.nan
    assert all(math.isnan(value) for value in extremes(values))


def test_infinities_and_read_only_arrays_are_numbers_like_others():
    values = np.array([0.5, -math.inf, math.inf, 3.0, 0.0])
    values.flags.writeable = False
    assert extremes(values) == (-math.inf, math.inf)


def test_the_first_row_that_does_not_sum_to_one_is_named():
    rows = np.random.default_rng(0).dirichlet(np.ones(5), 20)
    assert first_row_off(rows, 1.0, 0.05) == -1
    rows[7, 2] += 0.06
    rows[13] = np.nan
    assert first_row_off(rows, 1.0, 0.05) == 7
    assert first_row_off(rows, 1.0, 0.07) == 13


@pytest.mark.parametrize("others", [[], [2], [-1], [2**40], [-(2**62)], [1 << 1, -2]])
def test_labels_other_than_zero_and_one_are_noticed(others):
    labels = np.array([0, 1, 1, *others, 0])
    assert has_zeros_and_ones_only(labels) == (not others)


def test_both_labels_must_be_there():
    assert not has_zeros_and_ones_only(np.zeros(5, dtype=int))
    assert not has_zeros_and_ones_only(np.ones(5, dtype=int))
