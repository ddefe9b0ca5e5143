"""``trueodds methods``: list all calibrators."""

from __future__ import annotations

import inspect
from typing import Any

from trueodds.calibrators import all_calibrators
from trueodds.cli import options as o
from trueodds.cli.chosen_method import AUTO, method_class
from trueodds.cli.output import console, emit_json, show_table

__all__ = ["describe", "methods"]

WIDE = 150
"""Columns of a terminal that has room for a separate column of classes."""


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
    header = ["method", "class", "what it learns", "several classes", "monotone", "features"]
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
    if console().width < WIDE:
        rows = [[name, "\n".join([own, text, *_kinds(*rest)])] for name, own, text, *rest in rows]
        header = ["method", "class, what it learns"]
    show_table(
        f"{len(rows)} methods", header, rows, left=len(header), whole=min(2, len(header) - 1)
    )


def _kinds(several: str, monotone: str, features: str) -> list[str]:
    """Return the last three columns as a line."""
    words = [f"several classes {several}", "monotone" * (monotone == "yes")]
    return [", ".join(filter(None, [*words, "needs features" * bool(features)]))]


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
