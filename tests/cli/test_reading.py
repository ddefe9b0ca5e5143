"""Files of every format, and names that want to do harm."""

import gzip
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from score_files import make_table, write_table

import trueodds
from trueodds.cli.errors import UsageError
from trueodds.cli.files.csv import csv_header
from trueodds.cli.files.find import format_of, resolve
from trueodds.cli.files.sql import literal, quoted
from trueodds.exceptions import InputError

FORMATS = ("csv", "parquet", "arrow", "jsonl")
WORDS = ["-s", "p", "-l", "y"]


def test_every_format_gives_the_map_of_the_arrays(run, data, tmp_path):
    expected = trueodds.load(data / "map.json")
    for kind in FORMATS:
        result = run(
            "fit", data / f"scores.{kind}", "-s", "p", "-l", "y", "-m", "beta",
            "-o", tmp_path / f"{kind}.json",
        )  # fmt: skip
        assert result.code == 0, result.err
        fitted = trueodds.load(tmp_path / f"{kind}.json")
        p = np.linspace(0, 1, 101)
        np.testing.assert_allclose(fitted(p), expected(p), atol=1e-12)
        assert fitted.classes == (0, 1)


def test_a_glob_is_read_as_one_table(run, table, tmp_path, data):
    for number, kind in enumerate(("parquet", "csv")):
        folder = tmp_path / kind
        folder.mkdir()
        write_table(table.slice(0, 700), folder / f"a.{kind}")
        write_table(table.slice(700), folder / f"b.{kind}")
        result = run("evaluate", f"{folder}/*.{kind}", "-s", "p", "-l", "y", "--json")
        whole = run("evaluate", data / f"scores.{kind}", "-s", "p", "-l", "y", "--json")
        assert result.json["rows"] == 2000, number
        assert result.json["evaluation"] == whole.json["evaluation"]


@pytest.mark.parametrize("named", [[], ["--format"]])
@pytest.mark.parametrize("kind", FORMATS)
def test_standard_input_of_every_format_which_its_bytes_tell(run, feed, data, kind, named):
    feed((data / f"scores.{kind}").read_bytes())
    result = run("fit", "-", *named, *([kind] if named else []), *WORDS, "-m", "beta")
    assert result.code == 0, result.err
    feed(b"")
    whole = run("fit", data / "scores.parquet", *WORDS, "-m", "beta")
    assert result.json["parameters"] == whole.json["parameters"]


def test_an_arrow_stream_is_read_like_an_arrow_file(run, table, tmp_path):
    path = tmp_path / "stream.arrow"
    with pa.ipc.new_stream(str(path), table.schema) as stream:
        stream.write_table(table)
    assert run("evaluate", path, "-s", "p", "-l", "y", "--json").json["rows"] == 2000


def test_delimiters_byte_order_marks_and_gzip(run, table, tmp_path):
    lines = ["p;y"] + [f"{p!r};{y}" for p, y in zip(*_columns(table), strict=True)]
    text = "\r\n".join(lines).encode("utf-8-sig")
    (tmp_path / "a.csv").write_bytes(text)
    with gzip.open(tmp_path / "b.csv.gz", "wb") as stream:
        stream.write(text.replace(b";", b"\t"))
    for name in ("a.csv", "b.csv.gz"):
        assert run("evaluate", tmp_path / name, "-s", "p", "-l", "y", "--json").json["rows"] == 2000


def _columns(table):
    return table["p"].to_pylist(), table["y"].to_pylist()


HOSTILE = ['a"; drop', "it's", "sum(p) --", "select", "naïve ✓", "a\nb", "score", "label"]


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_columns_of_any_name_can_be_used(run, table, tmp_path, name):
    other = f"{name} label"
    hostile = table.select(["p", "y"]).rename_columns([name, other])
    for kind in ("csv", "parquet"):
        path = write_table(hostile, tmp_path / f"x.{kind}")
        fitted = run(
            "fit", path, "-s", name, "-l", other, "-m", "beta", "-o", tmp_path / "m.json", "--force"
        )
        assert fitted.code == 0, fitted.err
        applied = run(
            "apply", tmp_path / "m.json", path, "-s", name, "-o", tmp_path / "o.parquet", "--force"
        )
        assert applied.code == 0, applied.err
        out = pa.parquet.read_table(tmp_path / "o.parquet")
        assert out.column_names == [name, other, "probability"]
        grouped = run("evaluate", path, "-s", name, "-l", other, "-g", other, "--json")
        assert grouped.code == 0, grouped.err


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_columns_that_have_our_own_names_in_other_roles(run, table, tmp_path, kind):
    names = {"p": "label", "y": "weight", "w": "score", "g": "reason", "id": "r", "z": "group_0"}
    renamed = table.rename_columns([names[name] for name in table.column_names])
    path = write_table(renamed, tmp_path / f"x.{kind}")
    words = ["-s", "label", "-l", "weight", "--weight", "score", "-g", "reason", "--json"]
    found = run("evaluate", path, *words)
    assert found.code == 0, found.err
    same = write_table(table, tmp_path / f"y.{kind}")
    words = ["-s", "p", "-l", "y", "--weight", "w", "-g", "g", "--json"]
    expected = run("evaluate", same, *words).json
    assert found.json["evaluation"] == expected["evaluation"]
    for entry, other in zip(
        found.json["groups"]["groups"], expected["groups"]["groups"], strict=True
    ):
        assert {**entry, "column": "g"} == other
    bad = run("evaluate", path, "-s", "r", "-l", "weight")
    assert "'r' is outside [0, 1] in 1,998 (first in row 3: " in bad.err


