"""Isotonic calibration."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from trueodds.calibrators import Calibrator
from trueodds.inputs import check_choice
from trueodds.maps import CalibrationMap, PiecewiseLinearMap, StepMap
from trueodds.numerics.binning import edges_between
from trueodds.numerics.isotonic import isotonic_blocks
from trueodds.rows import Rows

__all__ = ["IsotonicCalibrator"]


@dataclass(kw_only=True, eq=False, repr=False)
class IsotonicCalibrator(Calibrator):
    """Isotonic regression: the non-decreasing function of the score with the highest likelihood.

    Use it with thousands of rows and an unknown, monotone shape. With few rows it overfits. It
    creates ties, and returns exact 0 and 1 at the ends unless ``tail_smoothing="laplace"`` is set.

    Parameters
    ----------
    interpolation : {"linear", "step"}, default="linear"
        Map between two blocks of constant value: linear, as in scikit-learn, or a step halfway.
    tail_smoothing : {"laplace", None}, default=None
        Value of a block with one class only. None: its frequency, which is exactly 0 or 1.
        ``"laplace"``: one row of each class is added to its n rows, which gives 1/(n + 2) or (n +
        1)/(n + 2); blocks that are then out of order are pooled. Use it wherever a probability of 0
        may turn out wrong, since that gives an infinite log-loss.
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores. The fit depends on their order alone; interpolation uses the given
        scale.

    Attributes
    ----------
    map_ : PiecewiseLinearMap or StepMap

    Notes
    -----
    Scores that differ at all are kept separate, however close. Cost: one sort.

    References
    ----------
    Zadrozny and Elkan (2002), Transforming classifier scores into accurate multiclass probability
    estimates.

    Examples
    --------
    >>> from trueodds import IsotonicCalibrator
    >>> calibrator = IsotonicCalibrator().fit([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1])
    >>> calibrator.predict_proba([0.1, 0.25, 0.35])[:, 1]
    array([0.  , 0.5 , 0.75])
    >>> calibrator = IsotonicCalibrator(tail_smoothing="laplace")
    >>> calibrator = calibrator.fit([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1])
    >>> calibrator.predict_proba([0.1, 0.25, 0.4])[:, 1].round(3)
    array([0.333, 0.5  , 0.667])
    """

    title = "isotonic calibration"
    complexity = 70
    compared = (2, math.inf)

    interpolation: Literal["linear", "step"] = "linear"
    tail_smoothing: Literal["laplace"] | None = None

    def _check_options(self) -> None:
        check_choice(self.interpolation, ("linear", "step"), "interpolation")
        check_choice(self.tail_smoothing, ("laplace", None), "tail_smoothing")

    def _fit(self, rows: Rows) -> CalibrationMap:
        table = rows.table
        values, starts, ends = isotonic_blocks(table.n_neg, table.n_pos, self.tail_smoothing)
        if self.interpolation == "step":
            edges = edges_between(table.score[ends[:-1]], table.score[starts[1:]])
            return StepMap(edges=edges, values=values[starts], scale=self.scale)
        knots = np.unique(np.concatenate([starts, ends]))
        return PiecewiseLinearMap(x=table.score[knots], y=values[knots], scale=self.scale)
