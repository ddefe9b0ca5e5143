"""Smooth isotonic calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from trueodds.calibrators import Calibrator
from trueodds.inputs import check_choice
from trueodds.maps import CalibrationMap, PiecewiseLinearMap
from trueodds.numerics.isotonic import block_means, isotonic_blocks
from trueodds.numerics.monotone_cubic import monotone_cubic
from trueodds.rows import Rows

__all__ = ["SmoothIsotonicCalibrator"]

TOLERANCE = 1e-5
"""Probability by which the map's lines may miss the cubics."""


@dataclass(kw_only=True, eq=False, repr=False)
class SmoothIsotonicCalibrator(Calibrator):
    """A smooth increasing curve through the blocks of isotonic regression.

    Each block becomes a point at its mean score, and an increasing cubic spline (PCHIP) goes
    through the points. Use it in place of isotonic calibration where jumps and ties are not
    wanted. It is as sure of the blocks as isotonic regression is: with few rows it overfits, and
    it says 0 and 1 at the ends unless ``tail_smoothing="laplace"`` keeps it off them.

    Parameters
    ----------
    tail_smoothing : {"laplace", None}, default=None
        What a block of one class says. None: exactly 0 or 1. ``"laplace"``: one more instance of
        each class is added to it.
    input : {"probability", "logit", "score"}, default="probability"
        The scale of the scores, on which means are taken and the curve is smooth.

    Attributes
    ----------
    map_ : PiecewiseLinearMap
        The curve at knots that are close enough for an error of 1e-5.

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
        level, centre = values[starts], block_means(table.score, table.weight, starts)
        finite = np.isfinite(centre)
        x, y = monotone_cubic(centre[finite], level[finite], TOLERANCE)
        # The range of scores is kept, and knots at infinity hold for infinite scores only.
        x = np.concatenate([table.score[:1], x, table.score[-1:]])
        x, kept = np.unique(x, return_index=True)
        y = np.concatenate([level[:1], y, level[-1:]])
        return PiecewiseLinearMap(x=x, y=y[kept], input=self.input)
