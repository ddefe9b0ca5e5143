"""CSV files: names and delimiter, how values are written, and the types of columns."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueodds.basics.shown import shown
from trueodds.cli.files.find import uncompressed
from trueodds.cli.files.lines import LONGEST_LINE
from trueodds.cli.files.sql import as_number, quoted
from trueodds.exceptions import InputError

__all__ = [
    "Dialect",
    "NotUtf8Error",
    "csv_header",
    "dialect_of",
    "named",
    "records_near_top",
    "total_rows",
    "typed_columns",
    "with_types",
]

DELIMITERS = ",\t;|"
MOST_COLUMNS = 10_000
"""The engine's time grows with the square of their number."""
FIRST_LOOK = 1 << 16

# A quote means something only where a field begins; elsewhere it is a character like any other.
FIELD_BEGINS = rf"(?<![^{DELIMITERS}\r\n])"
QUOTED = rf'{FIELD_BEGINS}"(?:[^"]++|"")*+"'
RECORD = re.compile(rf'(?:{QUOTED}|[^"\r\n]++|(?!{FIELD_BEGINS})")*+')


# 007 is a name, not a number: as a number it would lose its zeros.
WHOLE = "^-?(0|[1-9][0-9]*)$"
PADDED = "^[-+]?0[0-9]"
KINDS = ("BIGINT", "DOUBLE", "BOOLEAN")
AT_ONCE = 200
LOOKED_AT = 50
"""Lines in which a header is looked for."""
TOTALS = (
    *("total", "totals", "sum", "subtotal", "grand total", "average", "mean", "summe", "gesamt"),
    *("gesamtsumme", "insgesamt", "mittelwert", "durchschnitt", "somme", "moyenne", "totale"),
    *("media", "suma", "totaal", "gemiddelde", "celkem", "soma"),
)
"""First texts of rows that hold totals."""


@dataclass(frozen=True)
class Dialect:
    """Format of a CSV file, so that another can be written in the same way."""

    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    byte_order_mark: bool = False
    quoted_header: bool = False
    quoted_columns: tuple[bool, ...] = ()
    """Columns with unnecessary quotes, judged by the first row."""
    line_end: str = "\n"
    percent_sign: str = ""
    """Text after a percentage: nothing, ``%`` or `` %``."""
    above: bytes = b""
    """UTF-8 text above the header, such as titles."""
    below: bytes = b""
    """UTF-8 text below the rows, such as totals."""


class NotUtf8Error(InputError):
    """A CSV file whose first lines are not UTF-8 text."""


def csv_header(path: Path) -> tuple[list[str], str]:
    """Column names and delimiter of a CSV file; names may be empty, see :func:`named`.

    The delimiter is the most frequent of comma, tab, semicolon and bar outside quotes in the first
    line. With more lines, a broken line could turn the whole file into one column.
    """
    first, second = _first_records(path)
    if not first:
        raise InputError(f"{path.name} has no header line.")
    if "\0" in first:
        raise NotUtf8Error(
            f"{path.name} has NUL bytes in its first line, so it is UTF-16 or not text."
        )
    bare = re.sub(QUOTED, "", first)
    delimiter = max(DELIMITERS, key=bare.count)
    try:
        names = _fields(first, delimiter)
    except csv.Error as error:
        raise InputError(f"{path.name}: the header line cannot be read: {error}.") from None
    if len(names) > MOST_COLUMNS:
        raise InputError(
            f"{path.name} has {len(names):,} columns; the limit is {MOST_COLUMNS:,}. Remove "
            "columns."
        )
    if not names[-1]:
        names = _without_absent_end(names, second, delimiter)
    _refuse_twins(names, path)
    return names, delimiter


def _first_records(path: Path) -> tuple[str, str]:
    """The first line, and the first after it that is not blank; a name may hold line breaks."""
    text, size = "", FIRST_LOOK
    with uncompressed(path) as stream:
        decoder = codecs.getincrementaldecoder("utf-8-sig")()
        while True:
            block = stream.read(size)
            try:
                text += decoder.decode(block, final=len(block) < size)
            except UnicodeDecodeError:
                raise NotUtf8Error(f"{path.name} is not UTF-8 text.") from None
            first = RECORD.match(text)
            assert first is not None  # noqa: S101 (it matches the empty text)
            second = RECORD.match(text, len(text) - len(text[first.end() :].lstrip("\r\n")))
            assert second is not None  # noqa: S101
            whole = second.end() < len(text) and text[second.end()] in "\r\n"
            if whole or len(block) < size:
                break
            if len(text) > LONGEST_LINE:
                if first.end() < len(text) and text[first.end()] in "\r\n":
                    break
                raise InputError(
                    f"{path.name}: the header line is longer than {LONGEST_LINE:,} bytes."
                )
            size = len(text)
    if first.end() < len(text) and text[first.end()] == '"':
        raise InputError(f"{path.name}: a quoted name in the header line is not closed.")
    return first.group(), second.group()


def _fields(record: str, delimiter: str) -> list[str]:
    before = csv.field_size_limit(len(record) + 1)
    try:
        return next(csv.reader(io.StringIO(record), delimiter=delimiter, strict=True))
    finally:
        csv.field_size_limit(before)


