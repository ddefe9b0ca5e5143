"""Excel workbooks: checked before they are read, read as CSV, and written back with new columns.

A workbook is an archive of XML parts. calamine reads a sheet into memory as a dense table. So the
size of that table, the references of cells and the length of texts are checked first.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import math
import posixpath
import re
import shutil
import zipfile
import zlib
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from trueodds.basics import imports
from trueodds.basics.files import new_file
from trueodds.basics.shown import shown
from trueodds.cli.files.find import InputFiles
from trueodds.cli.output import note
from trueodds.exceptions import InputError

__all__ = ["Sheet", "add_columns", "as_csv", "header_in_sheets", "new_workbook"]

MOST_ROWS, MOST_COLUMNS, LONGEST_TEXT = 1_048_576, 16_384, 32_767
"""Limits of a sheet and of a cell in Excel."""
DENSE_CELL = 40
"""Bytes that calamine needs for each cell between the corners of a sheet."""
READ_BYTES = 1 << 16
LONGEST_TOKEN = 1 << 20
"""Bytes without a new element: more than the longest text of a cell can take, escaped."""
FREE_SIZE, MOST_PACKED = 50_000_000, 200
"""Parts larger than this are refused if they were compressed by more than this factor."""
OLD_FILE = bytes.fromhex("d0cf11e0a1b11ae1")
LOOKED_AT = 50
"""Rows in which a header is looked for."""

Attributes = dict[str, str]


@dataclass(frozen=True)
class Sheet:
    """Position of the rows that were read, so that results can be written next to them."""

    path: Path
    part: str
    """Name of the sheet in the archive."""
    header_row: int
    rows: array[int]
    """Row in the sheet, counted from 1, of each row that was read."""
    first_column: int
    last_column: int
    """Counted from 1; the last one has a value in the header or below it."""


def as_csv(
    files: InputFiles,
    scratch: Path,
    *,
    memory: int,
    name: str | None = None,
    header_row: int | None = None,
    footer_rows: int = 0,
) -> tuple[InputFiles, Sheet]:
    """Copy one sheet of each workbook to a CSV file; a percent cell holds its fraction.

    Rows without any value are not copied. Returns the copies, and the place of the rows in the
    last workbook.
    """
    copies = []
    for number, path in enumerate(files.paths):
        copy = scratch / f"sheet-{number}.csv"
        with io.TextIOWrapper(new_file(copy), encoding="utf-8", newline="") as stream:
            sheet = _copy(path, csv.writer(stream), memory, name, header_row, footer_rows)
        copies.append(copy)
    return replace(files, paths=tuple(copies), format="csv"), sheet


def _copy(
    path: Path,
    target: Any,
    memory: int,
    name: str | None,
    header_row: int | None,
    footer_rows: int,
) -> Sheet:
    found = _rows(path, memory, name, header_row or 1)
    numbers, held = array("q"), deque[tuple[int, list[str]]]()
    for number, row in found.rows:
        texts = [_text(value) for value in row]
        if number < (header_row or 1) or not any(texts):
            continue
        held.append((number, texts))
        if len(held) > footer_rows:
            number, texts = held.popleft()
            target.writerow(texts)
            numbers.append(number)
    if not numbers:
        where = f" from row {header_row:,} down" if header_row else ""
        raise InputError(f"{path.name}: the sheet is empty{where}.")
    return Sheet(path, found.part, numbers[0], numbers[1:], found.first_column, found.last_column)


def header_in_sheets(
    path: Path, memory: int, is_header: Callable[[Sequence[str]], bool], name: str | None
) -> tuple[str, int, bool] | None:
    """The sheet and the row, counted from 1, of the first row that could be the header.

    Looks into the named sheet, or into all; the last answer is whether it is the first sheet.
    """
    with _archive(path) as book:
        names = list(_sheets(book, path))
    for one in names if name is None else [name]:
        for number, row in _rows(path, memory, one).rows:
            if number > LOOKED_AT:
                break
            if is_header([_text(value) for value in row]):
                return one, number, one == (name or names[0])
    return None


@dataclass(frozen=True)
class _Rows:
    part: str
    first_column: int
    last_column: int
    rows: Iterator[tuple[int, list[Any]]]
    """With their numbers, counted from 1."""


def _rows(path: Path, memory: int, name: str | None, header_row: int = 1) -> _Rows:
    calamine: Any = imports.require("python_calamine", "xlsx files", "trueodds[excel]")
    with _archive(path) as book:
        sheets = _sheets(book, path)
        if not sheets:
            raise InputError(f"{path.name} has no sheets.")
        if name is not None and name not in sheets:
            raise InputError(
                f"{path.name} has no sheet {shown(name)} (--sheet); it has "
                f"{', '.join(map(shown, sheets))}."
            )
        if name is None and len(sheets) > 1:
            note(
                f"{path.name}: the first of {len(sheets)} sheets is read, "
                f"{shown(next(iter(sheets)))}; pass --sheet to read another."
            )
        chosen = next(iter(sheets)) if name is None else name
        last_column = _check(book, path, chosen, sheets[chosen], memory, header_row)
    try:
        sheet = calamine.load_workbook(str(path)).get_sheet_by_name(chosen)
        start = 1 if sheet.start is None else sheet.start[1] + 1
        return _Rows(sheets[chosen], start, last_column, enumerate(sheet.iter_rows(), 1))
    except calamine.CalamineError as error:
        raise InputError(f"{path.name} cannot be read as a workbook: {error}.") from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of Rust: no Exception, and not exported
            raise
        raise InputError(f"{path.name} is damaged and cannot be read as a workbook.") from None


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # a workbook has no integers
    return str(value)


# The archive and its XML


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """The archive, if its directory is believable; what is wrong inside becomes a sentence."""
    try:
        with zipfile.ZipFile(path) as book:
            entries = book.infolist()
            if len({entry.filename for entry in entries}) < len(entries):
                raise InputError(f"{path.name} is damaged: two parts have the same name.")
            for entry in entries:
                if entry.flag_bits & 1 or entry.compress_type not in (0, zipfile.ZIP_DEFLATED):
                    raise InputError(
                        f"{path.name} cannot be read as a workbook: {shown(entry.filename)} is "
                        "encrypted or compressed in an unusual way."
                    )
                packed = max(entry.compress_size, 1)
                if entry.file_size > max(FREE_SIZE, MOST_PACKED * packed):
                    raise InputError(
                        f"{path.name} is refused: {shown(entry.filename)} grows from {packed:,} "
                        f"to {entry.file_size:,} bytes. Save the sheet as CSV."
                    )
            yield book
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        reason = str(error).rstrip(".")
        with path.open("rb") as stream:
            if stream.read(len(OLD_FILE)) == OLD_FILE:
                reason = "it has a password or is an .xls file; save it as .xlsx without a password"
        raise InputError(f"{path.name} cannot be read as a workbook: {reason}.") from None


def _sheets(book: zipfile.ZipFile, path: Path) -> dict[str, str]:
    """Parts by the names of their sheets, in the order of the workbook; charts are left out."""
    targets: dict[str, str] = {}
    sheets: dict[str, str] = {}

    def relation(tag: str, found: Attributes) -> None:
        if _local(tag) == "Relationship" and found.get("Type", "").endswith("/worksheet"):
            target = posixpath.join("/xl", found.get("Target", ""))
            targets[found.get("Id", "")] = posixpath.normpath(target).lstrip("/")

    def sheet(tag: str, found: Attributes) -> None:
        key = next((value for name, value in found.items() if name.endswith(":id")), "")
        if _local(tag) == "sheet" and key in targets:
            sheets[found.get("name", "")] = targets[key]

    _scan(book, "xl/_rels/workbook.xml.rels", path, relation)
    _scan(book, "xl/workbook.xml", path, sheet)
    return sheets


def _check(
    book: zipfile.ZipFile, path: Path, name: str, part: str, memory: int, header_row: int
) -> int:
    """Refuse a sheet that would not fit into memory, and references that are no cells.

    Returns the last column with content in the header or below it.
    """
    present = set(book.namelist())
    for other in ("xl/sharedStrings.xml", "xl/styles.xml"):
        if other in present:
            _scan(book, other, path, lambda _tag, _found: None)
    cells = _Cells(path)
    filled = last_row = last_column = last_below = 0

    def start(tag: str, found: Attributes) -> None:
        nonlocal filled, last_row, last_column, last_below
        tag = _local(tag)
        if tag in ("v", "is", "f"):
            filled += tag != "f"
            last_row, last_column = max(last_row, cells.row), max(last_column, cells.column)
            if cells.row >= header_row:
                last_below = max(last_below, cells.column)
        elif tag == "dimension":
            for corner in found.get("ref", "A1").split(":"):
                cells.position(corner)
        else:
            cells.start(tag, found)

    _scan(book, part, path, start)
    dense = last_row * last_column
    if dense * DENSE_CELL > memory:
        raise InputError(
            f"{path.name}: the sheet {shown(name)} reaches to {_reference(last_row, last_column)}; "
            f"its {dense:,} cells, {filled:,} of them filled, need about "
            f"{dense * DENSE_CELL / 1e9:,.1f} GB, more than --memory. Delete cells far from the "
            "rows, or save the sheet as CSV."
        )
    return last_below


class _Cells:
    """Row and column of the current cell, both from 1; a reference may be left out in the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.row = self.column = 0

    def start(self, tag: str, found: Attributes) -> None:
        if tag == "row":
            given = found.get("r")
            if given is not None and not re.fullmatch(r"[0-9]{1,7}", given):
                raise self._wrong(given)
            self.row, self.column = int(given) if given else self.row + 1, 0
            if not 1 <= self.row <= MOST_ROWS:
                raise self._wrong(str(self.row))
        elif tag == "c":
            reference = found.get("r")
            if reference is None:
                self.column += 1
            else:
                row, self.column = self.position(reference)
                if row != self.row:
                    raise self._wrong(reference)

    def position(self, reference: str) -> tuple[int, int]:
        parts = re.fullmatch(r"\$?([A-Z]{1,3})\$?([0-9]{1,7})", reference)
        if parts is None:
            raise self._wrong(reference)
        column = 0
        for letter in parts.group(1):
            column = 26 * column + ord(letter) - ord("A") + 1
        row = int(parts.group(2))
        if not (1 <= row <= MOST_ROWS and column <= MOST_COLUMNS):
            raise self._wrong(reference)
        return row, column

    def _wrong(self, reference: str) -> InputError:
        return InputError(
            f"{self._path.name} cannot be read as a workbook: {shown(reference)} is not a cell "
            "reference."
        )


