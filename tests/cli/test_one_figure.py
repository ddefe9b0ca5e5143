"""One figure, one interval: the same from every entry point, to the last printed digit."""

import re

import numpy as np
import pyarrow.csv
import pytest
from test_layouts import COLUMNS, LAYOUTS, N, files  # noqa: F401

from trueodds import ScoreTable
from trueodds.cli.output import interval, number
from trueodds.exceptions import FewEventsWarning
from trueodds.metrics import (
    accuracy,
    brier_score,
    c_statistic,
    confidence_interval,
    debiased_calibration_error,
    evaluate_classes,
    evaluate_counts,
    evaluate_labels,
    integrated_calibration_index,
    log_loss,
    observed_expected_ratio,
    validation_report,
)
from trueodds.report import build_report

FUNCTIONS = {
    "log_loss": log_loss,
    "brier_score": brier_score,
    "roc_auc": c_statistic,
    "accuracy": accuracy,
    "debiased_calibration_error": debiased_calibration_error,
}
TITLES = {
    "log_loss": "log loss",
    "brier_score": "Brier score",
    "roc_auc": "ROC AUC",
    "accuracy": "accuracy",
    "debiased_calibration_error": "debiased calibration error",
}
ENDS = ("estimate", "low", "high")
METHODS = ["-m", "identity", "-m", "temperature", "--cv", "2"]
CASES = [(name, "csv") for name in LAYOUTS]
CASES += [("one column", "parquet"), ("one column", "xlsx"), ("weights", "parquet")]


def weights(layout):
    return {"sample_weight": layout.weight, "counts": layout.counts}


def agree(found, wanted, rel):
    if wanted is None:
        assert found is None
    else:
        assert found == pytest.approx(wanted, rel=rel, abs=1e-9)


def row_of(text, title):
    """The numbers of a line of a table; of two tables, if both have it, the same numbers."""
    lines = [line for line in text.splitlines() if line.split("  ")[0].strip() == title]
    first, *others = [re.findall(r"< |-?\d+\.\d+(?:e-?\d+)?", line) for line in lines]
    assert all(other == first for other in others)
    return first


@pytest.mark.parametrize(("name", "kind"), CASES, ids=[" ".join(case) for case in CASES])
def test_every_entry_point_has_the_same_figures_and_intervals(name, kind, files, run):  # noqa: F811
    layout, file = LAYOUTS[name], files[kind]
    several = layout.prob.ndim == 2
    whole = [] if several else ["--validation"]
    found = run("evaluate", file, *layout.words, *whole, "--json").json
    text = run("evaluate", file, *layout.words, *whole).out
    report = run("report", file, *layout.words, *METHODS, "--json").json["report"]
    page = run("report", file, *layout.words, *METHODS, "-o", "-").out
    page = re.sub(r"<script.*?</script>|<style.*?</style>", " ", page, flags=re.DOTALL)
    page = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)).replace("&nbsp;", " ")
    page = page.replace("\N{MINUS SIGN}", "-")

    # Python, by two ways.
    if several:
        made = evaluate_classes(layout.code, layout.prob, **weights(layout))
    else:
        table = ScoreTable.from_arrays(
            layout.prob, layout.code, layout.weight, counts=layout.counts
        )
        made = evaluate_counts(table)
    of_python = build_report(
        layout.prob,
        layout.code,
        **weights(layout),
        calibrators=["identity", "temperature"],
        cv=2,
    ).to_json()
    top = {one["measure"]: one["before"] for one in report["figures"]}
    same = {one["measure"]: one["before"] for one in of_python["figures"]}
    for key, metric in made.metrics.items():
        plain = found["evaluation"]["metrics"][key]
        if key not in FUNCTIONS:
            assert plain["low"] is plain["high"] is None
            continue
        ends = {end: plain[end] for end in ENDS}
        alone = confidence_interval(FUNCTIONS[key], layout.code, layout.prob, **weights(layout))
        for end in ENDS:
            assert ends[end] == pytest.approx(getattr(metric, end), rel=1e-9)
            assert ends[end] == pytest.approx(getattr(alone, end), rel=1e-9)
        shown = [number(plain["estimate"]), number(plain["low"]), number(plain["high"])]
        if plain["estimate"] == plain["low"] == 0:  # cut off at 0
            shown = ["< ", number(plain["high"]), *shown[1:]]
        assert row_of(text, TITLES[key]) == shown
        if key in top:
            assert top[key] == pytest.approx({end: ends[end] for end in ENDS}, rel=1e-9)
            assert top[key] == pytest.approx(same[key], rel=1e-9)
    if several:
        return

    # The figures of papers.
    validated = found["validation"]
    table = validation_report(layout.code, layout.prob, **weights(layout))
    listed = {one["figure"]: one for one in report["validation"]["figures"]}
    for one in of_python["validation"]["figures"]:
        for end in ENDS:
            agree(listed[one["figure"]][end], one[end], rel=1e-9)
    assert report["validation"]["rows"] == validated["n"] == table.n
    for one in table.rows():
        key = one["figure"]
        for end in ENDS:
            value = None if np.isnan(one[end]) else one[end]
            agree(validated[key][end], value, rel=1e-9)
            agree(listed[key][end], value, rel=1e-9)
        shown = row_of(text, one["title"])
        assert shown[0] == number(one["estimate"])
        if not np.isnan(one["low"]):
            assert f"[{shown[1]}, {shown[2]}]" == interval(one["low"], one["high"])
        after = page[page.find(" O:E ratio ") :].partition(f" {one['title']} ")[2]
        printed = re.match(r"(-?[\d.]+)(?: \[(-?[\d.]+), ?(-?[\d.]+)\])?", after)
        for digits, end in zip(printed.groups(), ENDS, strict=True):
            if listed[key][end] is None:
                assert digits is None
                continue
            room = 0.5 * 10.0 ** -len(digits.partition(".")[2])
            assert float(digits) == pytest.approx(listed[key][end], abs=room * (1 + 1e-6))
    for key, other in (("brier_score", "brier_score"), ("c_statistic", "roc_auc")):
        for end in ENDS:
            mine = found["evaluation"]["metrics"][other][end]
            assert validated[key][end] == pytest.approx(mine, rel=1e-12)
    for key, metric in {
        "observed_expected": observed_expected_ratio,
        "ici": integrated_calibration_index,
    }.items():
        alone = confidence_interval(
            metric, layout.code, layout.prob, random_state=0, **weights(layout)
        )
        for end in ENDS:
            assert validated[key][end] == pytest.approx(getattr(alone, end), rel=1e-9)


