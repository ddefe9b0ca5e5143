"""Fit η = a·ln p − b·ln(1−p) + c to finite scores: logistic, temperature and beta calibration.

Where the scores separate the classes the likelihood has no finite optimum; Platt's targets are
used then, and the result says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from trueodds.inputs import Floats
from trueodds.numerics.label_targets import platt_targets
from trueodds.numerics.log_odds.axis import log_pair, log_sigmoid
from trueodds.numerics.log_odds.logistic_regression import LogisticFit, fit_logistic
from trueodds.numerics.log_odds.rows import LogOddsRows

__all__ = [
    "LN2",
    "Design",
    "LogOddsFit",
    "constant_fit",
    "features_of",
    "fit_finite",
    "is_separable",
]

Design = Literal["temperature", "logistic", "beta", "beta_half"]

LN2 = float(np.log(2.0))
LEAST_FEATURE = 1e-305


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
        """Fitted log-odds at log-odds z, wherever the range ends."""
        return float(self.at(np.float64(z)))

    def at(self, z: Floats | np.float64) -> Floats:
        """Fitted log-odds at many log-odds."""
        if self.a == self.b:
            return np.asarray(self.a * z + self.c)
        return np.asarray(self.a * log_sigmoid(z) - self.b * log_sigmoid(-z) + self.c)


def fit_finite(rows: LogOddsRows, design: Design, *, nonnegative: bool) -> LogOddsFit:
    """Fit a design to finite log-odds; the range is left open.

    Parameters are those of :func:`trueodds.numerics.log_odds.fit.fit_log_odds`.
    """
    separable = is_separable(rows, design)
    if separable:
        targets = platt_targets(float(rows.n_neg.sum()), float(rows.n_pos.sum()))
        rows = rows.with_targets(*targets)
    return replace(_fit_design(rows, design, nonnegative), separable=separable)


def features_of(z: Floats, design: Design) -> tuple[Floats, ...]:
    """What the slopes of a design multiply."""
    if design in ("temperature", "logistic"):
        return (z,)
    first, second = log_pair(z, "logit")
    second[second < LEAST_FEATURE] = 0.0  # a slope that it could be seen by is no float64
    if design == "beta_half":
        first += LN2
        second -= LN2
    return first, second


def _fit_design(rows: LogOddsRows, design: Design, nonnegative: bool) -> LogOddsFit:
    intercept = design in ("logistic", "beta")
    features, weight = features_of(rows.z, design), rows.weight
    if len(features) == 1:
        fit = fit_logistic(list(features), rows.n_pos, weight, intercept=intercept)
        slope = float(fit.coef[0])
        if not intercept and not features[0].any():
            slope = 1.0  # log-odds of 0 say nothing about a temperature: leave it alone
        if nonnegative and slope < 0:
            return replace(constant_fit(rows, intercept), eliminated=True)
        return _as_log_odds_fit(fit, slope, slope, fit.intercept)
    shift = LN2 if design == "beta_half" else 0.0

    def solve(keep: tuple[bool, bool]) -> tuple[LogOddsFit, float]:
        chosen = [f for f, kept in zip(features, keep, strict=True) if kept]
        fit = fit_logistic(chosen, rows.n_pos, weight, intercept=intercept)
        coef = iter(fit.coef.tolist())
        a, b = (float(next(coef)) if kept else 0.0 for kept in keep)
        return _as_log_odds_fit(fit, a, b, fit.intercept + shift * (a - b)), fit.loss

    free, _ = solve((True, True))
    if not nonnegative or (free.a >= 0 and free.b >= 0):
        return free
    # Along the segment to an unconstrained maximum with one negative coefficient the likelihood
    # rises, so the constrained maximum has that coefficient at 0. With two, try both.
    candidates = []
    for keep, coef in (((False, True), free.a), ((True, False), free.b)):
        if coef < 0:
            reduced, loss = solve(keep)
            if min(reduced.a, reduced.b) >= 0:
                candidates.append((loss, reduced))
    if not candidates:
        return replace(constant_fit(rows, intercept), eliminated=True)
    return replace(min(candidates, key=lambda pair: pair[0])[1], eliminated=True)


def _as_log_odds_fit(fit: LogisticFit, a: float, b: float, c: float) -> LogOddsFit:
    return LogOddsFit(
        a, b, c, -np.inf, np.inf, fit.converged, n_iter=fit.n_iter, gradient=fit.gradient
    )


def constant_fit(rows: LogOddsRows, intercept: bool) -> LogOddsFit:
    """A = b = 0: the frequency of positives everywhere (one half where there is no constant)."""
    c = float(np.log(rows.n_pos.sum()) - np.log(rows.n_neg.sum())) if intercept else 0.0
    return LogOddsFit(0.0, 0.0, c, -np.inf, np.inf, converged=True, n_iter=0, gradient=0.0)


def is_separable(rows: LogOddsRows, design: Design) -> bool:
    """Whether a threshold (any; 0 for a design without a constant) parts the classes, either way.

    Touching at one score counts: the slope would still be infinite.
    """
    neg, pos = rows.z[rows.n_neg > 0], rows.z[rows.n_pos > 0]
    if len(neg) == 0 or len(pos) == 0:
        return True
    if design in ("temperature", "beta_half"):
        parted = neg.max() <= 0 <= pos.min() or pos.max() <= 0 <= neg.min()
    else:
        parted = neg.max() <= pos.min() or pos.max() <= neg.min()
    return bool(parted and rows.z.min() < rows.z.max())
