"""Fit η = b·z + c by a proper score that bounds what any instance can do.

In place of −ln q for the probability q that an instance's own class is given, the loss is that of
the density power divergence of order α,

    L = (p^(1+α) + (1−p)^(1+α))/(1+α) − q^α/α,

which is the log-loss for α → 0 and the Brier score for α = 1. It is a proper score, so that the
true curve minimizes it whatever α is, and it is bounded, however wrong an instance. Its gradient
is that of the log-loss times u(p) = p^α·(1−p) + (1−p)^α·p: instances of which the curve is sure,
on the right side or the wrong one, count little.

It may have more than one minimum. The search starts at three curves of highest likelihood: of all
scores, of scores brought within their fences, and of the scores within them alone; the lowest
minimum counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from trueodds.inputs import Floats, InputScale
from trueodds.numerics.compression import finite_range
from trueodds.numerics.label_targets import platt_targets
from trueodds.numerics.log_odds import LogOddsRows, log_sigmoid
from trueodds.numerics.logistic_regression import (
    CHUNK,
    ROUNDING,
    LogisticProblem,
    _LogisticPoint,
    _solve,
    fit_logistic,
    is_separable,
)
from trueodds.numerics.quadratic import QuadraticFit, fit_curve
from trueodds.numerics.saturated import UNSEEN_LEVEL, BinaryEvidence

__all__ = [
    "fit_robust",
]

FENCE = 1.5
"""Tukey's: scores farther from the quartiles than this many times their distance are outliers."""
FARTHEST = 1e6  # units from the middle
LEAST_UNIT = 1e-14  # of the axis, relative to its middle
STEEP = 10.0
"""A curve that rises more between the middle and a fence may be one that would rise for ever."""


def fit_robust(evidence: BinaryEvidence, *, scale: InputScale, power: float) -> QuadraticFit:
    """Minimize the score of the given order α.

    Parameters
    ----------
    evidence : Rows
        Scores in any order, some of them perhaps saturated.
    scale : {"probability", "logit", "score"}
    power : float
        α > 0.

    Returns
    -------
    QuadraticFit
        With a = 0. Where no score is saturated, the range is open for log-odds and margins and
        reaches to 2.2e-16 and 1 − 2.2e-16 for probabilities.
    """
    fit = fit_curve(evidence, scale, partial(_fit_finite, power=power))
    low, high = finite_range(evidence.scores, scale)
    unseen = UNSEEN_LEVEL if scale == "probability" else np.inf
    first, last = (0.0, 1.0) if scale == "probability" else (-np.inf, np.inf)
    return replace(
        fit,
        lower=fit.lower if evidence.scores.min() == first else min(low, -unseen),
        upper=fit.upper if evidence.scores.max() == last else max(high, unseen),
    )


