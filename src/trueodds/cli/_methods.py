"""``trueodds methods``: every calibrator, what it learns and what it promises."""

from __future__ import annotations

import inspect
from typing import Any

from trueodds.cli import _options as o
from trueodds.cli._methods_list import first_line, method_class, method_names
from trueodds.cli._show import emit_json, show_table

__all__ = ["methods"]


def methods(as_json: o.Json = False) -> None:
    """List all methods, with what they learn and what they promise.

    Examples
    --------
    trueodds methods
    trueodds methods --json
    """
    found = [_describe(name) for name in method_names()]
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


def _describe(name: str) -> dict[str, Any]:
    kind = method_class(name)
    promises = kind().promises
    return {
        "method": name,
        "class": kind.__name__,
        "description": first_line(kind),
        "native_multiclass": promises.native_multiclass,
        "monotone": promises.monotone,
        "needs_features": promises.needs_features,
        "options": [p for p in inspect.signature(kind).parameters if p != "input"],
    }
