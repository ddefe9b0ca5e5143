"""CSV files from strangers: every value is read as it stands, or one sentence says why not."""

from __future__ import annotations

import csv
import io
import tempfile
import zlib
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb

from trueodds.cli.errors import BAD_INPUT, USAGE, code_and_sentence
from trueodds.cli.files.csv import csv_header
from trueodds.cli.files.find import InputFiles
from trueodds.cli.files.open import DataSource, Reading, open_source
from trueodds.cli.files.text import even_lines
from trueodds.cli.rows.columns import ColumnNames
from trueodds.cli.rows.fetch import fetch_rows
from trueodds.cli.rows.prepare import prepare

__all__ = ["TOKENS", "change", "check", "seeds"]

FOLDER = tempfile.TemporaryDirectory(prefix="trueodds-fuzz-")
COLUMNS = ColumnNames(score=("p",), label="y")
TOKENS = [
    *("p", "y", "p,y\n", "0.5", "1", ",", ";", "\t", "|", '"', '""', '","', "\n", "\r", "\r\n"),
    *("\ufeff", "\0", "nan", "inf", "1e999", "0,5", "50%", "#", "\\", "'", " ", "NULL", "€"),
]
RAW = ("INTERNAL", "Binder", "Catalog", "No function matches", "invalid state", "struct_pack")
"""What an engine says of itself, and not of the file."""


def seeds() -> list[bytes]:
    """Files as programs write them, and some of those that nobody would write on purpose."""
    rows = [f"0.{k}{{0}}{k % 2}" for k in range(1, 9)]
    plain = [
        "".join(line.format(sep) + end for line in ("p{0}y", *rows))
        for sep, end in ((",", "\n"), (";", "\r\n"), ("\t", "\r"), ("|", "\n"))
    ]
    odd = [
        '\ufeffp,y,"two\nlines"\n0.1,1,"a ""b"" c"\r\n0.2,0,5" disk\n',
        ",p,y,\n0,0.1,1\n1,0.2,0\n",
        '"p";"y";"1,2"\n"0,5";1;x\n',
        "p,y\n0.1,yes\n\n0.2,no\n nan ,yes\n1e999,no\n",
    ]
    texts = [text.encode() for text in (*plain, *odd)]
    return [*texts, "p,y\n0.1,ä\n0.2,b\n".encode("latin-1"), "p,y\n0.1,1\n".encode("utf-16")]


def change(data: bytes, seed: int) -> bytes | None:
    """The fuzzer knows as much of CSV as there is to know: bytes and the tokens above."""
    return None


def check(data: bytes) -> None:
    """Make the lines of the file even; take the rows of one in three, as every command does."""
    path = Path(FOLDER.name) / "rows.csv"
    path.write_bytes(data)
    try:
        if zlib.crc32(data) % 3:
            _even_lines(path)
        else:
            _take_rows(path, data)
    except AssertionError:
        raise
    except Exception as error:
        code, sentence = code_and_sentence(error)
        if code not in (BAD_INPUT, USAGE) or not sentence or any(word in sentence for word in RAW):
            raise


def _even_lines(path: Path) -> None:
    """A copy with even lines has the same columns, and no more breaks in their names."""
    header, delimiter = csv_header(path)
    with tempfile.TemporaryDirectory(dir=FOLDER.name) as scratch:
        files = InputFiles(path.name, (path,), "csv")
        copy = even_lines(files, header, delimiter, Path(scratch))[0].paths[0]
        if copy != path:
            plain = [name.replace("\r", " ").replace("\n", " ") for name in header]
            assert csv_header(copy) == (plain, delimiter), (header, plain)
            assert b"\r" not in copy.read_bytes() or b'"' in path.read_bytes()


def _take_rows(path: Path, data: bytes) -> None:
    kind = zlib.crc32(data) // 3
    skip, typed = kind % 2 == 0, kind % 4 == 1
    with (
        mock.patch.object(duckdb, "connect", _cursor),
        mock.patch(
            "trueodds.cli.files.open.LONGEST_LINE", 200_000
        ),  # as much is cleared for each file
        open_source(
            str(path), Reading(skip_malformed=skip), detect_types=typed, columns=COLUMNS
        ) as source,
    ):
        if not (skip or typed):
            _compare(data, source)
        prepared = prepare(source, COLUMNS, on_bad_rows="skip" if skip else "error")
        rows = fetch_rows(prepared, 1_000)
    assert ((rows.scores >= 0) & (rows.scores <= 1)).all(), rows.scores
    assert len(rows) == prepared.tally.used


def _cursor(name: str, config: dict[str, Any]) -> Any:
    """Starting an engine takes longer than all else, so that all files share one."""
    return _shared_engine(config["memory_limit"]).cursor()


@cache
def _shared_engine(memory: str, connect: Any = duckdb.connect) -> Any:
    config = {"threads": 1, "autoload_known_extensions": "false", "memory_limit": memory}
    return connect(":memory:", config=config)


def _compare(data: bytes, source: DataSource) -> None:
    """Cells as Python's own reader has them, wherever it has no doubt about them."""
    expected = _plain_rows(data, list(source.header))
    if expected is None:
        return
    found = [["" if cell is None else cell for cell in row] for row in source.relation.fetchall()]
    assert found == expected, (found, expected)


def _plain_rows(data: bytes, header: list[str]) -> list[list[str]] | None:
    """Rows of a file without quotes, NUL bytes and blank lines, all of the header's length."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    delimiter = max(",\t;|", key=text.splitlines()[0].count)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")
    if '"' in text or "\0" in text or "" in lines:
        return None
    rows: list[Any] = list(csv.reader(io.StringIO("\n".join(lines), ""), delimiter=delimiter))
    if rows[0] != header or any(len(row) != len(header) for row in rows):
        return None
    return rows[1:]
