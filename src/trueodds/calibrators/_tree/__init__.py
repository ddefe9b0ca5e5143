"""Probability calibration trees."""

from trueodds.calibrators._tree.calibrator import TreeCalibrator

__all__ = ["TreeCalibrator"]
