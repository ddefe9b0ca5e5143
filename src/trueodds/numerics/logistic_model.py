"""Logistic regression on a dense matrix, with an offset and the covariance of its coefficients.

For the few coefficients of validation and updating, where standard errors are wanted. Calibrators
use :mod:`trueodds.numerics.log_odds`, which is made for many rows and one score.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueodds.inputs import Floats
from trueodds.numerics.log_odds import sigmoid

__all__ = ["LogisticModel", "fit_logistic_model", "log_likelihood"]

MAX_ITERATIONS = 60
DECREMENT = 1e-16  # per unit of weight: Newton's next step would change nothing that shows
FAR = 1e-9
"""Weight p·(1 − p) of every row below which the fit has run away: there is no finite optimum."""


@dataclass(frozen=True, eq=False)
class LogisticModel:
    """Coefficients, their covariance, the log-likelihood, and whether there is an optimum.

    A row is one independent observation for the covariance, whatever its weight; without weights it
    is the inverse of Fisher's information.
    """

    coef: Floats
    covariance: Floats
    log_likelihood: float
    converged: bool


def log_likelihood(eta: Floats, hit: Floats, weight: Floats) -> float:
    """Σ w·(y·η − ln(1 + e^η)); rows of infinite η that are right count nothing."""
    if np.isfinite(eta).all():
        lost = np.maximum(eta, 0.0) - hit * eta  # exactly 0 far on the right side
        return float(-(weight @ (lost + np.log1p(np.exp(-np.abs(eta))))))
    with np.errstate(invalid="ignore"):  # 0·∞, which is not taken
        missed = np.where(hit > 0, hit * np.logaddexp(0.0, -eta), 0.0)
        missed += np.where(hit < 1, (1 - hit) * np.logaddexp(0.0, eta), 0.0)
    return float(-(weight @ missed))


def fit_logistic_model(
    design: Floats,
    hit: Floats,
    weight: Floats,
    offset: Floats | None = None,
    *,
    squares: Floats | None = None,
) -> LogisticModel:
    """Maximize the likelihood of η = offset + design·coef by Newton's method.

    Parameters
    ----------
    design : ndarray of shape (n, k)
        Finite.
    hit : ndarray of shape (n,)
        1 where the event happened, else 0; or its share among the rows that a row stands for.
    weight : ndarray of shape (n,)
    offset : ndarray of shape (n,), default=None
        Finite.
    squares : ndarray of shape (n,), default=None
        Sum of the squared weights of the observations that a row stands for; by default it is one.
    """
    base = np.zeros(len(hit)) if offset is None else offset
    total = float(weight.sum())
    coef = np.zeros(design.shape[1])
    eta = base
    value = log_likelihood(eta, hit, weight)
    converged = False
    for _ in range(MAX_ITERATIONS):
        prob = sigmoid(eta)
        gradient = design.T @ (weight * (hit - prob))
        step = _solve(_information(design, weight * prob * (1 - prob)), gradient)
        if gradient @ step <= DECREMENT * total:
            converged = True
            coef = coef + step
            break
        for _ in range(40):
            candidate = base + design @ (coef + step)
            found = log_likelihood(candidate, hit, weight)
            if found >= value - 1e-13 * abs(value):
                break
            step = step / 2
        else:  # it cannot rise any further in float64
            converged = bool(gradient @ step <= 1e-9 * total)
            break
        coef, eta, value = coef + step, candidate, found
    eta = base + design @ coef
    prob = sigmoid(eta)
    spread = prob * (1 - prob)
    if not np.isfinite(coef).all() or float(spread.max(initial=0.0)) < FAR:
        converged = False
    inverse = np.linalg.pinv(_information(design, weight * spread), hermitian=True)
    middle = _information(design, (weight**2 if squares is None else squares) * spread)
    return LogisticModel(
        coef, inverse @ middle @ inverse, log_likelihood(eta, hit, weight), converged
    )


def _information(design: Floats, weight: Floats) -> Floats:
    return np.asarray((design * weight[:, None]).T @ design)


def _solve(matrix: Floats, right: Floats) -> Floats:
    """Solve on equal scales; directions that nothing determines stay where they are."""
    size = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    scaled = matrix / np.outer(size, size)
    try:
        return np.asarray(np.linalg.lstsq(scaled, right / size, rcond=1e-13)[0] / size)
    except np.linalg.LinAlgError:  # numbers beyond float64: nothing is determined
        return np.zeros_like(right)
