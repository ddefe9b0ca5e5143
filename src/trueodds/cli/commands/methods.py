"""``trueodds methods``: list all calibrators."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import typer

from trueodds.calibrators import Tier, all_calibrators, tier_of
from trueodds.cli import options as o
from trueodds.cli.chosen_method import AUTO, method_class
from trueodds.cli.output import console, emit_json, say, show_table

__all__ = ["describe", "methods"]

WIDE = 150
"""Columns of a terminal that has room for a separate column of classes."""


TITLES: dict[Tier, str] = {
    "advised": "The default (auto), and what can be better for a reason",
    "papers": "More methods of the papers",
    "other packages": "Methods of other packages",
    "for comparison": "For comparison",
}
ALL = typer.Option("--all", help="List also the methods that are only there for comparison.")


def methods(all_methods: Annotated[bool, ALL] = False, as_json: o.Json = False) -> None:
    """List the calibration methods and their properties.

    Examples
    --------
    trueodds methods
    trueodds methods --all
    trueodds methods --json
    """
    found = [describe(AUTO, method_class(AUTO)) | {"tier": "advised"}]
    found += [
        describe(name, kind) | {"tier": tier_of(name)} for name, kind in all_calibrators().items()
    ]
    if as_json:
        emit_json("methods", {"methods": found})
        return
    for tier, title in TITLES.items():
        listed = [entry for entry in found if entry["tier"] == tier]
        if listed and (all_methods or tier != "for comparison"):
            _show(title, listed)
    if not all_methods:
        hidden = sum(entry["tier"] == "for comparison" for entry in found)
        say(f"{hidden} more are only there for comparison; --all lists them.")


def _show(title: str, listed: list[dict[str, Any]]) -> None:
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
        for entry in listed
    ]
    if console().width < WIDE:
        rows = [[name, "\n".join([own, text, *_kinds(*rest)])] for name, own, text, *rest in rows]
        header = ["method", "class, what it learns"]
    show_table(title, header, rows, left=len(header), whole=min(2, len(header) - 1))


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
