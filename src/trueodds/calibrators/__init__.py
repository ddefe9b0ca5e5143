"""Calibrators: how maps are learned. One method per file, found by its name.

``calibrators/_beta.py`` holds ``BetaCalibrator``, ``calibrators/_one_vs_rest.py`` holds
``OneVsRestCalibrator``. Nothing is imported before it is asked for, and no list is kept by hand.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

__all__ = ["Calibrator", "Promises", "all_calibrators"]


def _module_of(class_name: str) -> str:
    """``OneVsRestCalibrator`` → ``_one_vs_rest``; ``ENIRCalibrator`` → ``_enir``."""
    stem = class_name.removesuffix("Calibrator")
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*", stem)
    return "_" + "_".join(word.lower() for word in words)


def _method_files() -> list[str]:
    folder = Path(__file__).parent
    return sorted(f.stem for f in folder.glob("_[a-z]*.py"))


def all_calibrators() -> dict[str, type[Any]]:
    """Every calibrator of the library, by the name of its method.

    Examples
    --------
    >>> from trueodds.calibrators import all_calibrators
    >>> all_calibrators()["beta"]
    <class 'trueodds.calibrators._beta.BetaCalibrator'>
    """
    found: dict[str, type[Any]] = {}
    for file in _method_files():
        module = importlib.import_module(f"{__name__}.{file}")
        for name in module.__all__:
            if name.endswith("Calibrator") and name != "Calibrator":
                found[file.removeprefix("_")] = getattr(module, name)
    return found


def __getattr__(name: str) -> Any:
    if name in ("Calibrator", "Promises"):
        return getattr(importlib.import_module(f"{__name__}._base"), name)
    if name.endswith("Calibrator") and _module_of(name) in _method_files():
        return getattr(importlib.import_module(f"{__name__}.{_module_of(name)}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
