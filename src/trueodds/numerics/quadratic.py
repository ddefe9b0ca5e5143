"""Fit η = a·z² + b·z + c to log-odds z.

Saturated scores (log-odds of −inf or +inf) have no place on the axis. As in
:mod:`trueodds.numerics.saturated` the finite scores are fitted, and the saturated ones stand
beyond them where the curve reaches their frequency, (n₊ + 1)/(n + 2). If it does not, they stand
at the last finite score and take part in the fit. Beyond all of them the curve is not continued:
the square makes it turn sharply where no instance was seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from trueodds.inputs import Floats, InputScale
from trueodds.numerics.compression import compress
from trueodds.numerics.label_targets import platt_targets
from trueodds.numerics.log_odds import LogOddsRows, log_odds
from trueodds.numerics.logistic_regression import fit_logistic
from trueodds.numerics.saturated import COMPRESS_FROM, BinaryEvidence

__all__ = [
    "QuadraticFit",
    "fit_curve",
    "fit_quadratic",
]

SQUARES = (1e-150, 1e150)
"""Sizes of margins whose squares, and one over these, are ordinary numbers."""


@dataclass(frozen=True)
class QuadraticFit:
    """The parameters, the range of log-odds in which they hold, and what happened on the way."""

    a: float
    b: float
    c: float
    lower: float = 0.0
    upper: float = 0.0
    converged: bool = True
    n_iter: int = 0
    gradient: float = 0.0
    separable: bool = False
    mean_slope: float = 1.0

    @property
    def steepest(self) -> float:
        """The largest slope, up or down, in the range."""
        return max(abs(2 * self.a * z + self.b) for z in (self.lower, self.upper))


FiniteFit = Callable[[LogOddsRows], QuadraticFit]
"""Fits a curve to rows none of which is saturated."""


def fit_quadratic(evidence: BinaryEvidence, *, scale: InputScale) -> QuadraticFit:
    """Maximize the likelihood.

    Parameters
    ----------
    evidence : Rows
        Scores in any order, some of them perhaps saturated.
    scale : {"probability", "logit", "score"}

    Returns
    -------
    QuadraticFit
        With a = 0 if there are fewer than three distinct finite scores.
    """
    return fit_curve(evidence, scale, _fit_finite)


def fit_curve(evidence: BinaryEvidence, scale: InputScale, fit_finite: FiniteFit) -> QuadraticFit:
    """Fit by a function of finite rows: many are compressed, saturated ones placed as above."""
    if sum(map(np.sum, evidence.counts())) >= COMPRESS_FROM:
        summary = compress(evidence.scores, scale, evidence.counts)
        fit = _fit(summary.with_targets(*evidence.targets), fit_finite)
        if summary.serves(fit.steepest):
            return fit
    rows = LogOddsRows(log_odds(evidence.scores, scale), *evidence.counts())
    return _fit(rows.with_targets(*evidence.targets), fit_finite)


def _fit(rows: LogOddsRows, fit_finite: FiniteFit) -> QuadraticFit:
    """Fit to rows some of which may be saturated."""
    saturated = {side: rows.z == side * np.inf for side in (-1, 1)}
    ends = {side: _pooled(rows.take(at)) for side, at in saturated.items() if at.any()}
    finite = LogOddsRows(*(x[np.isfinite(rows.z)] for x in (rows.z, rows.n_neg, rows.n_pos)))
    if not len(finite.z):
        return _levels_alone(ends)
    edge = {-1: float(finite.z.min()), 1: float(finite.z.max())}
    at_edge: list[int] = []
    while True:
        joined = [replace(ends[side], z=np.array([edge[side]])) for side in at_edge]
        fit = fit_finite(_together([finite, *joined]))
        level = {
            side: _level_beyond(fit, _wanted(end), edge[side], side)
            for side, end in ends.items()
            if side not in at_edge
        }
        unreached = [side for side, z in level.items() if z is None]
        if not unreached:
            place = {**edge, **{side: z for side, z in level.items() if z is not None}}
            return replace(fit, lower=place[-1], upper=place[1])
        at_edge += unreached


def _fit_finite(rows: LogOddsRows) -> QuadraticFit:
    separable = _separable(rows)
    if separable:
        targets = platt_targets(float(rows.n_neg.sum()), float(rows.n_pos.sum()))
        rows = rows.with_targets(*targets)
    size = float(np.abs(rows.z).max()) or 1.0
    u = rows.z / size
    squared = SQUARES[0] < size < SQUARES[1] and bool(_among(u, u).any())
    features = [u, u * u] if squared else [u]
    fit = fit_logistic(features, rows.n_pos, rows.weight)
    b, a = float(fit.coef[0]), float(fit.coef[1]) if squared else 0.0
    return QuadraticFit(
        a / size / size,
        b / size,
        fit.intercept,
        converged=fit.converged,
        n_iter=fit.n_iter,
        gradient=fit.gradient,
        separable=separable,
        mean_slope=2 * a * float(np.average(u, weights=rows.weight)) + b,
    )


def _separable(rows: LogOddsRows) -> bool:
    """Whether a parabola parts the classes: no instance of one strictly among the other's.

    Touching counts: the slope would still be infinite. With two distinct scores a line must do.
    """
    neg, pos = rows.z[rows.n_neg > 0], rows.z[rows.n_pos > 0]
    if not len(neg) or not len(pos):
        return True
    if _among(rows.z, rows.z).any():
        return not _among(neg, pos).any() or not _among(pos, neg).any()
    parted = neg.max() <= pos.min() or pos.max() <= neg.min()
    return bool(parted and rows.z.min() < rows.z.max())


def _among(some: Floats, others: Floats) -> Floats:
    return np.asarray((some > others.min()) & (some < others.max()))


def _level_beyond(fit: QuadraticFit, wanted: float, edge: float, side: int) -> float | None:
    """The nearest z beyond ``edge`` at which the fit gives ``wanted``; None if there is none."""
    size = abs(edge) or 1.0
    a, b, c = fit.a * size * size, fit.b * size, fit.c - wanted
    if a == 0:
        roots = [-c / b] if b != 0 else []
    else:
        inner = b * b - 4 * a * c
        # The sum of two numbers of one sign loses no digits; the other root follows from it.
        q = -(b + np.copysign(np.sqrt(max(inner, 0.0)), b)) / 2
        roots = [] if inner < 0 else [q / a, c / q if q != 0 else 0.0]
    beyond = [root * size for root in roots if (root * size - edge) * side >= 0]
    beyond = [place for place in beyond if np.isfinite(place)]
    return min(beyond, key=lambda place: abs(place - edge)) if beyond else None


def _wanted(end: LogOddsRows) -> float:
    return float(np.log((end.n_pos.sum() + 1) / (end.n_neg.sum() + 1)))


def _levels_alone(ends: dict[int, LogOddsRows]) -> QuadraticFit:
    """Nothing but saturated scores: the identity between levels that carry the frequencies."""
    levels = {side: _wanted(end) for side, end in ends.items()}
    both = _wanted(_together(list(ends.values())))
    lower, upper = levels.get(-1, both), levels.get(1, both)
    if lower > upper:  # inverted: the best increasing map is constant
        lower = upper = both
    return QuadraticFit(0.0, 1.0, 0.0, lower, upper)


def _pooled(rows: LogOddsRows) -> LogOddsRows:
    return LogOddsRows(rows.z[:1], rows.n_neg.sum(keepdims=True), rows.n_pos.sum(keepdims=True))


def _together(parts: list[LogOddsRows]) -> LogOddsRows:
    return LogOddsRows(
        np.concatenate([part.z for part in parts]),
        np.concatenate([part.n_neg for part in parts]),
        np.concatenate([part.n_pos for part in parts]),
    )
