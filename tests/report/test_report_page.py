import json
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from report_samples import HOSTILE

from trueodds.basics.wording import fixed, places_of
from trueodds.report import Report, build_report
from trueodds.report._page import embedded_json
from trueodds.report._svg import uncertainty_lines


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]

    def handle_data(self, data):
        self.text.append(data)


def parse(report):
    page = Page()
    page.feed(report.to_html())
    return page


def test_the_page_names_nothing_outside_itself(binary_report):
    page = parse(binary_report)
    links = [value for _, name, value in page.attributes if name in ("src", "href", "action")]
    assert all(link.startswith(("#", "data:")) for link in links), links
    own = binary_report.to_html().replace("http://www.w3.org/2000/svg", "")
    assert "http://" not in own
    assert "https://" not in own
    assert "@import" not in own
    assert "url(" not in re.sub(r"url\(#", "", own)


def test_control_characters_of_names_are_escaped():
    y, p = [0, 1] * 100, [0.2, 0.7] * 100
    names = ["\x1b[31mred", "b\x07\u202e"] * 100
    html = build_report(p, y, groups={"g\x9b": names}, calibrators=["beta"]).to_html()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", html)
    assert "\\x1b[31mred" in html


def test_hostile_names_are_text_and_only_text(hostile_report):
    page = parse(hostile_report)
    assert "img" not in page.tags
    assert page.tags.count("script") == 2
    assert not [a for a in page.attributes if a[1].startswith("on")]
    text = "".join(page.text)
    assert text.count(HOSTILE) >= 8  # title, names, group, method, provenance, command


def test_embedded_json_cannot_end_its_element():
    text = embedded_json({"<!--": "</script> & <script> \u2028"})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"<!--": "</script> & <script> \u2028"}


def test_the_policy_allows_these_texts_and_nothing_else(binary_report):
    page = binary_report.to_html()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1)
    assert "default-src &#39;none&#39;" in policy
    assert "unsafe" not in policy
    assert not re.search(r'\sstyle="', page)


def test_every_table_has_a_caption_and_every_control_a_name(binary_report):
    page = binary_report.to_html()
    assert page.count("<table") == page.count("<caption")
    for control in ("zoom-in", "zoom-out", "zoom-reset", "theme", "download"):
        assert re.search(rf'<button[^>]*id="{control}"', page)
    assert '<label for="ratio">' in page


def test_the_page_holds_the_verdict_the_command_and_the_provenance(binary_report):
    text = "".join(parse(binary_report).text)
    shown = " ".join(text.replace("\u2011", "-").split())
    assert binary_report.verdict in shown
    assert "trueodds report predictions.parquet --score p" in text
    assert binary_report.to_json()["data"]["fingerprint"] in text
    assert "Holm’s method" in text


def test_provenance_is_a_sentence(binary_report):
    text = " ".join("".join(parse(binary_report).text).split())
    assert "The 3,000 rows come from predictions.parquet. score is the probability" in text
    assert re.search(r"The report was created on \d+ \w+ \d{4} with trueodds", text)


def test_the_drawn_gains_have_an_axis(binary_report):
    page = binary_report.to_html()
    foot = page[page.index("<tfoot") : page.index("</tfoot>")]
    ticks = re.findall(r'<text x="([\d.]+)"[^>]*>([^<]*)</text>', foot)
    assert ticks[0][1] == "0"
    assert len(ticks) >= 2
    assert all(re.fullmatch(r"\+\d+%", text) for _, text in ticks[1:])
    assert page.count(f">{ticks[-1][1]}</text>") == 2  # above the table, too
    assert [float(x) for x, _ in ticks] == sorted(float(x) for x, _ in ticks)


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (0.45921, 0.4421, 0.4772, "0.459"),
        (0.0033129, 0.0031, 0.0035, "0.00331"),
        (12.34, 9.1, 15.2, "12.3"),
        (-0.5, -0.52, -0.48, "−0.500"),
        (0.0, 0.0, 0.01, "0"),
        (None, 0.1, 0.2, "–"),
    ],
)
def test_numbers_have_the_digits_that_their_intervals_support(value, low, high, text):
    assert fixed(value, places_of([{"low": low, "high": high}])) == text


def test_a_summary_that_was_saved_gives_the_same_page(binary_report):
    assert Report(binary_report.to_json()).to_html() == binary_report.to_html()


def test_a_missing_jinja2_is_an_error_that_names_the_extra(binary_report, monkeypatch):
    from trueodds.report import _page

    _page.templates.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r'pip install "trueodds\[report\]"'):
        binary_report.to_html()
    monkeypatch.undo()
    _page.templates.cache_clear()


@pytest.mark.slow
def test_importing_loads_neither_jinja2_nor_matplotlib(run_fresh):
    run_fresh(
        "import sys, trueodds.report\n"
        "assert not {'jinja2', 'matplotlib', 'duckdb'} & set(sys.modules)"
    )


@pytest.mark.slow
def test_a_report_needs_neither_sklearn_nor_pandas(run_fresh):
    run_fresh(
        "import sys, numpy as np\n"
        "from trueodds.report import build_report\n"
        "p = np.random.default_rng(0).random(300)\n"
        "y = np.random.default_rng(1).random(300) < p\n"
        "build_report(p, y, calibrators=['beta', 'isotonic']).to_html()\n"
        "assert not {'sklearn', 'pandas'} & set(sys.modules)"
    )


def test_half_a_character_in_a_label_is_escaped(tmp_path):
    p = np.linspace(0.02, 0.98, 60)
    y = np.where(np.arange(60) % 3 == 0, "\ud800b", "a")
    made = build_report(p, y, classes=["a", "\ud800b"], calibrators=["logistic"])
    assert "\\ud800b" in made.save(tmp_path / "r.html").read_text("utf-8")


def test_scores_that_rank_the_wrong_way_round_are_noted_on_the_page():
    rng = np.random.default_rng(0)
    p = rng.random(800)
    y = (rng.random(800) < p).astype(int)
    remedy = "pass classes=[1, 0]"
    assert remedy in build_report(1 - p, y, calibrators=["beta"]).to_html()
    assert remedy not in build_report(p, y, calibrators=["beta"]).to_html()


def test_the_map_of_probabilities_is_drawn_with_its_diagonal_even_if_a_score_is_0():
    for lowest in (0.0, 0.05):
        content = {"score": [lowest, 0.5, 1.0], "probability": [0.1, 0.4, 0.8]}
        content |= {"low": [0.05, 0.3, 0.7], "high": [0.2, 0.5, 0.9]}
        assert uncertainty_lines(content)["diagonal"] is not None
    content["score"] = [-2.0, 0.0, 1.0]  # decision values
    assert uncertainty_lines(content)["diagonal"] is None
