"""Static pictures: scales, ticks, lines and bands in the units of their view boxes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from trueodds.basics.wording import e_value_text, power_of_ten

__all__ = [
    "MARKS",
    "UNCERTAINTY_BOX",
    "Chart",
    "e_value_chart",
    "gain_axis",
    "gain_marks",
    "group_marks",
    "ratio_chart",
    "uncertainty_lines",
]

# ----- scales, ticks and lines --------------------------------------------------------------------


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    """A linear axis that maps ``low`` to ``start`` and ``high`` to ``end``."""
    span = (high - low) or 1.0

    def place(value: float) -> float:
        return round(start + (value - low) / span * (end - start), 1)

    return place


def _round_step(least: float) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten that is at least ``least``."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(k * power for k in (1, 2, 5, 10) if k * power >= least * 0.999)


def _multiples(low: float, high: float, step: float) -> range:
    """Return the integers k for which k · step lies in [low, high]."""
    return range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)


def _points(places: Iterable[tuple[float, float]]) -> str:
    """Format points for polylines and polygons."""
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def _band(xs: Sequence[float], low: Sequence[float], high: Sequence[float]) -> str:
    """Return the outline of the area between two lines."""
    upper, lower = zip(xs, high, strict=True), zip(xs, low, strict=True)
    return _points([*upper, *reversed(list(lower))])


# ----- dots and whiskers in tables ----------------------------------------------------------------

MARK_WIDTH = 160.0
PADDING = 14.0
"""Space for half a label of the axis."""
LABEL_WIDTH = 34.0


def _mark_scale(low: float, high: float) -> Callable[[float], float]:
    return _scale(low, high, PADDING, MARK_WIDTH - PADDING)


def _gain_range(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the limits of the axis of gains, which includes 0.

    A method with a large loss would compress all others, so the axis ends at twice the range of
    the methods that help. Marks beyond it are drawn at its end.
    """
    found = [row[k] for row in rows for k in ("gain", "gain_high") if row[k] is not None]
    top = max([0.001, *found])
    lows = [row["gain_low"] for row in rows if row["gain_low"] is not None]
    return max(min([0.0, *lows]), -2 * top), top


def gain_marks(rows: list[dict[str, Any]]) -> list[dict[str, float | None]]:
    """Return the gain with its interval for each method, on one axis."""
    bottom, top = _gain_range(rows)
    place = _mark_scale(bottom, top)

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
    """Return the position and text of up to five ticks of that axis."""
    bottom, top = _gain_range(rows)
    place = _mark_scale(bottom, top)
    for count in (4, 3, 2, 1):
        step = _round_step((top - bottom) / count)
        ticks = _multiples(bottom, top, step)
        apart = step / (top - bottom) * (MARK_WIDTH - 2 * PADDING)
        if apart >= LABEL_WIDTH:
            break
    return [
        (place(k * step), f"{100 * k * step:+g}%".replace("-", "−") if k else "0") for k in ticks
    ]


def group_marks(groups: list[dict[str, Any]]) -> list[dict[str, float | None]]:
    """Return the observed frequency, its interval, and the mean probability before calibration."""
    if not groups:
        return []
    keys = ("predicted", "observed_low", "observed_high", "observed")
    values = [group["before"][key] for group in groups for key in keys]
    place = _mark_scale(min(values), max(values))
    return [{key: place(group["before"][key]) for key in keys} for group in groups]


# ----- the calibration map with its band ----------------------------------------------------------

UNCERTAINTY_BOX = (480.0, 360.0, 52.0, 14.0)
"""Width and height of the picture, and its padding: left and below, right and above."""


