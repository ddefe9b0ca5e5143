"""Many Bayesian logistic regressions on the same features at once, by Laplace's method.

Model j has log-odds η = offset_j + X·θ, with θ ~ N(mean_j, diag(deviation_j²)). Its posterior is
taken as normal around the most probable θ, with the Hessian there, and its evidence is

    ln p(y) ≈ ln p(y | θ) + ln p(θ) + ½·d·ln 2π − ½·ln det H.

Models differ in offset and prior only, so all their Hessians Xᵀ·W_j·X are one product of matrices:
row j of W times the pairwise products of the columns of X.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueodds.inputs import Floats
from trueodds.numerics.smooth_curve.cells import LogOddsCells

__all__ = ["Fits", "Prior", "fit_all"]

MOST_STEPS = 30
ENOUGH = 1e-5
"""A step that gains less than this, in nats, is the last."""
LEAST_CURVATURE = 1e-9
"""Of a cell; keeps Hessians regular where every forecast is certain."""


@dataclass(frozen=True, eq=False)
class Prior:
    """Where the coefficients of each model are expected; arrays of shape (n_models, n_features)."""

    mean: Floats
    deviation: Floats


@dataclass(frozen=True, eq=False)
class Fits:
    """The posterior of each model.

    Parameters
    ----------
    theta : ndarray of shape (n_models, n_features)
        The most probable coefficients.
    hessian : ndarray of shape (n_models, n_features, n_features)
        The precision of the normal approximation.
    evidence : ndarray of shape (n_models,)
        The logarithm of the marginal likelihood.
    """

    theta: Floats
    hessian: Floats
    evidence: Floats


def fit_all(features: Floats, offset: Floats, cells: LogOddsCells, prior: Prior) -> Fits:
    """Fit every model by Newton's method.

    Parameters
    ----------
    features : ndarray of shape (n_cells, n_features)
    offset : ndarray of shape (n_models, n_cells)
    cells : LogOddsCells
    prior : Prior
    """
    problem = _Problem(features, offset, cells, prior)
    theta = prior.mean.copy()
    eta, value, forecast = problem.evaluate(theta, np.arange(len(theta)))
    active = np.arange(len(theta))
    for _ in range(MOST_STEPS):
        step = problem.newton_step(theta, forecast, active)
        tried, e, v, q = _climb(problem, theta, value, step, active)
        gained = v - value[active]
        theta[active], eta[active], value[active], forecast[active] = tried, e, v, q
        active = active[gained >= ENOUGH]
        if not len(active):
            break
    hessian = problem.hessian(forecast, np.arange(len(theta)))
    _, log_determinant = np.linalg.slogdet(hessian)
    evidence = value - log_determinant / 2 - np.log(prior.deviation).sum(axis=1)
    return Fits(theta, hessian, evidence)


def _climb(
    problem: _Problem, theta: Floats, value: Floats, step: Floats, active: np.ndarray
) -> tuple[Floats, Floats, Floats, Floats]:
    """Whole steps, halved for those models that they would make worse."""
    tried = theta[active] + step
    eta, new, forecast = problem.evaluate(tried, active)
    length = np.ones(len(active))
    for _ in range(14):
        worse = np.flatnonzero(new < value[active] - 1e-9)
        if not len(worse):
            break
        length[worse] /= 2
        tried[worse] = theta[active[worse]] + length[worse, None] * step[worse]
        eta[worse], new[worse], forecast[worse] = problem.evaluate(tried[worse], active[worse])
    return tried, eta, new, forecast


class _Problem:
    """The log-posterior of all models, and its derivatives."""

    def __init__(self, features: Floats, offset: Floats, cells: LogOddsCells, prior: Prior) -> None:
        self.features = features
        self.offset = offset
        self.cells = cells
        self.prior = prior
        self.precision = prior.deviation**-2.0
        self.size = features.shape[1]
        self.rows, self.columns = np.triu_indices(self.size)
        self.products = features[:, self.rows] * features[:, self.columns]

    def evaluate(self, theta: Floats, models: np.ndarray) -> tuple[Floats, Floats, Floats]:
        """Log-odds, log-posterior (but for constants) and forecasts of some models."""
        eta = self.offset[models] + theta @ self.features.T
        power = np.exp(-np.abs(eta))
        softplus = np.maximum(eta, 0) + np.log1p(power)
        deviation = (theta - self.prior.mean[models]) ** 2 * self.precision[models]
        value = eta @ self.cells.n_pos - softplus @ self.cells.weight - deviation.sum(axis=1) / 2
        return eta, value, np.where(eta >= 0, 1.0, power) / (1 + power)

    def hessian(self, forecast: Floats, models: np.ndarray) -> Floats:
        """Minus the second derivatives of the log-posterior."""
        q = forecast[models]
        curvature = np.maximum(self.cells.weight * q * (1 - q), LEAST_CURVATURE)
        upper = curvature @ self.products
        hessian = np.empty((len(models), self.size, self.size))
        hessian[:, self.rows, self.columns] = upper
        hessian[:, self.columns, self.rows] = upper
        diagonal = np.arange(self.size)
        hessian[:, diagonal, diagonal] += self.precision[models]
        return hessian

    def newton_step(self, theta: Floats, forecast: Floats, models: np.ndarray) -> Floats:
        residual = self.cells.n_pos - self.cells.weight * forecast[models]
        pull = self.precision[models] * (theta[models] - self.prior.mean[models])
        gradient = residual @ self.features - pull
        return np.linalg.solve(self.hessian(forecast, models), gradient[..., None])[..., 0]
