"""What weights are worth, against rows that are written out."""

import numpy as np
import pytest

from trueodds.numerics.weights import (
    effective_rows,
    mean_square_weights,
    rows_per_weight,
    whole_rows,
)


def test_equal_importances_are_worth_as_many_rows_as_there_are():
    assert effective_rows(np.full(7, 0.3)) == pytest.approx(7)
    assert rows_per_weight(np.full(7, 0.3)) == pytest.approx(1 / 0.3)
    assert effective_rows(np.array([1.0, 0.0, 1e-9])) == pytest.approx(1, abs=1e-8)


def test_the_variance_of_a_weighted_sum_is_that_of_draws():
    rng = np.random.default_rng(0)
    weight = np.array([0.2, 3.0, 1.0, 1.0])
    sums = rng.normal(size=(200_000, 4)) @ weight
    assert sums.var() == pytest.approx((weight**2).sum(), rel=0.02)
    # A mean of this many rows of equal weight has the same variance.
    assert (sums / weight.sum()).var() == pytest.approx(1 / effective_rows(weight), rel=0.02)


def test_square_weights_of_cells_sum_to_those_of_the_rows_and_counts_have_none():
    rows = np.array([0.5, 2.0, 2.0, 4.0])
    cells = np.array([2.5, 6.0])
    squares = mean_square_weights(cells, effective_rows(rows))
    assert squares.sum() == pytest.approx((rows**2).sum())
    assert mean_square_weights(cells, None) is None


def test_a_count_is_a_whole_number_of_rows_and_never_vanishes():
    found = whole_rows(np.array([0.0, 1e-9, 0.4, 0.6, 1.5, 2.5, 1e12]))
    assert found.tolist() == [0, 1, 1, 1, 2, 2, 10**12]
