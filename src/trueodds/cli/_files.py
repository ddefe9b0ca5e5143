"""What a file argument stands for: names, globs, standard input, and the format."""

from __future__ import annotations

import csv
import glob
import gzip
import io
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from trueodds.cli._exit import UsageError
from trueodds.exceptions import InputError

__all__ = ["Format", "InputFiles", "csv_header", "format_of", "matching", "named", "resolve"]

Format = Literal["csv", "parquet", "arrow", "jsonl"]

SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
DELIMITERS = ",\t;|"
COMPRESSED = (".gz",)
STANDARD_INPUT = "-"
LONGEST_HEADER = 1 << 20


@dataclass(frozen=True)
class InputFiles:
    """Files of one format that are read as one table."""

    shown: str
    """What to call them in messages."""
    paths: tuple[Path, ...]
    format: Format


def format_of(path: Path) -> Format | None:
    """The format that a file's name says; ``.csv.gz`` is CSV."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return SUFFIXES.get(suffixes[-1]) if suffixes else None


def matching(file: str) -> list[Path]:
    """The files that a name or a glob stands for; a name that exists is never a glob."""
    path = Path(file)
    if path.exists() or not glob.has_magic(file):
        return [path]
    found = [Path(name) for name in sorted(glob.glob(file, recursive=True))]  # noqa: PTH207
    return [path for path in found if path.is_file()]


def resolve(
    file: str, given: Format | None, scratch: Path, found: Sequence[Path] | None = None
) -> InputFiles:
    """Find the files, or copy standard input to a file that can be read more than once.

    ``found`` are the files, if the caller has looked for them; ``file`` is what to call them then.
    """
    if file == STANDARD_INPUT:
        return _standard_input(given, scratch)
    path = Path(file)
    if path.is_dir():
        raise InputError(f"{file} is a folder; name a file or a glob such as '{file}/*.parquet'.")
    paths = matching(file) if found is None else list(found)
    if not paths:
        raise InputError(f"no file matches {file!r}.")
    if not paths[0].exists():
        raise InputError(f"{file}: no such file.")
    formats = {given or format_of(path) for path in paths}
    if None in formats:
        raise UsageError(
            f"the format of {paths[0]} cannot be told from its name; "
            "pass --format csv, parquet, arrow or jsonl."
        )
    if len(formats) > 1:
        raise InputError(f"{file!r} matches files of several formats; narrow it down.")
    for path in paths:
        if path.stat().st_size == 0:
            raise InputError(f"{path} is empty (0 bytes).")
    kind = next(iter(formats))
    assert kind is not None  # noqa: S101
    return InputFiles(file, tuple(path.absolute() for path in paths), kind)


def _standard_input(given: Format | None, scratch: Path) -> InputFiles:
    if given is None:
        raise UsageError("with '-' for standard input, pass --format csv, parquet, arrow or jsonl.")
    if sys.stdin.isatty():
        raise UsageError("standard input is a terminal; pipe a file into it.")
    copy = scratch / f"stdin.{given}"
    with copy.open("wb") as target:
        shutil.copyfileobj(sys.stdin.buffer, target, 1 << 20)
    if copy.stat().st_size == 0:
        raise InputError("standard input is empty (0 bytes).")
    return InputFiles("standard input", (copy,), given)


def csv_header(path: Path) -> tuple[list[str], str]:
    """Column names and delimiter of a CSV file; names may be empty, see :func:`named`.

    The delimiter is the one of comma, tab, semicolon and bar that makes the most columns of the
    first line. Guessing from more lines would let a broken line turn the whole file into one
    column.
    """
    try:
        open_text: Any = gzip.open if path.suffix.lower() in COMPRESSED else open
        with open_text(path, "rt", encoding="utf-8-sig", newline="") as stream:
            first = stream.read(LONGEST_HEADER)
    except UnicodeDecodeError:
        raise InputError(f"{path.name} is not UTF-8 text.") from None
    except OSError as error:
        raise InputError(f"{path.name} cannot be read: {error.strerror or error}.") from None
    rows = []
    for delimiter in DELIMITERS:
        # A quoted name may hold a delimiter or a line break, so each candidate reads for itself.
        names = next(csv.reader(io.StringIO(first), delimiter=delimiter), [])
        rows.append((len(names), names, delimiter))
    count, names, delimiter = max(rows, key=lambda row: row[0])
    if count == 0:
        raise InputError(f"{path.name} has no header line.")
    if not names[-1]:
        names = _without_absent_end(names, first, delimiter)
    folded: dict[str, str] = {}
    for name in filter(None, names):
        other = folded.get(name.casefold())
        if other == name:
            raise InputError(f"{path.name} has the column {name!r} twice.")
        if other is not None:
            raise InputError(
                f"{path.name}: the columns {other!r} and {name!r} differ in case alone, "
                "which DuckDB cannot tell apart; rename one."
            )
        folded[name.casefold()] = name
    return names, delimiter


def _without_absent_end(names: list[str], text: str, delimiter: str) -> list[str]:
    """Drop nameless columns at the end of a header that the first row does not have."""
    try:
        rows = csv.reader(io.StringIO(text), delimiter=delimiter)
        next(rows)
        width = len(next(filter(None, rows), names))  # a blank line is no row
    except csv.Error:  # the engine will say what is wrong with the row
        return names
    end = len(names)
    while end > width and not names[end - 1]:
        end -= 1
    return names[:end]


def named(header: Sequence[str]) -> list[str]:
    """Names for all columns: a nameless one is called after its position, as pandas does.

    Examples
    --------
    >>> named(["", "p", "y", ""])
    ['Unnamed: 0', 'p', 'y', 'Unnamed: 3']
    """
    taken = {name.casefold() for name in header}
    names = []
    for position, name in enumerate(header):
        if not name:
            name = f"Unnamed: {position}"
            while name.casefold() in taken:
                name += "_"
            taken.add(name.casefold())
        names.append(name)
    return names
