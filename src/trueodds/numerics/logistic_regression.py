"""Logistic regression on one or two features, solved to the last digit.

The negative log-likelihood of η = θ·f is Σ w·ln(1 + e^η) − θ·S, where w is the weight of a row and
S = Σ n_pos·f. Labels enter through S alone, so label smoothing costs nothing and an iteration
reads only the features.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueodds.validation import Floats

__all__ = ["LogisticFit", "LogisticProblem", "fit_logistic"]

CHUNK = 8192  # rows whose temporaries stay in the cache
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
        self.weight = weight
        self.n_pos = n_pos
        self.intercept = intercept
        self.n_rows = len(n_pos)
        self.total = float(weight.sum()) if weight is not None else float(self.n_rows)
        centre, scale = self._size(features)
        # A feature that does not vary says nothing beyond the constant: its coefficient stays 0.
        varies = scale > 1e-14 * (np.abs(centre) + scale)
        self.scale = np.where(varies, scale, np.inf)
        # Centring is done on the sums, unless digits would be lost: then on the features.
        self.shift = np.where(np.abs(centre) > 1e3 * scale, centre, 0.0)
        self.features = [f - c if c else f for f, c in zip(features, self.shift, strict=True)]
        self.centre = np.where(self.shift == 0, centre, 0.0)
        positives = float(n_pos.sum())
        moments = [float(f @ n_pos) for f in self.features]
        self.statistic = np.append(
            (np.array(moments) - self.centre * positives) / self.scale,
            [positives] if intercept else [],
        )

    def _size(self, features: list[Floats]) -> tuple[Floats, Floats]:
        """Mean (0 without a constant) and root mean square about it."""
        weight = np.ones(self.n_rows) if self.weight is None else self.weight
        share = weight / self.total
        centre = np.array([f @ share if self.intercept else 0.0 for f in features])
        square = [(f - c) ** 2 @ share for f, c in zip(features, centre, strict=True)]
        return centre, np.sqrt(square)

    def _linear(self, theta: Floats, rows: slice, out: Floats, scratch: Floats) -> Floats:
        k = len(self.features)
        slopes = theta[:k] / self.scale
        constant = (theta[k] if self.intercept else 0.0) - float(slopes @ self.centre)
        np.multiply(self.features[0][rows], slopes[0], out=out)
        for feature, slope in zip(self.features[1:], slopes[1:], strict=True):
            out += np.multiply(feature[rows], slope, out=scratch)
        out += constant
        return out

    def derivatives(self, theta: Floats) -> tuple[Floats, Floats]:
        """Gradient and Hessian per unit of weight, in one pass."""
        first, second = self._sums(theta)
        standard = self._standard()
        size = len(theta)
        gradient = (standard @ first)[:size] - self.statistic
        hessian = (standard @ second @ standard.T)[:size, :size]
        return gradient / self.total, hessian / self.total

    def _standard(self) -> Floats:
        """Takes sums over (features, 1) to sums over the centred and scaled features."""
        k = len(self.features)
        matrix = np.eye(k + 1)
        matrix[:k, k] = -self.centre
        matrix[:k] /= self.scale[:, None]
        return matrix

    def _sums(self, theta: Floats) -> tuple[Floats, Floats]:
        """Σ p·f and Σ p(1−p)·f·f over the features and, last, the constant 1."""
        k = len(self.features)
        first, second = np.zeros(k + 1), np.zeros((k + 1, k + 1))
        buffer = np.empty((3, min(CHUNK, self.n_rows)))
        for begin in range(0, self.n_rows, CHUNK):
            rows = slice(begin, min(begin + CHUNK, self.n_rows))
            p, v, vf = (column[: rows.stop - begin] for column in buffer)
            self._linear(-theta, rows, p, v)
            with np.errstate(over="ignore"):  # exp(−η) = inf gives p = 0
                np.exp(p, out=p)
            p += 1.0
            np.divide(1.0, p, out=p)
            chunk = [f[rows] for f in self.features]
            np.multiply(p, p, out=v)
            np.subtract(p, v, out=v)
            if self.weight is not None:
                p *= self.weight[rows]
                v *= self.weight[rows]
            for i, feature in enumerate(chunk):
                first[i] += feature @ p
                np.multiply(feature, v, out=vf)
                for j in range(i, k):
                    second[i, j] += chunk[j] @ vf
                second[i, k] += vf.sum()
            first[k] += p.sum()
            second[k, k] += v.sum()
        second += second.T  # it was filled above the diagonal
        second.flat[:: k + 2] /= 2
        return first, second

    def loss(self, theta: Floats) -> float:
        """Negative log-likelihood per unit of weight."""
        total = 0.0
        buffer = np.empty((2, min(CHUNK, self.n_rows)))
        for begin in range(0, self.n_rows, CHUNK):
            rows = slice(begin, min(begin + CHUNK, self.n_rows))
            eta, scratch = (column[: rows.stop - begin] for column in buffer)
            softplus = np.logaddexp(0, self._linear(theta, rows, eta, scratch), out=eta)
            total += float(softplus.sum() if self.weight is None else softplus @ self.weight[rows])
        return (total - float(theta @ self.statistic)) / self.total

    def to_original(self, theta: Floats) -> tuple[Floats, float]:
        """Coefficients and constant for the features as they were given."""
        k = len(self.features)
        coef = theta[:k] / self.scale
        constant = theta[k] if self.intercept else 0.0
        return coef, float(constant - coef @ (self.centre + self.shift))

    def from_original(self, coef: Floats, intercept: float) -> Floats:
        """Inverse of :meth:`to_original`."""
        finite_scale = np.where(np.isfinite(self.scale), self.scale, 0.0)
        theta = coef * finite_scale
        centre = self.centre + self.shift
        constant = [intercept + float(coef @ centre)] if self.intercept else []
        return np.append(theta, constant)


def _newton_step(gradient: Floats, hessian: Floats) -> Floats:
    # Equal sizes on the diagonal first; what cannot be told apart gets the shortest step.
    size = np.sqrt(np.maximum(np.diag(hessian), 1e-300))
    solution = np.linalg.lstsq(hessian / np.outer(size, size), gradient / size, rcond=1e-14)[0]
    return np.asarray(-solution / size)


def _solve(problem: LogisticProblem, theta: Floats) -> tuple[Floats, bool, int, float]:
    """Newton's method; steps are halved until the loss falls."""
    loss = problem.loss(theta)
    largest = np.inf
    for iteration in range(1, MAX_ITERATIONS + 1):
        gradient, hessian = problem.derivatives(theta)
        # Features have unit size, so Σ w·|f| per unit of weight is at most 1.
        largest = float(np.abs(gradient).max())
        step = _newton_step(gradient, hessian)
        if largest <= GRADIENT_TOLERANCE:
            return _polished(theta, step), True, iteration, largest
        for _ in range(40):
            candidate = theta + step
            new_loss = problem.loss(candidate)
            if new_loss <= loss + 1e-15 * abs(loss):
                break
            step = step / 2
        else:  # the loss cannot fall any further in float64
            break
        theta, loss = candidate, new_loss
    return theta, False, iteration, largest


def _polished(theta: Floats, step: Floats) -> Floats:
    """One step more squares the error; a long one tells of an optimum at infinity."""
    short = float(np.abs(step).max()) <= SHORT_STEP * (1 + float(np.abs(theta).max()))
    return theta + step if short else theta


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
    start = np.zeros(len(features) + intercept)
    theta, converged, n_iter, gradient = _solve(problem, start)
    coef, constant = problem.to_original(theta)
    return LogisticFit(coef, constant, converged, n_iter, gradient)
