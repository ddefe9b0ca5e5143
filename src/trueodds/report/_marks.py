"""Where the dots and whiskers in the tables stand, in units of their small pictures."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["MARK_WIDTH", "gain_axis", "gain_marks", "group_marks", "round_step"]

MARK_WIDTH = 160.0
PADDING = 14.0
"""Room for half a label of the axis."""
LABEL_WIDTH = 34.0


def _scale(values: list[float]) -> Any:
    low, high = min(values), max(values)
    width = (high - low) or 1.0

    def place(value: float | None) -> float | None:
        if value is None:
            return None
        return round(PADDING + (value - low) / width * (MARK_WIDTH - 2 * PADDING), 1)

    return place


def _gain_range(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """Where the axis of gains begins and ends; 0 is on it.

    A method that makes things much worse would squeeze all others into a point, so the axis ends
    at twice the range of those that help; what lies beyond is drawn at its end.
    """
    found = [row[k] for row in rows for k in ("gain", "gain_high") if row[k] is not None]
    top = max([0.001, *found])
    lows = [row["gain_low"] for row in rows if row["gain_low"] is not None]
    return max(min([0.0, *lows]), -2 * top), top


def gain_marks(rows: list[dict[str, Any]]) -> list[dict[str, float | None]]:
    """Gain with its interval for each method, on one axis."""
    bottom, top = _gain_range(rows)
    place = _scale([bottom, top])

    def inside(value: float | None) -> float | None:
        return None if value is None else place(max(bottom, min(top, value)))

    return [
        {
            "zero": place(0.0),
            "low": inside(row["gain_low"]),
            "mid": inside(row["gain"]),
            "high": inside(row["gain_high"]),
        }
        for row in rows
    ]


def gain_axis(rows: list[dict[str, Any]]) -> list[tuple[float, str]]:
    """Ticks of that axis, up to five: where each stands, and what it says in per cent."""
    bottom, top = _gain_range(rows)
    place = _scale([bottom, top])
    for count in (4, 3, 2, 1):
        step = round_step((top - bottom) / count)
        ticks = range(math.ceil(bottom / step - 1e-9), math.floor(top / step + 1e-9) + 1)
        apart = step / (top - bottom) * (MARK_WIDTH - 2 * PADDING)
        if apart >= LABEL_WIDTH:
            break
    return [
        (place(k * step), f"{100 * k * step:+g}%".replace("-", "−") if k else "0") for k in ticks
    ]


def round_step(least: float) -> float:
    """The next of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(k * power for k in (1, 2, 5, 10) if k * power >= least * 0.999)


def group_marks(groups: list[dict[str, Any]]) -> list[dict[str, float | None]]:
    """Observed frequency with its interval, and the mean probability, before calibration."""
    if not groups:
        return []
    keys = ("predicted", "observed_low", "observed_high", "observed")
    place = _scale([group["before"][key] for group in groups for key in keys])
    return [{key: place(group["before"][key]) for key in keys} for group in groups]
