"""Static pictures, read back: what is drawn is where the ticks of the axis say."""

import re

import numpy as np
import pytest

from trueodds import CalibrationMonitor
from trueodds.report import render_timeline
from trueodds.report._svg import gain_axis, gain_marks, group_marks, uncertainty_lines


def value_at(ticks, values):
    """The function that reads a value from a position, by the two outermost ticks."""
    (x0, v0), (x1, v1) = (
        (float(ticks[k][0]), values[k]) for k in (int(np.argmin(values)), int(np.argmax(values)))
    )
    return lambda x: v0 + (float(x) - x0) / (x1 - x0) * (v1 - v0)


def corners(text):
    return [tuple(map(float, pair.split(","))) for pair in text.split()]


# ----- the timeline of a monitor ------------------------------------------------------------------


def period(name, observed, expected, low, high, e_value, rows=100):
    ends = {"ratio_low": low, "ratio_high": high, "e_value": e_value}
    counts = {"rows": rows, "expected": expected, "observed": observed}
    return {"period": name, "alarm": e_value >= 20, "late": False, **counts, **ends}


PERIODS = [
    period("May", 18.0, 20.0, 0.6, 1.6, 1.0),
    period("June", 23.0, 20.0, 0.7, 1.5, 3.0),
    period("July", 28.0, 20.0, 0.9, 1.5, 250.0),
    period("short", 2.0, 1.0, 0.9, 1.45, 0.0001),
    period("August", 26.0, 20.0, 1.0, 1.4, 0.05),
]


def charts(periods=PERIODS, alpha=0.05):
    summary = CalibrationMonitor(alpha=alpha).update([0.2, 0.7], [0, 1]).summary()
    page = render_timeline("Nightly", periods, summary)
    figures = re.findall(r"<figure.*?</figure>", page, re.DOTALL)
    assert len(figures) == 2
    return [read_chart(figure) for figure in figures]


def read_chart(svg):
    grid = re.findall(r'<line class="grid"[^>]*y1="([\d.]+)"[^>]*/>\s*<text[^>]*>([^<]*)<', svg)
    names = re.findall(r'<text x="([\d.]+)" y="248" text-anchor="(\w+)">([^<]*)<', svg)
    powers = dict(zip("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789", strict=True))
    texts = [text.replace("−", "-").replace(",", "") for _, text in grid]
    numbers = [
        10.0 ** int("".join(powers[c] for c in text[2:])) if re.match("10[⁻⁰-⁹¹²³]", text)
        else float(text)
        for text in texts
    ]  # fmt: skip
    points = re.findall(r'class="point( alarmed)?" cx="([\d.]+)" cy="([\d.]+)"', svg)
    frame = re.search(r'class="frame" x1="([\d.]+)" x2="([\d.]+)" y1="([\d.]+)"', svg)
    found = re.search(r'class="(?:rule|one)"[^>]*y1="([\d.]+)"', svg)
    band = re.search(r'class="band" points="([^"]*)"', svg)
    line = re.search(r'class="curve" points="([^"]*)"', svg)
    return {
        "ticks": [(float(y), number) for (y, _), number in zip(grid, numbers, strict=True)],
        "names": [(float(x), anchor, text) for x, anchor, text in names],
        "points": [(float(x), float(y)) for _, x, y in points],
        "alarmed": [bool(alarmed) for alarmed, _, _ in points],
        "frame": tuple(map(float, frame.groups())),
        "rule": float(found.group(1)),
        "band": corners(band.group(1)) if band else [],
        "line": corners(line.group(1)) if line else [],
    }


