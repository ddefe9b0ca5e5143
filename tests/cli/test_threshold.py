"""``trueodds threshold`` gives what Python gives."""

import numpy as np
import pytest

from trueodds.decisions import guaranteed_threshold, guaranteed_thresholds


@pytest.fixture
def rows():
    rng = np.random.default_rng(4)
    p = rng.beta(4, 1, 900).round(3)
    return p, (rng.random(900) < p).astype(int), rng.choice(["north", "south"], 900)


@pytest.fixture
def file(csv_file, rows):
    return csv_file(
        "p,y,region", *(f"{p},{y},{region}" for p, y, region in zip(*rows, strict=True))
    )


@pytest.mark.parametrize("risk", ["errors", "misses", "false_alarms", "cost"])
def test_a_file_gives_what_python_gives(run, file, rows, risk):
    p, y, _ = rows
    options = ["--at-most", "0.2", "--risk", risk, "--confidence", "0.8", "--json"]
    found = run("threshold", file, "-s", "p", "-l", "y", *options).json
    expected = guaranteed_threshold(y, p, at_most=0.2, risk=risk, confidence=0.8)
    assert found["format"] == "trueodds-threshold"
    assert found["guarantee"] == expected.to_dict()
    assert found["finding"] == str(expected)
    shown = run("threshold", file, "-s", "p", "-l", "y", *options[:-1]).out
    assert str(expected) in shown


@pytest.mark.parametrize(("cost_fp", "cost_fn"), [(2.0, 0.5), (0.5, 2.0)])
def test_costs_of_a_command_are_those_of_python(run, file, rows, cost_fp, cost_fn):
    p, y, _ = rows
    costs = ["--cost-fp", cost_fp, "--cost-fn", cost_fn]
    options = ["--at-most", 0.45, "--risk", "cost", *costs, "--json"]
    found = run("threshold", file, "-s", "p", "-l", "y", *options).json["guarantee"]
    expected = guaranteed_threshold(
        y, p, at_most=0.45, risk="cost", cost_fp=cost_fp, cost_fn=cost_fn
    )
    assert found == expected.to_dict()
    act = p >= found["threshold"]
    cost = np.mean(cost_fp * (act & (y == 0)) + cost_fn * (~act & (y == 1)))
    assert found["estimate"] == pytest.approx(cost)


def test_groups_in_a_file_give_what_python_gives(run, file, rows):
    p, y, region = rows
    options = ["-s", "p", "-l", "y", "--at-most", "0.2", "--group", "region"]
    found = run("threshold", file, *options, "--json").json
    expected = guaranteed_thresholds(y, p, groups=region, at_most=0.2)
    assert found["groups"] == [
        {"value": k, "band": None, **v.to_dict()} for k, v in expected.items()
    ]
    shown = run("threshold", file, *options).out
    assert f"{expected['north'].threshold:g}" in shown


def test_a_column_of_counts_is_rows(run, csv_file):
    few = csv_file("p,y,n", "0.9,1,190", "0.9,0,10", "0.4,1,10", "0.4,0,10", name="few.csv")
    found = run(
        "threshold", few, "-s", "p", "-l", "y", "--counts", "n", "--at-most", "0.1", "--json"
    )
    assert found.json["guarantee"]["n_acted"] == 200
    assert found.json["guarantee"]["n_wrong"] == 10


def test_a_growing_file_gives_what_python_gives(run, file, rows):
    p, y, region = rows
    options = ["-s", "p", "-l", "y", "--at-most", "0.2", "--anytime", "--json"]
    found = run("threshold", file, *options).json
    assert found["guarantee"] == guaranteed_threshold(y, p, at_most=0.2, anytime=True).to_dict()
    assert "at all sample sizes together" in found["finding"]
    found = run("threshold", file, *options, "--group", "region").json
    expected = guaranteed_thresholds(y, p, groups=region, at_most=0.2, anytime=True)
    assert found["groups"] == [
        {"value": k, "band": None, **v.to_dict()} for k, v in expected.items()
    ]


def test_groups_of_counted_lines_are_groups_of_rows(run, csv_file, rows):
    p, y, region = rows
    lines = [f"{a},{b},{c},{i % 4}" for i, (a, b, c) in enumerate(zip(*rows, strict=True))]
    few = csv_file("p,y,region,n", *lines, name="few.csv")
    options = ["-s", "p", "-l", "y", "--at-most", "0.2", "--counts", "n", "--group", "region"]
    found = run("threshold", few, *options, "--json").json
    n = np.arange(len(y)) % 4
    expected = guaranteed_thresholds(
        np.repeat(y, n), np.repeat(p, n), groups=np.repeat(region, n), at_most=0.2
    )
    assert found["groups"] == [
        {"value": k, "band": None, **v.to_dict()} for k, v in expected.items()
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--weight", "p"], "--weight allows no exact guarantee"),
        (["--scale", "logit"], "a threshold needs probabilities; calibrate the scores first"),
        (["--group", "region", "--group", "y"], "pass --group only once"),
        (["--anytime", "--max-rows", "100"], "--anytime needs all rows"),
    ],
)
def test_what_has_no_guarantee_is_refused(run, file, options, message):
    found = run("threshold", file, "-s", "p", "-l", "y", "--at-most", "0.2", *options)
    assert found.code == 2
    assert message in found.err


def test_the_report_has_the_same_threshold(run, file, tmp_path):
    columns = ["-s", "p", "-l", "y", "--at-most", "0.2"]
    page = tmp_path / "page.html"
    words = ["-m", "identity", "-m", "beta"]
    run("report", file, *columns, *words, "-o", str(page))
    assert run("threshold", file, *columns, "--json").json["finding"] in page.read_text()
    assert run("report", file, *columns, "--weight", "p").code == 2
