"""Spline calibration: what it finds, and what keeps it in its place."""

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from trueodds import LogisticCalibrator, SplineCalibrator
from trueodds.exceptions import InputError, SeparableScoresWarning
from trueodds.metrics import log_loss
from trueodds.numerics.log_odds import log_odds, sigmoid

# The reference, splinecalib, has another penalty (the sum of squares of the coefficients of
# truncated powers), knots at random, and leaves a fifth of the rows out; with its basis, penalty
# and rows the same solver gives its numbers: tests/calibrators/test_penalized_logistic.py.


def truth(p):
    return 0.05 + 0.9 * p + 0.12 * np.sin(4 * np.pi * p)


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.random(n)
    return scores, rng.random(n) < truth(scores)


def positive(calibrator, scores):
    return calibrator.predict_proba(scores)[:, 1]


def test_it_finds_a_curve_that_no_formula_describes():
    calibrator = SplineCalibrator().fit(*rows(20_000))
    grid = np.linspace(0.02, 0.98, 97)
    np.testing.assert_allclose(positive(calibrator, grid), truth(grid), atol=0.03)
    logistic = LogisticCalibrator().fit(*rows(20_000))
    assert np.abs(positive(logistic, grid) - truth(grid)).max() > 0.08


def test_scores_that_are_right_are_left_nearly_as_they_are():
    rng = np.random.default_rng(0)
    grid = np.linspace(0.05, 0.95, 19)
    for n, tolerance in ((50, 0.2), (2000, 0.05)):
        scores = rng.random(n)
        p = positive(SplineCalibrator().fit(scores, rng.random(n) < scores), grid)
        np.testing.assert_allclose(p, grid, atol=tolerance)


def test_an_infinite_penalty_is_logistic_calibration():
    scores, y = rows(400)
    stiff = SplineCalibrator(strength=1e12, prior_weight=0).fit(scores, y)
    logistic = LogisticCalibrator(label_smoothing=None).fit(scores, y)
    np.testing.assert_allclose(positive(stiff, scores), positive(logistic, scores), atol=1e-5)


def test_a_heavy_prior_leaves_the_scores_alone():
    scores, y = rows(400)
    calibrator = SplineCalibrator(prior_weight=1e9).fit(scores, y)
    np.testing.assert_allclose(positive(calibrator, scores), scores, atol=1e-3)


def test_no_strength_that_is_tried_has_a_better_held_out_loss_by_much():
    scores, y = rows(2000)
    new, y_new = rows(20_000, seed=1)
    chosen = log_loss(y_new, positive(SplineCalibrator().fit(scores, y), new))
    for strength in np.logspace(-3, 5, 9):
        other = SplineCalibrator(strength=strength).fit(scores, y)
        assert chosen < log_loss(y_new, positive(other, new)) + 0.001


def test_more_knots_change_little():
    scores, y = rows(2000)
    grid = np.linspace(0.02, 0.98, 97)
    few, many = (positive(SplineCalibrator(n_knots=n).fit(scores, y), grid) for n in (20, 60))
    np.testing.assert_allclose(few, many, atol=0.03)


def test_a_monotone_curve_never_falls_and_is_the_free_one_where_that_rises():
    scores, y = rows(5000)
    grid = np.linspace(0, 1, 500)
    free = positive(SplineCalibrator().fit(scores, y), grid)
    held = positive(SplineCalibrator(monotone=True).fit(scores, y), grid)
    assert np.diff(free).min() < -1e-3
    assert np.diff(held).min() >= 0
    middle = np.abs(grid - 0.5) < 0.02
    np.testing.assert_allclose(held[middle], free[middle], atol=1e-6)


def test_a_falling_part_becomes_its_mean_weighted_by_information():
    scores, y = rows(1500)
    scores = scores**3  # many scores next to 0, where a label tells little of the log-odds
    free = SplineCalibrator().fit(scores, y).map_
    held = SplineCalibrator(monotone=True).fit(scores, y).map_
    nearest = np.abs(np.subtract.outer(log_odds(scores, "probability"), free.x)).argmin(axis=1)
    mass = np.bincount(nearest, minlength=len(free.x)) + 1e-3 * len(scores) / len(free.x)
    p = sigmoid(free.y)
    expected = isotonic_regression(free.y, weights=mass * p * (1 - p)).x
    assert np.abs(expected - free.y).max() > 0.05
    np.testing.assert_allclose(held.y, expected, atol=1e-9)


def test_beyond_the_scores_seen_it_is_constant():
    scores, y = rows(400)
    inner = (scores > 0.2) & (scores < 0.7)
    calibrator = SplineCalibrator().fit(scores[inner], y[inner])
    ends = [scores[inner].min(), scores[inner].max()]
    np.testing.assert_allclose(positive(calibrator, [0, 1]), positive(calibrator, ends), rtol=1e-9)


def test_the_map_is_the_spline_to_a_millionth():
    """Where pieces are not allowed to be short the difference shows."""
    scores, y = rows(3000)
    z = log_odds(np.linspace(0.01, 0.99, 2003), "probability")
    fitted = SplineCalibrator(scale="logit").fit(log_odds(scores, "probability"), y).map_
    values = np.interp(z, fitted.x, fitted.y)
    np.testing.assert_allclose(fitted(z), sigmoid(values), atol=1e-12)
    assert len(fitted.x) > 100
    slopes = np.diff(fitted.y) / np.diff(fitted.x)
    turns = np.abs(np.diff(slopes)) * (fitted.x[2:] - fitted.x[:-2]) / 16
    assert turns.max() < 5e-6


def test_separable_margins_use_platts_targets_and_say_so():
    with pytest.warns(SeparableScoresWarning):
        calibrator = SplineCalibrator(scale="raw").fit([-2.0, -1.0, 1.0, 3.0], [0, 0, 1, 1])
    p = positive(calibrator, [-2.0, 3.0])
    assert 0.01 < p[0] < 0.5 < p[1] < 0.99


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"n_knots": 2}, "n_knots must be an integer of at least 3"),
        ({"strength": 0}, "strength must be None or a number above 0"),
        ({"prior_weight": -1}, 'prior_weight must be "auto" or a number of at least 0'),
        ({"prior_weight": "none"}, 'prior_weight must be "auto" or a number of at least 0'),
        ({"monotone": "auto"}, "monotone must be one of"),
    ],
)
def test_impossible_options_are_refused(option, message):
    with pytest.raises(InputError, match=message):
        SplineCalibrator(**option).fit([0.1, 0.9], [0, 1])
