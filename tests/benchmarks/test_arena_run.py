"""benchmarks/arena/arena.py goes on where it was stopped, and adds or redoes single methods."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from contest.results import append_row, read_rows

PROGRAM = Path(__file__).resolve().parents[2] / "benchmarks" / "arena" / "arena.py"
METHODS = ["logistic", "temperature"]


@pytest.fixture
def arena(tmp_path):
    """Two files of two classes and one of three."""
    rng = np.random.default_rng(0)
    (tmp_path / "binary").mkdir()
    (tmp_path / "multiclass").mkdir()
    for name in ("one@nb", "two@nb"):
        p = rng.random(650)
        np.savez(tmp_path / "binary" / f"{name}.npz", p=p, y=(rng.random(650) < p).astype("i1"))
    p = rng.dirichlet([1, 1, 1], size=300).astype("f4")
    y = (p.cumsum(axis=1) > rng.random((300, 1))).argmax(axis=1).astype("i2")
    np.savez(
        tmp_path / "multiclass" / "three@rf.npz",
        p_cal=p[:150],
        y_cal=y[:150],
        p_test=p[150:],
        y_test=y[150:],
    )
    return tmp_path


def run(arena, *options, expect=0):
    done = subprocess.run(
        [sys.executable, str(PROGRAM), "--output", str(arena / "rows"), *options],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TRUEODDS_ARENA": str(arena)},
    )
    assert done.returncode == expect, done.stderr
    return done


def test_every_experiment_and_method_gets_one_row(arena):
    done = run(arena, "--methods", *METHODS)
    rows = read_rows(arena / "rows")
    # Sizes 100 and 300 of two files, and one of three classes; two methods and the base model.
    assert len(rows) == (4 + 1) * 3
    assert {row["n"] for row in rows if row["kind"] == "binary"} == {100, 300}
    assert {row["error"] for row in rows} == {None}
    base = next(row for row in rows if row["method"] == "trueodds/identity")
    assert (base["experiment"], base["set"], base["model"]) == ("binary/one@nb/100", "one", "nb")
    assert "Two classes: 4 experiments on 2 sets, 3 methods" in done.stdout


def test_a_stopped_run_goes_on_where_it_was(arena):
    run(arena, "--methods", *METHODS)
    whole = (arena / "rows").read_text().splitlines()
    # As if stopped in the middle of writing the fifth row.
    (arena / "rows").write_text("\n".join(whole[:4]) + "\n" + whole[4][:30])
    run(arena, "--methods", *METHODS)
    lines = (arena / "rows").read_text().splitlines()
    assert lines[:4] == whole[:4]
    assert lines[4] == whole[4][:30]
    assert len(lines) == len(whole) + 1
    again = {(row["experiment"], row["method"]): row["brier"] for row in read_rows(arena / "rows")}
    first = {(r["experiment"], r["method"]): r["brier"] for r in map(json.loads, whole)}
    assert again == first


def test_a_method_is_added_or_redone_alone(arena):
    run(arena, "--methods", "logistic")
    before = (arena / "rows").read_text()
    run(arena, "--methods", "temperature", "--kinds", "multiclass")
    assert (arena / "rows").read_text().startswith(before)
    added = (arena / "rows").read_text().removeprefix(before).splitlines()
    assert [json.loads(line)["method"] for line in added] == ["trueodds/temperature"]
    run(arena, "--methods", "temperature", "--kinds", "multiclass", "--redo")
    assert len((arena / "rows").read_text().splitlines()) == 5 * 2 + 1 + 1
    run(arena, "--methods", "temperature", "--kinds", "multiclass")
    assert len((arena / "rows").read_text().splitlines()) == 5 * 2 + 1 + 1


def test_two_processes_write_the_same_rows(arena):
    run(arena, "--methods", "logistic", "--jobs", "2")
    rows = {(r["experiment"], r["method"]): r["log_loss"] for r in read_rows(arena / "rows")}
    (arena / "rows").unlink()
    run(arena, "--methods", "logistic")
    assert rows == {
        (r["experiment"], r["method"]): r["log_loss"] for r in read_rows(arena / "rows")
    }


def test_an_error_becomes_the_text_of_its_row(arena):
    run(arena, "--methods", "logistic(scale='nonsense')", "--kinds", "multiclass")
    (row,) = [row for row in read_rows(arena / "rows") if row["method"] != "trueodds/identity"]
    assert row["brier"] is None
    assert "nonsense" in row["error"]


def test_without_predictions_one_is_told_where_they_should_be(tmp_path):
    done = run(tmp_path, expect=1)
    assert "There are no predictions in" in done.stderr
    assert "TRUEODDS_ARENA" in done.stderr


def test_of_several_rows_the_last_counts(tmp_path):
    path = tmp_path / "new folder" / "rows"
    append_row(path, {"experiment": "e", "method": "m", "brier": 1})
    append_row(path, {"experiment": "e", "method": "m", "brier": 2})
    assert [row["brier"] for row in read_rows(path)] == [2]
