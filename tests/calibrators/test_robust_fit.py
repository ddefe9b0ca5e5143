"""The bounded score: its minimum found another way, and its two ends."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_expit

from trueodds.calibrators._robust_logistic import _fences, _PowerLoss, fit_robust
from trueodds.inputs import Weights
from trueodds.numerics.log_odds import LogOddsRows, sigmoid
from trueodds.numerics.logistic_regression import fit_finite
from trueodds.rows import Rows


def sample(n=300, seed=0, outliers=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(0.5, 2, n)
    y = rng.random(n) < sigmoid(0.8 * z - 0.3)
    z[:outliers], y[:outliers] = -40.0, True
    return z, y, rng.integers(1, 4, n).astype(float)


def naive_loss(theta, z, y, weight, alpha):
    """The score as the paper on the divergence writes it, row by row."""
    total = 0.0
    for score, positive, w in zip(z, y, weight, strict=True):
        eta = theta[0] * score + theta[1]
        own = log_expit(eta if positive else -eta)
        both = np.exp((1 + alpha) * log_expit(eta)) + np.exp((1 + alpha) * log_expit(-eta))
        total += w * (both - (1 + 1 / alpha) * np.exp(alpha * own))
    return total / weight.sum()


@pytest.mark.parametrize("alpha", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("outliers", [0, 6])
def test_no_line_has_a_lower_score(alpha, outliers):
    z, y, weight = sample(outliers=outliers)
    fit = fit_robust(Rows(z, y, Weights(None, weight)), scale="logit", power=alpha)
    found = naive_loss((fit.b, fit.c), z, y, weight, alpha)
    start = [(0.0, 0.0), (0.8, -0.3), (2.0, 0.0), (0.1, 1.0)]
    for first in start:
        other = minimize(naive_loss, first, (z, y, weight, alpha), method="Nelder-Mead")
        assert found <= other.fun + 1e-9
    assert fit.converged


def test_derivatives_are_those_of_the_loss():
    z, y, weight = sample(50, outliers=2)
    rows = LogOddsRows(z, weight * ~y, weight * y)
    problem = _PowerLoss(rows, 0.5)
    theta, step = np.array([1.3, 0.4]), 1e-5
    place = problem.at(theta)
    p = sigmoid(theta @ problem.axes.matrix)
    counted = weight @ (p**0.5 * (1 - p) + (1 - p) ** 0.5 * p)
    for k in range(2):
        move = step * np.eye(2)[k]
        rise = (problem.at(theta + move).value - problem.at(theta - move).value) / (2 * step)
        np.testing.assert_allclose(place.gradient[k] * counted, rise * problem.total, rtol=1e-6)
        bend = problem.at(theta + move).gradient * 1.0
        assert np.isfinite(bend).all()


def test_without_robustness_it_is_the_curve_of_highest_likelihood():
    z, y, weight = sample(outliers=4)
    fit = fit_robust(Rows(z, y, Weights(None, weight)), scale="logit", power=1e-9)
    likely = fit_finite(LogOddsRows(z, weight * ~y, weight * y), "logistic", nonnegative=False)
    np.testing.assert_allclose([fit.b, fit.c], [likely.a, likely.c], rtol=1e-6)


def test_with_the_most_it_is_the_curve_of_least_brier_score():
    z, y, weight = sample()
    fit = fit_robust(Rows(z, y, Weights(None, weight)), scale="logit", power=1.0)

    def brier(theta):
        return np.average((sigmoid(theta[0] * z + theta[1]) - y) ** 2, weights=weight)

    best = minimize(brier, (1.0, 0.0), tol=1e-12)
    np.testing.assert_allclose([fit.b, fit.c], best.x, atol=1e-4)


def test_an_outlier_that_goes_to_infinity_ends_by_changing_nothing():
    z, y, weight = sample()
    curves = []
    for place in (-50.0, -5e3, -5e300):
        z[0], y[0] = place, True
        fit = fit_robust(Rows(z, y, Weights(None, weight)), scale="logit", power=0.5)
        curves.append((fit.b, fit.c))
    alone = fit_robust(Rows(z[1:], y[1:], Weights(None, weight[1:])), scale="logit", power=0.5)
    np.testing.assert_allclose(curves, [(alone.b, alone.c)] * 3, rtol=1e-6)


def test_many_rows_are_compressed_and_give_what_they_give_themselves(monkeypatch):
    z, y, weight = sample(70_000, outliers=500)
    quick = fit_robust(Rows(z, y, Weights(None, weight)), scale="logit", power=0.5)
    monkeypatch.setattr("trueodds.numerics.saturated.COMPRESS_FROM", np.inf)
    exact = fit_robust(Rows(z, y, Weights(None, weight)), scale="logit", power=0.5)
    assert quick != exact
    np.testing.assert_allclose([quick.b, quick.c], [exact.b, exact.c], rtol=1e-8)


def test_classes_parted_but_for_an_outlier_are_called_separable():
    z = np.concatenate([np.linspace(-3, -1, 20), np.linspace(1, 3, 20), [-20.0]])
    y = np.concatenate([np.zeros(20, bool), np.ones(21, bool)])
    fit = fit_robust(Rows(z, y), scale="logit", power=0.5)
    assert fit.separable
    assert 1 < fit.b < 20


def test_saturated_scores_stand_where_the_curve_reaches_their_frequency():
    z, y, _ = sample(1000)
    z, y = np.append(z, np.full(98, np.inf)), np.append(y, np.ones(98, bool))
    fit = fit_robust(Rows(z, y), scale="logit", power=0.5)
    np.testing.assert_allclose(fit.b * fit.upper + fit.c, np.log(99 / 1), rtol=1e-12)
    assert fit.lower == -np.inf


def test_fences_are_tukeys():
    rows = LogOddsRows(np.arange(1.0, 102.0), np.ones(101), np.zeros(101))
    low, high = _fences(rows)
    np.testing.assert_allclose([low, high], [26 - 75, 76 + 75], atol=3)
