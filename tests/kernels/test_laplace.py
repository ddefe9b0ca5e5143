"""Laplace's method for many models, against one model at a time in plain NumPy."""

import numpy as np
import pytest
from scipy.special import expit, log_expit, roots_hermitenorm
from scipy.stats import beta as beta_distribution, binom

from trueodds.kernels.binnings import draw_binnings, sum_over_binnings
from trueodds.kernels.laplace import LogisticModels, mean_probabilities, standard_deviations


def naive_fit(features, offset, n_pos, weight, mean, precision):
    """Most probable coefficients, Hessian and evidence of one model: halved Newton steps."""

    def height(theta):
        eta = offset + features @ theta
        likelihood = n_pos @ log_expit(eta) + (weight - n_pos) @ log_expit(-eta)
        return likelihood - precision @ (theta - mean) ** 2 / 2

    def hessian(theta):
        q = expit(offset + features @ theta)
        curvature = np.maximum(weight * q * (1 - q), 1e-9)
        return features.T @ (curvature[:, None] * features) + np.diag(precision)

    theta = mean.copy()
    for _ in range(200):
        q = expit(offset + features @ theta)
        gradient = features.T @ (n_pos - weight * q) - precision * (theta - mean)
        step = np.linalg.solve(hessian(theta), gradient)
        while height(theta + step) < height(theta) - 1e-9 and abs(step).max() > 1e-12:
            step /= 2
        theta = theta + step
    log_ratio = np.linalg.slogdet(hessian(theta))[1] - np.log(precision).sum()
    return theta, hessian(theta), height(theta) - log_ratio / 2


def draw_problem(seed, n_cells=40, n_features=5, n_models=6, *, spread=1.0, most=30):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_cells, n_features))
    weight = rng.integers(1, most, n_cells).astype(float)
    n_pos = binom.rvs(weight.astype(int), expit(features[:, 0]), random_state=rng).astype(float)
    offset = np.repeat(rng.normal(0, spread, (n_models // 2, n_cells)), 2, axis=0)
    mean = np.repeat(rng.normal(0, 0.5, (n_models // 2, n_features)), 2, axis=0)
    precision = rng.uniform(0.1, 3, n_models)[:, None] ** -2.0 * np.ones(n_features)
    return features, offset, n_pos, weight, mean, precision


def fit(problem, parents):
    features, offset, n_pos, weight, mean, precision = problem
    n_models, n_features = mean.shape
    theta, evidence = mean.copy(), np.empty(n_models)
    hessian, factor = np.zeros((2, n_models, n_features, n_features))
    models = LogisticModels(features, n_pos, weight)
    models.fit(offset, mean, precision, np.array(parents), theta, hessian, factor, evidence)
    return theta, factor, evidence


ALONE, PAIRS, A_CHAIN = [-1] * 6, [-1, 0, -1, 2, -1, 4], [-1, 0, 1, 2, 3, 4]


@pytest.mark.parametrize("parents", [ALONE, PAIRS, A_CHAIN], ids=["alone", "pairs", "chain"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_features": 1},
        {"n_features": 23},
        {"n_cells": 3, "n_features": 7},
        {"spread": 30.0},
        {"most": 1_000_000},
        {"spread": 20.0, "most": 1_000_000},
    ],
    ids=["plain", "one feature", "many features", "few cells", "far", "heavy", "far and heavy"],
)
def test_every_model_is_the_naive_one(options, parents):
    problem = draw_problem(1, **options)
    theta, factor, evidence = fit(problem, parents)
    features, offset, n_pos, weight, mean, precision = problem
    for j in range(6):
        exact = naive_fit(features, offset[j], n_pos, weight, mean[j], precision[j])
        scale = max(1.0, abs(exact[2]))
        np.testing.assert_allclose(theta[j], exact[0], rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(factor[j].T @ factor[j], exact[1], rtol=1e-6, atol=1e-6)
        assert evidence[j] == pytest.approx(exact[2], abs=1e-8 * scale)


def test_deviations_are_those_of_the_inverse_hessian():
    features, *rest = draw_problem(2)
    _, factor, _ = fit((features, *rest), PAIRS)
    chosen = np.array([4, 1])
    deviation = np.empty((2, len(features)))
    standard_deviations(factor, chosen, np.ascontiguousarray(features.T), deviation)
    for k, j in enumerate(chosen):
        covariance = np.linalg.inv(factor[j].T @ factor[j])
        exact = np.sqrt(np.einsum("ia,ab,ib->i", features, covariance, features))
        np.testing.assert_allclose(deviation[k], exact, rtol=1e-10)


def test_mean_probabilities_are_gaussian_quadratures_at_both_ends():
    rng = np.random.default_rng(3)
    mean, deviation = rng.normal(0, 30, (4, 50)), rng.exponential(2, (4, 50))
    weight = np.array([0.1, 0.2, 0.3, 0.4])
    nodes, node_weights = roots_hermitenorm(9)
    node_weights = node_weights / node_weights.sum()
    p, rest = np.empty((2, 50))
    mean_probabilities(mean, deviation, weight, nodes, node_weights, p, rest)
    eta = mean[..., None] + deviation[..., None] * nodes
    np.testing.assert_allclose(p, weight @ (expit(eta) @ node_weights), rtol=1e-12)
    np.testing.assert_allclose(rest, weight @ (expit(-eta) @ node_weights), rtol=1e-12)


@pytest.mark.slow
def test_draws_of_two_cells_have_the_probability_of_one_bin_or_two():
    n_pos, n_neg, prior, boundary = np.array([3.0, 40.0]), np.array([30.0, 5.0]), (0.4, 0.6), 0.3
    last_bin_start = np.empty(3)
    pos, neg = (np.append(0.0, np.cumsum(n)) for n in (n_pos, n_neg))
    evidence = sum_over_binnings(pos, neg, *prior, boundary, last_bin_start)

    def marginal(k, m):
        """The integral of p^k·(1 − p)^m over the prior, on a fine grid of its quantiles."""
        p = beta_distribution(*prior).ppf((np.arange(400_000) + 0.5) / 400_000)
        return np.mean(p**k * (1 - p) ** m)

    one = (1 - boundary) * marginal(43, 35)
    two = boundary * marginal(3, 30) * marginal(40, 5)
    assert evidence == pytest.approx(np.log(one + two), abs=1e-6)
    np.testing.assert_allclose(last_bin_start, [1, one / (one + two), two / (one + two)], atol=1e-6)
    begins = np.empty((4000, 2), dtype=np.uint8)
    draw_binnings(last_bin_start, np.random.default_rng(0).random(8000), begins)
    assert (begins[:, 0] == 1).all()
    assert begins[:, 1].mean() == pytest.approx(two / (one + two), abs=0.03)
