"""Consistency and confidence bands of reliability curves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from trueodds.inputs import Floats
from trueodds.metrics._label_draws import Cells
from trueodds.metrics._smooth_curve import GRID, SmoothCurve, smoothed_curve
from trueodds.numerics.isotonic import isotonic_fit

__all__ = ["CurveBand", "binned_band", "corp_band", "smooth_band"]

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
    neighbours: a value is then within the band if the middle of its own share is.
    """
    bin_of = np.searchsorted(edges, cells.lowest, side="right")
    first = np.flatnonzero(np.concatenate([[True], bin_of[1:] > bin_of[:-1]]))

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
    scaled = prob * GRID
    left = np.minimum(scaled.astype(np.intp), GRID - 1)
    share = scaled - left
    rows = np.tile(np.arange(len(prob)), 2)
    columns = np.concatenate([left, left + 1])
    return csr_array(
        (np.concatenate([1 - share, share]), (rows, columns)), shape=(len(prob), GRID + 1)
    )
