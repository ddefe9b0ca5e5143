"""Bands of reliability curves, from labels drawn anew or from resampled rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from trueodds.inputs import Floats, Labels
from trueodds.metrics._sample import Forecasts
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
    "table_cells",
]

FINEST = 2048


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows sorted by probability, in cells that never part equal probabilities or cross an edge.

    ``prob`` is the mean and ``lowest`` the smallest in each cell; ``weight`` and ``positive`` are
    sums. ``rows`` (sorted probabilities, labels and weights) is kept if there are weights;
    ``start`` says where the cells begin among them.
    """

    prob: Floats
    lowest: Floats
    weight: Floats
    positive: Floats
    start: Labels
    rows: tuple[Floats, npt.NDArray[np.bool_], Floats] | None = None

    @property
    def square_weight(self) -> Floats:
        """Sum of squared row weights in each cell."""
        if self.rows is None:
            return self.weight
        return np.asarray(np.add.reduceat(self.rows[2] ** 2, self.start))

    def bin_starts(self, edges: Floats) -> Labels:
        """The first cell of each bin that is not empty."""
        return run_starts(np.searchsorted(edges, self.lowest, side="right"))

    def redraw(self, rng: np.random.Generator, size: int) -> Floats:
        """Weight of positives in each cell, of shape (size, n_cells), if calibrated."""
        if self.rows is None:
            # A cell may hold a fractional weight: whole rows are drawn, each worth a share of it.
            count = np.clip(np.rint(self.weight), 1, 2.0**62).astype(np.int64)
            share = self.weight / count
            return rng.binomial(count, np.clip(self.prob, 0, 1), (size, len(count))) * share
        prob, _, weight = self.rows
        out = np.empty((size, len(self.prob)))
        for i in range(size):  # one row of labels at a time keeps memory O(n)
            drawn = rng.random(len(prob)) < prob
            out[i] = np.add.reduceat(weight * drawn, self.start)
        return out

    def bootstrap(self, rng: np.random.Generator, size: int) -> tuple[Floats, Floats]:
        """Weight, and weight of positives, in each cell of bootstrap samples of the rows."""
        cells = len(self.prob)
        if self.rows is None:
            # Rows of one cell and label are alike, so drawing their number is drawing them.
            both = np.concatenate([self.weight - self.positive, self.positive])
            total = max(1, int(np.rint(both.sum())))
            drawn = rng.multinomial(total, both / both.sum(), size) * (both.sum() / total)
            return drawn[:, :cells] + drawn[:, cells:], drawn[:, cells:]
        _, hit, weight = self.rows
        out = np.empty((2, size, cells))
        for i in range(size):
            count = np.bincount(rng.integers(0, len(hit), len(hit)), minlength=len(hit))
            out[0, i] = np.add.reduceat(weight * count, self.start)
            out[1, i] = np.add.reduceat(weight * count * hit, self.start)
        return out[0], out[1]


def make_cells(view: Forecasts, edges: Floats | None = None) -> Cells:
    """Sort rows into cells. Rows with importance weights are kept: each is drawn for itself."""
    order = np.argsort(view.prob, kind="stable")
    prob, hit, weight = view.prob[order], view.hit[order], view.row_weight[order]
    new = np.concatenate([[True], prob[1:] > prob[:-1]])
    below = np.maximum.accumulate(np.where(new, np.arange(len(prob)), 0))
    cells = _in_cells(prob, weight, weight * hit, below / len(prob), edges)
    return cells if view.weight is None else replace(cells, rows=(prob, hit, weight))


def table_cells(table: ScoreTable, edges: Floats) -> Cells:
    """Put the counts of a table in cells."""
    weight = table.weight
    share = (np.cumsum(weight) - weight / 2) / weight.sum()
    return _in_cells(table.score, weight, table.n_pos, share, edges)


def _in_cells(
    prob: Floats, weight: Floats, positive: Floats, share: Floats, edges: Floats | None
) -> Cells:
    """Cells of equal probabilities if these are few, else narrow ones.

    Cells are cut by an even grid, by equal shares of the rows, and by ``edges``, so that they are
    fine both where probabilities are many and where they are far apart. ``share`` is the part of
    the rows below each sorted probability.
    """
    start = run_starts(prob)
    if len(start) > FINEST:
        keys = [np.floor(share * FINEST), np.floor(prob * FINEST)]
        keys += [] if edges is None else [np.searchsorted(edges, prob, side="right")]
        start = run_starts(*keys)
    mass = np.add.reduceat(weight, start)
    mean = np.add.reduceat(weight * prob, start) / mass
    return Cells(mean, prob[start], mass, np.add.reduceat(positive, start), start)


CHUNK_VALUES = 2**20
"""Numbers drawn at once: 8 MB."""
POINTS = 512

Curves = Callable[[Floats, Floats], Floats]
"""Weight and weight of positives in cells, of shape (draws, cells), to curves."""


class CurveBand(NamedTuple):
    """The ends of a band, at points of its own."""

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
    step = max(1, CHUNK_VALUES // len(cells.prob))
    for begin in range(0, n_resamples, step):
        size = min(step, n_resamples - begin)
        if kind == "consistency":
            positive = cells.redraw(rng, size)
            weight = np.broadcast_to(cells.weight, positive.shape)
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

    A frequency can take few values in a bin of few rows, and the ends of a band among them would
    hold more than they promise. So each draw of the labels is spread evenly over the step to its
    neighbors: a value is then within the band if the middle of its own share is.
    """
    first = cells.bin_starts(edges)
    step = np.add.reduceat(cells.square_weight, first) / np.add.reduceat(cells.weight, first)

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
    shown = np.unique(np.linspace(0, len(cells.prob) - 1, POINTS).astype(np.intp))

    def curves(weight: Floats, positive: Floats) -> Floats:
        fits = np.empty((len(positive), len(shown)))
        for i, (w, n_pos) in enumerate(zip(weight, positive, strict=True)):
            kept = w > 0
            fit, _ = isotonic_fit(n_pos[kept], w[kept])
            # A cell that was not drawn gets its value from the drawn ones at either side.
            fits[i] = np.interp(cells.prob[shown], cells.prob[kept], fit)
        return fits

    return _band(cells, cells.prob[shown], curves, kind, level, n_resamples, rng)


def smooth_band(
    cells: Cells,
    smooth: SmoothCurve,
    kind: str,
    level: float,
    n_resamples: int,
    rng: np.random.Generator,
) -> CurveBand:
    """Kernel averages with the bandwidth of the curve itself."""
    to_grid = _spreading(cells.prob)

    def curves(weight: Floats, positive: Floats) -> Floats:
        residual = (weight * cells.prob - positive) @ to_grid
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