def test_default_names_of_columns(run, table, tmp_path):
    path = write_table(
        table.rename_columns(["id", "score", "label", "z", "w", "g"]), tmp_path / "x.csv"
    )
    assert run("evaluate", path, "--json").json["rows"] == 2000


def test_names_that_differ_in_case_alone(run, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("p,P,y\n0.1,7,1\n0.2,8,0\n")
    result = run("fit", path, "-s", "p", "-l", "y", "-m", "logistic")
    assert result.code == 1
    assert "'p' and 'P' differ only in case" in result.err


@pytest.mark.parametrize("name", ["it's [1] *?.csv", "'; drop table x; --.csv", "a b.csv", "é.csv"])
def test_files_of_any_name_can_be_used(run, table, tmp_path, name):
    path = write_table(table, tmp_path / name)
    write_table(make_table(50), tmp_path / "it's 1 xx.csv")  # what the glob would match
    result = run("evaluate", path, "-s", "p", "-l", "y", "--json")
    assert result.code == 0, result.err
    assert result.json["rows"] == 2000


def test_labels_with_quotes_are_labels(run, csv_file):
    lines = ["p,y"] + [f"0.{i % 9}1,{QUOTED[i % 3 > 0]}" for i in range(60)]
    path = csv_file(*lines)
    result = run("evaluate", path, "-s", "p", "-l", "y", "--positive", "it's", "--json")
    assert result.json["classes"] == ['"; drop', "it's"]


QUOTED = ('"""; drop"', "it's")


def test_quoting():
    assert quoted('a"b') == '"a""b"'
    assert literal("it's") == "'it''s'"


def test_a_broken_line_does_not_change_the_delimiter(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('p,"a;b",y\n0.1,2,1\n;;;;;;;;\n')
    assert csv_header(path) == (["p", "a;b", "y"], ",")


def test_formats_are_told_from_names(tmp_path):
    assert format_of(tmp_path / "x.CSV.gz") == "csv"
    assert format_of(tmp_path / "x.pq") == "parquet"
    assert format_of(tmp_path / "x") is None


def test_files_that_cannot_be_one_table_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("p,y\n1,1\n")
    (tmp_path / "b.parquet").write_text("x")
    (tmp_path / "c.xyz").write_text("x")
    with pytest.raises(InputError, match="several formats"):
        resolve(f"{tmp_path}/[ab].*", None, tmp_path)
    with pytest.raises(UsageError, match="--format"):
        resolve(f"{tmp_path}/c.xyz", None, tmp_path)
    with pytest.raises(InputError, match="no file matches"):
        resolve(f"{tmp_path}/*.arrow", None, tmp_path)
    with pytest.raises(InputError, match="several formats"):
        resolve(str(tmp_path), None, tmp_path)
    with pytest.raises(InputError, match="file not found"):
        resolve(f"{tmp_path}/none.csv", None, tmp_path)


def test_csv_files_with_other_columns_are_refused(run, tmp_path):
    (tmp_path / "a.csv").write_text("p,y\n0.1,1\n")
    (tmp_path / "b.csv").write_text("y,p\n1,0.1\n")
    result = run("evaluate", f"{tmp_path}/*.csv", "-s", "p", "-l", "y")
    assert result.code == 1
    assert "b.csv has different columns from a.csv" in result.err


def test_a_terminal_is_not_waited_for(run, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr("sys.stdin", Terminal())
    result = run("evaluate", "-", "--format", "csv")
    assert result.code == 2
    assert "terminal" in result.err


@pytest.mark.parametrize("name", ["a", "1", "long name"])
def test_a_name_that_occurs_twice_is_refused(run, tmp_path, name):
    path = tmp_path / "s.csv"
    path.write_text(f"p,y,{name},{name}\n0.2,0,3,4\n0.3,1,5,6\n")
    result = run("evaluate", path, "-s", "p", "-l", "y")
    assert result.code == 1
    assert f"s.csv has the column '{name}' twice" in result.err
