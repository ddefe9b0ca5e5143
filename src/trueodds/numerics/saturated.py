"""Fit a map on the log-odds axis when some scores have no place there.

A probability of exactly 0 or 1 (log-odds of ∓inf) has no place on the log-odds axis, and a fixed
clip would decide the fit. Its level is estimated, with all that lies beyond brought to the same
level, so that the map stays monotone.

*Beyond the finite scores.* The likelihood of a level out there is greatest where the fitted
probability equals the frequency of positives among the saturated scores, whatever the other
parameters are. So these are fitted to the finite scores, and the level is solved for. The
frequency is (n₊ + 1)/(n + 2), the posterior mean under a uniform prior, or a pure group would be
sent to infinity.

*Inside their range*, if it would have to be there: the level is searched for that, with the finite
scores beyond it clipped to it and the parameters fitted anew, gives the highest likelihood.

With ``loss="brier"`` the parameters minimize the squared error instead, which is least at the same
frequency; a level inside the range is still the likelihood's.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from trueodds.inputs import Floats, InputScale
from trueodds.numerics.compression import compress, finite_range
from trueodds.numerics.level_search import Side, search_levels
from trueodds.numerics.log_odds import LogOddsRows, log_odds
from trueodds.numerics.logistic_regression import Design, LogOddsFit, fit_finite, is_separable

__all__ = ["UNSEEN_LEVEL", "Design", "LogOddsFit", "Loss", "fit_log_odds", "placed_log_odds"]

Loss = Literal["log", "brier"]

UNSEEN_LEVEL = float(np.log(1 / np.finfo(np.float64).eps - 1))
"""Where a probability of exactly 0 or 1 sits (−, +) when none was seen in fitting: p = 2.2e-16."""
COMPRESS_FROM = 65536
SEARCH_CELLS = 256  # rows that a level is searched on


class BinaryEvidence(Protocol):
    """What is read of :class:`trueodds.rows.Rows`.

    Many rows are read in pieces, so that nothing of their size is allocated.
    """

    @property
    def scores(self) -> Floats:
        """In any order; may be saturated."""

    @property
    def targets(self) -> tuple[float, float]:
        """What a negative and a positive count as."""

    def counts(self, rows: slice = ...) -> tuple[Floats, Floats]:
        """The weight of negatives and of positives in some of the rows."""


class _SaturatedRows(LogOddsRows):
    """Rows some of which may be infinite."""

    @cached_property
    def saturated(self) -> dict[Side, npt.NDArray[np.bool_]]:
        """Which rows are infinite, for the sides where any is."""
        ends = {-1: float(self.z.min()), 1: float(self.z.max())}
        return {side: self.z == end for side, end in ends.items() if np.isinf(end)}

    @cached_property
    def finite(self) -> _SaturatedRows:
        return self.clipped({}) if self.saturated else self

    @cached_property
    def edge(self) -> dict[Side, float]:
        """The lowest and the highest finite log-odds."""
        return {-1: float(self.finite.z.min()), 1: float(self.finite.z.max())}

    def clipped(self, level: dict[Side, float]) -> _SaturatedRows:
        """Finite rows, and the saturated ones of the given sides, brought within the levels."""
        used = np.isfinite(self.z)
        for side in level:
            used |= self.saturated[side]
        part = self.take(used)
        lower, upper = level.get(-1, -np.inf), level.get(1, np.inf)
        return replace(part, z=np.clip(part.z, lower, upper))

    def ends_of(self, whole: _SaturatedRows, sides: list[Side]) -> _SaturatedRows:
        """These finite rows with the saturated ones of ``whole``, one row for each side."""
        parts = [self, *(whole.take(whole.saturated[side]).pooled() for side in sides)]
        return _SaturatedRows(
            np.concatenate([part.z for part in parts]),
            np.concatenate([part.n_neg for part in parts]),
            np.concatenate([part.n_pos for part in parts]),
        )

    def pooled(self) -> _SaturatedRows:
        """Rows of one score as one row."""
        return _SaturatedRows(
            self.z[:1], self.n_neg.sum(keepdims=True), self.n_pos.sum(keepdims=True)
        )

    def coarse(self, sides: list[Side]) -> _SaturatedRows:
        """A few hundred rows that stand for the finite ones; one for each of the sides."""
        finite = self.finite
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
        return _SaturatedRows(mean, neg, pos).ends_of(self, sides)

    def fit(self, design: Design, nonnegative: bool, loss: Loss) -> LogOddsFit:
        if loss == "brier":
            from trueodds.numerics.logistic_regression import fit_finite_brier

            return fit_finite_brier(self, design, nonnegative=nonnegative)
        return fit_finite(self, design, nonnegative=nonnegative)


def fit_log_odds(
    evidence: BinaryEvidence,
    *,
    scale: InputScale,
    design: Design,
    nonnegative: bool = False,
    loss: Loss = "log",
) -> LogOddsFit:
    """Fit one of the designs.

    Parameters
    ----------
    evidence : Rows
        Scores in any order, some of them perhaps saturated.
    scale : {"probability", "logit", "score"}
    design : {"temperature", "logistic", "beta", "beta_half"}
        a = b, c = 0; a = b; all free; c = (a − b)·ln 2.
    nonnegative : bool, default=False
        Whether a and b must not be negative. A coefficient that would be is eliminated (fixed at
        zero) and the others are fitted again; the likelihood is concave, so this is its
        constrained maximum.
    loss : {"log", "brier"}, default="log"
        What is minimized: the log-loss, which is maximum likelihood, or the squared error, of which
        the fit is never worse than that of maximum likelihood.
    """
    fit = None
    score = evidence.scores
    # By weight also: a table of counts must take the way that its rows would take.
    if len(score) >= COMPRESS_FROM or sum(map(np.sum, evidence.counts())) >= COMPRESS_FROM:
        summary = compress(score, scale, evidence.counts)
        rows = _SaturatedRows(summary.z, summary.n_neg, summary.n_pos)
        rough = _fit(rows.with_targets(*evidence.targets), design, nonnegative, loss)
        fit = rough if summary.serves(max(abs(rough.a), abs(rough.b))) else None
    if fit is None:
        rows = _SaturatedRows(log_odds(score, scale), *evidence.counts())
        fit = _fit(rows.with_targets(*evidence.targets), design, nonnegative, loss)
    low, high = finite_range(score, scale)
    unseen = UNSEEN_LEVEL if scale == "probability" else np.inf
    lower = fit.lower if np.isfinite(fit.lower) else min(low, -unseen)
    upper = fit.upper if np.isfinite(fit.upper) else max(high, unseen)
    return replace(fit, lower=lower, upper=upper)


def placed_log_odds(evidence: BinaryEvidence, scale: InputScale = "probability") -> Floats:
    """Log-odds of all rows, those of exactly 0 and 1 where a logistic fit places them."""
    z = log_odds(evidence.scores, scale)
    if np.isfinite(z).all():
        return z
    fit = fit_log_odds(evidence, scale=scale, design="logistic")
    return np.clip(z, fit.lower, fit.upper)


def _fit(evidence: _SaturatedRows, design: Design, nonnegative: bool, loss: Loss) -> LogOddsFit:
    """Fit to rows some of which may be saturated, placing them as the module's text says."""
    if not evidence.saturated:
        return evidence.fit(design, nonnegative, loss)
    wanted = {
        side: _frequency_log_odds(float(evidence.n_pos[at].sum()), float(evidence.n_neg[at].sum()))
        for side, at in evidence.saturated.items()
    }
    if not len(evidence.finite.z):
        return _levels_alone(wanted, evidence)
    searched: dict[Side, float] = {}
    while True:
        fit = evidence.clipped(searched).fit(design, nonnegative, loss)
        beyond = {
            side: _level_beyond(fit, wanted[side], evidence.edge[side], side)
            for side in wanted
            if side not in searched
        }
        inside = [side for side, level in beyond.items() if level is None]
        if not inside:
            level = {**searched, **{side: z for side, z in beyond.items() if z is not None}}
            # What a level inside has brought together may part the classes where scores do not.
            separable = fit.separable and (not searched or is_separable(evidence, design))
            lower, upper = level.get(-1, -np.inf), level.get(1, np.inf)
            fit = replace(fit, lower=lower, upper=upper, separable=separable)
            return fit if loss == "log" else _better(fit, evidence, design, nonnegative)
        searched = _search([*searched, *inside], evidence, design, nonnegative)


