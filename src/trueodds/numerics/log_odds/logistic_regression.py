"""Logistic regression on one or two features, solved to the last digit.

The negative log-likelihood of η = θ·f is Σ w·ln(1 + e^η) − θ·S, where w is the weight of a row and
S = Σ n_pos·f. Labels enter through S alone, so label smoothing costs nothing and an iteration
reads only the features.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trueodds.inputs import Floats

__all__ = ["LogisticFit", "LogisticProblem", "fit_logistic"]

CHUNK = 4096  # rows whose temporaries stay in the cache, and too few to start threads for
GRADIENT_TOLERANCE = 1e-8
SHORT_STEP = 1e-3
MAX_ITERATIONS = 100
ROUNDING = 1e-14  # of the sums that a loss is the difference of
DISTINCT = 1e-8  # determinant of a correlation matrix above which features can be told apart


@dataclass(frozen=True)
class LogisticFit:
    """Coefficients of the given features, the constant, and how the solver ended.

    ``loss`` is the negative log-likelihood per unit of weight; ``gradient`` the largest component
    of its gradient relative to the scale Σ w·|f|.
    """

    coef: Floats
    intercept: float
    converged: bool
    n_iter: int
    loss: float
    gradient: float


@dataclass(frozen=True)
class _LogisticPoint:
    """Parameters, and the loss and its derivatives per unit of weight there."""

    theta: Floats
    loss: float
    rounding: float
    gradient: Floats
    hessian: Floats


class LogisticProblem:
    """The likelihood with features centred (if there is a constant) and scaled to unit size."""

    def __init__(
        self, features: list[Floats], n_pos: Floats, weight: Floats, *, intercept: bool
    ) -> None:
        self.total = float(weight.sum())
        share = weight / self.total
        self.intercept = intercept
        self.size = len(features) + intercept
        self.centre = np.array([float(f @ share) if intercept else 0.0 for f in features])
        design = np.empty((self.size, len(n_pos)))
        design[len(features) :] = 1.0
        scale = np.empty(len(features))
        for i, (feature, centre) in enumerate(zip(features, self.centre, strict=True)):
            column = np.subtract(feature, centre, out=design[i])
            largest = float(np.abs(column).max())
            # One that does not vary says nothing beyond the constant: its coefficient stays 0.
            if largest <= 1e-14 * abs(centre):
                scale[i] = np.inf
            else:  # in two steps: squares of large numbers would overflow
                scale[i] = largest * np.sqrt((column / largest) ** 2 @ share)
            column /= scale[i]
        self.scale, self.matrix = scale, design
        self.chunks = [
            (design[:, begin : begin + CHUNK], weight[begin : begin + CHUNK])
            for begin in range(0, len(n_pos), CHUNK)
        ]
        self.statistic = sum(
            x @ n_pos[begin : begin + CHUNK]
            for (x, _), begin in zip(self.chunks, range(0, len(n_pos), CHUNK), strict=True)
        )
        self.feature_sums = sum(x @ w for x, w in self.chunks)

    def at(self, theta: Floats) -> _LogisticPoint:
        """Loss, gradient and Hessian in one pass."""
        gradient, hessian, softplus = np.zeros(self.size), np.zeros((self.size, self.size)), 0.0
        with np.errstate(over="ignore"):  # exp(−η) = inf gives p = 0
            for x, weight in self.chunks:
                p = np.exp(-theta @ x)
                p += 1.0
                softplus += float(np.log(p) @ weight)
                np.divide(1.0, p, out=p)
                variance = 1.0 - p
                p *= weight
                variance *= p
                gradient += x @ p
                hessian += (x * variance) @ x.T
        # ln(1 + e^η) = η + ln(1 + e^−η), and the sum of η is known.
        linear = float(theta @ self.feature_sums)
        if np.isfinite(softplus):
            size = softplus + abs(linear)
            softplus += linear
        else:
            size = softplus = sum(float(np.logaddexp(0, theta @ x) @ w) for x, w in self.chunks)
        explained = float(theta @ self.statistic)
        return _LogisticPoint(
            theta,
            (softplus - explained) / self.total,
            ROUNDING * (size + abs(explained)) / self.total,
            (gradient - self.statistic) / self.total,
            hessian / self.total,
        )

    def to_original(self, theta: Floats) -> tuple[Floats, float]:
        """Coefficients and constant for the features as they were given."""
        k = len(self.centre)
        coef = theta[:k] / self.scale
        constant = theta[k] if self.intercept else 0.0
        return coef, float(constant - coef @ self.centre)

    def from_original(self, coef: Floats, constant: float) -> Floats:
        """Parameters here of coefficients and constant there."""
        theta = np.where(np.isinf(self.scale), 0.0, coef * np.minimum(self.scale, 1e300))
        return np.append(theta, constant + coef @ self.centre) if self.intercept else theta


def _newton_step(place: _LogisticPoint) -> Floats:
    # Equal sizes on the diagonal first; what cannot be told apart gets the shortest step.
    size = np.sqrt(np.maximum(np.diag(place.hessian), 1e-300))
    correlation, right = place.hessian / np.outer(size, size), place.gradient / size
    if np.linalg.det(correlation) > DISTINCT:
        solution = np.linalg.solve(correlation, right)
    else:
        solution = np.linalg.lstsq(correlation, right, rcond=1e-14)[0]
    return np.asarray(-solution / size)


def _solve(
    problem: LogisticProblem, start: Floats | None = None
) -> tuple[_LogisticPoint, bool, int, float]:
    """Newton's method; steps are halved until the loss falls."""
    place = problem.at(np.zeros(problem.size) if start is None else start)
    largest = np.inf
    for iteration in range(1, MAX_ITERATIONS + 1):
        # Features have unit size, so Σ w·|f| per unit of weight is at most 1.
        largest = float(np.abs(place.gradient).max())
        step = _newton_step(place)
        if largest <= GRADIENT_TOLERANCE:
            return replace(place, theta=_polished(place.theta, step)), True, iteration, largest
        for _ in range(40):
            candidate = problem.at(place.theta + step)
            if candidate.loss <= place.loss + candidate.rounding:
                break
            step = step / 2
        else:  # the loss cannot fall any further in float64
            break
        place = candidate
    return place, False, iteration, largest


def _polished(theta: Floats, step: Floats) -> Floats:
    """One step more squares the error; a long one tells of an optimum at infinity."""
    short = float(np.abs(step).max()) <= SHORT_STEP * (1 + float(np.abs(theta).max()))
    return theta + step if short else theta


def fit_logistic(
    features: list[Floats],
    n_pos: Floats,
    weight: Floats,
    *,
    intercept: bool = True,
) -> LogisticFit:
    """Maximise the likelihood of η = Σ coef·feature (+ intercept).

    Parameters
    ----------
    features : list of ndarray of shape (n,)
        Finite.
    n_pos : ndarray of shape (n,)
        Weight of the positives in each row.
    weight : ndarray of shape (n,)
        Weight of each row.
    intercept : bool, default=True

    Returns
    -------
    LogisticFit
    """
    problem = LogisticProblem(features, n_pos, weight, intercept=intercept)
    place, converged, n_iter, gradient = _solve(problem)
    coef, constant = problem.to_original(place.theta)
    return LogisticFit(coef, constant, converged, n_iter, place.loss, gradient)
