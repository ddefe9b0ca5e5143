"""Calibration with groups: one map, and pooled effects of features."""

from trueodds.calibrators._group.calibrator import GroupCalibrator

__all__ = ["GroupCalibrator"]
