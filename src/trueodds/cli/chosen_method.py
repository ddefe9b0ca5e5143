"""The method of ``--method``: its class, and a calibrator with the values of ``--option``."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from typing import Any

from trueodds.basics.shown import shown, suggestion
from trueodds.calibrators import calibrator_names, find_calibrator
from trueodds.cli.errors import UsageError

__all__ = [
    "AUTO",
    "WITH_FEATURES",
    "complete_method",
    "make_calibrator",
    "method_class",
    "method_names",
]

AUTO = "auto"
WITH_FEATURES = "group"
"""The method if features are given and none is named."""
OTHER_NAMES = {"platt": "logistic", "sigmoid": "logistic", "binning": "histogram"}


def method_names() -> list[str]:
    """Return the names of all methods."""
    return sorted([*calibrator_names(), AUTO])


def complete_method(incomplete: str) -> list[str]:
    """Complete a method's name in a shell."""
    return [name for name in method_names() if name.startswith(incomplete)]


def method_class(name: str) -> type[Any]:
    """Return the class of a method; an unknown name raises with similar ones."""
    if name == AUTO:
        from trueodds.model_selection import AutoCalibrator

        return AutoCalibrator
    if name in calibrator_names():
        return find_calibrator(name)
    other = OTHER_NAMES.get(name)
    names = method_names() if other is None else [other]
    hint = suggestion(other or name, names, has="there are")
    raise UsageError(f"unknown method {shown(name)}; {hint}")


def make_calibrator(name: str, scale: str, options: Sequence[str]) -> Any:
    """Create a calibrator with options given as ``name=value``; values are JSON or text."""
    kind = method_class(name)
    known = [p for p in inspect.signature(kind).parameters if p not in ("scale", "classes")]
    chosen: dict[str, Any] = {}
    for text in options:
        key, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--option must look like name=value; got {text!r}.")
        if key not in known:
            raise UsageError(f"{name} has no option {key!r}; it has {', '.join(known)}.")
        chosen[key] = _value(value)
    calibrator = kind(scale=scale, **chosen)
    calibrator.check_settings()
    return calibrator


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None if text in ("None", "none") else text