class _PowerProblem(LogisticProblem):
    """The score of a line, on an axis whose unit is the way from the middle to a fence.

    Mean and standard deviation would be the outliers'. What is farther than a million units counts
    as if it were there, which is nothing unless the curve is as flat.
    """

    def __init__(self, rows: LogOddsRows, power: float) -> None:
        self.rows, self.power = rows, power
        self.fences = _fences(rows)
        middle = float(np.mean(self.fences))
        column = rows.z - middle
        # Scores that are one to the last digits say nothing beyond the constant.
        sizes = (self.fences[1] - middle, float(np.abs(column).max()), np.inf)
        unit = next(size for size in sizes if size > LEAST_UNIT * abs(middle))
        self.centre, self.scale = np.array([middle]), np.array([unit])
        self.intercept, self.size, self.total = True, 2, rows.total
        design = np.stack([np.clip(column / unit, -FARTHEST, FARTHEST), np.ones(len(column))])
        self.chunks = [
            (design[:, begin : begin + CHUNK], rows.weight[begin : begin + CHUNK])
            for begin in range(0, len(column), CHUNK)
        ]

    def at(self, theta: Floats) -> _LogisticPoint:
        """Loss per unit of weight; gradient and Hessian per unit of weight that counts."""
        alpha, begin = self.power, 0
        gradient, hessian, fisher = np.zeros(2), np.zeros((2, 2)), np.zeros((2, 2))
        loss = size = counted = 0.0
        for x, weight in self.chunks:
            n_pos = self.rows.n_pos[begin : begin + len(weight)]
            n_neg = self.rows.n_neg[begin : begin + len(weight)]
            begin += len(weight)
            eta = theta @ x
            log_p, log_q = log_sigmoid(eta), log_sigmoid(-eta)
            p, q = np.exp(log_p), np.exp(log_q)
            pa, qa = np.exp(alpha * log_p), np.exp(alpha * log_q)
            # Less by a constant, which for α → 0 would drown the rest.
            own = n_pos @ np.expm1(alpha * log_p) + n_neg @ np.expm1(alpha * log_q)
            gained = float(own) / alpha
            spread = float(weight @ (p * pa + q * qa)) / (1 + alpha)
            loss += spread - gained
            size += spread + abs(gained)
            u = pa * q + qa * p
            used = weight * u
            wrong = n_neg * p - n_pos * q
            steeper = alpha * (pa * q * q - qa * p * p) + p * q * (qa - pa)  # of u, by η
            counted += float(used.sum())
            gradient += x @ (u * wrong)
            fisher += (x * (used * p * q)) @ x.T
            hessian += (x * (steeper * wrong)) @ x.T
        hessian += fisher
        scale = counted if counted > 0 else 1.0
        convex = hessian[0, 0] > 0 and np.linalg.det(hessian) > 0
        return _LogisticPoint(
            theta,
            loss / self.total,
            ROUNDING * size / self.total,
            gradient / scale,
            (hessian if convex else fisher) / scale,
        )


@dataclass(frozen=True)
class _Minimum:
    place: _LogisticPoint
    converged: bool
    n_iter: int
    gradient: float


def _fit_finite(rows: LogOddsRows, power: float) -> QuadraticFit:
    separable = is_separable(rows, "logistic")
    if not separable:
        problem = _PowerProblem(rows, power)
        best = _lowest(problem)
        # But for outliers, which count little, a threshold may part the classes.
        steep = float(np.abs(best.place.theta).max()) > STEEP
        separable = steep and problem.at(2 * best.place.theta).loss <= best.place.loss
    if separable:
        targets = platt_targets(float(rows.n_neg.sum()), float(rows.n_pos.sum()))
        problem = _PowerProblem(rows.with_targets(*targets), power)
        best = _lowest(problem)
    coef, constant = problem.to_original(best.place.theta)
    return QuadraticFit(
        0.0,
        float(coef[0]),
        constant,
        converged=best.converged,
        n_iter=best.n_iter,
        gradient=best.gradient,
        separable=separable,
        mean_slope=float(coef[0]),
    )


def _lowest(problem: _PowerProblem) -> _Minimum:
    rows = problem.rows
    low, high = problem.fences
    within = rows.take((rows.z >= low) & (rows.z <= high))
    starts = [rows, replace(rows, z=np.clip(rows.z, low, high)), within]
    if low <= rows.z.min() and high >= rows.z.max():
        starts = starts[:1]
    found = []
    for start in starts:
        if not (start.n_neg.any() and start.n_pos.any()):
            continue
        likely = fit_logistic([start.z], start.n_pos, start.weight)
        theta = problem.from_original(likely.coef, likely.intercept)
        if np.isfinite(theta).all():
            found.append(_Minimum(*_solve(problem, theta)))
    return min(found, key=lambda minimum: minimum.place.loss)


def _fences(rows: LogOddsRows) -> tuple[float, float]:
    order = np.argsort(rows.z, kind="stable")
    z, weight = rows.z[order], rows.weight[order]
    middle = np.cumsum(weight) - weight / 2
    first, third = (z[np.searchsorted(middle, share * middle[-1])] for share in (0.25, 0.75))
    reach = FENCE * (third - first)
    return float(first - reach), float(third + reach)
