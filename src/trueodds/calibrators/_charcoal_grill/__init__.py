"""Charcoal Grill Scaling."""

from trueodds.calibrators._charcoal_grill.calibrator import CharcoalGrillCalibrator

__all__ = ["CharcoalGrillCalibrator"]
