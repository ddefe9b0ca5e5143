"""Bands of reliability curves, from labels drawn anew or from resampled rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from trueodds.inputs import Floats, Labels
from trueodds.metrics._resampling import MOST_DRAWN, drawn_cells, effective_rows
from trueodds.metrics._smooth import SMOOTH_GRID, SmoothCurve, smoothed_curve
from trueodds.numerics.binning import run_starts
from trueodds.numerics.isotonic import isotonic_fit
from trueodds.table import ScoreTable

__all__ = [
    "Cells",
    "CurveBand",
    "binned_band",
    "corp_band",
    "make_cells",
    "smooth_band",
]

FINEST = 2048


@dataclass(frozen=True, eq=False)
class Cells:
    """How labels or rows are drawn anew: only their number in each narrow cell is.

    Importances in a cell are drawn as rows of equal importance, whose number gives the sum its
    variance: (Σw)²/Σw² rows.

    Parameters
    ----------
    table : ScoreTable
        One row for each cell. Cells never part equal probabilities or cross an edge.
    lowest : ndarray of shape (n_cells,)
        Smallest probability in each cell.
    """

    table: ScoreTable
    lowest: Floats

    def bin_starts(self, edges: Floats) -> Labels:
        """The first cell of each bin that is not empty."""
        return run_starts(np.searchsorted(edges, self.lowest, side="right"))

    def redraw(self, rng: np.random.Generator, size: int) -> Floats:
        """Weight of positives in each cell, of shape (size, n_cells), if calibrated."""
        # A cell may hold a fraction of a row: whole rows are drawn, each worth a share of it.
        weight = self.table.weight
        rows = effective_rows(weight, self.table.square_weight)
        count = np.clip(np.rint(rows), 1, MOST_DRAWN).astype(np.int64)
        return rng.binomial(count, self.table.score, (size, len(count))) * (weight / count)

    def bootstrap(self, rng: np.random.Generator, size: int) -> tuple[Floats, Floats]:
        """Weight, and weight of positives, in each cell of bootstrap samples of the rows."""
        cells = len(self.table)
        both, squares = (
            np.concatenate(c) for c in (self.table.columns[:2], self.table.columns[-2:])
        )
        drawn = drawn_cells(both, squares, size, rng)
        return drawn[:, :cells] + drawn[:, cells:], drawn[:, cells:]


def make_cells(table: ScoreTable, edges: Floats | None = None, *, middle: bool = False) -> Cells:
    """Put the rows of a table in cells: equal probabilities if these are few, else narrow ones.

    Cells are cut by an even grid, by equal shares of the rows, and by ``edges``, so that they are
    fine both where probabilities are many and where they are far apart. The share of the rows
    below a probability decides, or with ``middle`` that below the middle of its rows.
    """
    prob, weight = table.score, table.weight
    start = np.arange(len(table))
    if len(start) > FINEST:
        below = np.cumsum(weight) - (weight / 2 if middle else weight)
        keys = [np.floor(below / weight.sum() * FINEST), np.floor(prob * FINEST)]
        keys += [] if edges is None else [np.searchsorted(edges, prob, side="right")]
        start = run_starts(*keys)
    return Cells(ScoreTable.of_runs(prob, *table.columns, starts=start), prob[start])


CHUNK_VALUES = 2**20
"""Numbers drawn at once: 8 MB."""
POINTS = 512

Curves = Callable[[Floats, Floats], Floats]
"""Weight and weight of positives in cells, of shape (draws, cells), to curves."""


class CurveBand(NamedTuple):
    """The ends of a band, with the points where they are given."""

    x: Floats | None
    low: Floats | None
    high: Floats | None


def _band(
    cells: Cells,
    x: Floats,
    curves: Curves,
    kind: str,
    level: float,
    n_resamples: int,
    rng: np.random.Generator,
) -> CurveBand:
    parts = []
    step = max(1, CHUNK_VALUES // len(cells.table))
    for begin in range(0, n_resamples, step):
        size = min(step, n_resamples - begin)
        if kind == "consistency":
            positive = cells.redraw(rng, size)
            weight = np.broadcast_to(cells.table.weight, positive.shape)
        else:
            weight, positive = cells.bootstrap(rng, size)
        parts.append(curves(weight, positive))
    values = np.concatenate(parts)
    # A bin that a bootstrap sample left empty has no frequency in it.
    ends = np.nanquantile(values, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return CurveBand(x, ends[0], ends[1])


def binned_band(
    cells: Cells,
    edges: Floats,
    x: Floats,
    kind: str,
    level: float,
    n_resamples: int,
    rng: np.random.Generator,
) -> CurveBand:
    """Frequencies in the bins.

    A frequency can take few values in a bin of few rows, and a band whose ends are
    among them would contain more than its level. So each draw of the labels is spread evenly over
    the step to its neighbors: a value is then within the band if the middle of its share is.
    """
    first = cells.bin_starts(edges)
    step = np.add.reduceat(cells.table.square_weight, first)
    step /= np.add.reduceat(cells.table.weight, first)

    def curves(weight: Floats, positive: Floats) -> Floats:
        below = np.add.reduceat(weight, first, axis=1)
        top = np.add.reduceat(positive, first, axis=1)
        if kind == "consistency":
            top = np.clip(top + rng.uniform(-0.5, 0.5, top.shape) * step, 0.0, below)
        return np.divide(top, below, out=np.full_like(top, np.nan), where=below > 0)

    return _band(cells, x, curves, kind, level, n_resamples, rng)


def corp_band(
    cells: Cells, kind: str, level: float, n_resamples: int, rng: np.random.Generator
) -> CurveBand:
    """Isotonic fits to the cells, at up to 512 of them."""
    prob = cells.table.score
    shown = np.unique(np.linspace(0, len(prob) - 1, POINTS).astype(np.intp))

    def curves(weight: Floats, positive: Floats) -> Floats:
        fits = np.empty((len(positive), len(shown)))
        for i, (w, n_pos) in enumerate(zip(weight, positive, strict=True)):
            kept = w > 0
            fit, _ = isotonic_fit(n_pos[kept], w[kept])
            # A cell that was not drawn gets its value from the drawn ones at either side.
            fits[i] = np.interp(prob[shown], prob[kept], fit)
        return fits

    return _band(cells, prob[shown], curves, kind, level, n_resamples, rng)


def smooth_band(
    cells: Cells,
    smooth: SmoothCurve,
    kind: str,
    level: float,
    n_resamples: int,
    rng: np.random.Generator,
) -> CurveBand:
    """Kernel averages with the bandwidth of the curve itself."""
    prob = cells.table.score
    to_grid = _spreading(prob)

    def curves(weight: Floats, positive: Floats) -> Floats:
        residual = (weight * prob - positive) @ to_grid
        return smoothed_curve(residual, weight @ to_grid, smooth.sigma, smooth.shown)[0]

    return _band(cells, smooth.x, curves, kind, level, n_resamples, rng)


def _spreading(prob: Floats) -> Any:
    """A sparse matrix that gives each cell's mass to its two nearest grid points."""
    scaled = prob * SMOOTH_GRID
    left = np.minimum(scaled.astype(np.intp), SMOOTH_GRID - 1)
    share = scaled - left
    rows = np.tile(np.arange(len(prob)), 2)
    columns = np.concatenate([left, left + 1])
    return csr_array(
        (np.concatenate([1 - share, share]), (rows, columns)), shape=(len(prob), SMOOTH_GRID + 1)
    )