@pytest.mark.parametrize("alpha", [0.05, 0.001])
def test_e_values_are_drawn_on_a_logarithmic_axis(alpha):
    chart = charts(alpha=alpha)[0]
    value = value_at(chart["ticks"], [np.log10(number) for _, number in chart["ticks"]])
    for (_, y), line in zip(chart["points"], PERIODS, strict=True):
        # What is below 0.001 stands there.
        assert value(y) == pytest.approx(np.log10(max(line["e_value"], 1e-3)), abs=0.01)
    assert value(chart["rule"]) == pytest.approx(np.log10(1 / alpha), abs=0.01)
    assert chart["alarmed"] == [False, False, True, False, False]
    assert chart["line"] == chart["points"]
    assert chart["band"] == []
    assert 3 <= len(chart["ticks"]) <= 7
    assert all(number == 10.0 ** round(np.log10(number)) for _, number in chart["ticks"])
    # Nothing lies outside the frame, and the line of the alarm has room above it.
    _, _, bottom = chart["frame"]
    drawn = [y for _, y in chart["points"]] + [y for y, _ in chart["ticks"]]
    assert 12 <= min(drawn) <= max(drawn) <= bottom
    assert chart["rule"] > 12


def test_ratios_and_their_band_are_drawn_where_the_axis_says():
    chart = charts()[1]
    left, right, bottom = chart["frame"]
    numbers = [number for _, number in chart["ticks"]]
    value = value_at(chart["ticks"], numbers)
    assert np.diff(sorted(numbers)) == pytest.approx(np.diff(sorted(numbers))[0])
    # From the periods with at least a fifth of the rows: half as far again as the farthest.
    low, high = 1 - 1.5 * 0.4, 1 + 1.5 * 0.4
    assert value(bottom) == pytest.approx(low, abs=0.01)
    assert value(12.0) == pytest.approx(high, abs=0.01)
    ratios = [line["observed"] / line["expected"] for line in PERIODS]
    for (_, y), ratio in zip(chart["points"], ratios, strict=True):
        assert value(y) == pytest.approx(np.clip(ratio, low, high), abs=0.01)
    assert value(chart["rule"]) == pytest.approx(1.0, abs=0.01)
    xs = [x for x, _ in chart["points"]]
    assert np.diff(xs) == pytest.approx(np.diff(xs)[0], abs=0.2)
    assert left < xs[0] < xs[-1] < right
    upper, lower = chart["band"][:5], chart["band"][5:][::-1]
    for key, edge in (("ratio_high", upper), ("ratio_low", lower)):
        assert [x for x, _ in edge] == xs
        for (_, y), line in zip(edge, PERIODS, strict=True):
            assert value(y) == pytest.approx(np.clip(line[key], low, high), abs=0.01)
    assert [text for _, _, text in chart["names"]] == ["May", "July", "August"]
    assert [x for x, _, _ in chart["names"]] == [xs[0], xs[2], xs[4]]
    assert [anchor for _, anchor, _ in chart["names"]] == ["start", "middle", "end"]


def test_steady_ratios_have_an_axis_of_a_few_percent():
    chart = charts([period(f"p{k}", 20.0, 20.0, 0.99, 1.01, 1.0) for k in range(3)])[1]
    value = value_at(chart["ticks"], [number for _, number in chart["ticks"]])
    assert value(chart["frame"][2]) == pytest.approx(0.97, abs=0.001)
    assert value(12.0) == pytest.approx(1.03, abs=0.001)
    assert [text for _, _, text in chart["names"]] == ["p0", "p1", "p2"]


def test_one_period_is_in_the_middle_and_has_a_band():
    chart = charts(PERIODS[:1])[1]
    (at, _), (left, right, _) = chart["points"][0], chart["frame"]
    assert at == pytest.approx((left + right) / 2, abs=1)
    assert [x for x, _ in chart["band"]] == [at - 5, at + 5, at + 5, at - 5]


def test_periods_without_expected_positives_are_drawn_at_one():
    lines = [PERIODS[0], period("none", 0.0, 0.0, 0.6, 1.6, 1.0), PERIODS[2]]
    chart = charts(lines)[1]
    assert chart["points"][1][1] == pytest.approx(chart["rule"], abs=0.1)


# ----- dots and whiskers in tables ----------------------------------------------------------------


def gains(*rows):
    return [dict(zip(("gain_low", "gain", "gain_high"), row, strict=True)) for row in rows]


