"""One file, two commands: the same verdict, the same groups."""

import numpy as np
import pyarrow as pa
import pytest
from score_files import write_table

from trueodds.metrics import group_test


def expit(z):
    return 1 / (1 + np.exp(-z))


def lines(p, y, *columns):
    return [",".join(map(str, row)) for row in zip(p, y, *columns, strict=True)]


def both(run, path, *more):
    """The JSON of `evaluate` and of `report` on a file."""
    words = [path, "-s", "p", "-l", "y", *more, "--json"]
    evaluated = run("evaluate", *words)
    reported = run("report", *words, "-m", "identity", "-m", "logistic")
    assert (evaluated.code, reported.code) == (0, 0), evaluated.err + reported.err
    return evaluated.json, reported.json["report"]


def flags(evaluated, reported):
    first = {(g["column"], g["value"]): g["flagged"] for g in evaluated["groups"]["groups"]}
    second = {
        (g["column"], g["value"]): g["before"]["flagged"] for g in reported["groups"]["worst"]
    }
    return first, second


@pytest.mark.parametrize("seed", range(6))
def test_evaluate_and_report_flag_the_same_groups(run, csv_file, seed):
    """One of four groups of 500 rows is overconfident; some are of 3 to 30 rows."""
    rng = np.random.default_rng(seed)
    group = np.array(["a", "b", "c", "d"] * 500 + ["e"] * 3 + ["f"] * 12 + ["g"] * 30)
    z = rng.normal(-0.5, 1.5, len(group))
    p = np.round(expit(z), 3)
    y = (rng.random(len(group)) < expit(np.where(group == "c", 0.72 * z, z))).astype(int)
    path = csv_file("p,y,g", *lines(p, y, group))
    evaluated, reported = both(run, path, "-g", "g")
    first, second = flags(evaluated, reported)
    assert first == second
    assert len(first) == 7
    assert evaluated["finding"] == reported["verdict"]["finding"]
    in_python = {("g", g.value): g.flagged for g in group_test(y, p, group)}
    assert first == in_python


def test_bands_of_numbers_are_the_same_groups_too(run, tmp_path):
    rng = np.random.default_rng(0)
    p = np.round(rng.random(1500), 3)
    age = rng.integers(18, 90, 1500)
    score = np.round(rng.normal(0, 1, 1500), 3)
    level = rng.integers(1, 4, 1500)
    y = (rng.random(1500) < np.where(age > 70, 0.5 * p, p)).astype(int)
    columns = {"p": p, "y": y, "age": age, "score": score, "level": level}
    path = write_table(pa.table(columns), tmp_path / "bands.parquet")
    evaluated, reported = both(run, path, "-g", "age", "-g", "score", "-g", "level")
    first, second = flags(evaluated, reported)
    assert first == second
    assert {column for column, _ in first} == {"age", "score", "level"}
    assert len(first) == 13
    assert any(flagged and value.endswith("and above") for (_, value), flagged in first.items())


def test_the_only_group_that_is_off_is_the_headline(run, csv_file):
    rng = np.random.default_rng(1)
    region = rng.choice(["Nord", "Ost", "Süd", "West"], 6000, p=[0.45, 0.05, 0.25, 0.25])
    p = np.round(rng.beta(2, 2, 6000), 3)
    y = (rng.random(6000) < np.where(region == "Ost", 0.75 * p, p)).astype(int)
    path = csv_file("p,y,Region", *lines(p, y, region))
    evaluated, reported = both(run, path, "-g", "Region")
    assert evaluated["finding"] == reported["verdict"]["finding"]
    assert evaluated["finding"].startswith("Not calibrated in 1 of 4 groups. In Region = Ost")
    assert reported["verdict"]["status"] == "groups"
    shown = run("evaluate", path, "-s", "p", "-l", "y", "-g", "Region").out
    assert evaluated["finding"] in shown


@pytest.mark.parametrize("seed", [1, 3, 4])
def test_scores_in_whole_per_cent_have_the_verdict_that_their_slope_demands(run, csv_file, seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(-3, 1, 2000)
    y = (rng.random(2000) < expit(z)).astype(int)
    p = np.round(expit(-3 + 1.5 * (z + 3) - 0.17), 2).clip(0.01, 0.99)
    evaluated, reported = both(run, csv_file("p,y", *lines(p, y)))
    assert evaluated["finding"].startswith("Not calibrated.")
    assert evaluated["finding"] == reported["verdict"]["finding"]
    assert evaluated["evaluation"]["slope_test"]["p_value"] < 1e-4


@pytest.mark.parametrize("option", ["--weight", "--counts"])
def test_weights_and_counts_mean_the_same_to_both(run, csv_file, option):
    rng = np.random.default_rng(2)
    p = np.round(rng.random(700), 2)
    y = (rng.random(700) < p**1.3).astype(int)
    path = csv_file("p,y,w,g", *lines(p, y, rng.integers(1, 6, 700), rng.choice(["a", "b"], 700)))
    evaluated, reported = both(run, path, option, "w", "-g", "g")
    assert evaluated["finding"] == reported["verdict"]["finding"]
    p_values = evaluated["evaluation"]["p_value"], reported["diagnosis"]["p_value"]
    assert p_values[0] == pytest.approx(p_values[1], rel=1e-5)
    first, second = flags(evaluated, reported)
    assert first == second


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_advised_where_nothing_was_found(run, csv_file, seed):
    rng = np.random.default_rng(seed)
    p = np.round(rng.beta(1, 3, 800), 3)
    y = (rng.random(800) < p).astype(int)
    _, reported = both(run, csv_file("p,y", *lines(p, y)))
    verdict = reported["verdict"]
    calm = verdict["finding"].startswith("No miscalibration")
    assert calm == (verdict["status"] == "fine")
    assert "0.0%" not in verdict["recommendation"]
