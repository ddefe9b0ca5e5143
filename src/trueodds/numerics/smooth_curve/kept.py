"""The summary of its rows that a fitted calibrator stores for its intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueodds.inputs import Floats, InputScale, Labels
from trueodds.kernels.tables import count_in_cells
from trueodds.numerics.log_odds import log_odds
from trueodds.numerics.magnitude import deviation_unit
from trueodds.numerics.smooth_curve.cells import (
    SATURATED_LOG_ODDS,
    cells_of,
    saturated_ends,
    starts_of_ends,
)

__all__ = ["KeptCells", "kept_of_columns", "kept_of_rows"]

MOST_CELLS = 1000
"""Cells of the finest model of a curve."""
MERGED_ABOVE = 20_000
"""More scores are first merged with their neighbors, to compute fewer logarithms."""


@dataclass(frozen=True, eq=False)
class KeptCells:
    """At most 1,500 cells of neighboring scores.

    Parameters
    ----------
    z : ndarray of shape (n_cells,)
        Mean log-odds of each, or mean decision value divided by ``unit``; strictly increasing.
    n_neg, n_pos : ndarray of shape (n_cells,)
        Weight of each class.
    unit : float
        Divisor of decision values; 1 for probabilities and log-odds.
    offset : float, default=0
        Log-odds of the counts minus those of what is to be learned.
    """

    z: Floats
    n_neg: Floats
    n_pos: Floats
    unit: float
    offset: float = 0.0


def kept_of_columns(score: Floats, n_neg: Floats, n_pos: Floats, scale: InputScale) -> KeptCells:
    """Return cells of increasing scores, given the weight of each class at each score."""
    saturated = (False, False)
    if scale != "raw":
        saturated = saturated_ends(log_odds(score[[0, -1]], scale))
    if len(score) > MERGED_ABOVE:
        starts = np.arange(0, len(score), -(-len(score) // MERGED_ABOVE))
        starts = np.union1d(starts, starts_of_ends(score, saturated))
        weight = n_neg + n_pos
        if scale == "logit":
            score = np.clip(score, -SATURATED_LOG_ODDS, SATURATED_LOG_ODDS)
        score = np.add.reduceat(score * weight, starts) / np.add.reduceat(weight, starts)
        n_neg, n_pos = np.add.reduceat(n_neg, starts), np.add.reduceat(n_pos, starts)
    unit = deviation_unit(score, n_neg + n_pos) if scale == "raw" else 1.0
    cells = cells_of(log_odds(score, scale) / unit, n_neg, n_pos, MOST_CELLS, saturated)
    return KeptCells(cells.z, cells.n_neg, cells.n_pos, unit)


def kept_of_rows(score: Floats, positive: Labels, scale: InputScale) -> KeptCells:
    """Return cells of rows that are not sorted, in a few nanoseconds per row.

    Scores that differ by less than 1/64 of their distance from 0 or 1 are equal.
    """
    is_probability = scale == "probability"
    unit = 1.0
    if not is_probability:
        size = float(np.abs(score[np.isfinite(score)]).max(initial=0.0))
        score = np.clip(score, -max(size, SATURATED_LOG_ODDS), max(size, SATURATED_LOG_ODDS))
        scaled = score / (size or 1.0)  # their squares cannot overflow
        unit = max(float(scaled.std()) * (size or 1.0), 1e-300)
    count, hits, total = count_in_cells(score, positive, is_probability, unit)
    return kept_of_columns(total / count, count - hits, hits, scale)
