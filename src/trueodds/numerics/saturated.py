"""Fit a curve of the log-odds when some scores are exactly 0 or 1.

A probability of exactly 0 or 1 (log-odds of ∓inf) has no place on the log-odds axis, and a fixed
clip would decide the fit. Its level is estimated, with all that lies beyond brought to the same
level, so that a monotone map stays monotone.

*Beyond the finite scores.* The likelihood of a level out there is greatest where the fitted
probability equals the frequency of positives among the saturated scores, whatever the other
parameters are. So these are fitted to the finite scores, and the level is solved for. The
frequency is (n₊ + 1)/(n + 2), the posterior mean under a uniform prior, or a pure group would be
sent to infinity.

*Inside their range*, if the curve does not reach the frequency beyond it. Either the level of
highest likelihood is searched for (:mod:`trueodds.numerics.level_search`): the finite scores beyond
it are clipped to it, and the curve is fitted again. Or saturated scores are placed at the last
finite score and take part in the fit.

All rules for probabilities of exactly 0 and 1:

==============================  ===================================================================
method                          where 0 and 1 are placed
==============================  ===================================================================
temperature, logistic, beta     a level beyond, or searched for inside
quadratic, robust logistic      a level beyond, or at the last finite score
unseen in fitting               at 2.2e-16 and 1 − 2.2e-16 (``UNSEEN_LEVEL``); quadratic: at the
                                last score
temperature, vector, matrix,    the level of a probability of 0 below the largest of its row, by
Dirichlet scaling of classes    the same two rules (:mod:`trueodds.numerics.softmax.floor`)
spline                          a tenth of the range beyond the others: a curve that is free to bend
                                needs no level, and its penalty needs a distance
kernel                          at 1e-10 and 1 − 1e-10: the beta kernel is nearly constant there
Bayesian smooth (default)       ln 2 beyond the farthest of the other log-odds, on both sides alike;
                                some of the models set them apart from the curve
Bayesian structured (default)   floor δ, a parameter with a prior
                                (:mod:`trueodds.numerics.structured_softmax.base`)
structured vector and matrix    at the least normal float32, as the authors' program has it
tree                            at 1e-5 and 0.99999, as the paper has it
==============================  ===================================================================

Methods that use only the order of scores (isotonic regression, bins) need no rule.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np

from trueodds.inputs import Floats, InputScale
from trueodds.numerics.compression import compress, finite_range
from trueodds.numerics.log_odds import LogOddsRows, log_odds
from trueodds.numerics.separable import Separator, is_separable, with_finite_optimum

__all__ = [
    "UNSEEN_LEVEL",
    "BinaryRows",
    "CurveFit",
    "Side",
    "fit_curve",
    "fit_saturated",
    "fit_summary",
]

Side = int  # −1: the lower end, +1: the upper end
Levels = dict[Side, float]
Search = Callable[[LogOddsRows, list[Side]], Levels]
"""Finds levels of saturated rows among the finite ones, by maximum likelihood."""

UNSEEN_LEVEL = float(np.log(1 / np.finfo(np.float64).eps - 1))
"""Where a probability of exactly 0 or 1 sits (−, +) when none was seen in fitting: p = 2.2e-16."""
COMPRESS_FROM = 65536
FLATTEST = 1e15  # log-odds within which a curve must reach a frequency
SLOPE_POINTS = 257  # at which the slope of a curve is taken
SEARCH_CELLS = 256  # rows that a level is searched on


class BinaryRows(Protocol):
    """The part of :class:`trueodds.rows.Rows` that two-class fits read.

    Many rows are read in pieces, so that nothing of their size is allocated.
    """

    @property
    def scores(self) -> Floats:
        """In any order; may be saturated."""

    @property
    def total(self) -> float:
        """Weight of everything."""

    @property
    def targets(self) -> tuple[float, float]:
        """What a negative and a positive count as."""

    def counts(self, rows: slice = ...) -> tuple[Floats, Floats]:
        """Weights of negatives and of positives in some of the rows."""


@dataclass(frozen=True, kw_only=True)
class CurveFit(ABC):
    """A curve of the log-odds, the range in which it holds, and how it was found.

    Subclasses add their parameters and write :meth:`at`. Outside of [lower, upper] the map is
    constant. ``gradient`` is relative; only the sign of ``mean_slope`` matters: whether the
    curve rises.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from trueodds.calibrators import CurveFit
    >>> @dataclass(frozen=True)
    ... class Doubled(CurveFit):
    ...     def at(self, z):
    ...         return 2 * z
    >>> Doubled(upper=3.0)(1.0)
    2.0
    """

    lower: float = -np.inf
    upper: float = np.inf
    converged: bool = True
    n_iter: int = 0
    gradient: float = 0.0
    separable: bool = False
    mean_slope: float = 1.0

    @abstractmethod
    def at(self, z: Floats) -> Floats:
        """Fitted log-odds at log-odds z, wherever the range ends."""

    def __call__(self, z: float) -> float:
        """Fitted log-odds at one place."""
        return float(self.at(np.float64(z)))  # type: ignore[arg-type]

    def steepest(self, low: float, high: float) -> float:
        """The largest slope, up or down, in a range."""
        if not low < high:
            return 0.0
        z = np.linspace(low, high, SLOPE_POINTS)
        return float(np.abs(np.diff(self.at(z)) / np.diff(z)).max())

    def level_beyond(self, wanted: float, edge: float, side: Side) -> float | None:
        """Log-odds beyond ``edge`` at which the curve is ``wanted``; None if it never is.

        For a monotone curve.
        """
        from scipy.optimize import brentq  # slow to import, and rarely needed

        if abs(self(edge) - wanted) <= 1e-9 * (1 + abs(wanted)):
            return edge  # and rounding must not send it to either side
        far = side * max(1.0, abs(edge))
        increases = (self(edge + far) - self(edge)) * side > 0
        beyond = (wanted - self(edge)) * side > 0
        if increases != beyond or self(edge + far) == self(edge):
            return None
        direction = side if beyond else -side
        while (self(edge + far) - wanted) * direction < 0:
            far *= 2
            if abs(far) > FLATTEST:  # so flat that it never gets there
                return None
        return float(brentq(lambda z: self(z) - wanted, edge, edge + far, xtol=1e-12, rtol=1e-14))


F = TypeVar("F", bound=CurveFit)


def fit_curve(
    rows: BinaryRows,
    scale: InputScale,
    fit: Callable[[LogOddsRows], F],
    *,
    separable_by: Separator | None = "threshold",
    identity: F | None = None,
    continued: bool = True,
) -> F:
    """Fit by a function of ordinary rows: finite log-odds, and classes that are not separable.

    Many rows are compressed, saturated ones placed beyond the others or at the last of them, and
    separable classes get Platt's targets.

    Parameters
    ----------
    rows : Rows
        Scores in any order, some of them perhaps saturated.
    scale : {"probability", "logit", "raw"}
    fit : callable
        Rows to a :class:`CurveFit`.
    separable_by : {"threshold", "zero", "parabola", None}, default="threshold"
        Which classes are separable; None if ``fit`` sees to it.
    identity : CurveFit, default=None
        The curve for rows that are all saturated. By default it is fitted to the log-odds of
        their frequencies.
    continued : bool, default=True
        Whether the curve goes on beyond the scores seen in fitting.

    Examples
    --------
    A shift of the log-odds, which is the difference of the logits of the two means:

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from trueodds.calibrators import CurveFit, fit_curve
    >>> from trueodds.rows import Rows
    >>> @dataclass(frozen=True)
    ... class Shift(CurveFit):
    ...     by: float
    ...     def at(self, z):
    ...         return z + self.by
    >>> def fit(rows):
    ...     return Shift(float(np.log(rows.n_pos.sum() / rows.n_neg.sum()) - rows.z.mean()))
    >>> rows = Rows.read([0.5, 0.5, 0.5, 0.5], [0, 0, 0, 1], scale="probability")
    >>> round(fit_curve(rows, "probability", fit, separable_by=None).by, 4)
    -1.0986
    """

    def fit_finite(finite: LogOddsRows) -> F:
        if separable_by is None:
            return fit(finite)
        finite, separable = with_finite_optimum(finite, separable_by)
        found = fit(finite)
        return replace(found, separable=True) if separable else found

    found = fit_summary(
        rows,
        scale,
        lambda some: fit_saturated(some, fit_finite, identity=identity, continued=continued),
    )
    return open_to_unseen(found, rows, scale) if continued else found


def fit_summary(rows: BinaryRows, scale: InputScale, fit: Callable[[LogOddsRows], F]) -> F:
    """Fit to a summary of many rows, or to the rows if they are few or the curve too steep."""
    score = rows.scores
    # By weight also: a table of counts must be fitted as its rows would be.
    if len(score) >= COMPRESS_FROM or rows.total >= COMPRESS_FROM:
        summary = compress(score, scale, rows.counts)
        found = fit(summary.with_targets(*rows.targets))
        low, high = finite_range(score, scale)
        low = found.lower if np.isfinite(found.lower) else low
        high = found.upper if np.isfinite(found.upper) else high
        if summary.is_exact_for(found.steepest(low, high)):
            return found
    whole = LogOddsRows(log_odds(score, scale), *rows.counts())
    return fit(whole.with_targets(*rows.targets))


def open_to_unseen(fit: F, rows: BinaryRows, scale: InputScale) -> F:
    """Continue the curve where no score was saturated; 0 and 1 are then at the unseen level."""
    low, high = finite_range(rows.scores, scale)
    unseen = UNSEEN_LEVEL if scale == "probability" else np.inf
    lower = fit.lower if np.isfinite(fit.lower) else min(low, -unseen)
    upper = fit.upper if np.isfinite(fit.upper) else max(high, unseen)
    return replace(fit, lower=lower, upper=upper)


def fit_saturated(
    rows: LogOddsRows,
    fit: Callable[[LogOddsRows], F],
    *,
    search: Search | None = None,
    separable_by: Separator = "threshold",
    identity: F | None = None,
    continued: bool = True,
) -> F:
    """Fit to rows some of which may be saturated, placing them by the rules of this module.

    ``search`` finds levels inside; without it they are at the last finite score. The range
    stays open where no row is saturated, if ``continued``.
    """
    ends = {side: rows.take(rows.z == side * np.inf) for side in (-1, 1)}
    ends = {side: end for side, end in ends.items() if len(end.z)}
    if not ends and continued:
        return fit(rows)
    wanted = {side: _frequency_log_odds(end) for side, end in ends.items()}
    finite = rows.take(np.isfinite(rows.z)) if ends else rows
    if not len(finite.z):
        return _levels_alone(rows, wanted, fit, identity)
    edge = {-1: float(finite.z.min()), 1: float(finite.z.max())}
    inside: Levels = {}
    while True:
        used = np.isfinite(rows.z)
        for side in inside:
            used |= rows.z == side * np.inf
        found = fit(_clipped(rows.take(used), inside))
        beyond = {
            side: found.level_beyond(wanted[side], edge[side], side)
            for side in wanted
            if side not in inside
        }
        unreached = [side for side, level in beyond.items() if level is None]
        if not unreached:
            break
        if search is None:
            inside |= {side: edge[side] for side in unreached}
        else:
            sides = [*inside, *unreached]
            inside = search(_coarse(finite, [ends[side] for side in sides]), sides)
    if inside and search is not None and found.separable:
        # What a level inside has brought together may part the classes where scores do not.
        found = replace(found, separable=is_separable(rows, separable_by))
    open_ends = {-1: -np.inf, 1: np.inf} if continued else edge
    levels = {**open_ends, **inside, **{side: z for side, z in beyond.items() if z is not None}}
    return replace(found, lower=levels[-1], upper=levels[1])


def _coarse(finite: LogOddsRows, ends: list[LogOddsRows]) -> LogOddsRows:
    """A few hundred rows that stand for the finite ones, and one for each of the ends."""
    order = np.argsort(finite.z)
    z, n_neg, n_pos = finite.z[order], finite.n_neg[order], finite.n_pos[order]
    # By weight and never parting equal scores: counts must give what their rows give.
    starts = np.flatnonzero(np.concatenate([[True], z[1:] > z[:-1]]))
    z, n_neg, n_pos = z[starts], *(np.add.reduceat(n, starts) for n in (n_neg, n_pos))
    weight = n_neg + n_pos
    share = np.floor((np.cumsum(weight) - weight / 2) / weight.sum() * SEARCH_CELLS)
    starts = np.flatnonzero(np.concatenate([[True], share[1:] > share[:-1]]))
    neg, pos = np.add.reduceat(n_neg, starts), np.add.reduceat(n_pos, starts)
    mean = np.add.reduceat(z * weight, starts) / (neg + pos)
    alone = np.diff(np.append(starts, len(z))) == 1
    # To the last digit: a level that only just misses a score would part what is tied there.
    mean = np.where(alone, z[starts], mean)
    return LogOddsRows(
        np.concatenate([mean, *(end.z[:1] for end in ends)]),
        np.concatenate([neg, *([end.n_neg.sum()] for end in ends)]),
        np.concatenate([pos, *([end.n_pos.sum()] for end in ends)]),
    )


def _clipped(rows: LogOddsRows, levels: Levels) -> LogOddsRows:
    if not levels:
        return rows
    return replace(rows, z=np.clip(rows.z, levels.get(-1, -np.inf), levels.get(1, np.inf)))


def _frequency_log_odds(rows: LogOddsRows) -> float:
    return float(np.log((rows.n_pos.sum() + 1) / (rows.n_neg.sum() + 1)))


def _levels_alone(
    rows: LogOddsRows, wanted: Levels, fit: Callable[[LogOddsRows], F], identity: F | None
) -> F:
    """Nothing but saturated scores: a curve between levels that carry the frequencies."""
    both = _frequency_log_odds(rows)
    lower, upper = wanted.get(-1, both), wanted.get(1, both)
    if lower > upper:  # inverted: the best increasing map is constant
        lower = upper = both
    if identity is None:
        identity = fit(replace(rows, z=np.where(rows.z < 0, lower, upper)))
    return replace(identity, lower=lower, upper=upper)
