"""Two small charts by period, as shapes in the units of their pictures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from trueodds.report._marks import round_step

__all__ = ["MARKS", "Chart", "e_value_chart", "ratio_chart"]

WIDTH, HEIGHT = 480, 260
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 12, 42
MARKS = {"missing": "×", "late": "◆", "changed": "▲"}
"""Signs below the axis, of periods whose delivery was unusual."""


@dataclass(frozen=True)
class Chart:
    """What the template draws."""

    title: str
    note: str
    ticks: list[tuple[float, str]]
    labels: list[tuple[float, str, str]]
    """Place, text and anchor of the periods that are named."""
    line: str
    """Corners of a polygonal line."""
    band: str
    """Corners of an area; may be empty."""
    points: list[tuple[float, float, str, bool]]
    """Place, what to say of it, and whether there was an alarm."""
    rule: tuple[float, str]
    """Where a dashed line stands, and what it is called."""
    marks: list[tuple[float, str, str, str]]
    """Place, sign, kind and words of unusual deliveries."""
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    bottom: int = HEIGHT - BOTTOM


def e_value_chart(periods: Sequence[dict[str, Any]], threshold: float) -> Chart:
    """The e-value at the end of each period, on a logarithmic axis."""
    xs, counted = _counted(periods)
    logs = [math.log10(max(line["e_value"], 1e-3)) for line in counted]
    rule = math.log10(threshold)
    low, high = min(-1.0, *logs), max(rule + 0.5, *logs)
    place = _scale(low, high)
    step = max(1, math.ceil((high - low) / 5))
    powers = range(math.ceil(low), math.floor(high) + 1, step)
    points = [
        (x, place(value), f"{line['period']}: e-value {line['e_value']:.3g}", line["alarm"])
        for x, value, line in zip(xs, logs, counted, strict=True)
    ]
    return Chart(
        "E-value against calibration",
        "Starts at 1. If the forecasts are calibrated, the chance that it ever reaches the dashed "
        f"line is at most 1 in {threshold:g}.",
        [
            (place(power), f"{10.0**power:g}" if -4 < power < 5 else f"1e{power}")
            for power in powers
        ],
        _named(periods),
        _corners(points),
        "",
        points,
        (place(rule), f"alarm at {threshold:g}"),
        _marks(periods),
    )


def ratio_chart(periods: Sequence[dict[str, Any]]) -> Chart:
    """O:E of each period, and the confidence sequence of all rows so far."""
    xs, counted = _counted(periods)
    ratios = [
        line["observed"] / line["expected"] if line["expected"] > 0 else 1.0 for line in counted
    ]
    # Short periods would squeeze all others; they are drawn at the edge if they lie beyond it.
    most = max(line["expected"] for line in counted)
    solid = [r for r, line in zip(ratios, counted, strict=True) if line["expected"] >= 0.2 * most]
    reach = 1.5 * max(0.02, *(abs(ratio - 1.0) for ratio in solid))
    low, high = max(0.0, 1.0 - reach), 1.0 + reach
    place = _scale(low, high)
    points = [
        (
            x,
            place(min(max(ratio, low), high)),
            f"{line['period']}: O:E {ratio:.3f} ({line['rows']:,} rows)",
            False,
        )
        for x, ratio, line in zip(xs, ratios, counted, strict=True)
    ]
    inside = [
        [place(min(max(line[key], low), high)) for line in counted]
        for key in ("ratio_low", "ratio_high")
    ]
    edge = [*zip(xs, inside[0], strict=True), *reversed(list(zip(xs, inside[1], strict=True)))]
    if len(counted) == 1:  # a band needs two ends
        edge = [
            (xs[0] + off, y) for off, k in ((-5, 0), (5, 0), (5, 1), (-5, 1)) for y in inside[k]
        ]
    step = round_step((high - low) / 4)
    first = math.ceil(low / step)
    ticks = [first + k for k in range(math.floor(high / step) - first + 1)]
    digits = max(0, -math.floor(math.log10(step)))
    return Chart(
        "Observed over expected (O:E)",
        "Dots: each period. Band: O:E of all rows up to there, by a confidence sequence, which "
        "holds at all times at once.",
        [(place(k * step), f"{k * step:.{digits}f}") for k in ticks],
        _named(periods),
        "",
        " ".join(f"{x:.1f},{y:.1f}" for x, y in edge),
        points,
        (place(1.0), ""),
        _marks(periods),
    )


def _counted(
    periods: Sequence[dict[str, Any]],
) -> tuple[list[float], list[dict[str, Any]]]:
    """The periods that have rows, and their places."""
    pairs = zip(_places(len(periods)), periods, strict=True)
    found = [(x, line) for x, line in pairs if line["delivery"] != "missing"]
    return [x for x, _ in found], [line for _, line in found]


def _marks(periods: Sequence[dict[str, Any]]) -> list[tuple[float, str, str, str]]:
    """Signs for unusual deliveries, each with the name of its period."""
    pairs = zip(_places(len(periods)), periods, strict=True)
    return [
        (x, MARKS[line["delivery"]], line["delivery"], f"{line['period']}: {line['delivery']}")
        for x, line in pairs
        if line["delivery"]
    ]


def _scale(low: float, high: float) -> Callable[[float], float]:
    span = (high - low) or 1.0

    def place(value: float) -> float:
        return round(HEIGHT - BOTTOM - (value - low) / span * (HEIGHT - TOP - BOTTOM), 1)

    return place


def _places(count: int) -> list[float]:
    inner = WIDTH - LEFT - RIGHT - 16
    if count == 1:
        return [LEFT + 8 + inner / 2]
    return [round(LEFT + 8 + inner * k / (count - 1), 1) for k in range(count)]


def _named(periods: Sequence[dict[str, Any]]) -> list[tuple[float, str, str]]:
    """The first, the middle and the last period, as far as there is room."""
    places = _places(len(periods))
    last = len(periods) - 1
    chosen = sorted({0, last // 2, last}) if last > 3 else range(last + 1)
    anchors = {0: "start", last: "end"} if last else {}
    return [(places[k], str(periods[k]["period"])[:12], anchors.get(k, "middle")) for k in chosen]


def _corners(points: Sequence[tuple[float, float, str, bool]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in points)
