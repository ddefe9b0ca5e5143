"""Counting on the engine and counting in memory lead to one map."""

import pytest

from trueodds.cli.rows import read
from trueodds.cli.rows.read import IN_MEMORY


@pytest.mark.parametrize("weight", [[], ["--weight", "w"]])
@pytest.mark.parametrize("scale", [["-s", "p"], ["-s", "z", "--scale", "logit"]])
def test_counting_on_the_engine_gives_the_map_of_counting_in_memory(
    run, data, tmp_path, monkeypatch, scale, weight
):
    words = ["fit", data / "scores.parquet", *scale, *weight, "-l", "y", "-m", "isotonic", "-o"]
    maps = []
    for most in (IN_MEMORY, 1999):
        monkeypatch.setattr(read, "IN_MEMORY", most)
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
        path = tmp_path / f"{most}.json"
        assert run(*words, path).code == 0
        maps.append(path.read_text())
    assert len(maps[0]) > 500
    assert maps[0] == maps[1]


@pytest.mark.parametrize("most", [IN_MEMORY, 3])
def test_weights_of_zero(run, csv_file, monkeypatch, most):
    monkeypatch.setattr(read, "IN_MEMORY", most)
    rows = [f"0.{k + 1},{k % 2},{k % 2},0" for k in range(8)]
    path = csv_file("p,y,half,nothing", *rows)
    words = ["fit", path, "-s", "p", "-l", "y", "-m", "beta", "--weight"]
    result = run(*words, "nothing")
    assert result.code == 1
    assert "is zero in all 8 rows" in result.err
    assert "one class only" in run(*words, "half").err