def uncertainty_lines(content: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the map as a line, its intervals as a band, and the ticks of both axes."""
    if content is None:
        return None
    width, height, margin, rim = UNCERTAINTY_BOX
    x = content["score"]
    is_probability = x[0] >= 0 and x[-1] <= 1
    first, last = (0.0, _axis_end(x[-1])) if is_probability else (x[0], x[-1])
    top = _axis_end(max(content["high"]))
    if is_probability:
        last = top = max(last, top)
    across = _scale(first, last, margin, width - rim)
    up = _scale(0.0, top, height - margin, rim)
    xs = [across(score) for score in x]
    line, low, high = ([up(p) for p in content[k]] for k in ("probability", "low", "high"))
    shares = (0.0, 0.25, 0.5, 0.75, 1.0)
    ticks = [first + ((last - first) or 1.0) * share for share in shares]
    return {
        "line": _points(zip(xs, line, strict=True)),
        "band": _band(xs, low, high),
        "diagonal": _points([(across(0), up(0)), (across(top), up(top))])
        if is_probability
        else None,
        "across": [(across(tick), f"{tick:.3g}".replace("-", "−")) for tick in ticks],
        "up": [(up(share * top), f"{share * top:.3g}") for share in shares],
    }


def _axis_end(p: float) -> float:
    """Return an upper limit for an axis of probabilities that includes ``p``."""
    return min(1.0, _round_step(max(p, 1e-6)))


# ----- the timeline of a monitor ------------------------------------------------------------------

WIDTH, HEIGHT = 480, 260
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 12, 42
MARKS = {"missing": "×", "late": "◆", "changed": "▲"}
"""Marks below the axis, for periods with an unusual delivery."""


@dataclass(frozen=True)
class Chart:
    """A chart by period, as the template draws it."""

    title: str
    note: str
    ticks: list[tuple[float, str]]
    labels: list[tuple[float, str, str]]
    """Position, text and anchor of labeled periods."""
    line: str
    """Corners of a polygonal line."""
    band: str
    """Corners of an area; may be empty."""
    points: list[tuple[float, float, str, bool]]
    """Position, tooltip, and whether there was an alarm."""
    rule: tuple[float, str]
    """Position and name of a dashed line."""
    marks: list[tuple[float, str, str, str]]
    """Position, sign, kind and text of unusual deliveries."""
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    bottom: int = HEIGHT - BOTTOM


def e_value_chart(periods: Sequence[dict[str, Any]], threshold: float) -> Chart:
    """Return the chart of the e-value at the end of each period, on a logarithmic axis."""
    xs, counted = _counted(periods)
    logs = [math.log10(max(line["e_value"], 1e-3)) for line in counted]
    rule = math.log10(threshold)
    low, high = min(-1.0, *logs), max(rule + 0.5, *logs)
    place = _scale(low, high, HEIGHT - BOTTOM, TOP)
    step = max(1, math.ceil((high - low) / 5))
    powers = [step * k for k in _multiples(low, high, step)]
    plain = all(-4 < power < 5 for power in powers)
    points = [
        (
            x,
            place(value),
            f"{line['period']}: e-value {e_value_text(line['e_value'])}",
            line["alarm"],
        )
        for x, value, line in zip(xs, logs, counted, strict=True)
    ]
    return Chart(
        "E-value against calibration",
        "Starts at 1. If the forecasts are calibrated, the chance that it ever reaches the dashed "
        f"line is at most 1 in {threshold:g}.",
        [
            (place(power), f"{10.0**power:,g}" if plain or power == 0 else power_of_ten(power))
            for power in powers
        ],
        _named(periods),
        _points((x, y) for x, y, _, _ in points),
        "",
        points,
        (place(rule), f"alarm at {threshold:g}"),
        _marks(periods),
    )


def ratio_chart(periods: Sequence[dict[str, Any]]) -> Chart:
    """Return the chart of O:E by period, with the confidence sequence of all rows so far."""
    xs, counted = _counted(periods)
    ratios = [
        line["observed"] / line["expected"] if line["expected"] > 0 else 1.0 for line in counted
    ]
    # Short periods would compress all others; they are drawn at the edge if they lie beyond it.
    most = max(line["expected"] for line in counted)
    solid = [r for r, line in zip(ratios, counted, strict=True) if line["expected"] >= 0.2 * most]
    reach = 1.5 * max(0.02, *(abs(ratio - 1.0) for ratio in solid))
    low, high = max(0.0, 1.0 - reach), 1.0 + reach
    place = _scale(low, high, HEIGHT - BOTTOM, TOP)
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
    edge = xs
    if len(counted) == 1:  # a band needs two ends
        edge, inside = [xs[0] - 5, xs[0] + 5], [2 * ends for ends in inside]
    step = _round_step((high - low) / 4)
    ticks = _multiples(low, high, step)
    digits = max(0, -math.floor(math.log10(step)))
    return Chart(
        "Observed over expected (O:E)",
        "Dots: O:E of each period. Band: confidence sequence for O:E of all rows so far, valid at "
        "all times at once.",
        [(place(k * step), f"{k * step:.{digits}f}") for k in ticks],
        _named(periods),
        "",
        _band(edge, *inside),
        points,
        (place(1.0), ""),
        _marks(periods),
    )


def _counted(
    periods: Sequence[dict[str, Any]],
) -> tuple[list[float], list[dict[str, Any]]]:
    """Return the periods that have rows, and their positions."""
    pairs = zip(_places(len(periods)), periods, strict=True)
    found = [(x, line) for x, line in pairs if line["delivery"] != "missing"]
    return [x for x, _ in found], [line for _, line in found]


def _marks(periods: Sequence[dict[str, Any]]) -> list[tuple[float, str, str, str]]:
    """Return signs for unusual deliveries, each with its period."""
    pairs = zip(_places(len(periods)), periods, strict=True)
    return [
        (x, MARKS[line["delivery"]], line["delivery"], f"{line['period']}: {line['delivery']}")
        for x, line in pairs
        if line["delivery"]
    ]


def _places(count: int) -> list[float]:
    inner = WIDTH - LEFT - RIGHT - 16
    if count == 1:
        return [LEFT + 8 + inner / 2]
    return [round(LEFT + 8 + inner * k / (count - 1), 1) for k in range(count)]


def _named(periods: Sequence[dict[str, Any]]) -> list[tuple[float, str, str]]:
    """Return the first, the middle and the last period, if there is room."""
    places = _places(len(periods))
    last = len(periods) - 1
    chosen = sorted({0, last // 2, last}) if last > 3 else range(last + 1)
    anchors = {0: "start", last: "end"} if last else {}
    return [(places[k], str(periods[k]["period"])[:12], anchors.get(k, "middle")) for k in chosen]
