"""Smooth isotonic calibration: an increasing cubic spline (PCHIP) through the isotonic blocks.

Between two points the curve is a cubic. Its slope at a point is the weighted harmonic mean of the
slopes of the lines to both neighbors, which keeps the curve from overshooting. Only ratios of
slopes are ever computed, so that points may be as close, or as far apart, as float64 allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from trueodds.calibrators import Calibrator
from trueodds.inputs import Floats, check_choice
from trueodds.maps import CalibrationMap, PiecewiseLinearMap
from trueodds.numerics.isotonic import block_means, isotonic_blocks
from trueodds.rows import Rows

__all__ = ["SmoothIsotonicCalibrator"]

KNOT_TOLERANCE = 1e-5
"""Largest difference in probability between the map's lines and the cubics."""


@dataclass(kw_only=True, eq=False, repr=False)
class SmoothIsotonicCalibrator(Calibrator):
    """Smooth increasing curve through the blocks of isotonic regression.

    Each block becomes a point at its mean score, and an increasing cubic spline (PCHIP) goes
    through the points. Use it instead of isotonic calibration if jumps and ties are a problem. With
    few rows it overfits as isotonic regression does, and it returns 0 and 1 at the ends unless
    ``tail_smoothing="laplace"`` is set.

    Parameters
    ----------
    tail_smoothing : {"laplace", None}, default=None
        Value of a block with one class only. None: exactly 0 or 1. ``"laplace"``: one row of each
        class is added to it.
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores, on which means are computed and the curve is smooth.

    Attributes
    ----------
    map_ : PiecewiseLinearMap
        The curve at knots dense enough for an error of 1e-5.

    Notes
    -----
    Below the mean of the first block and above that of the last the map is constant. Infinite
    log-odds do not enter a mean. Cost: one sort.

    References
    ----------
    Jiang, Osl, Kim and Ohno-Machado (2011), Smooth isotonic regression: a new method to calibrate
    predictive models, AMIA Joint Summits on Translational Science Proceedings. Fritsch and Butland
    (1984), A method for constructing local monotone piecewise cubic interpolants, SIAM Journal on
    Scientific and Statistical Computing 5, for the spline.

    Examples
    --------
    >>> from trueodds import SmoothIsotonicCalibrator
    >>> scores, y = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0, 1, 0, 1, 1, 0]
    >>> calibrator = SmoothIsotonicCalibrator().fit(scores, y)
    >>> calibrator.predict_proba([0.1, 0.25, 0.4, 0.6])[:, 1].round(3)
    array([0.   , 0.5  , 0.636, 0.667])
    """

    title = "smooth isotonic calibration"
    label = "smooth isotonic"
    complexity = 72

    tail_smoothing: Literal["laplace"] | None = None

    def _check_options(self) -> None:
        check_choice(self.tail_smoothing, ("laplace", None), "tail_smoothing")

    def _fit(self, rows: Rows) -> CalibrationMap:
        table = rows.table
        values, starts, _ = isotonic_blocks(table.n_neg, table.n_pos, self.tail_smoothing)
        level, center = values[starts], block_means(table.score, table.weight, starts)
        finite = np.isfinite(center)
        x, y = monotone_cubic(center[finite], level[finite], KNOT_TOLERANCE)
        # The range of scores is kept, and knots at infinity hold for infinite scores only.
        x = np.concatenate([table.score[:1], x, table.score[-1:]])
        x, kept = np.unique(x, return_index=True)
        y = np.concatenate([level[:1], y, level[-1:]])
        return PiecewiseLinearMap(x=x, y=y[kept], scale=self.scale)


def monotone_cubic(x: Floats, y: Floats, tolerance: float) -> tuple[Floats, Floats]:
    """Knots whose lines differ from the curve by no more than ``tolerance``.

    Parameters
    ----------
    x, y : ndarray of shape (n,)
        Points of the curve, both strictly increasing; x must be finite and span a finite range.
    tolerance : float
        Largest error, in units of y.

    Returns
    -------
    x, y : ndarray
        Strictly increasing, and non-decreasing between the first and the last y. All points are
        among the knots.
    """
    if len(x) < 3:
        return x, y
    width, rise = np.diff(x), np.diff(y)
    start, end = _relative_slopes(width, rise)
    # The second derivative is linear in each piece, so it is greatest at one of its ends; lines
    # over the n-th part of a piece miss a curve of second derivative b by at most b/(8n²).
    bend = rise * np.maximum(np.abs(6 - 4 * start - 2 * end), np.abs(2 * start + 4 * end - 6))
    parts = np.maximum(np.ceil(np.sqrt(bend / (8 * tolerance))), 1).astype(np.intp)
    piece = np.repeat(np.arange(len(parts)), parts)
    first = np.cumsum(parts) - parts
    t = (np.arange(len(piece)) - first[piece]) / parts[piece]
    cubic = t * t * (3 - 2 * t) + t * (1 - t) * (start[piece] * (1 - t) - end[piece] * t)
    knots = np.append(x[piece] + width[piece] * t, x[-1])
    values = np.append(y[piece] + rise[piece] * np.clip(cubic, 0.0, 1.0), y[-1])
    # Between close points there may be no room for knots: what rounds to a point gives way to it.
    inside = np.append(t > 0, False)
    right = np.append(x[piece + 1], np.inf)
    kept = ~inside | ((knots > np.append(x[piece], -np.inf)) & (knots < right))
    knots, values = knots[kept], values[kept]
    kept = np.append(True, knots[1:] > knots[:-1])
    return knots[kept], np.maximum.accumulate(values[kept])


def _relative_slopes(width: Floats, rise: Floats) -> tuple[Floats, Floats]:
    """The curve's slope at the start and the end of each piece, over that of the piece's line."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
        wider = width[1:] / width[:-1]
        # Slopes of neighboring lines, the later one over the earlier.
        steeper = rise[1:] / rise[:-1] / wider
        # Harmonic mean with weights 2·w₂ + w₁ of the earlier line and w₂ + 2·w₁ of the later.
        earlier = (2 * wider + 1) / (3 * wider + 3)
        earlier = np.where(np.isfinite(wider), earlier, 2 / 3)
        over_later = 1 / (earlier * steeper + (1 - earlier))
        over_earlier = 1 / (earlier + (1 - earlier) / steeper)
        start = np.append(_end_slope(wider[:1], steeper[:1]), over_later)
        end = np.append(over_earlier, _end_slope(1 / wider[-1:], 1 / steeper[-1:]))
    return np.nan_to_num(start, posinf=3.0), np.nan_to_num(end, posinf=3.0)


def _end_slope(wider: Floats, steeper: Floats) -> Floats:
    """Slope at the first point: that of the parabola through three points, clipped to [0, 3].

    ``wider`` and ``steeper`` are width and slope of the next piece over those of the first.
    """
    share = np.where(np.isfinite(wider), 1 / (1 + wider), 0.0)
    return np.asarray(np.clip(1 + share * (1 - steeper), 0.0, 3.0))
