"""The log-odds axis: digits at both ends, against exact arithmetic.

Rows on the log-odds axis: no weight is lost, and a kind of rows stays of its kind.
"""

from decimal import Decimal, getcontext

import numpy as np
import pytest
from hypothesis import given, strategies as st

from trueodds.calibrators._charcoal_grill.fit import GrillRows
from trueodds.numerics.log_odds import (
    BLOCK_ROWS,
    LogOddsRows,
    log_odds,
    log_pair,
    log_sigmoid,
    sigmoid,
)

getcontext().prec = 60
P = [5e-324, 1e-300, 1e-17, 0.1, 0.5, 1 - 1e-9, float(np.nextafter(1, 0))]


@pytest.mark.parametrize("p", P)
def test_log_odds_keep_their_digits_at_both_ends(p):
    exact = (Decimal(p) / (1 - Decimal(p))).ln()
    assert log_odds(np.array([p]), "probability")[0] == pytest.approx(float(exact), rel=1e-15)


@pytest.mark.parametrize("p", P)
def test_the_pair_of_logarithms_keeps_its_digits_at_both_ends(p):
    first, second = log_pair(np.array([p]), "probability")
    assert first[0] == pytest.approx(float(Decimal(p).ln()), rel=1e-15)
    assert second[0] == pytest.approx(float(-(1 - Decimal(p)).ln()), rel=1e-15)


def test_the_ends_are_infinite_and_nothing_warns():
    ends = np.array([0.0, 1.0])
    np.testing.assert_array_equal(log_odds(ends, "probability"), [-np.inf, np.inf])
    first, second = log_pair(ends, "probability")
    np.testing.assert_array_equal(first, [-np.inf, 0])
    np.testing.assert_array_equal(second, [0, np.inf])


def test_log_odds_and_margins_are_left_alone_without_a_copy():
    z = np.array([-3.0, np.inf])
    assert log_odds(z, "logit") is z
    out = np.empty(2)
    assert log_odds(z, "score", out=out) is out
    np.testing.assert_array_equal(out, z)


def test_the_pair_is_the_same_from_log_odds_and_in_pieces():
    p = np.random.default_rng(0).random(BLOCK_ROWS + 10)
    z = np.log(p / (1 - p))
    for ours, theirs in zip(log_pair(p, "probability"), log_pair(z, "logit"), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_the_sigmoid_never_reaches_0_or_1():
    eta = np.array([-np.inf, -1e6, -800, -700, -1.0, 0.0, 1.0, 40, np.inf])
    p = sigmoid(eta)
    assert ((p > 0) & (p < 1)).all()
    assert (np.diff(p) >= 0).all()
    assert p[4:7] == pytest.approx([1 / (1 + np.e), 0.5, np.e / (1 + np.e)])
    assert p[3] == pytest.approx(np.exp(-700.0))
    assert eta[5] == 0
    assert np.shares_memory(sigmoid(eta, overwrite=True), eta)


def test_the_logarithm_of_the_sigmoid_is_exact_in_both_tails():
    eta = np.array([-1e5, -30.0, 0.0, 30.0, 1e5])
    expected = [-1e5, -30 - np.exp(-30), -np.log(2), -np.exp(-30) + np.exp(-60) / 2, 0]
    np.testing.assert_allclose(log_sigmoid(eta), expected, rtol=1e-14)


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
    grill = GrillRows(ROWS.z, ROWS.n_neg, ROWS.n_pos, slope=0.5, bias=-1.0)
    for other in (grill.take([0]), grill.with_targets(0.1, 0.9)):
        assert isinstance(other, GrillRows)
        assert (other.slope, other.bias) == (0.5, -1.0)
