"""Folders as input, and the columns in the names of folders (``day=2026-10-01``)."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from score_files import write_table

from trueodds.maps import IdentityMap

DAYS = ("2026-10-01", "2026-10-02", "2026-10-03")
COLUMNS = ("--score", "p", "--label", "y")


@pytest.fixture
def lake(tmp_path, monkeypatch):
    """The same 360 rows in every format, one folder a day, and in one file with the day in it."""
    monkeypatch.chdir(tmp_path)
    IdentityMap().save("map.json")
    rng = np.random.default_rng(0)
    parts = []
    for number, day in enumerate(DAYS):
        p = rng.random(120)
        rows = pa.table({"p": p, "y": (rng.random(120) < p).astype(int)})
        parts.append(rows.append_column("day", [[day] * 120]))
        for suffix in ("csv", "parquet", "arrow", "jsonl"):
            folder = tmp_path / suffix / f"day={day}" / f"hour={number + 7}"
            folder.mkdir(parents=True)
            write_table(rows, folder / f"part-0.{suffix}")
            (tmp_path / suffix / "_SUCCESS").touch()
    pq.write_table(pa.concat_tables(parts), "whole.parquet")
    return tmp_path


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow", "jsonl"])
def test_every_format_has_the_columns_of_its_folders(lake, run, suffix):
    words = (*COLUMNS, "--group", "day", "--json")
    found = run("evaluate", suffix, *words).json
    assert found["groups"] == run("evaluate", "whole.parquet", *words).json["groups"]
    assert found["rows"] == 360


@pytest.mark.parametrize("file", ["csv", "csv/day=*", "csv/*/*/*.csv", "csv/**/*.csv"])
def test_a_folder_a_glob_of_folders_and_a_glob_of_files_are_the_same_input(lake, run, file):
    table = run(
        "apply", "map.json", file, "-s", "p", "-o", "-", "--output-format", "csv", "--plain"
    ).out
    lines = table.splitlines()
    assert lines[0] == "p,y,day,hour,probability"
    assert [line.split(",")[2:4] for line in lines[1::120]] == [
        [day, str(number + 7)] for number, day in enumerate(DAYS)
    ]


def test_every_command_takes_a_folder(lake, run):
    whole = (*COLUMNS, "--json")
    assert run("compare", "csv", *whole, "-m", "identity").json["rows"] == 360
    assert run("fit", "csv", *COLUMNS, "-m", "beta", "-o", "beta.json").code == 0
    report = ("report", "csv", *COLUMNS, "-m", "identity", "-g", "day", "-o", "r.html")
    assert run(*report).code == 0
    assert "2026-10-02" in (lake / "r.html").read_text()
    watch = run("monitor", "map.json", "csv", *whole, "--time", "day", "--state", "s.json")
    assert [line["period"] for line in watch.json["periods"]] == list(DAYS)


def test_a_column_of_the_files_comes_before_the_name_of_their_folder(lake, run):
    (lake / "own" / "day=9").mkdir(parents=True)
    table = pq.read_table("whole.parquet")
    write_table(table, lake / "own" / "day=9" / "a.csv")
    found = run("evaluate", "own", *COLUMNS, "--group", "day", "--json").json
    assert {group["value"] for group in found["groups"]["groups"]} == set(DAYS)


def test_hostile_names_of_folders_are_names_and_values(lake, run):
    folder = lake / "odd" / "a\"'b;--=x'\"); DROP" / "P=9" / "c=1" / "C=2"
    folder.mkdir(parents=True)
    (folder / "x.csv").write_text("p\n0.5\n")
    result = run("apply", "map.json", "odd", "-s", "p", "-o", "-", "--output-format", "jsonl")
    assert json.loads(result.out) == {
        "p": 0.5,
        "a\"'b;--": "x'\"); DROP",
        "c": 1,
        "probability": 0.5,
    }


def test_folder_names_above_the_given_path_are_no_columns(lake, run, monkeypatch):
    monkeypatch.chdir(lake / "csv" / "day=2026-10-01")
    result = run("evaluate", "hour=7/part-0.csv", *COLUMNS, "-g", "day")
    assert result.code == 1
    assert "has no column 'day'" in result.err


def test_a_missing_partition_is_missing_and_escaped_names_are_read(lake, run):
    for name in ("shop=A%2FB", "shop=__HIVE_DEFAULT_PARTITION__"):
        folder = lake / "shops" / name
        folder.mkdir(parents=True)
        (folder / "x.jsonl").write_text(json.dumps({"p": 0.5}) + "\n")
    table = run("apply", "map.json", "shops", "-s", "p", "-o", "-", "--output-format", "jsonl").out
    assert [json.loads(line)["shop"] for line in table.splitlines()] == ["A/B", None]


def test_copies_of_files_keep_their_partitions(lake, run):
    """An encoding is changed in a copy elsewhere."""
    for number, day in enumerate(DAYS):
        path = lake / "csv" / f"day={day}" / f"hour={number + 7}" / "part-0.csv"
        path.write_bytes(path.read_text().encode("utf-16"))
    words = (*COLUMNS, "--group", "day", "--json")
    found = run("evaluate", "csv", *words, "--encoding", "utf-16").json
    assert found["groups"] == run("evaluate", "whole.parquet", *words).json["groups"]


def test_a_folder_without_files_gets_one_sentence(lake, run):
    (lake / "empty").mkdir()
    result = run("evaluate", "empty", *COLUMNS)
    assert result.code == 1
    assert "the folder empty has no file of a known format" in result.err


def test_an_output_in_the_input_folder_that_is_one_of_its_files_is_refused(lake, run):
    output = "csv/day=2026-10-01/hour=7/part-0.csv"
    result = run("apply", "map.json", "csv", "-s", "p", "-o", output, "--force")
    assert result.code == 2
    assert "are the same file" in result.err
