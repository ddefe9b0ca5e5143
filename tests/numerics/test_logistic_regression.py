"""Logistic regression against closed forms and the conditions of an optimum."""

import numpy as np
import pytest
from scipy.special import expit

from trueodds.numerics.logistic_regression import CHUNK_ROWS, fit_logistic


def sample(n=400, seed=0):
    rng = np.random.default_rng(seed)
    features = [rng.normal(2, 3, n), rng.normal(-1, 0.1, n)]
    weight = rng.integers(1, 6, n).astype(float)
    eta = 0.7 * features[0] - 4 * features[1] - 5
    return features, rng.binomial(weight.astype(int), expit(eta)).astype(float), weight


def gradient(fit, features, n_pos, weight):
    """Per unit of weight, for the intercept and each feature."""
    eta = fit.intercept + sum(c * f for c, f in zip(fit.coef, features, strict=True))
    residual = weight * expit(eta) - n_pos
    return np.array([residual.sum(), *(residual @ f for f in features)]) / weight.sum()


def test_two_points_have_a_closed_form():
    # Frequencies of ¼ at −1 and ¾ at 3: the line passes through both log-odds.
    fit = fit_logistic([np.array([-1.0, 3.0])], np.array([1.0, 3.0]), np.array([4.0, 4.0]))
    assert fit.converged
    assert fit.coef[0] == pytest.approx(2 * np.log(3) / 4, rel=1e-14)
    assert fit.intercept == pytest.approx(np.log(1 / 3) + 2 * np.log(3) / 4, rel=1e-14)
    assert fit.loss == pytest.approx(-(0.25 * np.log(0.25) + 0.75 * np.log(0.75)))


def test_a_constant_alone_gives_the_log_odds_of_the_frequency():
    fit = fit_logistic([], np.array([1.0, 2.0]), np.array([4.0, 6.0]))
    assert fit.intercept == pytest.approx(np.log(0.3 / 0.7), rel=1e-14)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_the_gradient_vanishes_whatever_the_unit_of_a_feature(intercept, scale):
    features, n_pos, weight = sample()
    scaled = [features[0] * scale, features[1]]
    fit = fit_logistic(scaled, n_pos, weight, intercept=intercept)
    assert fit.converged
    in_units = np.array([fit.coef[0] * scale, fit.coef[1]])
    same = fit_logistic(features, n_pos, weight, intercept=intercept)
    assert in_units == pytest.approx(same.coef, rel=1e-12)
    assert np.abs(gradient(same, features, n_pos, weight)[not intercept :]).max() < 1e-13
    if not intercept:
        assert fit.intercept == 0


def test_rows_that_are_read_in_pieces_give_the_same_fit():
    features, n_pos, weight = sample(3 * CHUNK_ROWS + 5)
    fit = fit_logistic(features, n_pos, weight)
    assert np.abs(gradient(fit, features, n_pos, weight)).max() < 1e-13
    order = np.random.default_rng(0).permutation(len(weight))
    again = fit_logistic([f[order] for f in features], n_pos[order], weight[order])
    assert again.coef == pytest.approx(fit.coef, rel=1e-12)


def test_a_feature_that_does_not_vary_has_no_coefficient():
    features, n_pos, weight = sample()
    fit = fit_logistic([features[0], np.full(400, 7.3)], n_pos, weight)
    alone = fit_logistic([features[0]], n_pos, weight)
    assert fit.coef[1] == 0
    assert fit.coef[0] == pytest.approx(alone.coef[0], rel=1e-12)


def test_two_equal_features_share_the_coefficient():
    features, n_pos, weight = sample()
    fit = fit_logistic([features[0], features[0]], n_pos, weight)
    alone = fit_logistic([features[0]], n_pos, weight)
    assert fit.coef == pytest.approx(np.full(2, alone.coef[0] / 2), rel=1e-9)


def test_separated_classes_end_with_a_long_slope_and_no_overflow():
    z = np.array([-2.0, -1.0, 1.0, 2.0])
    fit = fit_logistic([z], np.array([0.0, 0.0, 1.0, 1.0]), np.ones(4))
    assert fit.coef[0] > 10
    assert fit.loss < 1e-6
    assert np.isfinite(fit.coef).all()