def _local(tag: str) -> str:
    """The name of an element without its prefix."""
    return tag.rpartition(":")[2]


def _reference(row: int, column: int) -> str:
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return f"{letters}{row}"


def _scan(
    book: zipfile.ZipFile,
    part: str,
    path: Path,
    start: Callable[[str, Attributes], None],
    *,
    end: Callable[[str], None] | None = None,
    fed: Callable[[bytes], None] | None = None,
    parser: Any = None,
) -> None:
    """Call ``start`` for each element of a part, which is read in pieces.

    ``fed`` gets each piece before it is parsed. Document types are refused: with entities, a short
    text can expand to a very long one.
    """
    parser = parser or expat.ParserCreate()
    idle = 0

    def started(tag: str, found: Attributes) -> None:
        nonlocal idle
        idle = 0
        start(tag, found)

    def no_entities(*_: Any) -> None:
        raise InputError(f"{path.name} is refused: {shown(part)} declares a document type.")

    parser.StartElementHandler = started
    parser.StartDoctypeDeclHandler = no_entities
    if end is not None:
        parser.EndElementHandler = end
    try:
        with book.open(part) as stream:
            while block := stream.read(READ_BYTES):
                if fed is not None:
                    fed(block)
                idle += len(block)
                parser.Parse(block, False)
                if idle > LONGEST_TOKEN:
                    raise InputError(
                        f"{path.name} is refused: {shown(part)} holds a text of more than "
                        f"{LONGEST_TOKEN:,} bytes; a cell holds at most {LONGEST_TEXT:,} "
                        "characters."
                    )
            parser.Parse(b"", True)
    except KeyError:
        raise InputError(
            f"{path.name} cannot be read as a workbook: it has no part {shown(part)}."
        ) from None
    except expat.ExpatError as error:
        raise InputError(
            f"{path.name} cannot be read as a workbook: {shown(part)} is not valid XML ({error})."
        ) from None