def _without_absent_end(names: list[str], row: str, delimiter: str) -> list[str]:
    """Drop nameless columns at the end of a header that the first row does not have."""
    if not row:
        return names
    try:
        width = len(_fields(row, delimiter))
    except csv.Error:  # the engine will report what is wrong with the row
        return names
    end = len(names)
    while end > width and not names[end - 1]:
        end -= 1
    return names[:end]


def _refuse_twins(names: Sequence[str], path: Path) -> None:
    folded: dict[str, str] = {}
    for name in filter(None, names):
        other = folded.get(name.casefold())
        folded[name.casefold()] = name
        if other is None:
            continue
        if other == name:
            raise InputError(f"{path.name} has the column {shown(name)} twice.")
        raise InputError(
            f"{path.name}: the columns {shown(other)} and {shown(name)} differ only in case; "
            "DuckDB cannot distinguish them. Rename one."
        )


def named(header: Sequence[str]) -> list[str]:
    """Return names for all columns; a nameless one is named by its position, as in pandas.

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


def dialect_of(path: Path, delimiter: str, line_ends: frozenset[str], decimal: str) -> Dialect:
    """Return the format of a UTF-8 file; the caller sets its encoding, header and footer."""
    with uncompressed(path) as stream:
        mark = stream.read(3) == codecs.BOM_UTF8
    header, row = (_quoted_fields(record, delimiter) for record in _first_records(path))
    return Dialect(
        delimiter=delimiter,
        decimal=decimal,
        byte_order_mark=mark,
        quoted_header=all(header),
        quoted_columns=tuple(row),
        line_end=next(iter(line_ends)) if len(line_ends) == 1 else "\n",
    )


def _quoted_fields(record: str, delimiter: str) -> list[bool]:
    mark = "\0"  # which no record has here, or none that matters
    return [field == mark for field in re.sub(QUOTED, mark, record).split(delimiter)]


def records_near_top(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The first lines of a file, with their numbers from 1, each split by its own delimiter."""
    with uncompressed(path) as stream:
        text = stream.read(FIRST_LOOK).decode("utf-8-sig", "replace")
    for number, line in enumerate(text.splitlines()[:LOOKED_AT], 1):
        for delimiter in sorted(DELIMITERS, key=line.count, reverse=True)[:2]:
            try:
                yield number, _fields(line, delimiter)
            except (csv.Error, StopIteration):
                continue


def total_rows(tail: bytes, delimiter: str) -> int:
    r"""Return how many rows at the end of a file hold totals, by their first text.

    Examples
    --------
    >>> total_rows(b"a;0,5;ja\nb;0,2;nein\nSumme;0,7;\n", ";")
    1
    """
    lines = tail.decode("utf-8", "replace").splitlines()[1:]
    count = 0
    for line in reversed([line for line in lines if line.strip(f"{delimiter} ")]):
        cells = (cell.strip(' "').rstrip(":") for cell in line.split(delimiter))
        if next(filter(None, cells), "").casefold() not in TOTALS:
            break
        count += 1
    return count


def with_types(relation: Any, decimal: str = ".", kept: Sequence[str] = ()) -> Any:
    """Cast columns of text to numbers and booleans where every value is one.

    Columns in ``kept`` stay texts.
    """
    names = [name for name in relation.columns if name not in kept]
    typed = typed_columns(relation, names, decimal)
    parts = [f"{value} AS {quoted(name)}" for name, (value, _) in typed.items()]
    return relation.project(", ".join([*parts, *map(quoted, kept)]))


def typed_columns(
    relation: Any, names: Sequence[str], decimal: str = "."
) -> dict[str, tuple[str, str]]:
    """SQL and type of columns of text: of numbers or booleans where every value is one.

    Each pass handles a few hundred columns, because the engine's time grows with the square of
    their number.
    """
    numbers = {name: as_number(name, "VARCHAR", decimal) for name in names}
    answers: list[bool] = []
    for begin in range(0, len(names), AT_ONCE):
        answers += _answers(relation, names[begin : begin + AT_ONCE], numbers)
    typed = {}
    for position, name in enumerate(names):
        fits = answers[3 * position : 3 * position + 3]
        kind = next((k for k, fit in zip(KINDS, fits, strict=True) if fit), "VARCHAR")
        value = numbers[name] if kind == "DOUBLE" else f"CAST({quoted(name)} AS {kind})"
        typed[name] = value, kind
    return typed


def _answers(relation: Any, names: Sequence[str], numbers: dict[str, str]) -> list[bool]:
    """Return for each column whether all values are integers, numbers, or booleans."""
    tests = []
    for name in names:
        column = quoted(name)
        number = f"{numbers[name]} IS NULL OR regexp_matches({column}, '{PADDED}')"
        whole = f"TRY_CAST({column} AS BIGINT) IS NULL OR NOT regexp_matches({column}, '{WHOLE}')"
        truth = f"lower({column}) NOT IN ('true', 'false')"
        tests += [
            f"count({column}) > 0 AND coalesce(bool_and(NOT ({test})), false)"
            for test in (f"{column} IS NOT NULL AND ({bad})" for bad in (whole, number, truth))
        ]
    return list(relation.aggregate(", ".join(tests)).fetchall()[0])
