"""The probability that a positive is ranked above a negative, and its variance, in one sort.

DeLong, DeLong and Clarke-Pearson (1988), Comparing the areas under two or more correlated receiver
operating characteristic curves, Biometrics 44. By ranks instead of pairs: Sun and Xu (2014), Fast
implementation of DeLong's algorithm, IEEE Signal Processing Letters 21.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.inputs import Floats, Labels, Weights
from trueodds.numerics.standard_errors import Spread

__all__ = ["Concordance", "concordance"]


@dataclass(frozen=True, eq=False)
class Concordance:
    """The estimate, and how much each row adds to it; NaN if a class is absent.

    The influence is that of DeLong's variance; NaN if a class has one row only.
    """

    estimate: float
    influence: Floats
    weight: Weights | None
    fewest: float
    """Rows of the smaller class; of importances the effective ones."""

    @property
    def variance(self) -> float:
        """DeLong's."""
        return Spread.of(self.influence, self.weight).error ** 2

    def interval(self, level: float, cluster: Labels | None = None) -> tuple[float, float, float]:
        """The ends of the interval, symmetric in log-odds, and the standard error.

        If one class lies above the other there is no variance. The smaller class then counts as
        trials of which none failed.
        """
        spread = Spread.of(self.influence, self.weight, cluster)
        if not np.isfinite(spread.error):
            return np.nan, np.nan, np.nan
        if 0 < self.estimate < 1:
            return *spread.log_odds_interval(self.estimate, level), spread.error
        end = ((1 - level) / 2) ** (1 / self.fewest)
        return (end, 1.0, 0.0) if self.estimate == 1 else (0.0, 1 - end, 0.0)


def concordance(
    prob: Floats, hit: npt.NDArray[np.bool_], weights: Weights | None = None
) -> Concordance:
    """Share of pairs in the right order, ties as half."""
    if not hit.any() or hit.all():
        return Concordance(np.nan, np.full(len(prob), np.nan), weights, 0.0)
    weight = np.ones(len(prob)) if weights is None else weights.values
    squares = weight if weights is None else weights.squares
    # Each row's placement: the share of the other class that it beats (or is beaten by).
    placed = np.empty(len(prob))
    placed[hit] = _share_below(prob[hit], prob[~hit], weight[~hit])
    placed[~hit] = 1 - _share_below(prob[~hit], prob[hit], weight[hit])
    estimate = float(weight[hit] @ placed[hit] / weight[hit].sum())
    influence, fewest = placed - estimate, np.inf
    total, n_rows = float(weight.sum()), _effective(weight, squares, slice(None))
    for own in (hit, ~hit):
        rows = _effective(weight, squares, own)
        fewest = min(fewest, rows)
        unbiased = rows / (rows - 1) * (n_rows - 1) / n_rows if rows > 1 + 1e-9 else np.nan
        influence[own] *= total / float(weight[own].sum()) * np.sqrt(unbiased)
    return Concordance(estimate, influence, weights, fewest)


def _effective(weight: Floats, squares: Floats, rows: Any) -> float:
    return float(weight[rows].sum()) ** 2 / float(squares[rows].sum())


def _share_below(places: Floats, others: Floats, weight: Floats) -> Floats:
    """Weight of ``others`` below each place, and half of those at it, as a share."""
    order = np.argsort(others, kind="stable")
    cumulated = np.concatenate([[0.0], np.cumsum(weight[order])])
    ordered = others[order]
    low = cumulated[np.searchsorted(ordered, places, side="left")]
    high = cumulated[np.searchsorted(ordered, places, side="right")]
    return np.asarray((low + high) / (2 * cumulated[-1]))
