"""Millions of log-odds as a few thousand that give the same sums of smooth functions.

The axis is cut into narrow cells. In each, and for each class, the scores are replaced by the two
points and weights that share their first four moments (the Gauss rule of that cell). So the sum of
a smooth function over the cell is kept up to a term in the fourth power of its width. Cells are of
equal width h in u = sign(z)·ln(1 + |z|): wide where |z| is large, because the logistic function is
flat there. A likelihood of slope a is then exact to about (a·h)⁴/384, far below rounding in
practice, whatever the range of z.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from trueodds.basics.log import logger
from trueodds.inputs import Floats, InputScale
from trueodds.kernels.tables import add_cell_moments
from trueodds.numerics.log_odds import LogOddsRows, log_odds

__all__ = [
    "Compressed",
    "Counts",
    "compress",
    "finite_range",
]

Counts = Callable[[slice], tuple[Floats, Floats]]
"""Gives the weight of negatives and of positives in some of the rows."""

CELLS = 4096
CHUNK_ROWS = 65536  # rows whose temporaries stay in the cache
POINT = 1e-13  # a variance below this, in units of the cell's width, is one point


@dataclass(frozen=True)
class Compressed(LogOddsRows):
    """At most four log-odds for each cell, and one for each infinity."""

    width: float

    def is_exact_for(self, slope: float) -> bool:
        """Whether a fit of this slope is exact to 1e-10."""
        return abs(slope) * self.width < 0.014


def compress(score: Floats, scale: InputScale, counts: Counts, *, cells: int = CELLS) -> Compressed:
    """Replace log-odds by Gauss points; see the module's text. Reads the data in pieces."""
    low, high = _unfold(np.array(finite_range(score, scale))).tolist()
    width = max((high - low) / cells, 1e-12 * max(abs(low), abs(high)), 1e-300)
    first = int(np.floor(low / width))
    size = int(np.floor(high / width)) - first + 1
    moments = np.zeros((2, size, 4))
    ends = {-np.inf: np.zeros(2), np.inf: np.zeros(2)}
    for rows in _pieces(len(score)):
        z = log_odds(score[rows], scale)
        neg, pos = counts(rows)
        finite = np.isfinite(z)
        if not finite.all():
            for end, sums in ends.items():
                sums += neg[z == end].sum(), pos[z == end].sum()
            z, neg, pos = z[finite], neg[finite], pos[finite]
        add_cell_moments(moments, z, neg, pos, width, first)
    start = width * (first + np.arange(size, dtype=np.float64))
    z_neg, n_neg = _gauss_points(moments[0].T, start, width)
    z_pos, n_pos = _gauss_points(moments[1].T, start, width)
    logger.info("pooled %s scores in %s points", f"{len(score):,}", f"{len(z_neg) + len(z_pos):,}")
    seen = {end: sums for end, sums in ends.items() if sums.any()}
    return Compressed(
        np.concatenate([z_neg, z_pos, [*seen]]),
        np.concatenate([n_neg, np.zeros(len(n_pos)), [sums[0] for sums in seen.values()]]),
        np.concatenate([np.zeros(len(n_neg)), n_pos, [sums[1] for sums in seen.values()]]),
        width,
    )


def finite_range(score: Floats, scale: InputScale) -> tuple[float, float]:
    """The lowest and the highest finite log-odds; (0, 0) if there are none."""
    ends = log_odds(np.array([score.min(), score.max()]), scale)
    if np.isfinite(ends).all():
        return float(ends[0]), float(ends[1])
    low, high = np.inf, -np.inf
    for rows in _pieces(len(score)):
        z = log_odds(score[rows], scale)
        z = z[np.isfinite(z)]
        low, high = float(z.min(initial=low)), float(z.max(initial=high))
    return (low, high) if low <= high else (0.0, 0.0)


def _pieces(n_rows: int) -> Iterator[slice]:
    return (slice(begin, begin + CHUNK_ROWS) for begin in range(0, n_rows, CHUNK_ROWS))


def _unfold(z: Floats) -> Floats:
    """The axis on which cells are of equal width: sign(z)·ln(1 + |z|)."""
    u = np.abs(z)
    u += 1.0
    return np.asarray(np.copysign(np.log(u), z))


def _gauss_points(moments: Floats, start: Floats, width: float) -> tuple[Floats, Floats]:
    """Two points and weights for each cell with weight in it; one if its scores are all alike."""
    used = moments[0] > 0
    total, first, second, third = moments[:, used]
    mean = first / total
    variance = second / total - mean**2
    one_point = variance < POINT
    variance = np.where(one_point, 1.0, variance)
    skew = third / total - 3 * mean * (second / total) + 2 * mean**3
    half = np.where(one_point, 0.0, skew / (2 * variance))
    reach = np.sqrt(variance + half**2)
    share = np.where(one_point, 1.0, (1 + half / reach) / 2)
    below = np.where(one_point, mean, mean + half - reach)
    above = (mean + half + reach)[~one_point]
    u = np.concatenate([start[used] + width * below, start[used][~one_point] + width * above])
    weight = np.concatenate([total * share, (total * (1 - share))[~one_point]])
    return np.copysign(np.expm1(np.abs(u)), u), weight
