"""Calibrating models: cross-fitting, prefit models, any calibrator."""

from trueodds.model_selection._calibrated_classifier import CalibratedClassifier

__all__ = ["CalibratedClassifier"]
