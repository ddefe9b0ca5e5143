"""What weights are worth, against rows that are written out."""

import numpy as np
import pytest

from trueodds.inputs import Weights


def test_equal_importances_are_no_weights():
    assert Weights.read(np.full(7, 0.3), None, 7) is None
    nearly = Weights.read(np.array([1.0, 1.0, 1e-9]), None, 3)
    assert nearly.effective == pytest.approx(2, abs=1e-8)


def test_the_variance_of_a_weighted_sum_is_that_of_draws():
    rng = np.random.default_rng(0)
    weights = Weights(np.array([0.2, 3.0, 1.0, 1.0]), np.array([1.0, 2.0, 1.0, 5.0]))
    rows = np.repeat(weights.importance, weights.count.astype(int))
    sums = rng.normal(size=(200_000, len(rows))) @ rows
    assert sums.var() == pytest.approx(weights.squares.sum(), rel=0.02)
    # A mean of this many rows of equal weight has the same variance.
    assert (sums / weights.values.sum()).var() == pytest.approx(1 / weights.effective, rel=0.02)


def test_a_factor_changes_nothing_and_the_sum_is_that_of_the_effective_rows():
    weight = np.random.default_rng(0).lognormal(size=50)
    once, tiny = Weights.read(weight, None, 50), Weights.read(np.ldexp(weight, -900), None, 50)
    np.testing.assert_array_equal(once.values, tiny.values)
    assert once.values.sum() == pytest.approx(once.effective)
    assert once.values.sum() == pytest.approx(once.squares.sum())
