"""Calibrating models: cross-fitting, prefit models, any calibrator; comparing methods."""

from trueodds.model_selection._auto import AutoCalibrator
from trueodds.model_selection._calibrated_classifier import CalibratedClassifier
from trueodds.model_selection._comparison import compare_calibrators
from trueodds.model_selection._comparison_result import CalibratorComparison

__all__ = [
    "AutoCalibrator",
    "CalibratedClassifier",
    "CalibratorComparison",
    "compare_calibrators",
]
