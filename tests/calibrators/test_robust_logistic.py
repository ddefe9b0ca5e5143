"""Robust logistic calibration: as logistic calibration without outliers, unmoved with them."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_expit

from trueodds import LogisticCalibrator, RobustLogisticCalibrator
from trueodds.exceptions import InputError, NonMonotoneWarning, SeparableScoresWarning
from trueodds.numerics.log_odds import sigmoid


def rows(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(0, 2, n)
    return z, rng.random(n) < sigmoid(0.7 * z + 0.4)


def test_without_outliers_it_finds_the_curve_that_logistic_calibration_finds():
    z, y = rows()
    robust = RobustLogisticCalibrator(scale="logit").fit(z, y).map_
    likely = LogisticCalibrator(scale="logit").fit(z, y).map_
    np.testing.assert_allclose([robust.a, robust.c], [likely.a, likely.c], atol=0.03)
    np.testing.assert_allclose([robust.a, robust.c], [0.7, 0.4], atol=0.1)


@pytest.mark.parametrize("place", [12.0, 40.0, 1e6])
def test_scores_far_on_the_wrong_side_do_not_bend_the_curve(place):
    z, y = rows()
    z[:80], y[:80] = place, False
    robust = RobustLogisticCalibrator(scale="logit").fit(z, y).map_
    np.testing.assert_allclose([robust.a, robust.c], [0.7, 0.4], atol=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NonMonotoneWarning)
        assert LogisticCalibrator(scale="logit").fit(z, y).map_.a < 0.5


def test_wrong_labels_of_sure_scores_bend_it_less():
    z, y = rows()
    sure = np.argsort(-np.abs(z))[:40]
    y[sure] = z[sure] < 0
    robust = RobustLogisticCalibrator(scale="logit").fit(z, y).map_
    likely = LogisticCalibrator(scale="logit").fit(z, y).map_
    assert abs(robust.a - 0.7) < 0.5 * abs(likely.a - 0.7)


def test_more_robustness_is_less_influence():
    z, y = rows()
    z[:200], y[:200] = -9.0, True
    slopes = [
        RobustLogisticCalibrator(scale="logit", robustness=r).fit(z, y).map_.a
        for r in (0.01, 0.1, 0.3, 1.0)
    ]
    assert slopes == sorted(slopes)


def test_margins_of_any_size_give_the_same_curve():
    z, y = rows(500)
    small = RobustLogisticCalibrator(scale="raw").fit(z, y).map_
    large = RobustLogisticCalibrator(scale="raw").fit(2.0**300 * z, y).map_
    np.testing.assert_allclose(large.a * 2.0**300, small.a, rtol=1e-9)


def test_inverted_scores_are_fitted_with_a_warning():
    z, y = rows(500)
    with pytest.warns(NonMonotoneWarning, match="not increasing"):
        fitted = RobustLogisticCalibrator(scale="logit").fit(-z, y).map_
    assert fitted.a < 0


def test_separable_scores_without_smoothing_are_smoothed_with_a_warning():
    with pytest.warns(SeparableScoresWarning, match="separate the classes"):
        fitted = RobustLogisticCalibrator(label_smoothing=None).fit(
            [0.1, 0.2, 0.7, 0.8], [0, 0, 1, 1]
        )
    assert 0.5 < fitted.predict_proba([0.9])[0, 1] < 1


@pytest.mark.parametrize("robustness", [0, -1, 1.5, "auto", None, np.nan])
def test_a_robustness_outside_0_to_1_is_refused(robustness):
    with pytest.raises(InputError, match="robustness must be"):
        RobustLogisticCalibrator(robustness=robustness).fit([0.1, 0.9], [0, 1])


def test_scores_that_say_nothing_get_the_frequency_without_a_warning():
    scores, y = np.tile([0.3, 0.3, 0.6, 0.6], 50), np.tile([0, 1, 0, 1], 50)
    fitted = RobustLogisticCalibrator(label_smoothing=None).fit(scores, y)
    np.testing.assert_allclose(fitted.predict_proba([0.1, 0.9]), 0.5, atol=1e-9)


@pytest.mark.parametrize("robustness", [0.2, 0.5, 1.0])
def test_no_other_line_has_a_lower_score(robustness):
    """Half of the scores are outliers, but they have little weight; the loss has two minima."""
    rng = np.random.default_rng(1)
    z = np.concatenate([rng.normal(0, 1.5, 40), rng.normal(-25, 1, 40)])
    y = np.append(rng.random(40) < sigmoid(0.9 * z[:40]), np.ones(40, dtype=bool))
    weight = np.append(rng.integers(25, 50, 40), np.ones(40))
    fitted = RobustLogisticCalibrator(scale="logit", robustness=robustness, label_smoothing=None)
    line = fitted.fit(z, y, weight).map_

    def score(theta):
        logs = log_expit(np.multiply.outer([1, -1], theta[0] * z + theta[1]))
        expected = np.exp((1 + robustness) * logs).sum(axis=0) / (1 + robustness)
        own = np.exp(robustness * np.where(y, *logs)) / robustness
        return np.average(expected - own, weights=weight)

    best = min((minimize(score, [a, 0.0]) for a in (0.0, 0.5, 1.0, 1.5)), key=lambda f: f.fun)
    assert score([line.a, line.c]) == pytest.approx(best.fun, abs=1e-9)
    np.testing.assert_allclose([line.a, line.c], best.x, atol=1e-3)
