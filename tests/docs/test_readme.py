"""README is short, and its numbers are those of the pages that it links."""

import re

import pytest
from project_pages import DOCS, ROOT

from trueodds.calibrators import all_calibrators

README = (ROOT / "README.md").read_text(encoding="utf-8")
MOST_WORDS = 600


def words_of(text):
    """Words without blocks of code and without the targets of links."""
    prose = re.sub(r"\]\([^)]*\)", "]", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    return [word for word in prose.split() if re.search(r"\w", word)]


def cells(line):
    return [cell.strip(" *") for cell in line.strip("| \n").split("|")]


def leaders(kind):
    """The arena's size; its rows of the default, our best other method and probmetrics' best."""
    page = (DOCS / "arena.md").read_text(encoding="utf-8")
    table = page.split(f"<!-- {kind}: begin -->")[1].split(f"<!-- {kind}: end -->")[0]
    experiments, sets = re.findall(r"(\d+) experiments on (\d+) data sets", table)[0]
    rows = [cells(line) for line in table.splitlines() if "(trueodds)" in line or "(prob" in line]
    rows.sort(key=lambda row: -float(row[2]))  # by win rate in log-loss
    default = next(row for row in rows if row[0] == "auto (trueodds)")
    ours = [row for row in rows if "(trueodds)" in row[0] and row is not default]
    theirs = [row for row in rows if "(trueodds)" not in row[0]]
    return experiments, sets, default, ours[0], theirs[0]


def test_it_is_short():
    assert len(words_of(README)) <= MOST_WORDS


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_win_rates_and_times_are_those_of_the_arena(kind):
    experiments, sets, *methods = leaders(kind)
    start = README.index(f"| win rate, {experiments} {kind} experiments ({sets} data sets) |")
    rates, times = (cells(line)[1:] for line in README[start:].splitlines()[:2])
    assert [float(rate.split()[0]) for rate in rates] == [round(float(m[2]), 2) for m in methods]
    names = [rate.split()[-1].strip("()").lower() for rate in rates[1:]]
    assert names == [method[0].split()[0].lower() for method in methods[1:]]
    assert times == [f"{1000 * float(m[8]):.0f} ms" for m in methods]
    worse = methods[0][5].replace(" ", "")
    assert re.search(rf"{worse} of the {kind}", " ".join(README.split()))


def test_win_rates_that_anyone_can_repeat_are_those_of_the_arena():
    rates = [
        round(float(leaders(f"packages-{kind}")[2][2]), 2) for kind in ("binary", "multiclass")
    ]
    assert f"its win rates are {rates[0]} and {rates[1]}." in " ".join(README.split())


def test_the_speed_of_the_default_is_that_of_its_page():
    page = (DOCS / "methods" / "bayesian-smooth.md").read_text(encoding="utf-8")
    rows, times = (
        next(cells(line) for line in page.splitlines() if line.startswith(f"| {name}"))
        for name in ("rows (", "CPU time of a fit")
    )
    speed = dict(zip(rows, times, strict=True))
    assert f"on a million rows takes [{speed['1,000,000']} of CPU time]" in README
    choosing = (DOCS / "choosing.md").read_text(encoding="utf-8")
    assert f"the default takes [{speed['1,000']}]" in choosing


def test_losses_are_those_of_the_benchmarks():
    page = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    table = page.split("<!-- held-out: begin -->")[1].split("<!-- held-out: end -->")[0]
    rows = [cells(line) for line in table.splitlines() if re.search(r"\| 0\.\d+ \|", line)]
    first, second = sorted(rows, key=lambda row: float(row[3]))[:2]
    assert (first[0], second[:2]) == ("auto", ["equal-mass bins", "pycalib"])
    text = " ".join(README.split())
    assert f"its log-loss is {first[3]}" in text
    assert f"are next with {second[3]}" in text


def test_verdicts_are_all_of_those_on_the_page_of_claims():
    page = (DOCS / "studies" / "claims.md").read_text(encoding="utf-8")
    rows = [cells(line)[1:7] for line in re.findall(r"^\| \[.*\]\(.*\) \|.*$", page, re.MULTILINE)]
    claims, confirmed, measure, unclear, refuted, untested = (
        sum(map(int, column)) for column in zip(*rows, strict=True)
    )
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(README.split()))
    assert (
        f"Of {claims} claims, {confirmed} are confirmed, {measure} only with the authors' measure, "
        f"{unclear} inconclusive, {refuted} not confirmed and {untested} not tested."
    ) in text


def test_the_number_of_methods():
    methods = set(all_calibrators()) - {"identity", "one_vs_rest"}
    assert f"[{len(methods)} methods]" in README


@pytest.mark.parametrize("word", ["ECE", "random forest", "multiclass", "Spark", "threshold"])
def test_what_people_look_for_stands_next_to_a_link(word):
    lines = [line for line in re.split(r"\n(?=[-\[*])|\n\n", README) if "](https://" in line]
    assert any(word.lower() in re.sub(r"\]\([^)]*\)", "]", line).lower() for line in lines)
