"""The method of ``--method``: its class, and a calibrator with the values of ``--option``."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from typing import Any

from trueodds.calibrators import calibrator_names, find_calibrator
from trueodds.cli.errors import UsageError
from trueodds.exceptions import InputError

__all__ = [
    "AUTO",
    "WITH_FEATURES",
    "chosen_methods",
    "complete_method",
    "make_calibrator",
    "method_class",
    "method_names",
]

AUTO = "auto"
WITH_FEATURES = "group"
"""The method if features are given and none is named."""


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
    try:
        return find_calibrator(name)
    except InputError as error:
        raise UsageError(f"{error} 'trueodds methods' lists all.") from None


def chosen_methods(names: list[str] | None, *, all_methods: bool = False) -> Any:
    """Check names, which may be joined by commas; none means those compared by default, or all."""
    if all_methods:
        if names:
            raise UsageError("--all compares all methods, so it takes no --method.")
        return "all"
    listed = [part.strip() for name in names or () for part in name.split(",")]
    for name in listed:
        method_class(name)
    return list(dict.fromkeys(listed)) or "default"


def make_calibrator(name: str, scale: str, options: Sequence[str]) -> Any:
    """Create a calibrator with options given as ``name=value``; values are JSON or text."""
    if "," in name:
        raise UsageError(
            f"'fit' takes one method; to compare them, run 'trueodds compare' with -m {name}."
        )
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
