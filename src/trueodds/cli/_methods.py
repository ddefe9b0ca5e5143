"""``trueodds methods``: every calibrator, what it learns and what it promises."""

from __future__ import annotations

import inspect
from typing import Any

from trueodds.calibrators import find_calibrator
from trueodds.cli import _options as o
from trueodds.cli._methods_list import AUTO, method_names
from trueodds.cli._show import emit_json, show_table

__all__ = ["describe", "methods"]

OF_AUTO: dict[str, Any] = {
    "method": AUTO,
    "class": "AutoCalibrator",
    "description": "The recommended method: the best on average, or the best of a comparison on "
    "your data.",
    "native_multiclass": True,
    "monotone": False,
    "needs_features": False,
    "options": [
        "calibrators",
        "rule",
        "scoring",
        "cv",
        "n_repeats",
        "random_state",
        "n_jobs",
        "label_smoothing",
        "classes",
    ],
}
"""What :func:`describe` would say of the class: importing it would load scikit-learn for a line."""


def methods(as_json: o.Json = False) -> None:
    """List all methods, with what they learn and what they promise.

    Examples
    --------
    trueodds methods
    trueodds methods --json
    """
    found = [
        OF_AUTO if name == AUTO else describe(name, find_calibrator(name))
        for name in method_names()
    ]
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
    """What a calibrator's class says about itself."""
    promises = kind().promises
    return {
        "method": name,
        "class": kind.__name__,
        # Without the marks of reStructuredText.
        "description": (inspect.getdoc(kind) or "").partition("\n")[0].replace("``", ""),
        "native_multiclass": promises.native_multiclass,
        "monotone": promises.monotone,
        "needs_features": promises.needs_features,
        "options": [p for p in inspect.signature(kind).parameters if p != "input"],
    }
