"""All models at once are what each would be by itself."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from trueodds.numerics.smooth_curve.cells import LogOddsCells
from trueodds.numerics.smooth_curve.laplace import Prior, fit_all


def problem(n_features, n_models, seed=0):
    rng = np.random.default_rng(seed)
    z = np.linspace(-2, 2, 30)
    n = rng.integers(1, 20, 30).astype(float)
    n_pos = rng.binomial(n.astype(int), expit(z)).astype(float)
    cells = LogOddsCells(z, n - n_pos, n_pos)
    features = rng.normal(size=(30, n_features))
    offset = rng.normal(size=(n_models, 30))
    prior = Prior(
        rng.normal(size=(n_models, n_features)), rng.uniform(0.2, 2, (n_models, n_features))
    )
    return features, offset, cells, prior


def log_posterior(theta, features, offset, cells, mean, deviation):
    eta = offset + features @ theta
    likelihood = cells.n_pos @ log_expit(eta) + cells.n_neg @ log_expit(-eta)
    return likelihood - (((theta - mean) / deviation) ** 2).sum() / 2


def test_every_model_is_at_its_most_probable_coefficients():
    features, offset, cells, prior = problem(3, 5)
    fits = fit_all(features, offset, cells, prior)
    for j in range(5):
        arguments = (features, offset[j], cells, prior.mean[j], prior.deviation[j])
        best = minimize(lambda t, a=arguments: -log_posterior(t, *a), prior.mean[j], tol=1e-10)
        np.testing.assert_allclose(fits.theta[j], best.x, atol=2e-3)
        assert log_posterior(fits.theta[j], *arguments) >= -best.fun - 1e-6


def test_the_evidence_is_near_the_integral():
    features, offset, cells, prior = problem(1, 3)
    fits = fit_all(features, offset, cells, prior)
    for j in range(3):
        arguments = (features, offset[j], cells, prior.mean[j], prior.deviation[j])
        top = log_posterior(fits.theta[j], *arguments)

        def density(t, a=arguments, top=top):
            return np.exp(log_posterior(np.array([t]), *a) - top)

        width = 12 / np.sqrt(fits.hessian[j, 0, 0])
        middle = fits.theta[j, 0]
        area = quad(density, middle - width, middle + width)[0]
        exact = top + np.log(area / (np.sqrt(2 * np.pi) * prior.deviation[j, 0]))
        assert fits.evidence[j] == pytest.approx(exact, abs=0.02)


def test_weights_are_repetitions():
    features, offset, cells, prior = problem(2, 2)
    once = fit_all(features, offset, cells, prior)
    half = LogOddsCells(
        np.repeat(cells.z, 2), np.repeat(cells.n_neg, 2) / 2, np.repeat(cells.n_pos, 2) / 2
    )
    twice = fit_all(np.repeat(features, 2, axis=0), np.repeat(offset, 2, axis=1), half, prior)
    np.testing.assert_allclose(once.theta, twice.theta, rtol=1e-9)
    np.testing.assert_allclose(once.evidence, twice.evidence, rtol=1e-9)


def test_separable_cells_end_at_finite_coefficients():
    cells = LogOddsCells(np.array([-1.0, 1.0]), np.array([1e6, 0.0]), np.array([0.0, 1e6]))
    prior = Prior(np.zeros((1, 1)), np.ones((1, 1)))
    fits = fit_all(np.array([[-1.0], [1.0]]), np.array([[-600.0, 600.0]]), cells, prior)
    assert np.isfinite(fits.theta).all()
    assert np.isfinite(fits.evidence).all()
