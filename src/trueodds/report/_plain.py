"""Numbers for JSON, and names of methods for pages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from trueodds.calibrators import Calibrator, calibrator_names, find_calibrator

__all__ = ["number", "numbers", "phrase_method", "show_method"]

DIGITS = 6
"""Significant digits of curves: more than any picture shows, in a third of the bytes."""


def number(value: Any) -> float | None:
    """Return a figure unrounded, so that it is rounded once; None if it is not finite."""
    return None if value is None or not np.isfinite(value) else float(value)


def numbers(values: Iterable[Any] | None) -> list[float | None]:
    """Return the points of a curve with six significant digits."""
    found = map(number, () if values is None else values)
    return [None if value is None else float(f"{value:.{DIGITS}g}") for value in found]


def show_method(name: str) -> str:
    """Return the name of a method in tables and legends; unknown names are unchanged."""
    kind = _kind(name)
    return (kind.label if kind else "") or name.replace("_", " ")


def phrase_method(name: str) -> str:
    """Return the name of a method in a sentence."""
    kind = _kind(name)
    return kind.title if kind else f"{show_method(name)} calibration"


def _kind(name: str) -> type[Calibrator] | None:
    return find_calibrator(name) if name in calibrator_names() else None