@pytest.mark.parametrize(
    "rows",
    [
        gains((0.02, 0.05, 0.08), (-0.01, 0.01, 0.03), (0.0, 0.0, 0.0)),
        gains((0.0, 0.0, 0.0), (None, 0.0004, None)),
        gains((0.2, 0.4, 0.6), (-0.9, -0.5, -0.1)),
        gains((0.02, 0.05, None), (-0.31, -0.2, -0.1), (None, None, None)),
    ],
)
def test_gains_are_drawn_where_the_axis_says(rows):
    axis = gain_axis(rows)
    numbers = [float(text.replace("−", "-").rstrip("%")) / 100 for _, text in axis]
    assert 0.0 in numbers
    assert 2 <= len(axis) <= 5
    assert min(np.diff([x for x, _ in axis])) >= 34 - 0.1
    assert all(0 <= x <= 160 for x, _ in axis)
    value = value_at(axis, numbers)
    # The axis ends at the largest gain, and below at twice that; what is beyond is at its end.
    given = [row[key] for row in rows for key in ("gain", "gain_high")]
    top = max(0.001, *(g for g in given if g is not None))
    lowest = min(0.0, *(row["gain_low"] for row in rows if row["gain_low"] is not None))
    bottom = max(lowest, -2 * top)
    for mark, row in zip(gain_marks(rows), rows, strict=True):
        assert value(mark["zero"]) == pytest.approx(0.0, abs=0.01 * top)
        for end, key in (("low", "gain_low"), ("mid", "gain"), ("high", "gain_high")):
            if row[key] is None:
                assert mark[end] is None
            else:
                assert 14 <= mark[end] <= 146
                expected = np.clip(row[key], bottom, top)
                assert value(mark[end]) == pytest.approx(expected, abs=0.01 * (top - bottom))


def test_groups_are_drawn_on_one_axis():
    keys = ("observed_low", "observed", "observed_high", "predicted")
    values = np.array([[0.1, 0.2, 0.3, 0.5], [0.0, 0.05, 0.1, 0.02]])
    marks = group_marks([{"before": dict(zip(keys, row, strict=True))} for row in values])
    drawn = np.array([[mark[key] for key in keys] for mark in marks])
    np.testing.assert_allclose(drawn, 14 + values / 0.5 * (160 - 28), atol=0.051)
    assert group_marks([]) == []


# ----- a map with its band ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "top"),
    [
        (np.linspace(0.05, 0.9, 7), 1.0),
        (np.linspace(0.001, 0.004, 7), 0.01),
        (np.linspace(-3.0, 4.0, 7), 1.0),
    ],
)
def test_a_map_and_its_band_are_drawn_where_the_axes_say(scores, top):
    is_probability = scores.min() >= 0
    p = scores if is_probability else 1 / (1 + np.exp(-scores))
    content = {"score": scores, "probability": p, "low": 0.8 * p, "high": np.minimum(1.6 * p, 1)}
    drawn = uncertainty_lines({key: list(values) for key, values in content.items()})
    x_of, y_of = (
        value_at(ticks, [float(text.replace("−", "-")) for _, text in ticks])
        for ticks in (drawn["across"], drawn["up"])
    )
    width, height = x_of(480 - 14) - x_of(52), y_of(14) - y_of(360 - 52)
    assert height == pytest.approx(top)
    assert width == pytest.approx(top if is_probability else 7.0, rel=0.01)
    near = {"abs": 0.005 * width}, {"abs": 0.005 * height}

    def check(points, values):
        for (x, y), score, value in zip(points, scores, values, strict=True):
            assert x_of(x) == pytest.approx(score, **near[0])
            assert y_of(y) == pytest.approx(value, **near[1])

    check(corners(drawn["line"]), content["probability"])
    band = corners(drawn["band"])
    check(band[:7], content["high"])
    check(band[7:][::-1], content["low"])
    if is_probability:
        for x, y in corners(drawn["diagonal"]):
            assert x_of(x) == pytest.approx(y_of(y), **near[0])
    else:
        assert drawn["diagonal"] is None
    assert uncertainty_lines(None) is None
