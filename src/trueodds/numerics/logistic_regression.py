"""Logistic regression on one or two features, solved to the last digit.

The negative log-likelihood of η = θ·f is Σ w·ln(1 + e^η) − θ·S, where w is the weight of a row and
S = Σ n_pos·f. Labels enter through S alone, so label smoothing costs nothing and an iteration
reads only the features.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueodds.numerics.log_odds import sigmoid
from trueodds.validation import Floats

__all__ = ["LogisticFit", "LogisticProblem", "fit_logistic"]

CHUNK = 8192  # rows whose temporaries stay in the cache
SAMPLE = 32768  # rows that the start is found on
GRADIENT_TOLERANCE = 1e-8
SHORT_STEP = 1e-3
MAX_ITERATIONS = 100


@dataclass(frozen=True)
class LogisticFit:
    """Coefficients of the given features, the constant, and how the solver ended.

    ``gradient`` is the largest component of the gradient relative to its scale Σ w·|f|.
    """

    coef: Floats
    intercept: float
    converged: bool
    n_iter: int
    gradient: float


class LogisticProblem:
    """The likelihood with features centred (if there is a constant) and scaled to unit size."""

    def __init__(
        self, features: list[Floats], n_pos: Floats, weight: Floats | None, *, intercept: bool
    ) -> None:
        self.features = features
        self.weight = weight
        self.n_pos = n_pos
        self.intercept = intercept
        self.n_rows = len(n_pos)
        self.total = float(weight.sum()) if weight is not None else float(self.n_rows)
        self.centre = np.array([self._mean(f) if intercept else 0.0 for f in features])
        scale = np.array([self._spread(f, c) for f, c in zip(features, self.centre, strict=True)])
        # A feature that does not vary says nothing beyond the constant: its coefficient stays 0.
        varies = scale > 1e-14 * (np.abs(self.centre) + scale)
        self.scale = np.where(varies, scale, np.inf)
        self.inverse_scale = 1 / self.scale
        positives = float(n_pos.sum())
        moments = [float(f @ n_pos) for f in features]
        self.statistic = np.append(
            (np.array(moments) - self.centre * positives) / self.scale,
            [positives] if intercept else [],
        )

    def _mean(self, feature: Floats) -> float:
        sum_ = feature.sum() if self.weight is None else feature @ self.weight
        return float(sum_) / self.total

    def _spread(self, feature: Floats, centre: float) -> float:
        deviation = feature - centre if centre else feature
        square = deviation @ deviation if self.weight is None else deviation**2 @ self.weight
        return float(np.sqrt(square / self.total))

    def _linear(self, theta: Floats, rows: slice, out: Floats) -> Floats:
        k = len(self.features)
        slopes = theta[:k] / self.scale
        constant = (theta[k] if self.intercept else 0.0) - float(slopes @ self.centre)
        np.multiply(self.features[0][rows], slopes[0], out=out)
        for feature, slope in zip(self.features[1:], slopes[1:], strict=True):
            out += feature[rows] * slope
        out += constant
        return out

    def derivatives(self, theta: Floats) -> tuple[Floats, Floats]:
        """Gradient and Hessian per unit of weight, in one pass."""
        k, size = len(self.features), len(theta)
        gradient, hessian = np.zeros(size), np.zeros((size, size))
        buffer = np.empty((3, min(CHUNK, self.n_rows)))
        for begin in range(0, self.n_rows, CHUNK):
            rows = slice(begin, min(begin + CHUNK, self.n_rows))
            p, v, vf = (column[: rows.stop - begin] for column in buffer)
            self._linear(theta, rows, p)
            sigmoid(p, overwrite=True)
            np.multiply(p, p, out=v)
            np.subtract(p, v, out=v)
            if self.weight is not None:
                p *= self.weight[rows]
                v *= self.weight[rows]
            scaled = [
                (f[rows] - centre) * inverse
                for f, centre, inverse in zip(
                    self.features, self.centre, self.inverse_scale, strict=True
                )
            ]
            for i, feature in enumerate(scaled):
                gradient[i] += feature @ p
                np.multiply(feature, v, out=vf)
                for j in range(i, k):
                    hessian[i, j] += scaled[j] @ vf
                if self.intercept:
                    hessian[i, k] += vf.sum()
            if self.intercept:
                gradient[k] += p.sum()
                hessian[k, k] += v.sum()
        hessian = np.triu(hessian) + np.triu(hessian, 1).T
        return (gradient - self.statistic) / self.total, hessian / self.total

    def loss(self, theta: Floats) -> float:
        """Negative log-likelihood per unit of weight."""
        total = 0.0
        buffer = np.empty(min(CHUNK, self.n_rows))
        for begin in range(0, self.n_rows, CHUNK):
            rows = slice(begin, min(begin + CHUNK, self.n_rows))
            softplus = np.logaddexp(0, self._linear(theta, rows, buffer[: rows.stop - begin]))
            total += float(
                softplus.sum() if self.weight is None else softplus @ self.weight[rows]
            )
        return (total - float(theta @ self.statistic)) / self.total

    def sample(self) -> LogisticProblem:
        """The same problem on every so many-th row, for a good start."""
        stride = -(-self.n_rows // SAMPLE)
        return LogisticProblem(
            [np.ascontiguousarray(f[::stride]) for f in self.features],
            np.ascontiguousarray(self.n_pos[::stride]),
            None if self.weight is None else np.ascontiguousarray(self.weight[::stride]),
            intercept=self.intercept,
        )

    def to_original(self, theta: Floats) -> tuple[Floats, float]:
        """Coefficients and constant for the features as they were given."""
        k = len(self.features)
        coef = theta[:k] / self.scale
        return coef, float((theta[k] if self.intercept else 0.0) - coef @ self.centre)

    def from_original(self, coef: Floats, intercept: float) -> Floats:
        """Inverse of :meth:`to_original`."""
        finite_scale = np.where(np.isfinite(self.scale), self.scale, 0.0)
        theta = coef * finite_scale
        constant = [intercept + float(coef @ self.centre)] if self.intercept else []
        return np.append(theta, constant)


def _newton_step(gradient: Floats, hessian: Floats) -> Floats:
    # Equal sizes on the diagonal first; what cannot be told apart gets the shortest step.
    size = np.sqrt(np.maximum(np.diag(hessian), 1e-300))
    solution = np.linalg.lstsq(hessian / np.outer(size, size), gradient / size, rcond=1e-14)[0]
    return -solution / size


def _solve(problem: LogisticProblem, theta: Floats, *, search: bool) -> tuple[Floats, bool, int, float]:
    """Newton's method; with ``search``, steps are halved until the loss falls."""
    loss = problem.loss(theta) if search else np.inf
    largest = np.inf
    for iteration in range(1, MAX_ITERATIONS + 1):
        gradient, hessian = problem.derivatives(theta)
        # Features have unit size, so Σ w·|f| per unit of weight is at most 1.
        previous, largest = largest, float(np.abs(gradient).max())
        step = _newton_step(gradient, hessian)
        if largest <= GRADIENT_TOLERANCE:
            # One step more squares the error. Where the step is long, the optimum is at infinity.
            near = float(np.abs(step).max()) <= SHORT_STEP * (1 + float(np.abs(theta).max()))
            return theta + step if near else theta, True, iteration, largest
        if not search:
            if largest > previous or iteration > 8:
                return theta, False, iteration, largest
            theta = theta + step
            continue
        for _ in range(40):
            candidate = theta + step
            new_loss = problem.loss(candidate)
            if new_loss <= loss + 1e-15 * abs(loss):
                break
            step = step / 2
        else:  # the loss cannot fall any further in float64
            return theta, largest <= GRADIENT_TOLERANCE, iteration, largest
        theta, loss = candidate, new_loss
    return theta, False, MAX_ITERATIONS, largest


def fit_logistic(
    features: list[Floats],
    n_pos: Floats,
    weight: Floats | None,
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
    weight : ndarray of shape (n,) or None
        Weight of each row; None means one each.
    intercept : bool, default=True

    Returns
    -------
    LogisticFit
    """
    problem = LogisticProblem(features, n_pos, weight, intercept=intercept)
    theta = np.zeros(len(features) + intercept)
    converged = False
    n_iter, largest = 0, np.inf
    if problem.n_rows > 2 * SAMPLE and np.isfinite(problem.scale).all():
        rough = problem.sample()
        guess, _, n_iter, _ = _solve(rough, np.zeros(len(theta)), search=True)
        near = problem.from_original(*rough.to_original(guess))
        # From so near, plain Newton steps converge; if not, begin again with care.
        solution, converged, more, largest = _solve(problem, near, search=False)
        n_iter += more
        if converged:
            theta = solution
    if not converged:
        theta, converged, more, largest = _solve(problem, theta, search=True)
        n_iter += more
    coef, constant = problem.to_original(theta)
    return LogisticFit(coef, constant, converged, n_iter, largest)