def test_labels_of_a_matrix_have_the_figures_of_each_column():
    labels = np.column_stack([COLUMNS["y"], COLUMNS["letter"] == "a"]).astype(int)
    prob = np.column_stack([COLUMNS["p"], COLUMNS["p_a"]])
    found = evaluate_labels(labels, prob, names=["y", "a"], sample_weight=COLUMNS["w"])
    for k, name in enumerate(("y", "a")):
        for key, metric in found[name].metrics.items():
            if key not in FUNCTIONS:
                assert np.isnan([metric.low, metric.high]).all()
                continue
            alone = confidence_interval(
                FUNCTIONS[key], labels[:, k], prob[:, k], sample_weight=COLUMNS["w"]
            )
            assert (metric.low, metric.high) == pytest.approx((alone.low, alone.high))


def test_the_level_of_a_report_is_chosen_on_the_command_line(run, data):
    words = ["-s", "p", "-l", "y", *METHODS]
    found = {}
    for level in ("0.9", "0.99"):
        result = run("report", data / "scores.csv", *words, "--level", level, "--json")
        assert result.code == 0, result.err
        report = result.json["report"]
        assert report["level"] == float(level)
        found[level] = report["figures"][0]["before"]
        wanted = run("evaluate", data / "scores.csv", *words[:4], "--level", level, "--json").json
        metric = wanted["evaluation"]["metrics"]["log_loss"]
        assert found[level] == pytest.approx({end: metric[end] for end in ENDS})
    assert found["0.99"]["high"] > found["0.9"]["high"]


def test_a_sample_of_the_rows_compares_methods_only(data):
    table = pyarrow.csv.read_csv(data / "scores.csv")
    p, y = table["p"].to_numpy(), table["y"].to_numpy()
    report = build_report(p, y, calibrators=["identity", "temperature"], max_rows=500)
    content = report.to_json()
    assert (content["data"]["rows"], content["data"]["compared_rows"]) == (len(y), 500)
    assert content["validation"]["rows"] == len(y)
    first = report.to_html().partition('class="sentence"')[0]
    assert f"use all {len(y):,} rows" in first
    assert "random sample of 500" in first
    loss = confidence_interval(log_loss, y, p)
    before = content["figures"][0]["before"]
    assert before == pytest.approx({end: getattr(loss, end) for end in ENDS})


def test_few_events_are_noted_at_every_entry_point(run, tmp_path):
    rng = np.random.default_rng(0)
    p = rng.random(N) / 20
    y = np.zeros(N, dtype=int)
    y[:6] = 1
    path = tmp_path / "few.csv"
    rows = "\n".join(f"{a!r},{b}" for a, b in zip(p.tolist(), y.tolist(), strict=True))
    path.write_text("p,y\n" + rows + "\n")
    words = [path, "-s", "p", "-l", "y"]
    said = "at least 10 rows with the event and 10 without; 6 are with the event"
    with pytest.warns(FewEventsWarning, match=said):
        confidence_interval(brier_score, y, p)
    with pytest.warns(FewEventsWarning, match=said):
        table = validation_report(y, p)
    assert said in table.notes[0]
    found = run("evaluate", *words, "--validation", "--json")
    assert said in found.err
    assert any(said in note for note in found.json["notes"])
    assert any(said in note for note in found.json["validation"]["notes"])
    report = run("report", *words, *METHODS, "--json").json["report"]
    assert any(said in warning["message"] for warning in report["warnings"])
    page = run("report", *words, *METHODS, "-o", "-").out
    assert said in page
