"""trueodds turns the scores of any classifier into probabilities people can act on.

Everything below is imported when it is first used, so ``import trueodds`` costs next to nothing.
"""

from __future__ import annotations

from trueodds.basics.imports import import_lazily

__version__ = "0.1.0"

_HOMES = {
    "AutoCalibrator": ".model_selection",
    "CalibratedClassifier": ".model_selection",
    "CalibrationMap": ".maps",
    "CalibrationMonitor": ".monitoring",
    "OnlineCalibrator": ".online",
    "ScoreTable": ".table",
    "all_calibrators": ".calibrators",
    "compare_calibrators": ".model_selection",
    "load": ".maps",
    "calibrators": ".",
    "decisions": ".",
    "engines": ".",
    "exceptions": ".",
    "maps": ".",
    "metrics": ".",
    "model_selection": ".",
    "monitoring": ".",
    "online": ".",
    "plots": ".",
    "report": ".",
    "stats": ".",
    "table": ".",
    "testing": ".",
    "watch": ".",
}


def _homes() -> dict[str, str]:
    from trueodds.calibrators import METHODS

    return _HOMES | {place.split(":")[1]: ".calibrators" for place in METHODS.values()}


__getattr__, __dir__ = import_lazily(__name__, _homes)
