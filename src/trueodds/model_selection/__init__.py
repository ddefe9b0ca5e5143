"""Calibrating models: cross-fitting, prefit models, any calibrator; comparing methods.

Imported when first used: only what compares or holds a model needs scikit-learn.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trueodds.model_selection._auto import AutoCalibrator
    from trueodds.model_selection._calibrated_classifier import CalibratedClassifier
    from trueodds.model_selection._comparison import compare_calibrators
    from trueodds.model_selection._comparison_result import CalibratorComparison
    from trueodds.model_selection._describe import describe_evidence as describe_evidence
    from trueodds.model_selection._describe import describe_fit

__all__ = [
    "AutoCalibrator",
    "CalibratedClassifier",
    "CalibratorComparison",
    "compare_calibrators",
    "describe_fit",
]

_HOMES = {
    "AutoCalibrator": "_auto",
    "CalibratedClassifier": "_calibrated_classifier",
    "CalibratorComparison": "_comparison_result",
    "compare_calibrators": "_comparison",
    "describe_evidence": "_describe",
    "describe_fit": "_describe",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
