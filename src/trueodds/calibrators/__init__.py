"""Calibrators: how maps are learned. One method per file; ``_shared/registry.py`` lists them.

Nothing is imported before it is used.
"""

from __future__ import annotations

import importlib
from typing import Any

from trueodds.calibrators._shared.registry import (
    METHODS,
    all_calibrators,
    calibrator_names,
    find_calibrator,
)

__all__ = [
    "Calibrator",
    "all_calibrators",
    "calibrator_names",
    "find_calibrator",
    "logistic_intervals",
    "near_isotonic_path",
]

_HOMES = {
    "LAST": "_shared.base",
    "Calibrator": "_shared.base",
    "FeatureCalibrator": "_shared.base",
    "PosteriorCalibrator": "_shared.base",
    "logistic_intervals": "_acp",
    "method_name": "_shared.registry",
    "near_isotonic_path": "_enir",
} | {place.split(":")[1]: place.split(":")[0] for place in METHODS.values()}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
