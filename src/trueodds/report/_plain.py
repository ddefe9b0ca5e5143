"""Numbers as JSON holds them, and methods as pages call them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from trueodds.calibrators import About, calibrator_names, find_calibrator

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
    about = _about(name)
    return (about.label if about else "") or name.replace("_", " ")


def phrase_method(name: str) -> str:
    """What applying a method is called in a sentence."""
    about = _about(name)
    return about.title if about else f"{show_method(name)} calibration"


def _about(name: str) -> About | None:
    return find_calibrator(name).about if name in calibrator_names() else None
