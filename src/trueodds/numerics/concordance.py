"""The probability that a positive is ranked above a negative, and its variance, in one sort.

DeLong, DeLong and Clarke-Pearson (1988), Comparing the areas under two or more correlated receiver
operating characteristic curves, Biometrics 44. By ranks instead of pairs: Sun and Xu (2014), Fast
implementation of DeLong's algorithm, IEEE Signal Processing Letters 21.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trueodds.inputs import Floats, Weights

__all__ = ["Concordance", "concordance"]


@dataclass(frozen=True)
class Concordance:
    """The estimate and its variance; NaN if a class is absent, or has one row only (variance)."""

    estimate: float
    variance: float


def concordance(
    prob: Floats, hit: npt.NDArray[np.bool_], weights: Weights | None = None
) -> Concordance:
    """Share of pairs in the right order, ties as half, with DeLong's variance."""
    if not hit.any() or hit.all():
        return Concordance(np.nan, np.nan)
    weight = np.ones(len(prob)) if weights is None else weights.values
    squares = weight if weights is None else weights.squares
    # Each row's placement: the share of the other class that it beats (or is beaten by).
    above = _share_below(prob[hit], prob[~hit], weight[~hit])
    below = 1 - _share_below(prob[~hit], prob[hit], weight[hit])
    estimate = float(weight[hit] @ above / weight[hit].sum())
    variance = _variance(above, weight[hit], squares[hit], estimate)
    variance += _variance(below, weight[~hit], squares[~hit], estimate)
    return Concordance(estimate, variance)


def _share_below(places: Floats, others: Floats, weight: Floats) -> Floats:
    """Weight of ``others`` below each place, and half of those at it, as a share."""
    order = np.argsort(others, kind="stable")
    cumulated = np.concatenate([[0.0], np.cumsum(weight[order])])
    ordered = others[order]
    low = cumulated[np.searchsorted(ordered, places, side="left")]
    high = cumulated[np.searchsorted(ordered, places, side="right")]
    return np.asarray((low + high) / (2 * cumulated[-1]))


def _variance(placement: Floats, weight: Floats, squares: Floats, mean: float) -> float:
    total = float(weight.sum())
    effective = total**2 / float(squares.sum())
    if effective < 1 + 1e-9:  # of one row, but for rounding
        return float("nan")
    spread = float(squares @ (placement - mean) ** 2) / total**2
    return spread * effective / (effective - 1)
