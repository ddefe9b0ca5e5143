"""Intervals from the command line: fitted, saved, applied, exported."""

import numpy as np
import pyarrow.csv
import pytest

import trueodds
from trueodds import BetaCalibrator


def test_a_map_is_saved_with_its_band_and_applied_with_it(run, data, table, tmp_path):
    made, out = tmp_path / "map.json", tmp_path / "out.csv"
    words = ["-s", "p", "-l", "y", "-m", "beta", "--interval", "0.8", "-o", made]
    result = run("fit", data / "scores.csv", *words)
    assert result.code == 0, result.err
    scores = table["p"].to_numpy()
    own = BetaCalibrator().fit(scores, table["y"].to_pylist())
    low, high = own.predict_interval(scores, level=0.8)
    result = run("apply", made, data / "scores.csv", "-s", "p", "--interval", "0.8", "-o", out)
    assert result.code == 0, result.err
    found = pyarrow.csv.read_csv(out)
    names = ["probability", "probability_low", "probability_high"]
    assert found.column_names[-3:] == names
    expected = [own.predict_proba(scores)[:, 1], low, high]
    for name, values in zip(names, expected, strict=True):
        np.testing.assert_allclose(found[name].to_numpy(), values, atol=1e-9)


def test_either_end_is_exported(run, data, tmp_path):
    made = tmp_path / "map.json"
    run("fit", data / "scores.csv", "-s", "p", "-l", "y", "--interval", "0.9", "-o", made)
    result = run("export", made, "--to", "python", "--bound", "upper")
    assert result.code == 0, result.err
    namespace = {}
    exec(result.out, namespace)  # noqa: S102
    expected = trueodds.load(made).interval([0.3])[1][0]
    assert namespace["calibrate"](0.3) == pytest.approx(expected, abs=1e-12)


def test_a_map_without_intervals_says_so(run, data, tmp_path):
    words = ["-s", "p", "-o", tmp_path / "out.csv"]
    result = run("apply", data / "map.json", data / "scores.csv", *words, "--interval", "0.9")
    assert result.code == 2
    assert "has no intervals; fit it with --interval 0.9" in result.err
    result = run("export", data / "map.json", "--to", "sql", "--bound", "lower")
    assert result.code == 2
    assert "has no intervals" in result.err


def test_another_level_than_that_of_the_map_is_refused(run, data, tmp_path):
    made = tmp_path / "map.json"
    run("fit", data / "scores.csv", "-s", "p", "-l", "y", "--interval", "0.9", "-o", made)
    words = ["-s", "p", "--interval", "0.5", "-o", tmp_path / "out.csv"]
    result = run("apply", made, data / "scores.csv", *words)
    assert result.code == 2
    assert "have confidence level 0.9; pass --interval 0.9" in result.err
    result = run("fit", data / "scores.csv", "-s", "p", "-l", "y", "--interval", "90")
    assert result.code == 2
    assert "'90' is not a share; type 0.9." in result.err
