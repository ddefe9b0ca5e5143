"""Extremes in one pass, against NumPy."""

import math

import numpy as np
import pytest

from trueodds.kernels.scan import extremes


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
