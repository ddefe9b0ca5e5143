"""``trueodds methods``: list all calibrators; create one from its name and options."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from typing import Any

from trueodds.basics.shown import shown, suggestion
from trueodds.calibrators import calibrator_names, find_calibrator
from trueodds.cli import options as o
from trueodds.cli.errors import UsageError
from trueodds.cli.output import emit_json, show_table
from trueodds.exceptions import InputError

__all__ = ["AUTO", "complete_method", "describe", "make_calibrator", "method_class", "methods"]

AUTO = "auto"
OTHER_NAMES = {"platt": "logistic", "sigmoid": "logistic", "binning": "histogram"}


def methods(as_json: o.Json = False) -> None:
    """List all calibration methods and their properties.

    Examples
    --------
    trueodds methods
    trueodds methods --json
    """
    found = [describe(name, method_class(name)) for name in method_names()]
    if as_json:
        emit_json("methods", {"methods": found})
        return
    rows = [
        [
            entry["method"],
            entry["class"],
            entry["description"],
            "together" if entry["native_multiclass"] else "one vs rest",
            "yes" if entry["monotone"] else "no",
            "yes" if entry["needs_features"] else "",
        ]
        for entry in found
    ]
    header = ["method", "class", "what it learns", "several classes", "monotone", "features"]
    show_table(f"{len(rows)} methods", header, rows, left=6)


def describe(name: str, kind: type[Any]) -> dict[str, Any]:
    """Return the properties of a calibrator's class."""
    default = kind()
    return {
        "method": name,
        "class": kind.__name__,
        # Without reStructuredText markup.
        "description": (inspect.getdoc(kind) or "").partition("\n")[0].replace("``", ""),
        "native_multiclass": default.learns_classes_jointly,
        "monotone": default.is_monotone,
        "needs_features": default.needs_features,
        "options": [p for p in inspect.signature(kind).parameters if p != "scale"],
    }


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
    except InputError:
        other = OTHER_NAMES.get(name)
        names = method_names() if other is None else [other]
        hint = suggestion(other or name, names, has="there are")
        raise UsageError(f"unknown method {shown(name)}; {hint}") from None


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
