"""Centered isotonic calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from trueodds.calibrators import Calibrator
from trueodds.inputs import check_choice
from trueodds.maps import CalibrationMap, PiecewiseLinearMap
from trueodds.numerics.isotonic import block_means, isotonic_blocks
from trueodds.rows import Rows

__all__ = ["CenteredIsotonicCalibrator"]


@dataclass(kw_only=True, eq=False, repr=False)
class CenteredIsotonicCalibrator(Calibrator):
    """Isotonic regression with each block replaced by a point at its mean score, joined by lines.

    Use it instead of isotonic calibration if different scores should stay different: between the
    means of two blocks the map increases strictly. It overfits as isotonic calibration does, and
    returns 0 and 1 at the ends unless ``tail_smoothing="laplace"`` is set.

    Parameters
    ----------
    tail_smoothing : {"laplace", None}, default=None
        Value of a block with one class only. None gives exactly 0 or 1 and keeps the block
        constant, as in the paper. ``"laplace"`` adds one row of each class, and the block becomes a
        point like any other.
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores, on which means are computed and lines drawn.

    Attributes
    ----------
    map_ : PiecewiseLinearMap

    Notes
    -----
    Below the mean of the first block and above that of the last the map is constant. Infinite
    log-odds do not enter a mean. Cost: one sort.

    References
    ----------
    Oron and Flournoy (2017), Centered isotonic regression: point and interval estimation for
    dose-response studies, Statistics in Biopharmaceutical Research 9.

    Examples
    --------
    >>> from trueodds import CenteredIsotonicCalibrator
    >>> scores, y = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0, 1, 0, 1, 1, 0]
    >>> calibrator = CenteredIsotonicCalibrator().fit(scores, y)
    >>> calibrator.map_.x, calibrator.map_.y.round(3)
    (array([0.1 , 0.25, 0.5 , 0.6 ]), array([0.   , 0.5  , 0.667, 0.667]))
    """

    title = "centered isotonic calibration"
    label = "centered isotonic"
    complexity = 71

    tail_smoothing: Literal["laplace"] | None = None

    def _check_options(self) -> None:
        check_choice(self.tail_smoothing, ("laplace", None), "tail_smoothing")

    def _fit(self, rows: Rows) -> CalibrationMap:
        table = rows.table
        values, starts, ends = isotonic_blocks(table.n_neg, table.n_pos, self.tail_smoothing)
        level, first, last = values[starts], table.score[starts], table.score[ends]
        center = block_means(table.score, table.weight, starts)
        whole = (level == 0) | (level == 1)
        left, right = np.where(whole, first, center), np.where(whole, last, center)
        # The range of scores is kept, and knots at infinity hold for infinite scores only.
        x = np.concatenate([first[:1], left, right, last[-1:]])
        y = np.concatenate([level[:1], level, level, level[-1:]])
        x, kept = np.unique(x, return_index=True)
        return PiecewiseLinearMap(x=x, y=y[kept], scale=self.scale)
