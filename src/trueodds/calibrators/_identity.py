"""Unchanged scores: the baseline that every method must beat."""

from __future__ import annotations

import math

from trueodds.calibrators import Calibrator
from trueodds.maps import CalibrationMap, IdentityMap
from trueodds.rows import Rows

__all__ = ["IdentityCalibrator"]


class IdentityCalibrator(Calibrator):
    """No calibration: probabilities are unchanged, logits and decision values pass through softmax.

    Use it as the baseline of a comparison. It learns nothing but the classes.

    Parameters
    ----------
    label_smoothing : {"platt", None} or float, default=None
        Accepted for compatibility with other methods; it has no effect.

    Examples
    --------
    >>> from trueodds import IdentityCalibrator
    >>> IdentityCalibrator().fit([0.2, 0.6], ["no", "yes"]).predict_proba([0.9])
    array([[0.1, 0.9]])
    """

    title = "leaving the scores alone"
    label = "uncalibrated"
    complexity = 0
    compared = (2, math.inf)
    learns_classes_jointly = True

    def _fit(self, rows: Rows) -> CalibrationMap:
        return IdentityMap(scale=self.scale)

    def _fit_multiclass(self, rows: Rows) -> CalibrationMap:
        return IdentityMap(scale=self.scale)
