"""Calibrating models: cross-fitting, any calibrator; comparing methods; validating, updating.

Imported when first used: only what compares or holds a model needs scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trueodds.basics.lazy import import_lazily

if TYPE_CHECKING:
    from trueodds.model_selection._auto import AutoCalibrator
    from trueodds.model_selection._calibrated_classifier import CalibratedClassifier
    from trueodds.model_selection._comparison import CalibratorComparison, compare_calibrators
    from trueodds.model_selection._describe import describe_fit
    from trueodds.model_selection._describe import describe_rows as describe_rows
    from trueodds.model_selection._update import ModelUpdate, UpdateStep, update_model
    from trueodds.model_selection._validate_model import ModelValidation, validate

__all__ = [
    "AutoCalibrator",
    "CalibratedClassifier",
    "CalibratorComparison",
    "ModelUpdate",
    "ModelValidation",
    "UpdateStep",
    "compare_calibrators",
    "describe_fit",
    "update_model",
    "validate",
]

_HOMES = {
    "AutoCalibrator": "_auto",
    "CalibratedClassifier": "_calibrated_classifier",
    "CalibratorComparison": "_comparison",
    "ModelUpdate": "_update",
    "ModelValidation": "_validate_model",
    "UpdateStep": "_update",
    "compare_calibrators": "_comparison",
    "describe_rows": "_describe",
    "describe_fit": "_describe",
    "update_model": "_update",
    "validate": "_validate_model",
}


__getattr__, __dir__ = import_lazily(__name__, _HOMES)
