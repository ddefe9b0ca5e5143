"""CSV files as pandas and Excel write them: nameless columns, byte-order marks, semicolons."""

import csv

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

import trueodds
from trueodds.cli.files.csv import csv_header, named


@pytest.fixture(scope="module")
def frame(table) -> pd.DataFrame:
    return table.to_pandas()


def _multi_index(frame):
    return frame.set_index([np.arange(len(frame)) // 2, np.arange(len(frame)) % 2])


INDEXES = {
    "numbers": lambda frame: frame,
    "texts": lambda frame: frame.set_index(frame["id"].to_numpy()),
    "two levels": _multi_index,
    "named": lambda frame: frame.rename_axis("row"),
    "two named levels": lambda frame: _multi_index(frame).rename_axis(["a", "b"]),
    "a name of two levels missing": lambda frame: _multi_index(frame).rename_axis(["a", None]),
}


@pytest.mark.parametrize("index", INDEXES)
def test_what_pandas_writes_with_its_index_is_read(run, data, frame, tmp_path, index):
    path, fitted = tmp_path / "s.csv", tmp_path / "m.json"
    INDEXES[index](frame).to_csv(path)
    words = [path, "-s", "p", "-l", "y"]
    assert run("evaluate", *words, "-g", "g", "--json").json["rows"] == len(frame)
    result = run("fit", *words, "-m", "beta", "-o", fitted)
    assert result.code == 0, result.err
    p = np.linspace(0, 1, 101)
    expected = trueodds.load(data / "map.json")(p)
    np.testing.assert_allclose(trueodds.load(fitted)(p), expected, atol=1e-12)


@pytest.mark.parametrize("command", ["compare", "report"])
def test_commands_that_hold_rows_read_what_pandas_writes(run, frame, tmp_path, command):
    path = tmp_path / "s.csv"
    frame.to_csv(path)
    words = [path, "-s", "p", "-l", "y", "-m", "identity", "-m", "temperature", "--json"]
    result = run(command, *words)
    assert result.code == 0, result.err


@pytest.mark.parametrize("index", INDEXES)
def test_apply_writes_back_the_index_that_pandas_wrote(run, data, frame, tmp_path, index):
    path, out = tmp_path / "s.csv", tmp_path / "o.csv"
    INDEXES[index](frame).to_csv(path)
    result = run("apply", data / "map.json", path, "-s", "p", "-o", out)
    assert result.code == 0, result.err
    with path.open(newline="") as before, out.open(newline="") as after:
        for old, new in zip(csv.reader(before), csv.reader(after), strict=True):
            assert new[:-1] == old
    with out.open(newline="") as after:
        assert next(csv.reader(after))[-1] == "probability"


@pytest.mark.parametrize("kind", ["parquet", "arrow", "jsonl"])
def test_formats_without_nameless_columns_call_them_as_pandas_does(
    run, data, frame, tmp_path, kind
):
    path, out = tmp_path / "s.csv", tmp_path / f"o.{kind}"
    _multi_index(frame).to_csv(path)
    result = run("apply", data / "map.json", path, "-s", "p", "-o", out)
    assert result.code == 0, result.err
    readers = {"parquet": pd.read_parquet, "arrow": pd.read_feather}
    found = pd.read_json(out, lines=True) if kind == "jsonl" else readers[kind](out)
    assert list(found) == [*pd.read_csv(path), "probability"]
    assert list(found)[:2] == ["Unnamed: 0", "Unnamed: 1"]


def test_a_nameless_column_can_be_used_by_the_name_that_pandas_gives_it(run, frame, tmp_path):
    path = tmp_path / "s.csv"
    frame.set_index("p")[["y"]].rename_axis(None).to_csv(path)
    result = run("evaluate", path, "-s", "Unnamed: 0", "-l", "y", "--json")
    assert result.code == 0, result.err
    absent = run("evaluate", path, "-s", "margin", "-l", "y")
    assert "has no column 'margin'; it has 'Unnamed: 0', 'y'." in absent.err


def test_a_nameless_column_never_takes_a_name_that_is_taken():
    header = ["", "unnamed: 0", "p", "", "Unnamed: 3", "Unnamed: 3_"]
    assert named(header) == ["Unnamed: 0_", *header[1:3], "Unnamed: 3__", *header[4:]]


def _excel_lines(frame, delimiter=";", end=""):
    lines = [f"p{delimiter}y{end}"]
    lines += [f"{p!r}{delimiter}{y}{end}" for p, y in zip(frame["p"], frame["y"], strict=True)]
    return lines


@pytest.mark.parametrize(
    ("encoding", "line_end"), [("utf-8", "\r\n"), ("utf-8-sig", "\r\n"), ("utf-8-sig", "\n")]
)
@pytest.mark.parametrize("delimiter", [",", ";"])
@pytest.mark.parametrize("empty", [0, 1, 3])
def test_what_excel_writes_is_read(run, frame, tmp_path, encoding, line_end, delimiter, empty):
    path = tmp_path / "s.csv"
    lines = _excel_lines(frame, delimiter, empty * delimiter)
    path.write_bytes("".join(line + line_end for line in lines).encode(encoding))
    result = run("evaluate", path, "-s", "p", "-l", "y", "--resamples", 20, "--json")
    assert result.code == 0, result.err
    assert result.json["rows"] == len(frame)
    assert result.json["classes"] == [0, 1]


def test_a_quoted_name_after_a_byte_order_mark_is_read(run, frame, tmp_path):
    path = tmp_path / "s.csv"
    lines = ['"p; of the model";y;', *_excel_lines(frame, end=";")[1:]]
    path.write_bytes("\r\n".join(lines).encode("utf-8-sig"))
    result = run("evaluate", path, "-s", "p; of the model", "-l", "y", "--json")
    assert result.code == 0, result.err
    assert result.json["rows"] == len(frame)


def test_a_delimiter_at_the_end_of_the_header_alone_is_no_column(run, data, frame, tmp_path):
    path, out = tmp_path / "s.csv", tmp_path / "o.csv"
    lines = _excel_lines(frame, ",")
    path.write_text("\n".join([lines[0] + ",,", *lines[1:]]))
    result = run("apply", data / "map.json", path, "-s", "p", "-o", out)
    assert result.code == 0, result.err
    assert list(pd.read_csv(out)) == ["p", "y", "probability"]


def test_a_row_that_is_too_short_is_still_malformed_beside_nameless_columns(run, csv_file):
    path = csv_file(",p,y,", "0,0.2,1,", "1,0.3,0", "2,0.4,1,")
    result = run("evaluate", path, "-s", "p", "-l", "y")
    assert result.code == 1
    assert "line 3 is malformed: expected columns: 4, found: 3" in result.err


def test_a_first_row_that_python_cannot_read_is_left_to_the_engine(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text(f"p,y,\n0.1,1,{'x' * 200_000}\n")
    assert csv_header(path) == (["p", "y", ""], ",")


def test_a_nameless_column_is_no_reason_to_lose_bad_lines(run, data, csv_file, tmp_path):
    path = csv_file(",p,y", "0,0.2,1", "1,0.3", "2,0.4,1,7", "3,0.5,0")
    out = tmp_path / "o.parquet"
    words = ["apply", data / "map.json", path, "-s", "p", "-o", out, "--on-bad-rows", "skip"]
    result = run(*words, "--json")
    assert result.code == 0, result.err
    assert result.json["rows_skipped"] == {"malformed lines": 2}
    assert pyarrow.parquet.read_table(out)["Unnamed: 0"].to_pylist() == [0, 3]
