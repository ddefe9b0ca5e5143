"""trueodds turns the scores of any classifier into probabilities people can act on.

Everything below is imported when it is first used, so ``import trueodds`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "ScoreTable": "trueodds.table",
    "CalibrationMap": "trueodds.maps",
    "load": "trueodds.maps",
    "AutoCalibrator": "trueodds.model_selection",
    "CalibratedClassifier": "trueodds.model_selection",
    "compare_calibrators": "trueodds.model_selection",
    "CalibrationMonitor": "trueodds.monitoring",
    "all_calibrators": "trueodds.calibrators",
}
_MODULES = (
    "calibrators",
    "compare",
    "decisions",
    "engines",
    "exceptions",
    "maps",
    "metrics",
    "model_selection",
    "monitoring",
    "plots",
    "report",
    "table",
    "testing",
)


def __getattr__(name: str) -> Any:
    if name == "__all__":  # from trueodds import *
        return sorted({*_HOMES, *_own_calibrators()})
    if name in _MODULES:
        return importlib.import_module(f"trueodds.{name}")
    home = _HOMES.get(name)
    if home is None and name.endswith("Calibrator"):
        home = "trueodds.calibrators"
    if home is None:
        raise AttributeError(f"module 'trueodds' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_MODULES, *_own_calibrators()})


def _own_calibrators() -> list[str]:
    from trueodds.calibrators import METHODS

    return [place.split(":")[1] for place in METHODS.values()]