def _better(
    fit: LogOddsFit, evidence: _SaturatedRows, design: Design, nonnegative: bool
) -> LogOddsFit:
    """The fit, or maximum likelihood's if its squared error is smaller with all rows placed."""
    from trueodds.numerics.logistic_regression import squared_error

    likeliest = _fit(evidence, design, nonnegative, "log")
    return min((fit, likeliest), key=lambda candidate: squared_error(evidence, candidate))


def _search(
    sides: list[Side], evidence: _SaturatedRows, design: Design, nonnegative: bool
) -> dict[Side, float]:
    """Levels inside the finite range of highest likelihood, judged on a few hundred rows."""
    rows = evidence.coarse(sides)
    return search_levels(rows, sides, design, nonnegative=nonnegative)


def _frequency_log_odds(positives: float, negatives: float) -> float:
    return float(np.log((positives + 1) / (negatives + 1)))


def _level_beyond(fit: LogOddsFit, wanted: float, edge: float, side: Side) -> float | None:
    """Log-odds beyond ``edge`` at which the fit gives ``wanted``; None if none does."""
    from scipy.optimize import brentq  # slow to import, and rarely needed

    if abs(fit(edge) - wanted) <= 1e-9 * (1 + abs(wanted)):
        return edge  # and rounding must not send it to either side
    far = side * max(1.0, abs(edge))
    increases = (fit(edge + far) - fit(edge)) * side > 0
    beyond = (wanted - fit(edge)) * side > 0
    if increases != beyond or fit(edge + far) == fit(edge):
        return None
    direction = side if beyond else -side
    while (fit(edge + far) - wanted) * direction < 0:
        far *= 2
        if abs(far) > 1e15:  # so flat that it never gets there
            return None
    return float(brentq(lambda z: fit(z) - wanted, edge, edge + far, xtol=1e-12, rtol=1e-14))


def _levels_alone(wanted: dict[Side, float], evidence: _SaturatedRows) -> LogOddsFit:
    """Nothing but saturated scores: the identity between levels that carry the frequencies."""
    lower, upper = wanted.get(-1, -np.inf), wanted.get(1, np.inf)
    if lower > upper:  # inverted: the best increasing map is constant
        lower = upper = _frequency_log_odds(
            float(evidence.n_pos.sum()), float(evidence.n_neg.sum())
        )
    return LogOddsFit(1.0, 1.0, 0.0, lower, upper, converged=True, n_iter=0, gradient=0.0)
