"""Numbers as JSON can hold them and as people read them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from trueodds.calibrators import Calibrator, calibrator_names, find_calibrator

__all__ = ["number", "numbers", "percent", "phrase_method", "probability_text", "show_method"]

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


def probability_text(p: float) -> str:
    """A probability in two digits that count: 0.8, 0.35, 0.0042, 0.998."""
    if p in (0.0, 1.0):
        return f"{p:.0f}"
    if 0.01 <= p <= 0.99:
        return f"{round(p, 2):g}"
    if p < 0.5:
        return f"{p:.1g}"
    # As many decimals as the distance from 1 needs.
    decimals = min(12, int(np.ceil(-np.log10(1 - p))))
    return f"{p:.{decimals}f}"


def percent(share: float) -> str:
    """A share in per cent, in whole numbers where that is enough."""
    value = 100 * share
    text = f"{value:.0f}" if abs(value) >= 9.5 else f"{value:.1f}"
    return "0.0" if text == "-0.0" else text