# Writing


def add_columns(
    stream: IO[bytes],
    sheet: Sheet,
    score_column: int,
    names: Sequence[str],
    values: Iterator[Sequence[float | str | None]],
) -> None:
    """Copy a workbook, with new columns to the right of the rows that were read.

    Everything else is unchanged, to the byte: other sheets, titles, totals, formulas and their
    last results. A new cell has the format of the score in its row.

    Parameters
    ----------
    stream : binary stream
    sheet : Sheet
    score_column : int
        Column, counted from 1, whose formats the new cells take.
    names : sequence of str
        Names of the new columns.
    values : iterator of sequences
        New cells of each row of ``sheet.rows``, in their order; None leaves a cell empty.
    """
    if sheet.last_column + len(names) > MOST_COLUMNS:
        raise InputError(f"{sheet.path.name}: the sheet has no room for more columns.")
    with (
        _archive(sheet.path) as book,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for entry in book.infolist():
            copy = zipfile.ZipInfo(entry.filename, entry.date_time)
            copy.compress_type, copy.external_attr = zipfile.ZIP_DEFLATED, entry.external_attr
            with target.open(copy, "w", force_zip64=entry.file_size > 1 << 30) as output:
                if entry.filename == sheet.part:
                    _Insertion(output, sheet, score_column, names, values).run(book)
                else:
                    with book.open(entry) as source:
                        shutil.copyfileobj(source, output, 1 << 20)


class _Insertion:
    """The XML of a sheet, copied with new cells in some of its rows.

    Text that no event changes is copied unchanged.
    """

    def __init__(
        self,
        output: IO[bytes],
        sheet: Sheet,
        score_column: int,
        names: Sequence[str],
        values: Iterator[Sequence[float | str | None]],
    ) -> None:
        self._output, self._sheet, self._names, self._values = output, sheet, names, values
        self._score_column = score_column
        self._first, self._last = sheet.last_column + 1, sheet.last_column + len(names)
        self._rows = iter(sheet.rows)
        self._next_row = next(self._rows, 0)
        self._cells = _Cells(sheet.path)
        self._parser = expat.ParserCreate()
        self._text, self._begin, self._cutting = bytearray(), 0, False
        self._pending: list[str] = []
        self._prefix = ""
        self._style = ""

    def run(self, book: zipfile.ZipFile) -> None:
        """Copy the whole part."""
        self._parser.XmlDeclHandler = self._declared
        _scan(
            book,
            self._sheet.part,
            self._sheet.path,
            self._start,
            end=self._end,
            fed=self._text.extend,
            parser=self._parser,
        )
        self._output.write(self._text)

    def _declared(self, _version: str, encoding: str | None, _alone: int) -> None:
        if (encoding or "utf-8").lower() not in ("utf-8", "ascii", "us-ascii"):
            raise InputError(
                f"{self._sheet.path.name}: the sheet's encoding {encoding} is not supported; save "
                "the workbook again, or write CSV."
            )

    def _advance(self) -> None:
        """Copy the text before the current event, or drop it if it is being replaced."""
        here = self._parser.CurrentByteIndex
        size = here - self._begin
        if not self._cutting:
            self._output.write(self._text[:size])
        del self._text[:size]
        self._begin, self._cutting = here, False

    def _start(self, tag: str, found: Attributes) -> None:
        if self._cutting:
            self._advance()
        name = _local(tag)
        self._cells.start(name, found)
        column = self._cells.column
        if name == "worksheet":
            self._prefix = tag.removesuffix(name)
        elif name == "dimension":
            self._replace(f"<{tag}{_written({**found, 'ref': self._extent(found)})}/>")
        elif name == "row":
            self._begin_row(tag, found)
        elif name == "c" and column == self._score_column:
            self._style = found.get("s", "")
        elif name == "c" and column >= self._first and self._pending:
            if column > self._last:
                self._insert()
            else:  # an empty cell with a format
                self._replace("")

    def _replace(self, text: str) -> None:
        """Replace the text between this event and the next."""
        self._advance()
        self._output.write(text.encode())
        self._cutting = True

    def _extent(self, found: Attributes) -> str:
        last = max([self._sheet.header_row, *self._sheet.rows[-1:]])
        for corner in found.get("ref", "A1").split(":"):
            last = max(last, self._cells.position(corner)[0])
        return f"A1:{_reference(last, self._last)}"

    def _begin_row(self, tag: str, found: Attributes) -> None:
        row, p, self._style = self._cells.row, self._prefix, ""
        if row == self._sheet.header_row:
            self._pending = [_text_cell(name, p) for name in self._names]
        elif row == self._next_row:
            self._next_row = next(self._rows, 0)
            self._pending = [
                _text_cell(value, p)
                if isinstance(value, str)
                else ""
                if value is None or not math.isfinite(value)
                else f"><{p}v>{value!r}</{p}v></{p}c>"
                for value in next(self._values)
            ]
        else:
            return
        # "spans" may leave the new cells out; it is a hint that no reader needs.
        kept = {name: value for name, value in found.items() if name != "spans"}
        self._replace(f"<{tag}{_written(kept)}>")

    def _end(self, tag: str) -> None:
        if _local(tag) == "row" and self._pending:
            self._insert()

    def _insert(self) -> None:
        self._advance()
        style = f' s="{self._style}"' if self._style.isdecimal() else ""
        for column, cell in enumerate(self._pending, self._first):
            if cell:
                place = _reference(self._cells.row, column)
                self._output.write(f'<{self._prefix}c r="{place}"{style}{cell}'.encode())
        self._pending = []


def _written(found: Attributes) -> str:
    return "".join(f" {name}={quoteattr(value)}" for name, value in found.items())


def _text_cell(text: str, prefix: str) -> str:
    """A cell with a text, after its reference and its style."""
    p, escaped = prefix, escape(_excel_text(text))
    return f' t="inlineStr"><{p}is><{p}t xml:space="preserve">{escaped}</{p}t></{p}is></{p}c>'


def _excel_text(text: str) -> str:
    """A text as the parts of a workbook hold it: characters that XML has not as ``_x001B_``."""
    text = re.sub(r"_(?=x[0-9A-Fa-f]{4}_)", "_x005F_", text)
    return re.sub(
        "[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]",
        lambda found: f"_x{ord(found.group()):04X}_",
        text,
    )


@contextmanager
def new_workbook(stream: IO[bytes], title: str, names: Sequence[str]) -> Iterator[Any]:
    """A workbook of one sheet; Arrow batches are written to it with ``write_batch``."""
    openpyxl: Any = imports.require("openpyxl", "writing xlsx files", "trueodds[excel]")
    if len(names) > MOST_COLUMNS:
        raise InputError(
            f"a sheet holds at most {MOST_COLUMNS:,} columns; there are {len(names):,}. Write CSV "
            "or Parquet."
        )
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet(
        re.sub(r"[\\/*?:\[\]'\x00-\x1f]", " ", title)[:31].strip() or "Sheet1"
    )
    writer = _NewSheet(sheet, openpyxl.cell.WriteOnlyCell)
    try:
        writer.append(names)
        yield writer
    except BaseException:
        sheet.close()  # or it complains when it is collected
        raise
    book.save(stream)


class _NewSheet:
    def __init__(self, sheet: Any, cell: Any) -> None:
        self._sheet, self._cell, self._rows = sheet, cell, 0

    def write_batch(self, batch: Any) -> None:
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            self.append(row)

    def append(self, row: Sequence[Any]) -> None:
        self._rows += 1
        if self._rows > MOST_ROWS:
            raise InputError(f"a sheet holds at most {MOST_ROWS:,} rows; write CSV or Parquet.")
        self._sheet.append([self._value(value) for value in row])

    def _value(self, value: Any) -> Any:
        """A value that a cell can hold without loss; everything else as a text."""
        if value is None or isinstance(value, (bool, dt.date)):
            if isinstance(value, dt.datetime) and value.tzinfo is not None:
                return value.isoformat()
            return value
        if isinstance(value, int):
            return value if abs(value) <= 1 << 53 else str(value)
        if isinstance(value, float):
            return value if math.isfinite(value) else str(value)
        if isinstance(value, (dict, list)):
            value = json.dumps(value, default=str, ensure_ascii=False)
        value = str(value)
        value = _excel_text(value)
        if len(value) > LONGEST_TEXT:
            raise InputError(
                f"a cell holds {LONGEST_TEXT:,} characters, and {shown(value, 30)} in row "
                f"{self._rows:,} has {len(value):,}; write CSV or Parquet."
            )
        if value[:1] not in ("=", "#"):
            return value
        cell = self._cell(self._sheet, value)
        cell.data_type = "s"  # never a formula, nor an error
        return cell
