"""Fit η = a·ln p − b·ln(1−p) + c: logistic, temperature and beta calibration are its special cases.

Two things are settled here once for all of them.

*Saturated scores.* A probability of exactly 0 or 1 (log-odds of ∓inf) has no place on the log-odds
axis, and a fixed clip would decide the fit. Its place is estimated: the likelihood of a free level
is greatest where the fitted probability equals the frequency of positives among the saturated
scores, whatever the other parameters are. So the parameters are fitted to the finite scores, and
the level is solved for. The frequency is (n₊ + 1)/(n + 2), the posterior mean under a uniform
prior, or a pure group would be sent to infinity. If that would place saturated scores inside the
range of the finite ones, they are put at the end of the range and the fit is repeated with them.

*Separable scores.* Without label smoothing the likelihood then has no finite optimum; Platt's
targets are used, and the caller is told.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_expit

from trueodds.numerics.log_odds import log_odds, log_pair
from trueodds.numerics.logistic_regression import LogisticFit, LogisticProblem, fit_logistic
from trueodds.validation import Floats, InputScale

__all__ = ["Design", "LogOddsFit", "fit_log_odds"]

Design = Literal["temperature", "logistic", "beta", "beta_half"]

LN2 = float(np.log(2.0))
SCAN = 65536
UNSEEN_LEVEL = float(np.log(1 / np.finfo(np.float64).eps - 1))
"""Where a probability of exactly 0 or 1 sits (−, +) when none was seen in fitting: p = 2.2e-16."""


@dataclass(frozen=True)
class LogOddsFit:
    """Parameters a, b, c, the range [lower, upper] of log-odds, and what happened on the way."""

    a: float
    b: float
    c: float
    lower: float
    upper: float
    converged: bool
    n_iter: int
    gradient: float
    separable: bool = False
    eliminated: bool = False

    def __call__(self, z: float) -> float:
        """Fitted log-odds at log-odds z."""
        if self.a == self.b:
            return self.a * z + self.c
        return float(self.a * log_expit(z) - self.b * log_expit(-z) + self.c)


@dataclass(frozen=True)
class _Rows:
    """What one solve works on: finite scores, their features, and the evidence."""

    score: Floats
    even: float  # the score whose log-odds are 0
    features: tuple[Floats, ...]
    n_neg: Floats
    n_pos: Floats
    weight: Floats | None  # None: one each


def _features(score: Floats, scale: InputScale, design: Design) -> tuple[Floats, ...]:
    if design in ("temperature", "logistic"):
        return (log_odds(score, scale),)
    first, second = log_pair(score, scale)
    if design == "beta_half":
        first += LN2
        second -= LN2
    return first, second


def fit_log_odds(
    score: Floats,
    n_neg: Floats,
    n_pos: Floats,
    *,
    scale: InputScale,
    design: Design,
    nonnegative: bool = False,
    unit_weight: bool = False,
) -> LogOddsFit:
    """Fit one of the designs.

    Parameters
    ----------
    score, n_neg, n_pos : ndarray of shape (n,)
        Evidence in any order, after label smoothing; scores may be saturated.
    scale : {"probability", "logit", "score"}
    design : {"temperature", "logistic", "beta", "beta_half"}
        a = b, c = 0; a = b; all free; c = (a − b)·ln 2.
    nonnegative : bool, default=False
        Whether a and b must not be negative. A coefficient that would be is eliminated (fixed at
        zero) and the others are fitted again; the likelihood is concave, so this is its
        constrained maximum.
    unit_weight : bool, default=False
        Whether every row weighs one, which saves time.
    """
    ends = np.array([score.min(), score.max()])
    low, high = log_odds(ends, scale).tolist()
    if np.isinf(low) or np.isinf(high):
        fit = _fit_saturated(log_odds(score, scale), n_neg, n_pos, design, nonnegative)
    else:
        features = _features(score, scale, design)
        weight = None if unit_weight else n_neg + n_pos
        rows = _Rows(score, 0.5 if scale == "probability" else 0.0, features, n_neg, n_pos, weight)
        fit = _fit_finite(rows, design, nonnegative)
    unseen = UNSEEN_LEVEL if scale == "probability" else np.inf
    lower = fit.lower if np.isfinite(fit.lower) else min(low, -unseen)
    upper = fit.upper if np.isfinite(fit.upper) else max(high, unseen)
    return replace(fit, lower=lower, upper=upper)


def _fit_saturated(
    z: Floats,
    n_neg: Floats,
    n_pos: Floats,
    design: Design,
    nonnegative: bool,
) -> LogOddsFit:
    finite = np.isfinite(z)
    ends = {-1: np.isneginf(z), 1: np.isposinf(z)}
    wanted = {
        side: _frequency_log_odds(float(n_pos[at].sum()), float(n_neg[at].sum()))
        for side, at in ends.items()
        if at.any()
    }
    if not finite.any():
        return _levels_alone(wanted, n_neg, n_pos)
    low, high = float(z[finite].min()), float(z[finite].max())
    edge = {-1: low, 1: high}
    pinned: set[int] = set()
    while True:
        used = finite.copy()
        placed = z.copy()
        for side in pinned:
            used |= ends[side]
            placed[ends[side]] = edge[side]
        at = placed[used]
        features = _features(at, "logit", design)
        weight = (n_neg + n_pos)[used]
        rows = _Rows(at, 0.0, features, n_neg[used], n_pos[used], weight)
        fit = _fit_finite(rows, design, nonnegative)
        level = {
            side: edge[side] if side in pinned else _level(fit, wanted[side], edge[side], side)
            for side in wanted
        }
        inside = {side for side in wanted if side not in pinned and level[side] == edge[side]}
        if not inside:
            return replace(fit, lower=level.get(-1, -np.inf), upper=level.get(1, np.inf))
        pinned |= inside


def _frequency_log_odds(positives: float, negatives: float) -> float:
    return float(np.log((positives + 1) / (negatives + 1)))


def _level(fit: LogOddsFit, wanted: float, edge: float, side: int) -> float:
    """Log-odds beyond ``edge`` at which the fit gives ``wanted``; ``edge`` itself if none does."""
    far = side * max(1.0, abs(edge))
    increases = (fit(edge + far) - fit(edge)) * side > 0
    beyond = (wanted - fit(edge)) * side > 0
    if increases != beyond or fit(edge + far) == fit(edge):
        return edge
    direction = side if beyond else -side
    while (fit(edge + far) - wanted) * direction < 0:
        far *= 2
        if abs(far) > 1e15:  # so flat that it never gets there
            return edge
    return float(brentq(lambda z: fit(z) - wanted, edge, edge + far, xtol=1e-12, rtol=1e-14))


def _levels_alone(wanted: dict[int, float], n_neg: Floats, n_pos: Floats) -> LogOddsFit:
    """Nothing but saturated scores: the identity between levels that carry the frequencies."""
    lower, upper = wanted.get(-1, -np.inf), wanted.get(1, np.inf)
    if lower > upper:  # inverted: the best increasing map is constant
        lower = upper = _frequency_log_odds(float(n_pos.sum()), float(n_neg.sum()))
    return LogOddsFit(1.0, 1.0, 0.0, lower, upper, converged=True, n_iter=0, gradient=0.0)


def _fit_finite(rows: _Rows, design: Design, nonnegative: bool) -> LogOddsFit:
    threshold = rows.even if design in ("temperature", "beta_half") else None
    separable = _separable(rows, threshold)
    if separable:
        n_pos, n_neg = float(rows.n_pos.sum()), float(rows.n_neg.sum())
        low, high = 1 / (n_neg + 2), (n_pos + 1) / (n_pos + 2)
        rows = replace(
            rows,
            n_neg=rows.n_neg * (1 - low) + rows.n_pos * (1 - high),
            n_pos=rows.n_pos * high + rows.n_neg * low,
        )
    return replace(_fit_design(rows, design, nonnegative), separable=separable)


def _fit_design(rows: _Rows, design: Design, nonnegative: bool) -> LogOddsFit:
    intercept = design in ("logistic", "beta")
    if len(rows.features) == 1:
        fit = fit_logistic(list(rows.features), rows.n_pos, rows.weight, intercept=intercept)
        slope = float(fit.coef[0])
        if not intercept and not rows.features[0].any():
            slope = 1.0  # log-odds of 0 say nothing about a temperature: leave it alone
        if nonnegative and slope < 0:
            return replace(_constant(rows, intercept), eliminated=True)
        return _as_log_odds_fit(fit, slope, slope, fit.intercept)
    shift = LN2 if design == "beta_half" else 0.0

    def solve(keep: tuple[bool, bool]) -> tuple[LogOddsFit, list[Floats]]:
        features = [f for f, kept in zip(rows.features, keep, strict=True) if kept]
        fit = fit_logistic(features, rows.n_pos, rows.weight, intercept=intercept)
        coef = iter(fit.coef.tolist())
        a, b = (float(next(coef)) if kept else 0.0 for kept in keep)
        return _as_log_odds_fit(fit, a, b, fit.intercept + shift * (a - b)), features

    free, _ = solve((True, True))
    if not nonnegative or (free.a >= 0 and free.b >= 0):
        return free
    # Along the segment to an unconstrained maximum with one negative coefficient the likelihood
    # rises, so the constrained maximum has that coefficient at 0. With two, try both.
    candidates = []
    for keep, coef in (((False, True), free.a), ((True, False), free.b)):
        if coef < 0:
            reduced, features = solve(keep)
            if min(reduced.a, reduced.b) >= 0:
                problem = LogisticProblem(features, rows.n_pos, rows.weight, intercept=intercept)
                theta = problem.from_original(
                    np.array([reduced.a + reduced.b]), reduced.c - shift * (reduced.a - reduced.b)
                )
                candidates.append((problem.loss(theta), reduced))
    if not candidates:
        return replace(_constant(rows, intercept), eliminated=True)
    return replace(min(candidates, key=lambda pair: pair[0])[1], eliminated=True)


def _as_log_odds_fit(fit: LogisticFit, a: float, b: float, c: float) -> LogOddsFit:
    return LogOddsFit(
        a, b, c, -np.inf, np.inf, fit.converged, n_iter=fit.n_iter, gradient=fit.gradient
    )


def _constant(rows: _Rows, intercept: bool) -> LogOddsFit:
    """A = b = 0: the frequency of positives everywhere (one half where there is no constant)."""
    c = float(np.log(rows.n_pos.sum()) - np.log(rows.n_neg.sum())) if intercept else 0.0
    return LogOddsFit(0.0, 0.0, c, -np.inf, np.inf, converged=True, n_iter=0, gradient=0.0)


def _separable(rows: _Rows, threshold: float | None) -> bool:
    """Whether a threshold (any, or the given one) parts the classes, either way round.

    Touching at one score counts: the slope would still be infinite. Scans until overlap is shown,
    which on ordinary data is at once.
    """
    lowest = {"neg": np.inf, "pos": np.inf}
    highest = {"neg": -np.inf, "pos": -np.inf}
    for begin in range(0, len(rows.score), SCAN):
        part = slice(begin, begin + SCAN)
        for name, count in (("neg", rows.n_neg[part]), ("pos", rows.n_pos[part])):
            present = rows.score[part][count > 0]
            if len(present):
                lowest[name] = min(lowest[name], float(present.min()))
                highest[name] = max(highest[name], float(present.max()))
        if threshold is not None:
            upright = highest["neg"] <= threshold <= lowest["pos"]
            inverted = highest["pos"] <= threshold <= lowest["neg"]
        else:
            upright = highest["neg"] <= lowest["pos"]
            inverted = highest["pos"] <= lowest["neg"]
        if not (upright or inverted):
            return False
    one_class = np.isinf(list(lowest.values())).any()
    one_score = max(highest.values()) == min(lowest.values())
    return bool(one_class or not one_score)
