"""``trueodds methods``: list all calibrators."""

from __future__ import annotations

import inspect
from typing import Any

from trueodds.cli import options as o
from trueodds.cli.chosen_method import method_class, method_names
from trueodds.cli.output import emit_json, show_table

__all__ = ["describe", "methods"]


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
