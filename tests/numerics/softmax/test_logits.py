"""Class scores as logits: exact at both ends, and on any scale that a float64 can hold."""

import decimal
from decimal import Decimal

import numpy as np
import pytest
import scipy.special
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit

from trueodds.numerics.magnitude import LARGEST_LOGIT, scaled_logits, spread_exponent
from trueodds.numerics.softmax.logits import (
    class_logits,
    log_softmax,
    one_vs_rest_scores,
    softmax,
)

LOGITS = arrays(
    float, st.tuples(st.integers(1, 5), st.integers(2, 4)), elements=st.floats(-700, 700)
)


def margins(n=600, k=3):
    return 2 * np.random.default_rng(0).normal(size=(n, k))


def spread(logits):
    """What lies between the lowest and the highest of a typical row."""
    return np.median(logits.max(axis=1) - logits.min(axis=1))


@given(LOGITS)
def test_the_softmax_and_its_logarithm_are_those_of_scipy(logits):
    np.testing.assert_allclose(softmax(logits), scipy.special.softmax(logits, axis=1), rtol=1e-13)
    expected = scipy.special.log_softmax(logits, axis=1)
    np.testing.assert_allclose(log_softmax(logits), expected, rtol=1e-12, atol=1e-15)


@given(LOGITS, st.integers(-(2**40), 2**40))
def test_the_softmax_does_not_see_a_constant_that_a_row_is_shifted_by(logits, shift):
    whole = np.round(logits)  # so that the sum is exact
    np.testing.assert_array_equal(softmax(whole + shift), softmax(whole))
    np.testing.assert_array_equal(log_softmax(whole + shift), log_softmax(whole))


def test_an_infinitely_low_logit_has_probability_0_and_nothing_warns():
    logits = np.array([[0.0, -np.inf, 0.0], [1e300, 0.0, -1e300]])
    np.testing.assert_array_equal(softmax(logits), [[0.5, 0, 0.5], [1, 0, 0]])
    np.testing.assert_array_equal(log_softmax(logits)[0, 1], -np.inf)


def test_probabilities_become_their_logarithms_and_logits_a_copy():
    p = np.array([[0.0, 0.25, 0.75], [1.0, 5e-324, 0.0]])
    expected = [[-np.inf, np.log(0.25), np.log(0.75)], [0, np.log(5e-324), -np.inf]]
    np.testing.assert_array_equal(class_logits(p, "probability"), expected)
    logits = np.array([[3.0, -2.0, -9.0]])
    for scale in ("logit", "raw"):
        np.testing.assert_array_equal(class_logits(logits, scale, floor=-6.0), [[3, -2, -3]])
    np.testing.assert_array_equal(logits, [[3, -2, -9]])


def test_a_floor_is_counted_from_the_largest_of_the_row():
    p = np.array([[0.0, 0.25, 0.75], [0.0, 0.5, 0.5]])
    found = class_logits(p, "probability", floor=-2.0)
    np.testing.assert_allclose(found[:, 0], np.log([0.75, 0.5]) - 2)
    np.testing.assert_array_equal(found[:, 1:], np.log(p[:, 1:]))


@pytest.mark.parametrize("shift", [-14, 14])
def test_ordinary_margins_are_not_scaled(shift):
    assert spread_exponent(np.ldexp(margins(), shift)) == 0


@pytest.mark.parametrize("shift", [-1000, -300, -20, 20, 300, 1000])
def test_extreme_margins_are_brought_to_a_spread_between_one_half_and_one(shift):
    logits = np.ldexp(margins(), shift)
    exponent = spread_exponent(logits)
    scaled = scaled_logits(logits, exponent)
    assert 0.5 <= spread(scaled) < 1
    np.testing.assert_array_equal(np.ldexp(scaled, exponent), logits)  # no digit is lost
    order = np.random.default_rng(1).permutation(len(logits))
    assert spread_exponent(logits[order]) == exponent


def test_a_constant_for_each_row_does_not_change_the_scale():
    logits = 2.0**40 * margins().round(2)
    away = np.random.default_rng(1).integers(-9, 9, (len(logits), 1)) * 2.0**45
    assert spread_exponent(logits + away) == spread_exponent(logits)


def test_rows_of_equal_or_infinite_logits_do_not_decide_the_scale():
    logits = np.array([[0.0, 0.0, 0.0]] * 5 + [[0.0, -np.inf, -np.inf]] * 5 + [[1e9, 0.0, -np.inf]])
    assert spread_exponent(logits) == 30  # 1e9 < 2³⁰
    assert spread_exponent(logits[:10]) == 0


def test_a_spread_that_a_float_cannot_hold_still_has_an_exponent():
    assert spread_exponent(np.array([[-1.5e308, 1.5e308]])) == 1025  # 3e308 < 2¹⁰²⁵


def test_outliers_are_bounded_and_infinitely_low_logits_are_not():
    scaled = scaled_logits(np.array([[1e300, -1e300, -np.inf, 3.0]]), 0)
    np.testing.assert_array_equal(scaled, [[LARGEST_LOGIT, -LARGEST_LOGIT, -np.inf, 3.0]])


@pytest.mark.parametrize(
    "row", [[0.0, -50.0, -60.0], [0.0, 0.0, 0.0, 0.0], [3.0, -2.0], [700.0, -700.0, 690.0]]
)
def test_the_log_odds_of_a_class_against_the_rest_keep_their_digits(row):
    found = one_vs_rest_scores(np.array([row]), "logit")[0]
    with decimal.localcontext(prec=700):
        odds = [Decimal(value).exp() for value in row]
        exact = [float((own / (sum(odds) - own)).ln()) for own in odds]
    np.testing.assert_allclose(found, exact, rtol=1e-15, atol=1e-15)


@given(LOGITS)
def test_one_class_against_the_rest_has_the_probability_of_the_softmax(logits):
    found = expit(one_vs_rest_scores(logits, "logit"))
    np.testing.assert_allclose(found, softmax(logits), rtol=1e-9, atol=1e-15)


def test_a_class_that_is_alone_is_certain():
    logits = np.array([[1.0, -np.inf, -np.inf]])
    expected = [[np.inf, -np.inf, -np.inf]]
    np.testing.assert_array_equal(one_vs_rest_scores(logits, "logit"), expected)


def test_probabilities_and_margins_are_scores_as_they_are():
    scores = np.array([[0.2, 0.8]])
    assert one_vs_rest_scores(scores, "probability") is scores
    assert one_vs_rest_scores(scores, "raw") is scores
