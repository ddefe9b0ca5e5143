"""Logistic regression on one or two features, solved to the last digit.

The negative log-likelihood of η = θ·f is Σ w·ln(1 + e^η) − θ·S, where w is the weight of a row and
S = Σ n_pos·f. Labels enter through S alone, so label smoothing costs nothing and an iteration
reads only the features.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trueodds.validation import Floats

__all__ = ["LogisticFit", "fit_logistic"]

CHUNK = 8192  # rows whose temporaries stay in the cache
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
class _Place:
    """Parameters, and the loss and its derivatives per unit of weight there."""

    theta: Floats
    loss: float
    rounding: float
    gradient: Floats
    hessian: Floats


class _LogisticProblem:
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
        # Takes sums over (features, 1) to sums over the centred and scaled features.
        k = len(features)
        self.standard = np.eye(k + 1)
        self.standard[:k, k] = -self.centre
        self.standard[:k] /= self.scale[:, None]
        self.size = k + intercept
        self.feature_sums = (self.standard @ self._feature_sums())[: self.size]

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

    def _feature_sums(self) -> Floats:
        """Σ w·f over the features and, last, the constant 1."""
        sums = [f.sum() if self.weight is None else f @ self.weight for f in self.features]
        return np.array([*sums, self.total], dtype=np.float64)

    def at(self, theta: Floats) -> _Place:
        """Loss, gradient and Hessian in one pass."""
        first, second, softplus = self._sums(theta)
        gradient = (self.standard @ first)[: self.size] - self.statistic
        hessian = (self.standard @ second @ self.standard.T)[: self.size, : self.size]
        # ln(1 + e^η) = η + ln(1 + e^−η), and the sum of η is known.
        linear = float(theta @ self.feature_sums)
        if np.isfinite(softplus):
            size = softplus + abs(linear)
            softplus += linear
        else:
            size = softplus = self._softplus(theta)
        explained = float(theta @ self.statistic)
        return _Place(
            theta,
            (softplus - explained) / self.total,
            ROUNDING * (size + abs(explained)) / self.total,
            gradient / self.total,
            hessian / self.total,
        )

    def _sums(self, theta: Floats) -> tuple[Floats, Floats, float]:
        """Σ p·f and Σ p(1−p)·f·f over the features and, last, the constant 1; Σ ln(1 + e^−η)."""
        k = len(self.features)
        first, second, softplus = np.zeros(k + 1), np.zeros((k + 1, k + 1)), 0.0
        buffer = np.empty((3, min(CHUNK, self.n_rows)))
        for begin in range(0, self.n_rows, CHUNK):
            rows = slice(begin, min(begin + CHUNK, self.n_rows))
            p, v, vf = (column[: rows.stop - begin] for column in buffer)
            self._linear(-theta, rows, p, v)
            with np.errstate(over="ignore"):  # exp(−η) = inf gives p = 0
                np.exp(p, out=p)
            p += 1.0
            np.log(p, out=v)
            softplus += float(v.sum() if self.weight is None else v @ self.weight[rows])
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
        return first, second, softplus

    def _softplus(self, theta: Floats) -> float:
        """Σ ln(1 + e^η), whatever the size of η."""
        eta, scratch = np.empty((2, self.n_rows))
        softplus = np.logaddexp(0, self._linear(theta, slice(None), eta, scratch), out=eta)
        return float(softplus.sum() if self.weight is None else softplus @ self.weight)

    def to_original(self, theta: Floats) -> tuple[Floats, float]:
        """Coefficients and constant for the features as they were given."""
        k = len(self.features)
        coef = theta[:k] / self.scale
        constant = theta[k] if self.intercept else 0.0
        return coef, float(constant - coef @ (self.centre + self.shift))


def _newton_step(place: _Place) -> Floats:
    # Equal sizes on the diagonal first; what cannot be told apart gets the shortest step.
    size = np.sqrt(np.maximum(np.diag(place.hessian), 1e-300))
    correlation, right = place.hessian / np.outer(size, size), place.gradient / size
    if np.linalg.det(correlation) > DISTINCT:
        solution = np.linalg.solve(correlation, right)
    else:
        solution = np.linalg.lstsq(correlation, right, rcond=1e-14)[0]
    return np.asarray(-solution / size)


def _solve(problem: _LogisticProblem) -> tuple[_Place, bool, int, float]:
    """Newton's method; steps are halved until the loss falls."""
    place = problem.at(np.zeros(problem.size))
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
    problem = _LogisticProblem(features, n_pos, weight, intercept=intercept)
    place, converged, n_iter, gradient = _solve(problem)
    coef, constant = problem.to_original(place.theta)
    return LogisticFit(coef, constant, converged, n_iter, place.loss, gradient)
