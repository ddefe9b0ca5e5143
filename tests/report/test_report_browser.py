"""The page in a real Chromium: it draws, answers to mouse and keyboard, and asks for nothing."""

import json
import re

import numpy as np
import pytest
from PIL import Image
from report_samples import HOSTILE, METHODS, expit

from support.services import library
from trueodds.report import build_report

PHONE, DESKTOP = {"width": 375, "height": 800}, {"width": 1280, "height": 900}


class Watched:
    """A page, with everything that went wrong on it and every address it asked for."""

    def __init__(self, browser, path, viewport, scheme="light"):
        self.context = browser.new_context(viewport=viewport, color_scheme=scheme)
        self.page = self.context.new_page()
        self.faults, self.requests = [], []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("#plot-before .point")

    def _heard(self, message):
        if message.type in ("error", "warning"):
            self.faults.append(message.text)

    def text(self, selector):
        return self.page.locator(selector).first.inner_text()

    def count(self, selector):
        return self.page.locator(selector).count()


@pytest.fixture
def open_report(browser, tmp_path):
    opened = []

    def open_one(report, viewport=DESKTOP, scheme="light"):
        path = report.save(tmp_path / "report.html")
        opened.append(Watched(browser, path, viewport, scheme))
        return opened[-1]

    yield open_one
    for watched in opened:
        faults, requests = watched.faults, watched.requests
        watched.context.close()
        assert faults == []
        # The file itself and the empty icon; nothing leaves the page.
        assert all(url.startswith(("file:", "data:", "blob:")) for url in requests), requests


