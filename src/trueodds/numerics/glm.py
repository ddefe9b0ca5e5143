"""Logistic regression on a dense matrix, with an offset and the covariance of its coefficients.

For the few coefficients of validation and updating, where standard errors are wanted; its loss
also serves penalized splines and monitoring. Parametric calibrators use
:mod:`trueodds.numerics.logistic_regression`, which is made for many rows and one score.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueodds.inputs import Floats, Labels
from trueodds.numerics.log_odds import sigmoid
from trueodds.numerics.magnitude import size_exponent
from trueodds.numerics.newton import Point, minimize

__all__ = ["DenseLogLoss", "LogisticModel", "fit_logistic_model", "log_likelihood"]

MAX_ITERATIONS = 60
DECREMENT = 1e-16  # per unit of weight: Newton's next step would change nothing that shows
STALLED = 1e-9  # per unit of weight: a decrement that rounding may leave
LOSS_ROUNDING = 1e-13  # of a loss
LONGEST_STEP = 20.0
"""Times 1 + the largest coefficient; where the curvature vanishes, Newton's step would overflow."""
SATURATED_CURVATURE = 1e-9
"""Weight p·(1 − p) of every row below which the fit has run away: there is no finite optimum."""


class DenseLogLoss:
    """The negative log-likelihood of η = offset + design·θ, plus a penalty Σ penalty·θ²/2.

    Parameters
    ----------
    design : ndarray of shape (n, k)
        Finite.
    n_pos, weight : ndarray of shape (n,)
        Weight of the positives, and of all, in each row.
    offset : ndarray of shape (n,), default=0
        Finite.
    penalty : ndarray of shape (k,), default=0
    """

    def __init__(
        self,
        design: Floats,
        n_pos: Floats,
        weight: Floats,
        offset: Floats | float = 0.0,
        penalty: Floats | float = 0.0,
    ) -> None:
        self.design, self.n_pos, self.weight = design, n_pos, weight
        self.offset = offset
        self.penalty = np.broadcast_to(penalty, design.shape[1])

    def at(self, theta: Floats) -> Point:
        """Loss, gradient and Hessian, summed over the rows."""
        eta = self.offset + self.design @ theta
        small = np.exp(-np.abs(eta))
        p = np.where(eta >= 0, 1.0, small) / (1 + small)
        # The first sum is exactly 0 far on the right side.
        value = float((self.weight * np.maximum(eta, 0.0) - self.n_pos * eta).sum())
        value += float(self.weight @ np.log1p(small) + self.penalty @ theta**2 / 2)
        hessian = _information(self.design, self.weight * small / (1 + small) ** 2)  # w·p·(1 − p)
        hessian.flat[:: len(theta) + 1] += self.penalty
        gradient = self.design.T @ (self.weight * p - self.n_pos) + self.penalty * theta
        return Point(value, LOSS_ROUNDING * abs(value), gradient, hessian)


@dataclass(frozen=True, eq=False)
class LogisticModel:
    """Coefficients, their covariance, the log-likelihood, and whether there is an optimum.

    The covariance uses the weights of the rows in a variance; of counts, which are their own, it is
    the inverse of Fisher's information.
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
    cluster: Labels | None = None,
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
    cluster : ndarray of shape (n,), default=None
        Rows of one cluster are one observation in the covariance.
    """
    # Weights of about 1, by a power of two, which changes no digit of the coefficients.
    exponent = size_exponent(weight)
    unit = np.ldexp(weight, -exponent)
    total = float(unit.sum())
    base = np.zeros(len(hit)) if offset is None else offset
    found = minimize(
        DenseLogLoss(design, unit * hit, unit, base),
        np.zeros(design.shape[1]),
        decrement=DECREMENT * total,
        stalled=STALLED * total,
        longest=lambda theta: LONGEST_STEP * (1 + float(np.abs(theta).max())),
        max_iter=MAX_ITERATIONS,
    )
    coef, converged = found.theta, found.converged
    eta = base + design @ coef
    prob = sigmoid(eta)
    spread = prob * (1 - prob)
    if not np.isfinite(coef).all() or float(spread.max(initial=0.0)) < SATURATED_CURVATURE:
        converged = False
    inverse = np.linalg.pinv(_information(design, unit * spread), hermitian=True)
    if cluster is None:
        squared = unit**2 if squares is None else np.ldexp(squares, -2 * exponent)
        middle = _information(design, squared * spread)
    else:
        terms = (design * (unit * (hit - prob))[:, None]).T
        sums = np.array([np.bincount(cluster, term) for term in terms])
        middle = sums @ sums.T * (sums.shape[1] / max(sums.shape[1] - 1, 1))
    return LogisticModel(
        coef, inverse @ middle @ inverse, log_likelihood(eta, hit, weight), converged
    )


def _information(design: Floats, weight: Floats) -> Floats:
    return np.asarray((design * weight[:, None]).T @ design)
