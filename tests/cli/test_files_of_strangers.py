"""Files that nobody would write on purpose: the content survives, or one sentence says why not."""

import csv
import gzip
import json
import sys

import pyarrow.parquet
import pytest

from trueodds.basics.shown import printable, shown

ROWS = [(f"0.{k:02}", str(k % 2)) for k in range(1, 60)]
HOSTILE = "\x1b]0;title\x07\x9b2J\u202e"


def lines(header, end="\n", delimiter=",", extra=()):
    """A header and rows of p, y and what else is given."""
    rows = [delimiter.join([*row, *extra]) for row in ROWS]
    return "".join(f"{line}{end}" for line in [header, *rows])


@pytest.fixture
def write(tmp_path):
    def call(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return call


@pytest.fixture
def apply(run, data, tmp_path):
    """Apply a map; returns header and rows of the output, without the new column."""

    def call(path, kind="csv", score="p", delimiter=","):
        out = tmp_path / f"applied.{kind}"
        words = ["apply", data / "map.json", path, "-s", score, "-o", out, "--force"]
        result = run(*words)
        assert result.code == 0, result.err
        if kind == "jsonl":
            found = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
            return list(found[0])[:-1], [list(row.values())[:-1] for row in found]
        if kind == "parquet":
            table = pyarrow.parquet.read_table(out)
            return table.column_names[:-1], [list(row.values())[:-1] for row in table.to_pylist()]
        before = csv.field_size_limit(sys.maxsize)
        with out.open(newline="", encoding="utf-8-sig") as stream:
            found = list(csv.reader(stream, delimiter=delimiter))
        csv.field_size_limit(before)
        return found[0][:-1], [row[:-1] for row in found[1:]]

    return call


@pytest.fixture
def refused(run):
    """The one sentence that is said of a file that cannot be read."""

    def call(path, score="p"):
        result = run("evaluate", path, "-s", score, "-l", "y")
        assert result.code == 1, result
        assert result.out == ""
        assert result.err.count("\n") == 1
        assert len(result.err) < 600
        assert "internal error" not in result.err
        return result.err

    return call


@pytest.mark.parametrize("name", ["s.csv.gz", "s.jsonl.gz"])
def test_a_gz_file_that_is_cut_off_or_damaged_is_refused(write, refused, name):
    text = lines("p,y") if "csv" in name else '{"p": 0.1, "y": 1}\n{"p": 0.2, "y": 0}\n' * 9
    whole = gzip.compress((text * 99).encode())
    for size in (12, len(whole) // 2, len(whole) - 3):
        assert f"{name} is truncated" in refused(write(name, whole[:size]))
    wrong_sum = bytearray(whole)
    wrong_sum[-6] ^= 1
    assert "not a valid .gz file" in refused(write(name, bytes(wrong_sum)))
    assert "not a valid .gz file" in refused(write(name, text))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("inner", ["\n", "\r\n", "\r"])
def test_a_line_break_in_a_column_name_survives(write, apply, end, inner):
    name = f"score of{inner}the model"
    path = write("s.csv", "\ufeff" + lines(f'p,y,"{name}"', end, extra=[f'"a{inner}b"']))
    expected = [[*row, f"a{inner}b"] for row in ROWS]
    assert apply(path) == (["p", "y", name], expected)
    names, rows = apply(path, "jsonl")
    assert names == ["p", "y", name]
    assert [row[2] for row in rows] == [row[2] for row in expected]


def test_lines_that_end_with_a_lone_carriage_return_are_read(write, apply):
    assert apply(write("s.csv", lines("p,y", "\r"))) == (["p", "y"], [list(r) for r in ROWS])


def test_mixed_line_ends_are_read_and_quoted_ones_stay(write, apply):
    quoted = '"one\r\ntwo\nthree\rfour ""five"""'
    text = "p,y,t\r\n" + "".join(
        f"{p},{y},{quoted}{end}"
        for (p, y), end in zip(ROWS, ["\n", "\r\n", "\r"] * 99, strict=False)
    )
    rows = [[*row, 'one\r\ntwo\nthree\rfour "five"'] for row in ROWS]
    assert apply(write("s.csv", text)) == (["p", "y", "t"], rows)
    assert apply(write("s.csv.gz", gzip.compress(text.encode())))[1] == rows


def test_a_quote_inside_a_value_opens_nothing_in_a_file_with_mixed_line_ends(write, apply):
    text = 'p,y,t\n0.1,1,5" disk\r\n0.2,0,"a\r\nb"\n0.3,1,3" x\r'
    rows = [["0.1", "1", '5" disk'], ["0.2", "0", "a\r\nb"], ["0.3", "1", '3" x']]
    assert apply(write("s.csv", text)) == (["p", "y", "t"], rows)


def test_a_pair_of_line_end_characters_is_not_torn_at_the_end_of_a_block(write, apply, monkeypatch):
    from trueodds.cli.files import lines as line_files

    text = 'p,y,t\r\n0.1,1,"a\r\n""b"\r\n0.2,0,c\n0.3,1,d\r'
    rows = [["0.1", "1", 'a\r\n"b'], ["0.2", "0", "c"], ["0.3", "1", "d"]]
    for size in range(1, 12):
        monkeypatch.setattr(line_files, "READ_BYTES", size)
        assert apply(write("s.csv", text)) == (["p", "y", "t"], rows), size


def test_delimiters_in_quoted_names_do_not_count(write, apply):
    name = "a;b;c;d|e|f|g\th"
    path = write("s.csv", lines(f'p,y,"{name}"', extra=["1"]))
    assert apply(path)[0] == ["p", "y", name]
    path = write("s.csv", lines('p;y;"1,2,3,4"', delimiter=";", extra=["1"]))
    assert apply(path, delimiter=";")[0] == ["p", "y", "1,2,3,4"]


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_name_of_two_hundred_thousand_characters_survives(write, apply, kind):
    path = write("s.csv", lines(f"p,y,{'x' * 200_000}", extra=["1"]))
    assert apply(path, kind)[0] == ["p", "y", "x" * 200_000]


def test_too_many_columns_are_refused_at_once(write, refused):
    header = ",".join(["p", "y", *(f"c{k}" for k in range(100_000))])
    assert "has 100,002 columns; the limit is 10,000" in refused(write("s.csv", header + "\n1,1\n"))


def test_a_header_without_an_end_is_refused(write, refused, monkeypatch):
    assert "a quoted name in the header line is not closed" in refused(
        write("s.csv", lines('p,"y'))
    )
    monkeypatch.setattr("trueodds.cli.files.csv.LONGEST_LINE", 100_000)
    assert "the header line is longer than 100,000 bytes" in refused(write("s.csv", "x" * 300_000))


def test_text_after_a_quoted_name_is_refused(write, refused):
    assert "the header line cannot be read" in refused(write("s.csv", lines('"p"q,y')))


def test_an_empty_column_name_survives(write, apply, refused):
    assert apply(write("s.csv", lines('p,y,""', extra=["1"])))[0] == ["p", "y", ""]
    objects = json.dumps({"p": 0.1, "y": 1, "": 2}) + "\n"
    assert "has an empty key" in refused(write("s.jsonl", objects))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_recognized(write, refused, encoding):
    sentence = refused(write("s.csv", lines("p,y").encode(encoding)))
    assert f"--encoding {encoding}" in sentence


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_nul_bytes_survive_in_values_and_are_refused_in_names(write, apply, refused, kind):
    path = write("s.csv", lines("p,y,t", extra=["a\0b"]))
    assert {row[2] for row in apply(path, kind)[1]} == {"a\0b"}
    assert "NUL bytes" in refused(write("s.csv", lines("p,y,n\0m", extra=["1"])))


def test_keys_of_json_lines_keep_their_names(write, apply, refused):
    key = "two\nlines \x1b[31m \"'"
    objects = "".join(json.dumps({"p": float(p), "y": 1, key: None}) + "\n" for p, _ in ROWS)
    for kind in ("jsonl", "csv", "parquet"):
        assert apply(write("s.jsonl", objects), kind)[0] == ["p", "y", key]
    twins = '{"p": 0.1, "y": 1, "P": 2}\n'
    assert "'p' and 'P' differ only in case" in refused(write("s.jsonl", twins))
    assert "one JSON object in each line" in refused(write("s.jsonl", "[1, 2]\n"))


@pytest.mark.slow
@pytest.mark.parametrize("quote", ["", '"'])
def test_a_value_of_twenty_megabytes_survives(write, apply, quote):
    value = "z" * 20_000_000
    path = write("s.csv", lines("p,y,t", extra=["1"]) + f"0.5,1,{quote}{value}{quote}\n")
    assert apply(path)[1][-1] == ["0.5", "1", value]


@pytest.mark.slow
def test_a_value_of_twenty_megabytes_is_not_printed(write, refused):
    path = write("s.csv", lines("p,y") + "z" * 20_000_000 + ",1\n")
    assert "'p' is text in 1 (first in row 60: 'zzz" in refused(path)
    longer = write("s.csv", lines("p,y,t", extra=["1"]) + f"0.5,1,{'z' * 40_000_000}\n")
    assert "line 61 is longer than 32,000,000 bytes" in refused(longer)


@pytest.mark.parametrize(
    "words", [["-s", "x"], ["-s", "p", "-g", "g", "--json"], ["-s", "p", "-g", "g"]]
)
def test_no_terminal_obeys_what_a_name_or_a_value_says(run, write, words):
    header = f"p,y,g,{HOSTILE}{'long ' * 500}"
    rows = [f"{p},{y},{HOSTILE}{k % 2},1" for k, (p, y) in enumerate(ROWS * 3)]
    path = write("s.csv", "\n".join([header, *rows]) + "\n")
    result = run("evaluate", path, "-l", "y", "--resamples", 20, *words)
    said = result.out + result.err
    assert result.code == (1 if words == ["-s", "x"] else 0), said
    assert "]0;title" in said  # it is shown
    assert not (set(HOSTILE) - set("]0;title2J")) & set(said)
    if "--json" in words:
        assert repr(HOSTILE)[1:-1] in repr(json.loads(result.out))
    else:
        assert len(result.err) < 400


def test_what_is_shown_is_cut_and_escaped():
    assert shown("é ü") == "'é ü'"
    assert len(shown("x" * 10**6)) <= 62
    assert len(shown(list(range(10**5)))) <= 60
    assert printable(f"a\tb\n{HOSTILE}é") == "a\tb\n\\x1b]0;title\\x07\\x9b2J\\u202eé"
    assert printable("\ud800") == "\\ud800"
