"""The page of a monitor in a real Chromium, with a missing, a late and a changed day."""

import re

import numpy as np
import pytest

from trueodds import CalibrationMonitor
from trueodds.report import render_timeline

HOSTILE = "<img src=x onerror=alert(1)>"
AT = "2026-10-09T04:15:00Z"


def line(period, late=False, evidence=0.5):
    found = {"period": period, "rows": 400, "expected": 140.0, "observed": 150.0, "late": late}
    return found | {"e_value": evidence, "ratio_low": 0.9, "ratio_high": 1.2, "alarm": False}


def event(kind, period, rows, file=None):
    return {"kind": kind, "period": period, "file": file, "rows": rows, "at": AT}


PERIODS = [line(f"2026-10-{day:02d}") for day in (1, 2, 3, 5, 6, 8)]
PERIODS.insert(5, line("2026-10-04", late=True))
EVENTS = [
    event("missing", "2026-10-04", 0),
    event("late", "2026-10-04", 400),
    event("missing", "2026-10-07", 0),
    event("changed", "2026-10-02", 1050, HOSTILE),
]


@pytest.fixture
def timeline(tmp_path):
    monitor = CalibrationMonitor().update([0.2, 0.7], [0, 1])
    summary = {**monitor.summary(), "missing": ["2026-10-07 00:00:00"]}
    path = tmp_path / "watch.html"
    path.write_text(render_timeline("Nightly", PERIODS, summary, EVENTS), encoding="utf-8")
    return path


@pytest.fixture(params=[(1280, "light"), (375, "dark")], ids=["desktop", "phone"])
def page(request, browser, timeline):
    width, scheme = request.param
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    found, wrong, requests = context.new_page(), [], []
    found.on("console", lambda message: wrong.append(message.text))
    found.on("pageerror", lambda error: wrong.append(str(error)))
    found.on("request", lambda one: requests.append(one.url))
    found.goto(timeline.as_uri())
    yield found
    context.close()
    assert wrong == []
    assert all(url.startswith(("file:", "data:")) for url in requests), requests


def test_each_unusual_day_has_a_sign_in_both_charts_and_a_word_in_the_table(page):
    for chart in page.locator(".plot svg").all():
        signs = chart.locator(".delivery")
        titles = [one.locator("title").text_content() for one in signs.all()]
        assert titles == ["2026-10-02: changed", "2026-10-04: late", "2026-10-07: missing"]
        assert chart.locator(".gap").count() == 1
        assert chart.locator(".point").count() == len(PERIODS)
        places = [one.bounding_box()["x"] for one in signs.all()]
        assert places == sorted(places)
        # Below the axis, so that no sign hides a dot.
        axis = chart.locator(".frame").bounding_box()["y"]
        assert all(one.bounding_box()["y"] + 3 > axis for one in signs.all())
    rows = page.locator("section").last.locator("tbody tr")
    words = {
        one.locator("th").inner_text(): one.locator("td").last.inner_text() for one in rows.all()
    }
    assert {day: text for day, text in words.items() if text} == {
        "2026-10-07": "missing",
        "2026-10-04": "late",
        "2026-10-02": "1,050 labels changed",
    }


def test_every_delivery_is_told_in_a_sentence(page):
    section = page.locator("#deliveries").inner_text()
    assert "No rows of 2026-10-07." in section
    assert "Counted 400 rows of 2026-10-04 after rows of later periods." in section
    assert f"Received 1,050 rows of 2026-10-02 ({HOSTILE}) again with another label" in section


