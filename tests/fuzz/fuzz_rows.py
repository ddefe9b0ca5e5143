"""CSV files from strangers: every value is read as it stands, or one sentence says why not."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import tempfile
import zlib
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb

from trueodds.cli import main
from trueodds.maps import IdentityMap

__all__ = ["TOKENS", "change", "check", "seeds"]

FOLDER = tempfile.TemporaryDirectory(prefix="trueodds-fuzz-")
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
    """Run a command on the file: it answers with the file's own values, or with one sentence."""
    path = Path(FOLDER.name) / "rows.csv"
    path.write_bytes(data)
    kind = zlib.crc32(data)
    if kind % 3:
        _apply(path, data, "error" if kind % 2 else "blank")
    else:
        _evaluate(path, "skip" if kind % 2 else "error")


def _apply(path: Path, data: bytes, on_bad_rows: str) -> None:
    """All columns come back as they came, with a probability next to them."""
    words = ["apply", _map(), str(path), "-s", "p", "--on-bad-rows", on_bad_rows, "--plain"]
    answer = _run(*words, "-o", "-", "--output-format", "csv")
    if answer is None:
        return
    header, *rows = csv.reader(io.StringIO(answer, newline=""), strict=True)
    assert header[-1] == "probability", header
    assert all(len(row) == len(header) for row in rows), rows
    assert all(not row[-1] or 0 <= float(row[-1]) <= 1 for row in rows), rows
    expected = _plain_rows(data, header[:-1])
    assert expected is None or [row[:-1] for row in rows] == expected, (rows, expected)


def _evaluate(path: Path, on_bad_rows: str) -> None:
    """Every row is used or counted as left out."""
    words = ["evaluate", str(path), "-s", "p", "-l", "y", "--on-bad-rows", on_bad_rows]
    answer = _run(*words, "--resamples", "20", "--json")
    if answer is not None:
        found = json.loads(answer)
        skipped = sum(found["rows_skipped"].values())
        assert found["rows"] == found["rows_used"] + skipped, found
        assert not skipped or on_bad_rows == "skip", found


def _run(*words: str) -> str | None:
    """What a command printed; None if it refused the file in one sentence."""
    printed, said = io.TextIOWrapper(io.BytesIO(), "utf-8", newline=""), io.StringIO()
    with (
        mock.patch.object(duckdb, "connect", _cursor),
        # As much is cleared for each file.
        mock.patch("trueodds.cli.files.open.LONGEST_LINE", 200_000),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(said),
    ):
        code: Any = None
        try:
            main(words)
        except SystemExit as leave:
            code = leave.code
    sentence = said.getvalue()
    assert code in (0, 1, 2), (code, sentence)
    if code == 0:
        printed.flush()
        return printed.buffer.getvalue().decode()
    assert sentence.startswith("trueodds: "), sentence
    assert sentence.count("\n") == 1, sentence
    assert not any(word in sentence for word in RAW), sentence
    return None


@cache
def _map() -> str:
    path = Path(FOLDER.name) / "map.json"
    IdentityMap().save(path)
    return str(path)


def _cursor(name: str, config: dict[str, Any]) -> Any:
    """Starting an engine takes longer than all else, so that all files share one."""
    return _shared_engine(config["memory_limit"]).cursor()


@cache
def _shared_engine(memory: str, connect: Any = duckdb.connect) -> Any:
    config = {"threads": 1, "autoload_known_extensions": "false", "memory_limit": memory}
    return connect(":memory:", config=config)


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
