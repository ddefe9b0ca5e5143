"""Rows on the log-odds axis: no weight is lost, and a kind of rows stays of its kind."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueodds.numerics.charcoal_grill.fit import GrillEvidence
from trueodds.numerics.log_odds.rows import LogOddsRows

ROWS = LogOddsRows(
    np.array([2.0, -np.inf, 0.5]), np.array([1.0, 4.0, 0.0]), np.array([3.0, 0.0, 2.5])
)


def test_weights_are_those_of_both_classes():
    np.testing.assert_array_equal(ROWS.weight, [4, 4, 2.5])
    assert ROWS.total == 10.5


@pytest.mark.parametrize("chosen", [[2, 0], slice(1, None), np.array([True, False, True])])
def test_some_rows_keep_their_order_and_their_weights(chosen):
    part = ROWS.take(chosen)
    for name in ("z", "n_neg", "n_pos"):
        np.testing.assert_array_equal(getattr(part, name), getattr(ROWS, name)[chosen])


@given(st.floats(0, 0.5), st.floats(0.5, 1))
def test_targets_move_weight_between_the_classes_of_a_row_and_keep_its_sum(low, high):
    moved = ROWS.with_targets(low, high)
    np.testing.assert_allclose(moved.weight, ROWS.weight, rtol=1e-15)
    positives = [1 * low + 3 * high, 4 * low, 2.5 * high]
    np.testing.assert_allclose(moved.n_pos, positives, rtol=1e-15, atol=1e-300)


def test_targets_of_0_and_1_change_nothing():
    same = ROWS.with_targets(0.0, 1.0)
    np.testing.assert_array_equal(same.n_neg, ROWS.n_neg)
    np.testing.assert_array_equal(same.n_pos, ROWS.n_pos)


def test_a_kind_of_rows_stays_of_its_kind_and_keeps_what_else_it_holds():
    grill = GrillEvidence(ROWS.z, ROWS.n_neg, ROWS.n_pos, slope=0.5, bias=-1.0)
    for other in (grill.take([0]), grill.with_targets(0.1, 0.9)):
        assert isinstance(other, GrillEvidence)
        assert (other.slope, other.bias) == (0.5, -1.0)
