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
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from trueodds.numerics.finite_log_odds_fit import Design, LogOddsFit, fit_finite, rows_of
from trueodds.numerics.log_odds import log_odds
from trueodds.validation import Floats, InputScale

__all__ = ["Design", "LogOddsFit", "fit_log_odds"]

UNSEEN_LEVEL = float(np.log(1 / np.finfo(np.float64).eps - 1))
"""Where a probability of exactly 0 or 1 sits (−, +) when none was seen in fitting: p = 2.2e-16."""
SEARCH_CELLS = 400  # rows that a level is searched on
SEARCH_GRID = 16

Side = int  # −1: the lower end, +1: the upper end


@dataclass(frozen=True)
class _Evidence:
    """Log-odds, some of them infinite, with the weight of each class."""

    z: Floats
    n_neg: Floats
    n_pos: Floats

    @cached_property
    def finite(self) -> npt.NDArray[np.bool_]:
        return np.asarray(np.isfinite(self.z))

    def at_end(self, side: Side) -> npt.NDArray[np.bool_]:
        return np.asarray(self.z == side * np.inf)

    @cached_property
    def edge(self) -> dict[Side, float]:
        finite = self.z[self.finite]
        return {-1: float(finite.min()), 1: float(finite.max())}

    def clipped(self, level: dict[Side, float]) -> _Evidence:
        """Finite rows, and the saturated ones of the given sides, brought within the levels."""
        used = self.finite.copy()
        for side in level:
            used |= self.at_end(side)
        z = np.clip(self.z[used], level.get(-1, -np.inf), level.get(1, np.inf))
        return _Evidence(z, self.n_neg[used], self.n_pos[used])

    def coarse(self) -> _Evidence:
        """A few hundred rows that stand for the finite ones; the saturated stay as they are."""
        ends = [self.at_end(side) for side in (-1, 1)]
        order = np.flatnonzero(self.finite)[np.argsort(self.z[self.finite])]
        size = min(SEARCH_CELLS, len(order))
        starts = np.arange(size) * len(order) // size
        weight = (self.n_neg + self.n_pos)[order]
        mean = np.add.reduceat(self.z[order] * weight, starts) / np.add.reduceat(weight, starts)
        neg, pos = (np.add.reduceat(n[order], starts) for n in (self.n_neg, self.n_pos))
        return _Evidence(
            np.concatenate([[-np.inf], mean, [np.inf]]),
            np.concatenate([[self.n_neg[ends[0]].sum()], neg, [self.n_neg[ends[1]].sum()]]),
            np.concatenate([[self.n_pos[ends[0]].sum()], pos, [self.n_pos[ends[1]].sum()]]),
        )

    def fit(self, design: Design, nonnegative: bool) -> LogOddsFit:
        rows = rows_of(self.z, self.n_neg, self.n_pos, "logit", design, unit=False)
        return fit_finite(rows, design, nonnegative=nonnegative)

    def loss(self, fit: LogOddsFit) -> float:
        eta = fit.at(self.z)
        softplus = np.logaddexp(0, eta)
        return float((self.n_neg + self.n_pos) @ softplus - self.n_pos @ eta)


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
        evidence = _Evidence(log_odds(score, scale), n_neg, n_pos)
        fit = _fit_saturated(evidence, design, nonnegative)
    else:
        rows = rows_of(score, n_neg, n_pos, scale, design, unit=unit_weight)
        fit = fit_finite(rows, design, nonnegative=nonnegative)
    unseen = UNSEEN_LEVEL if scale == "probability" else np.inf
    lower = fit.lower if np.isfinite(fit.lower) else min(low, -unseen)
    upper = fit.upper if np.isfinite(fit.upper) else max(high, unseen)
    return replace(fit, lower=lower, upper=upper)


def _fit_saturated(evidence: _Evidence, design: Design, nonnegative: bool) -> LogOddsFit:
    wanted = {
        side: _frequency_log_odds(float(evidence.n_pos[at].sum()), float(evidence.n_neg[at].sum()))
        for side in (-1, 1)
        if (at := evidence.at_end(side)).any()
    }
    if not evidence.finite.any():
        return _levels_alone(wanted, evidence)
    searched: dict[Side, float] = {}
    while True:
        fit = evidence.clipped(searched).fit(design, nonnegative)
        beyond = {
            side: _level_beyond(fit, wanted[side], evidence.edge[side], side)
            for side in wanted
            if side not in searched
        }
        inside = [side for side, level in beyond.items() if level is None]
        if not inside:
            level = {**searched, **{side: z for side, z in beyond.items() if z is not None}}
            return replace(fit, lower=level.get(-1, -np.inf), upper=level.get(1, np.inf))
        searched = _search([*searched, *inside], evidence, design, nonnegative)


def _search(
    sides: list[Side], evidence: _Evidence, design: Design, nonnegative: bool
) -> dict[Side, float]:
    """Levels inside the finite range of highest likelihood, one side after the other, twice."""
    from scipy.optimize import minimize_scalar  # slow to import, and rarely needed

    coarse = evidence.coarse()
    level = {side: evidence.edge[side] for side in sides}
    candidates = np.quantile(coarse.z[coarse.finite], np.linspace(0, 1, SEARCH_GRID))

    def loss_at(side: Side) -> Callable[[float], float]:
        def loss(z: float) -> float:
            rows = coarse.clipped({**level, side: z})
            return rows.loss(rows.fit(design, nonnegative))

        return loss

    for _ in range(2):
        for side in sides:
            loss = loss_at(side)
            other = level.get(-side, -side * np.inf)
            grid = [z for z in candidates if (z - other) * side >= 0] or [evidence.edge[side]]
            best = int(np.argmin([loss(z) for z in grid]))
            low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
            level[side] = float(grid[best])
            if low < high:
                refined = minimize_scalar(loss, bounds=(low, high), method="bounded")
                if refined.fun < loss(level[side]):
                    level[side] = float(refined.x)
    return level


def _frequency_log_odds(positives: float, negatives: float) -> float:
    return float(np.log((positives + 1) / (negatives + 1)))


def _level_beyond(fit: LogOddsFit, wanted: float, edge: float, side: Side) -> float | None:
    """Log-odds beyond ``edge`` at which the fit gives ``wanted``; None if none does."""
    from scipy.optimize import brentq  # slow to import, and rarely needed

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


def _levels_alone(wanted: dict[Side, float], evidence: _Evidence) -> LogOddsFit:
    """Nothing but saturated scores: the identity between levels that carry the frequencies."""
    lower, upper = wanted.get(-1, -np.inf), wanted.get(1, np.inf)
    if lower > upper:  # inverted: the best increasing map is constant
        lower = upper = _frequency_log_odds(
            float(evidence.n_pos.sum()), float(evidence.n_neg.sum())
        )
    return LogOddsFit(1.0, 1.0, 0.0, lower, upper, converged=True, n_iter=0, gradient=0.0)