def test_nothing_scrolls_sideways_and_nothing_is_hard_to_read(page):
    width = page.viewport_size["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    axe = pytest.importorskip("axe_core_python.sync_playwright").Axe()
    found = axe.run(page)
    assert not found["violations"], [(v["id"], v["nodes"][0]["html"]) for v in found["violations"]]
    assert len(found["passes"]) > 10


def test_after_an_alarm_the_page_names_the_change_point_the_region_and_what_to_do(
    browser, tmp_path
):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.6, 4000)
    monitor = CalibrationMonitor().update(p, rng.random(4000) < p + 0.1, time=np.arange(4000))
    assert monitor.alarm
    alarmed = {**line("2026-10-02", evidence=monitor.e_value), "alarm": True}
    path = tmp_path / "alarm.html"
    html = render_timeline("Nightly", [line("2026-10-01"), alarmed], monitor.summary())
    path.write_text(html, encoding="utf-8")
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(path.as_uri())
    verdict = page.locator(".verdict").inner_text()
    assert "The forecasts have been too low since the first row." in verdict
    assert f"Recommendation: f{monitor.recommendation().sentence[1:]}" in verdict
    assert "Change point" in verdict
    regions = page.locator("table.where tbody tr")
    assert regions.count() == len(monitor.regions)
    assert regions.first.locator("td").first.inner_text() == str(monitor.regions[0])
    assert page.locator(".point.alarmed").count() == 1
    context.close()


def test_the_label_of_the_alarm_is_at_the_right_and_counts_are_integers(page):
    chart = page.locator(".plot svg").first
    label = chart.locator(".rule-name").bounding_box()
    frame = chart.locator(".frame").bounding_box()
    assert label["x"] + label["width"] == pytest.approx(frame["x"] + frame["width"], abs=3)
    cells = page.locator("section").last.locator("tbody tr").first.locator("td").all_inner_texts()
    assert cells[:3] == ["400", "140.0", "150"]  # rows, expected, observed


def test_all_periods_are_printed(browser, tmp_path):
    many = [line(f"2026-{1 + k // 28:02d}-{1 + k % 28:02d}") for k in range(150)]
    summary = CalibrationMonitor().update([0.2, 0.7], [0, 1]).summary()
    path = tmp_path / "watch.html"
    path.write_text(render_timeline("Nightly", many, summary), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    table = page.locator(".scroll")
    assert table.evaluate("box => box.scrollHeight > box.clientHeight")
    assert "150, the last one first" in page.locator("h2").last.inner_text()
    page.emulate_media(media="print")
    assert table.evaluate("box => box.scrollHeight == box.clientHeight")
    # 20 lines of 150 fit on a sheet with the charts; all take at least four sheets.
    assert page.pdf(format="A4").count(b"/Type /Page\n") >= 4


def test_ticks_of_large_e_values_are_powers_of_ten_and_include_one(browser, tmp_path):
    many = [line(f"2026-01-{k + 1:02d}", evidence=10.0**k) for k in range(28)]
    summary = CalibrationMonitor().update([0.2, 0.7], [0, 1]).summary()
    path = tmp_path / "watch.html"
    path.write_text(render_timeline("Nightly", many, summary), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    texts = page.locator(".plot svg").first.locator("text").all_text_contents()
    assert [text for text in texts if text.startswith("1")] == ["1", "10⁶", "10¹²", "10¹⁸", "10²⁴"]


def test_a_missing_hour_has_its_minutes_and_a_missing_day_has_none():
    periods = [line("2026-10-06 04:00"), line("2026-10-08 07:00")]
    missing = ["2026-10-06 05:00:00", "2026-10-07 00:00:00", "2026-10-07 06:30:00"]
    summary = {**CalibrationMonitor().update([0.2, 0.7], [0, 1]).summary(), "missing": missing}
    html = render_timeline("Hourly", periods, summary)
    rows = re.findall(r'<tr class="missing"><th scope="row">([^<]*)</th>', html)
    assert rows == ["2026-10-07 06:30:00", "2026-10-07", "2026-10-06 05:00"]


def test_the_band_of_observed_over_expected_stays_in_its_box():
    wide = {"ratio_low": 0.001, "ratio_high": 400.0}
    periods = [line("2026-10-01") | wide, line("2026-10-02")]
    html = render_timeline("Nightly", periods, CalibrationMonitor().summary())
    corners = re.search(r'<polygon class="band" points="([^"]*)"', html).group(1).split()
    heights = [float(corner.split(",")[1]) for corner in corners]
    assert len(heights) == 4
    assert min(heights) == 12  # the top of the box
    assert max(heights) == 260 - 42  # its axis
