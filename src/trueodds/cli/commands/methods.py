"""``trueodds methods``: list all calibrators."""

from __future__ import annotations

import inspect
from typing import Any

from trueodds.calibrators import all_calibrators
from trueodds.cli import options as o
from trueodds.cli.chosen_method import AUTO, method_class
from trueodds.cli.output import emit_json, show_table

__all__ = ["describe", "methods"]


def methods(as_json: o.Json = False) -> None:
    """List all calibration methods and their properties.

    Examples
    --------
    trueodds methods
    trueodds methods --json
    """
    known = {**all_calibrators(), AUTO: method_class(AUTO)}
    found = [describe(name, kind) for name, kind in sorted(known.items())]
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
    summary = (inspect.getdoc(kind) or "").partition("\n\n")[0]
    return {
        "method": name,
        "class": kind.__name__,
        # Without reStructuredText markup.
        "description": " ".join(summary.split()).replace("``", ""),
        "native_multiclass": kind.learns_classes_jointly,
        "monotone": kind.is_monotone,
        "needs_features": kind.needs_features,
        "options": [p for p in inspect.signature(kind).parameters if p != "scale"],
    }
