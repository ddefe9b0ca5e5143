"""Numbers as JSON holds them, and methods as pages call them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from trueodds.calibrators import Calibrator, calibrator_names, find_calibrator

__all__ = ["number", "numbers", "phrase_method", "show_method"]

DIGITS = 6
"""Significant digits kept: more than any picture shows, and a third of the bytes."""


def number(value: Any) -> float | None:
    """A float of six significant digits; None for NaN, infinity and nothing."""
    if value is None or not np.isfinite(value):
        return None
    return float(f"{float(value):.{DIGITS}g}")


def numbers(values: Iterable[Any] | None) -> list[float | None]:
    """The same for many."""
    return [] if values is None else [number(v) for v in values]


def show_method(name: str) -> str:
    """What a method is called in tables and legends; a name of the user's own stays."""
    kind = _kind(name)
    return (kind.label if kind else "") or name.replace("_", " ")


def phrase_method(name: str) -> str:
    """What applying a method is called in a sentence."""
    kind = _kind(name)
    return kind.title if kind else f"{show_method(name)} calibration"


def _kind(name: str) -> type[Calibrator] | None:
    return find_calibrator(name) if name in calibrator_names() else None