@pytest.mark.parametrize("name", ["binary_report", "several_report", "hostile_report"])
@pytest.mark.parametrize("viewport", [PHONE, DESKTOP], ids=["phone", "desktop"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_draws_at_either_width_without_scrolling_sideways(
    open_report, request, name, viewport, scheme
):
    watched = open_report(request.getfixturevalue(name), viewport, scheme)
    page = watched.page
    page.locator("details").evaluate_all("all => all.forEach(d => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    # Nothing sticks out of the section that holds it, either.
    assert page.evaluate(
        """() => [...document.querySelectorAll('section, .plot svg, table.cards')]
           .every(e => e.getBoundingClientRect().right <= innerWidth + 0.5)"""
    )
    for plot in ("#plot-before", "#plot-after"):
        assert watched.count(f"{plot} .point") > 5
        assert watched.count(f"{plot} .band") == 1
    assert watched.count("#plot-costs .curve") == 2


def test_hovering_a_point_says_what_it_is(open_report, binary_report):
    watched = open_report(binary_report)
    point = watched.page.locator("#plot-before .point").nth(3)
    point.scroll_into_view_if_needed()
    assert not watched.page.locator("#plot-before .tooltip").is_visible()
    box = point.bounding_box()
    watched.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    curve = binary_report.to_json()["diagrams"][0]["before"]
    text = watched.text("#plot-before .tooltip")
    assert f"observed: {curve['observed'][3]:.3f}" in text
    assert f"{curve['weight'][3]:.0f} rows" in text
    watched.page.mouse.move(5, 5)
    assert not watched.page.locator("#plot-before .tooltip").is_visible()


def test_hovering_a_bar_and_the_costs_says_what_they_are(open_report, binary_report):
    watched = open_report(binary_report)
    watched.page.locator("#plot-after .bar").nth(40).hover(force=True)
    assert "% of positives" in watched.text("#plot-after .tooltip")
    watched.page.locator("#plot-costs svg").hover()
    assert "per 1,000" in watched.text("#plot-costs .tooltip")


def test_the_keyboard_reads_the_points_one_by_one(open_report, binary_report):
    watched = open_report(binary_report)
    page = watched.page
    page.locator("#methods").evaluate("e => e.scrollIntoView()")
    page.locator("#zoom-reset").focus()
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.parentElement.id") == "plot-before":
            break
    curve = binary_report.to_json()["diagrams"][0]["before"]
    assert f"observed: {curve['observed'][0]:.3f}" in watched.text("#plot-before .tooltip")
    page.keyboard.press("ArrowRight")
    assert f"observed: {curve['observed'][1]:.3f}" in watched.text("#plot-before .tooltip")
    assert f"observed: {curve['observed'][1]:.3f}" in page.locator("#announce").text_content()
    page.keyboard.press("Escape")
    assert not page.locator("#plot-before .tooltip").is_visible()
    for _ in range(3):  # past the two buttons that save the picture
        page.keyboard.press("Tab")
    assert watched.page.locator("#plot-after .tooltip").is_visible()


def test_every_control_is_reached_by_tab_and_shows_that_it_is(open_report, binary_report):
    watched = open_report(binary_report)
    page = watched.page
    reached = set()
    for _ in range(75):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate(
                """() => { const e = document.activeElement;
                   const s = getComputedStyle(e.closest('.chip') ?? e);
                   if (e !== document.body && s.outlineStyle === 'none') return 'invisible ' + e.outerHTML;
                   return e.id || e.value || e.parentElement.id; }"""  # noqa: E501
            )
        )
    assert not [name for name in reached if name.startswith("invisible")]
    wanted = {"theme", "axis-linear", "axis-log", "zoom-in", "zoom-out", "zoom-reset", "ratio"}
    wanted |= {"curve-smooth", "curve-bins", "zoom-fit"}
    assert wanted | {"plot-before", "plot-after", "plot-costs", "download"} <= reached
    assert {"identity", "temperature", "beta"} <= reached


def test_the_slider_changes_the_numbers_to_those_of_the_summary(open_report, binary_report):
    watched = open_report(binary_report)
    content = binary_report.to_json()
    before = watched.text("#cost-before"), watched.text("#cost-threshold")
    slider = watched.page.locator("#ratio")
    slider.focus()
    watched.page.keyboard.press("End")
    assert (watched.text("#cost-before"), watched.text("#cost-threshold")) != before
    slider.fill("80")
    costs = content["costs"]
    shown = costs["methods"][content["shown_method"]]
    cost = 1000 * (shown["cheap"][80] + costs["ratios"][80] * shown["dear"][80])
    assert float(watched.text("#cost-after").replace(",", "")) == pytest.approx(cost, abs=0.6)
    assert "10 times as much as" in watched.text("#ratio-text")
    assert "10 times" in slider.get_attribute("aria-valuetext")
    assert watched.text("#cost-threshold").startswith("p ≥ 0.09")


def test_methods_are_toggled_in_all_pictures_at_once(open_report, binary_report):
    watched = open_report(binary_report)
    page = watched.page
    assert watched.count("#plot-after .curve") == 1
    page.locator("[data-chips] label", has_text="uncalibrated").click()
    page.locator("[data-chips] label", has_text="temperature").click()
    for plot in ("#plot-after", "#plot-costs", "#plot-decisions"):
        assert watched.count(f"{plot} .curve") == 3, plot
        legend = page.locator(f"{plot} .legend").text_content()
        assert "temperature" in legend, plot
        assert "uncalibrated" in legend, plot
    for name in ("identity", "temperature", "group"):
        page.locator(f"[data-chips] input[value={name}]").uncheck(force=True)
    assert watched.text("[data-drawn]") == "none"
    assert watched.count("#plot-after .curve") == 0
    assert watched.count("#plot-before .curve") == 1


def test_zooming_shows_low_probabilities_and_can_be_undone(open_report, binary_report):
    watched = open_report(binary_report)
    page = watched.page
    ticks = "() => [...document.querySelectorAll('#plot-before text')].map(t => t.textContent)"
    whole = page.evaluate(ticks)
    page.click("#zoom-in")
    page.click("#zoom-in")
    assert "0.25" in page.evaluate(ticks)
    assert "1.0" not in page.evaluate(ticks)
    page.click("#axis-log")
    assert page.locator("#axis-log").get_attribute("aria-pressed") == "true"
    assert "0.1" in page.evaluate(ticks)
    page.click("#axis-linear")
    page.click("#zoom-reset")
    assert page.evaluate(ticks) == whole
    page.locator("#plot-before svg").scroll_into_view_if_needed()
    box = page.locator("#plot-before svg").bounding_box()
    page.mouse.move(box["x"] + 60, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 160, box["y"] + 150)
    page.mouse.up()
    assert page.evaluate(ticks) != whole
    page.locator("#plot-before svg").focus()
    page.keyboard.press("0")
    assert page.evaluate(ticks) == whole


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colors_follow_the_system_and_the_button(open_report, binary_report, scheme):
    watched = open_report(binary_report, scheme=scheme)
    ground = "() => getComputedStyle(document.body).backgroundColor"
    colors = {"light": "rgb(246, 247, 249)", "dark": "rgb(15, 18, 22)"}
    other = "dark" if scheme == "light" else "light"
    assert watched.page.evaluate(ground) == colors[scheme]
    watched.page.click("#theme")
    assert watched.page.evaluate(ground) == colors[other]
    watched.page.click("#theme")
    assert watched.page.evaluate(ground) == colors[scheme]


CONTRAST = """() => {
  const light = (c) => { const [r, g, b] = c.map(v => { v /= 255;
    return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const rgb = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const paper = light(rgb(getComputedStyle(document.querySelector('section')).backgroundColor));
  return ['.note', '.tag', '.from', '.to', 'summary', '.interval', 'p', '.badge'].map(s => {
    const own = light(rgb(getComputedStyle(document.querySelector(s)).color));
    return [s, (Math.max(own, paper) + 0.05) / (Math.min(own, paper) + 0.05)]; }); }"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_the_contrast_that_wcag_asks_for(open_report, binary_report, scheme):
    watched = open_report(binary_report, scheme=scheme)
    for selector, contrast in watched.page.evaluate(CONTRAST):
        assert contrast >= 4.5, (selector, contrast)


def test_print_is_light_has_no_controls_and_keeps_the_pictures(open_report, binary_report):
    watched = open_report(binary_report, scheme="dark")
    watched.page.emulate_media(media="print")
    assert watched.page.locator("#plot-after svg").is_visible()
    assert not watched.page.locator("#theme").is_visible()
    assert not watched.page.locator(".toolbar").is_visible()
    ink = watched.page.evaluate("getComputedStyle(document.querySelector('.sentence')).color")
    assert ink == "rgb(0, 0, 0)"
    assert watched.page.pdf(format="A4").startswith(b"%PDF")


def test_hostile_names_do_nothing_but_are_shown(open_report, hostile_report):
    watched = open_report(hostile_report)
    page = watched.page
    page.locator("[data-chips] input[value=group]").uncheck(force=True)
    page.locator("[data-chips] label", has_text="onerror").first.click()
    page.locator("#plot-after svg").focus()
    page.keyboard.press("ArrowRight")
    page.locator("#plot-after .point").nth(2).hover(force=True)
    assert HOSTILE in watched.text("#plot-after .tooltip")
    assert page.title() == HOSTILE.strip()
    assert page.evaluate("document.images.length") == 0
    assert HOSTILE in watched.text("[data-chips]")


TICKS = "() => [...document.querySelectorAll('#plot-before text')].map(t => t.textContent)"


def test_rare_events_fill_the_picture_on_a_log_odds_axis(open_report):
    rng = np.random.default_rng(0)
    z = rng.normal(-6, 1.5, 20_000)
    report = build_report(expit(z), rng.random(20_000) < expit(z), calibrators=METHODS)
    watched = open_report(report)
    assert watched.page.locator("#axis-log").get_attribute("aria-pressed") == "true"
    assert "0.5" not in watched.page.evaluate(TICKS)
    watched.page.click("#axis-linear")  # fitted, too
    assert {"0.00", "0.10"} <= set(watched.page.evaluate(TICKS))
    assert "0.5" not in watched.page.evaluate(TICKS)
    watched.page.click("#zoom-reset")
    assert "1.0" in watched.page.evaluate(TICKS)


def test_the_smooth_curve_has_its_confidence_band_and_bins_are_joined_on_request(
    open_report, binary_report
):
    watched = open_report(binary_report)
    curve = binary_report.to_json()["diagrams"][0]["before"]
    points = watched.page.locator("#plot-before .curve").get_attribute("points")
    assert len(points.split()) == len(curve["smooth"]["predicted"])
    watched.page.click("#curve-bins")
    points = watched.page.locator("#plot-before .curve").get_attribute("points")
    assert len(points.split()) == len(curve["predicted"])
    assert watched.page.locator("#curve-bins").get_attribute("aria-pressed") == "true"


def test_every_picture_can_be_saved_as_svg_and_png(open_report, binary_report):
    watched = open_report(binary_report)
    assert watched.count("[data-picture]") == watched.count(".save") == 5
    for name in ("reliability-after", "calibration-map", "costs", "decision-curve"):
        button = watched.page.locator(f"[data-picture={name}] + .save button")
        with watched.page.expect_download() as download:
            button.nth(0).click()
        assert download.value.suggested_filename == f"{name}.svg"
        text = download.value.path().read_text(encoding="utf-8")
        assert text.startswith("<svg")
        assert "var(" not in text  # it needs no style sheet
        assert "class=" not in text
        width = float(re.search(r'viewBox="0 0 ([\d.]+)', text)[1])
        with watched.page.expect_download() as download:
            button.nth(1).click()
        with Image.open(download.value.path()) as picture:
            assert picture.width == 2 * width
            assert len(picture.convert("RGB").getcolors(1 << 20)) > 20  # something is drawn


def test_on_a_phone_the_choice_of_methods_is_folded(open_report, binary_report):
    assert open_report(binary_report, DESKTOP).page.locator("[data-chips]").is_visible()
    watched = open_report(binary_report, PHONE)
    assert not watched.page.locator("[data-chips]").is_visible()
    assert watched.text("[data-drawn]") == "groups"


def test_classes_stand_side_by_side_and_a_click_shows_one_large(open_report, several_report):
    watched = open_report(several_report)
    assert watched.count("#classes button") == 4
    assert watched.count("#classes .curve") == 8  # before and after
    watched.page.locator("#classes button").nth(2).click()
    assert watched.page.locator("#diagram").input_value() == "3"


def test_several_classes_can_be_looked_at_one_by_one(open_report, several_report):
    watched = open_report(several_report)
    first = watched.page.locator("#plot-before .curve").get_attribute("points")
    watched.page.select_option("#diagram", "2")
    assert watched.page.locator("#plot-before .curve").get_attribute("points") != first
    watched.page.locator("#plot-before .bar").first.hover(force=True)
    assert "% of this class" in watched.text("#plot-before .tooltip")


def test_the_tables_behind_the_pictures_hold_their_numbers(open_report, binary_report):
    watched = open_report(binary_report)
    curve = binary_report.to_json()["diagrams"][0]["before"]
    text = watched.page.locator("#diagram-table").text_content()
    assert all(f"{y:.3f}" in text for y in curve["observed"])
    assert watched.count("#cost-table tbody tr") >= 8


def test_all_numbers_can_be_downloaded(open_report, binary_report):
    watched = open_report(binary_report)
    with watched.page.expect_download() as download:
        watched.page.click("#download")
    text = download.value.path().read_text(encoding="utf-8")
    assert json.loads(text) == binary_report.to_json()


@pytest.mark.parametrize(("viewport", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")])
def test_names_contrast_and_keyboard_have_no_violations(
    browser, binary_report, tmp_path, viewport, scheme
):
    axe = library("axe_core_python.sync_playwright").Axe()
    watched = Watched(browser, binary_report.save(tmp_path / "r.html"), viewport, scheme)
    found = axe.run(watched.page)
    assert not found["violations"], [(v["id"], v["nodes"][0]["html"]) for v in found["violations"]]
    assert len(found["passes"]) > 20  # so something was looked at
    watched.context.close()
