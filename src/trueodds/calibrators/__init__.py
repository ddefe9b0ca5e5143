"""Calibrators: how maps are learned. One method per file, found by its name.

Nothing is imported before it is asked for, and no list is kept by hand.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = [
    "Calibrator",
    "all_calibrators",
    "calibrator_names",
    "find_calibrator",
]

_SHARED = {
    "LAST": "base",
    "Calibrator": "base",
    "FeatureCalibrator": "features",
    "PosteriorCalibrator": "posterior",
    "all_calibrators": "registry",
    "calibrator_names": "registry",
    "find_calibrator": "registry",
    "method_name": "registry",
}


def __getattr__(name: str) -> Any:
    if name in _SHARED:
        module = importlib.import_module(f"{__name__}._shared.{_SHARED[name]}")
        value = getattr(module, name)
    elif name.endswith("Calibrator") and not name.startswith("_"):
        from trueodds.calibrators._shared.registry import calibrator_class

        value = calibrator_class(name)
    else:
        value = None
    if value is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value
