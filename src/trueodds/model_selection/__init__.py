"""Calibrating models: cross-fitting, any calibrator; comparing methods; validating, updating.

Imported when first used: only what compares or holds a model needs scikit-learn.
"""

from trueodds.basics.imports import import_lazily

_PUBLIC = {
    "AutoCalibrator": "._auto",
    "CalibratedClassifier": "._calibrated_classifier",
    "CalibratorComparison": "._comparison",
    "ModelUpdate": "._update",
    "ModelValidation": "._validate_model",
    "UpdateStep": "._update",
    "compare_calibrators": "._comparison",
    "fit_metadata": "._fit_metadata",
    "update_model": "._update",
    "validate_model": "._validate_model",
}
# The last is for other packages of this library.
_HOMES = _PUBLIC | {"rows_metadata": "._fit_metadata"}
__all__ = sorted(_PUBLIC)
__getattr__, __dir__ = import_lazily(__name__, _HOMES)
