"""No row of a CSV file is lost without a word: long lines, open quotes, and how lines end."""

import csv
import gzip
import io
import random

import pytest

from trueodds.cli.files import lines as line_files
from trueodds.exceptions import InputError

ROWS = "".join(f"0.{k % 90 + 5:02},{k % 2},x\n" for k in range(400))


@pytest.fixture
def refused(run, tmp_path):
    """What is said of a file, whether bad rows are left out or not."""

    def call(text, name="s.csv"):
        path = tmp_path / name
        raw = text.encode()
        path.write_bytes(gzip.compress(raw, 1) if name.endswith(".gz") else raw)
        said = set()
        for mode in ("error", "skip"):
            result = run("evaluate", path, "-s", "p", "-l", "y", "--on-bad-rows", mode)
            assert (result.code, result.out) == (1, ""), result
            said.add(result.err)
        assert len(said) == 1
        return said.pop()

    return call


@pytest.mark.slow
@pytest.mark.parametrize("name", ["s.csv", "s.csv.gz"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_very_long_last_line_is_refused(refused, name, end):
    for size in (40_000_000, 80_000_000):
        sentence = refused(f"p,y,t\n{ROWS}0.5,1,{'z' * size}{end}", name)
        assert f"{name}: line 402 is longer than 32,000,000 bytes" in sentence


@pytest.mark.parametrize("where", ["first", "middle", "last"])
@pytest.mark.parametrize("inner", ["z", "zz\n", '""'])
def test_a_long_record_is_refused_wherever_it_stands(refused, monkeypatch, where, inner):
    monkeypatch.setattr(line_files, "LONGEST_LINE", 50_000)
    monkeypatch.setattr(line_files, "READ_BYTES", 7_000)
    record = f'0.5,1,"{inner * 60_000}"\n'
    text = {"first": record + ROWS, "middle": ROWS + record + ROWS, "last": ROWS + record}[where]
    line = 2 if where == "first" else 402
    assert f"line {line} is longer than 50,000 bytes" in refused(f"p,y,t\n{text}")


def test_a_quote_that_swallows_the_rest_is_refused_by_its_line(refused):
    sentence = refused(f'p,y,t\n{ROWS}0.5,1,"abc\n{ROWS}')
    assert "a quote opens in line 402 and is not closed before the end of the" in sentence


def test_a_quote_that_swallows_lines_up_to_the_next_quote_is_refused(refused):
    text = f'p,y,t\n{ROWS}0.5,1,"abc\n{ROWS}0.5,1,"ok"\n{ROWS}'
    sentence = refused(text)
    assert "a quote opens in line 402 and is not closed before line 803" in sentence
    assert "line 803" in refused(text.replace("\n", "\r\n"))


def _pieces(rng):
    pieces = ['"', '""', "a", ",", "\n", "\r\n", "\r", "bc", ',"', '",', '"\n', '\n"', "d,e"]
    return "".join(rng.choices(pieces, k=rng.randrange(60)))


def _naive(text):
    """How lines end, and whether a quote is torn or open, character by character."""
    ends, inside, broken, field_begins, k = set(), False, False, True, 0
    while k < len(text):
        char = text[k]
        if char == "\r":
            pair = text[k + 1 : k + 2] == "\n"
            ends.add("\r\n" if pair else "\r")
            k += pair
        elif char == "\n":
            ends.add("\n")
        if inside:
            broken = broken or char in "\r\n"
            if char == '"':
                if text[k + 1 : k + 2] == '"':
                    k += 1
                else:
                    inside = False
                    if broken and text[k + 1 : k + 2] not in ("", ",", "\r", "\n"):
                        return ends, True
        elif char == '"' and field_begins:
            inside, broken = True, False
        field_begins = char in ",\r\n"
        k += 1
    return ends, inside and broken


@pytest.mark.parametrize("block", [1, 2, 3, 7, 1000])
def test_the_scan_agrees_with_a_reader_of_single_characters(monkeypatch, tmp_path, block):
    monkeypatch.setattr(line_files, "READ_BYTES", block)
    rng, path = random.Random(block), tmp_path / "s.csv"  # noqa: S311
    refusals = 0
    for _ in range(1500):
        text = _pieces(rng)
        path.write_bytes(text.encode())
        ends, lost = _naive(text)
        try:
            with path.open("rb") as stream:
                found = line_files._Scan(path, ",").run(stream)
        except InputError:
            assert lost, text
            refusals += 1
        else:
            assert not lost, text
            assert found.ends == ends, text
    assert refusals > 100


def _naive_even(text):
    """Line feeds outside quotes, and blanks for breaks inside the header, by character."""
    even, inside, header, field_begins, k = [], False, True, True, 0
    while k < len(text):
        char = text[k]
        if inside and char == '"' and text[k + 1 : k + 2] == '"':
            even.append('""')
            k += 2
            continue
        if char == '"' and (inside or field_begins):
            inside = not inside
        elif char in "\r\n" and inside:
            char = " " if header else char
        elif char in "\r\n":
            k += text[k : k + 2] == "\r\n"
            char, header = "\n", False
        field_begins = char in ",\n" and not inside
        even.append(char)
        k += 1
    return "".join(even)


@pytest.mark.parametrize("block", [1, 2, 3, 7, 1000])
def test_a_copy_with_even_lines_agrees_with_a_writer_of_single_characters(
    monkeypatch, tmp_path, block
):
    monkeypatch.setattr(line_files, "READ_BYTES", block)
    rng, path = random.Random(block), tmp_path / "s.csv"  # noqa: S311
    compared = 0
    for _ in range(400):
        text = _pieces(rng)
        if _naive(text)[1]:
            continue
        path.write_bytes(text.encode())
        even = io.BytesIO()
        with path.open("rb") as stream:
            line_files._Scan(path, ",").run(stream, even)
        assert even.getvalue().decode() == _naive_even(text), text
        compared += 1
    assert compared > 100


def test_quoted_breaks_and_quotes_inside_values_are_no_harm(run, tmp_path):
    rows = [
        ("0.1", "1", 'a\n"b"'),
        ("0.2", "0", '5" disk'),
        ("0.3", "1", "x\r\ny"),
        ("0.4", "0", ""),
    ]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([("p", "y", "t"), *rows])
    path = tmp_path / "s.csv"
    path.write_bytes(text.getvalue().replace('"5"" disk"', '5" disk').encode())
    result = run("evaluate", path, "-s", "p", "-l", "y", "--json")
    assert result.code == 0, result.err
    assert result.json["rows"] == 4
