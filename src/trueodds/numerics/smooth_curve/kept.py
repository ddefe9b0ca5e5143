"""What a fitted calibrator keeps of its evidence: enough to say later how sure one can be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueodds.inputs import Floats, InputScale, Labels
from trueodds.kernels.tables import count_in_cells
from trueodds.numerics.log_odds import log_odds
from trueodds.numerics.smooth_curve.cells import (
    FARTHEST,
    cells_of,
    saturated_ends,
    starts_of_ends,
)

__all__ = ["KeptCells", "kept_of_columns", "kept_of_rows", "margin_unit"]

MOST_CELLS = 1000
"""As many as the finest of the models of a curve looks at."""
MANY = 20_000
"""Neighbors of more scores are first put together, so that few logarithms are taken."""


@dataclass(frozen=True, eq=False)
class KeptCells:
    """At most 1,500 cells of neighboring scores.

    Parameters
    ----------
    z : ndarray of shape (n_cells,)
        Mean log-odds of each, or mean margin in units of ``unit``; strictly increasing.
    n_neg, n_pos : ndarray of shape (n_cells,)
        The weight of each class.
    unit : float
        What margins were divided by; 1 for probabilities and log-odds.
    """

    z: Floats
    n_neg: Floats
    n_pos: Floats
    unit: float


def kept_of_columns(score: Floats, n_neg: Floats, n_pos: Floats, scale: InputScale) -> KeptCells:
    """Cells of increasing scores and the weight of each class at each."""
    saturated = (False, False)
    if scale != "raw":
        saturated = saturated_ends(log_odds(score[[0, -1]], scale))
    if len(score) > MANY:
        starts = np.arange(0, len(score), -(-len(score) // MANY))
        starts = np.union1d(starts, starts_of_ends(score, saturated))
        weight = n_neg + n_pos
        if scale == "logit":
            score = np.clip(score, -FARTHEST, FARTHEST)
        score = np.add.reduceat(score * weight, starts) / np.add.reduceat(weight, starts)
        n_neg, n_pos = np.add.reduceat(n_neg, starts), np.add.reduceat(n_pos, starts)
    unit = margin_unit(score, n_neg + n_pos) if scale == "raw" else 1.0
    cells = cells_of(log_odds(score, scale) / unit, n_neg, n_pos, MOST_CELLS, saturated)
    return KeptCells(cells.z, cells.n_neg, cells.n_pos, unit)


def kept_of_rows(score: Floats, positive: Labels, scale: InputScale) -> KeptCells:
    """Cells of rows that are not sorted, in a few nanoseconds each.

    Scores within a 64th of the distance from the nearer of 0 and 1 count as equal.
    """
    is_probability = scale == "probability"
    unit = 1.0
    if not is_probability:
        size = float(np.abs(score[np.isfinite(score)]).max(initial=0.0))
        score = np.clip(score, -max(size, FARTHEST), max(size, FARTHEST))
        scaled = score / (size or 1.0)  # their squares cannot overflow
        unit = max(float(scaled.std()) * (size or 1.0), 1e-300)
    count, hits, total = count_in_cells(score, positive, is_probability, unit)
    return kept_of_columns(total / count, count - hits, hits, scale)


def margin_unit(score: Floats, weight: Floats) -> float:
    """What a margin must be divided by to spread as log-odds do.

    A power of two, so that no digit of a score is lost.
    """
    size = float(np.abs(score).max()) or 1.0
    share = weight / weight.sum()
    scaled = score / size  # their squares cannot overflow
    spread = float(np.sqrt(share @ (scaled - share @ scaled) ** 2))
    return float(np.ldexp(1.0, round(np.log2(max(spread, 1e-12)) + np.log2(size)) - 1))
