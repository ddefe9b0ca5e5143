"""Files as DuckDB relations, in bounded memory."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from trueodds.basics.log import logger
from trueodds.basics.shown import shown
from trueodds.cli.errors import AdvisedError, UsageError, require
from trueodds.cli.files.arrow import sound_arrow_file
from trueodds.cli.files.csv import (
    MOST_COLUMNS,
    WHOLE,
    Dialect,
    NotUtf8Error,
    csv_header,
    dialect_of,
    named,
    records_near_top,
    total_rows,
    with_types,
)
from trueodds.cli.files.encoding import UTF_8, guess_encoding, rows_in_utf8
from trueodds.cli.files.find import Format, InputFiles, resolve, scratch_folder
from trueodds.cli.files.json_lines import check_columns, check_keys
from trueodds.cli.files.lines import LONGEST_LINE, check_whole, even_lines
from trueodds.cli.files.sql import LINE, as_category, as_text, literal, quoted, values
from trueodds.cli.files.xlsx import Sheet, as_csv, header_in_sheets
from trueodds.exceptions import InputError

if TYPE_CHECKING:
    from trueodds.cli.rows.columns import ColumnNames

__all__ = [
    "FILE",
    "MEMORY",
    "DataSource",
    "Reading",
    "arrow_batches",
    "in_bytes",
    "leave_room",
    "open_source",
]


MEMORY = "1GB"
"""Default memory limit; DuckDB moves larger data to a temporary folder."""
FILE = "trueodds file"
"""The column that ``open_source`` adds on request."""
ENGINE_SHARE = 0.8
"""DuckDB's part of ``--memory``; the interpreter, its libraries and arrays need the rest."""
LEAST_SHARE = 0.3
"""The same if other arrays are large."""
CELLS_AT_ONCE = 5_000_000
"""Values of a batch of rows."""
COLUMNS_AT_ONCE = 1000
"""Columns of a CSV file up to which several threads read it."""
CATEGORY = "trueodds category "
"""What columns are called that hold the texts of categories."""
INFERRED = ("DATE", "TIME", "UUID")
"""How types begin that the engine infers from texts in JSON lines."""
VERBATIM = "trueodds text "
"""What columns are called that hold the text of a CSV file unchanged."""


Partitions = dict[str, list[str | None]]
"""Columns in the names of folders, with one value for each file."""


@dataclass(frozen=True)
class Reading:
    """Format, memory limit, and options for the text of CSV files and workbooks."""

    format: Format | None = None
    memory: str = MEMORY
    skip_malformed: bool = False
    """Skip lines of text files that do not have the columns of the header."""
    decimal: Literal[".", ","] = "."
    na: tuple[str, ...] = ()
    """Texts that mean a missing value, in addition to the empty one."""
    encoding: str = UTF_8
    sheet: str | None = None
    header_row: int | None = None
    """Row of the column names, counted from 1; by default the first that is not blank."""
    footer_rows: int = 0
    """Number of rows to skip at the end, such as totals."""

    def check(self, files: InputFiles) -> None:
        """Raise for options that do not apply to files of this format."""
        given = {
            "--encoding": (self.encoding != UTF_8, ["csv"]),
            "--sheet": (self.sheet is not None, ["xlsx"]),
            "--decimal": (self.decimal != ".", ["csv", "xlsx"]),
            "--na": (bool(self.na), ["csv", "xlsx"]),
            "--header-row": (self.header_row is not None, ["csv", "xlsx"]),
            "--footer-rows": (self.footer_rows > 0, ["csv", "xlsx"]),
        }
        for name, (is_given, formats) in given.items():
            if is_given and files.format not in formats:
                kinds = " and ".join({"csv": "CSV", "xlsx": "xlsx"}[kind] for kind in formats)
                raise UsageError(f"{name} is for {kinds} files; {files.shown} is {files.format}.")


@dataclass(frozen=True)
class DataSource:
    """Rows of one or more files, not yet read."""

    connection: Any
    relation: Any
    files: InputFiles
    kinds: dict[str, str]
    """Types by column name."""
    header: tuple[str, ...]
    """Names as the files have them; in CSV, some may be empty."""
    reading: Reading
    dialect: Dialect | None = None
    """How a CSV file is written."""
    sheet: Sheet | None = None
    """Position of the rows of a single workbook."""
    totals: int = 0
    """Number of rows at the end that look like totals, but are read as data."""
    verbatim: dict[str, str] = field(default_factory=dict)
    """Columns with the unchanged text of others, if requested."""
    lines: tuple[str, ...] = ()
    """The column with the unchanged lines of JSON, if requested, and those of the folders."""
    categories: dict[str, str] = field(default_factory=dict)
    """Columns with the texts of categories, by the names of features in text files."""
    format: Format = "csv"
    """That of the files themselves; ``files`` may be copies in another."""

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return self.files.shown

    def malformed_lines(self) -> int:
        """Return how many lines the last read of a CSV file skipped."""
        if self.files.format != "csv":
            return 0
        query = (
            "SELECT count(DISTINCT (file_id, line)) FROM reject_errors "
            "WHERE scan_id = (SELECT max(scan_id) FROM reject_errors)"
        )
        return int(self.connection.sql(query).fetchall()[0][0])


@contextmanager
def open_source(
    file: str,
    reading: Reading,
    *,
    detect_types: bool = False,
    verbatim: Format | Literal["same"] | None = None,
    found: Sequence[Path] | None = None,
    columns: ColumnNames | None = None,
    with_file: bool = False,
) -> Iterator[DataSource]:
    """Open files as one relation; all temporary files are gone afterwards.

    Folders named ``key=value`` become columns, unless the files have a column of that name.

    Parameters
    ----------
    file : str
        A name, a folder, a glob, or ``-``.
    reading : Reading
        Options for reading.
    detect_types : bool, default=False
        Give CSV columns the types that all their values have; otherwise all are texts.
    verbatim : {"csv", "jsonl", "same"}, default=None
        The format of the output, which keeps the text of CSV columns, or lines of JSON: they are
        added to what is made of them. "same": that of the files.
    found : sequence of Path, default=None
        The files, if they have been looked for already.
    columns : ColumnNames, default=None
        The columns that will be used, so that a refusal can propose options.
    with_file : bool, default=False
        Add the column ``FILE``: the path of each row's file, as in ``files.paths`` of the result.
    """
    from trueodds.cli.rows.columns import UnknownColumnError

    duckdb = require("duckdb")
    connection = None
    with scratch_folder() as scratch:
        try:
            given = files = resolve(file, reading.format, scratch, found)
            reading.check(files)
            if verbatim == "same":
                verbatim, detect_types = files.format, detect_types or files.format != "csv"
            connection = duckdb.connect(":memory:", config=_config(reading.memory, scratch))
            sheet = None
            if files.format == "xlsx":
                files, sheet = as_csv(
                    files,
                    scratch,
                    memory=in_bytes(reading.memory),
                    name=reading.sheet,
                    header_row=reading.header_row,
                    footer_rows=reading.footer_rows,
                )
            if files.format == "csv":
                text = _Text(connection, files, reading, scratch, sheet)
                files = text.files
                hive = _without(given.partitions, text.header)
                source = text.source(verbatim == "csv", columns, hive, with_file)
                if detect_types:
                    unchanged = [*source.verbatim.values(), *source.categories.values()]
                    kept = [*unchanged, *hive, *([FILE] if with_file else [])]
                    relation = with_types(source.relation, reading.decimal, kept)
                    kinds = _kinds(relation, unchanged)
                    source = replace(source, relation=relation, kinds=kinds)
            else:
                by_file = with_file or bool(given.partitions)
                features = () if columns is None else columns.features
                lines = verbatim == files.format == "jsonl"
                relation = _typed(connection, files, scratch, reading, by_file, features, lines)
                own = [name for name in relation.columns if name not in (FILE, LINE)]
                hive = _without(given.partitions, own)
                if by_file:
                    relation = _with_partitions(connection, relation, files.paths, hive, with_file)
                kinds, header = _kinds(relation, [LINE]), (*own, *hive)
                source = DataSource(connection, relation, files, kinds, header, reading)
                source = replace(source, lines=(LINE, *hive) if lines else ())
            source = replace(source, format=given.format)
            logger.info(
                "%s (%s) is read by DuckDB %s", files.shown, files.format, duckdb.__version__
            )
            yield source
        except (NotUtf8Error, UnknownColumnError) as error:
            raise _advised(error, given, files, reading, columns) from None
        finally:
            if connection is not None:
                connection.close()


def _kinds(relation: Any, hidden: Sequence[str] = ()) -> dict[str, str]:
    pairs = zip(relation.columns, map(str, relation.types), strict=True)
    return {name: kind for name, kind in pairs if name not in hidden}


class _Text:
    """CSV files, and sheets copied to CSV, made ready for the engine."""

    def __init__(
        self,
        connection: Any,
        files: InputFiles,
        reading: Reading,
        scratch: Path,
        sheet: Sheet | None,
    ) -> None:
        self.connection, self.reading, self.sheet = connection, reading, sheet
        self.files = files
        above = below = b""
        if sheet is None:  # the copy of a sheet has no margins
            self.files, (above, below) = rows_in_utf8(
                self.files, reading.encoding, reading.header_row or 1, reading.footer_rows, scratch
            )
        self.header, self.delimiter = _common_header(self.files)
        first = self.files.paths[0]
        self.files, lines = even_lines(self.files, self.header, self.delimiter, scratch)
        dialect = dialect_of(first, self.delimiter, lines[0].ends, reading.decimal)
        single = len(self.files.paths) == 1
        self.dialect = replace(
            dialect,
            encoding=reading.encoding,
            above=above if single else b"",
            below=below if single else b"",
        )
        self.totals = 0 if reading.footer_rows else total_rows(lines[-1].tail, self.delimiter)

    def source(
        self,
        verbatim: bool,
        columns: ColumnNames | None,
        hive: Partitions,
        with_file: bool,
    ) -> DataSource:
        """The rows as texts; ``columns`` are looked for before any row is read."""
        by_file = with_file or bool(hive)
        if len(self.header) > COLUMNS_AT_ONCE:  # each thread holds a block of every column
            self.connection.execute("SET threads = 1")
        n_columns = len(self.header)
        relation = _csv(
            self.connection, self.files, n_columns, self.delimiter, self.reading, by_file
        )
        own = relation.columns[:n_columns]
        names = named(self.header) if "" in self.header else self.header
        na, known = self.reading.na, () if columns is None else columns.categories
        parts, categories = [], {}
        for number, (column, name) in enumerate(zip(own, names, strict=True)):
            value = f"CASE WHEN {column} NOT IN {values(na)} THEN {column} END" if na else column
            parts.append(f"{value} AS {quoted(name)}")
            if name in known:
                categories[name] = f"{CATEGORY}{number}"
                text = as_category(value, self.reading.decimal)
                parts.append(f"{text} AS {quoted(categories[name])}")
        texts: dict[str, str] = {}
        if verbatim:
            texts = {name: f"{VERBATIM}{number}" for number, name in enumerate(names)}
            parts += [
                f"{column} AS {quoted(text)}"
                for column, text in zip(own, texts.values(), strict=True)
            ]
        relation = relation.project(", ".join([*parts, quoted(FILE)] if by_file else parts))
        if by_file:
            relation = _with_partitions(
                self.connection, relation, self.files.paths, hive, with_file
            )
        source = DataSource(
            self.connection,
            relation,
            self.files,
            _kinds(relation, [*texts.values(), *categories.values()]),
            (*self.header, *hive),
            self.reading,
            self.dialect,
            self.sheet if len(self.files.paths) == 1 else None,
            self.totals,
            texts,
            categories=categories,
        )
        if columns is not None:
            columns.found_in(source)
        return source


def _advised(
    error: InputError,
    given: InputFiles,
    files: InputFiles,
    reading: Reading,
    columns: ColumnNames | None,
) -> Exception:
    """Return the error, with the options that the file seems to need."""
    from trueodds.cli.rows.advice import advise
    from trueodds.cli.rows.columns import UnknownColumnError

    changes: dict[str, Any] = {}
    if isinstance(error, NotUtf8Error):
        if reading.encoding != UTF_8:
            return error  # that was the proposal
        encoding = guess_encoding(given.paths[0])
        changes, hint = {"encoding": encoding}, f"It reads as {encoding}."
    elif columns is not None and reading.header_row is None:
        changes, hint = _header_elsewhere(given, files, reading, columns)
    if not changes:
        return error
    options = [
        word
        for name, value in changes.items()
        for word in (f"--{name.replace('_', '-')}", str(value))
    ]
    try:
        with open_source(
            given.shown, replace(reading, **changes), found=given.paths, columns=columns
        ) as source:
            if columns is not None:
                more = advise(source, columns.found_in(source))
                options, hint = [*options, *more.options], f"{hint} {more.hint}"
    except AdvisedError as more_error:
        options, hint = [*options, *more_error.options], f"{hint} {more_error.hint}"
    except UnknownColumnError as unknown:
        hint = f"{hint} Then {unknown}"
    except InputError:
        return error  # it is no text: nothing to propose
    return AdvisedError(f"{error} {hint}", options, hint)


def _header_elsewhere(
    given: InputFiles, files: InputFiles, reading: Reading, columns: ColumnNames
) -> tuple[dict[str, Any], str]:
    """Options that name the row, and perhaps the sheet, where the columns are; may be empty."""
    if given.format == "xlsx":
        memory = in_bytes(reading.memory)
        place = header_in_sheets(given.paths[0], memory, columns.named_in, reading.sheet)
        if place is None:
            return {}, ""
        sheet, row, is_first = place
        changes: dict[str, Any] = {} if is_first else {"sheet": sheet}
        return {**changes, "header_row": row}, f"Row {row} of {shown(sheet)} has these columns."
    for number, texts in records_near_top(files.paths[0]):
        if number > 1 and columns.named_in(texts):
            return {"header_row": number}, f"Line {number} has these columns."
    return {}, ""


def in_bytes(memory: str) -> int:
    """A size such as 512MB or 4GiB.

    Examples
    --------
    >>> in_bytes("1.5 GB"), in_bytes("1KiB")
    (1500000000, 1024)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([KMGT])(i?)B", memory)
    if found is None:
        raise UsageError(f"--memory must be a size such as 512MB or 4GB; got {memory!r}.")
    number, unit, binary = found.groups()
    return int(float(number) * (1024 if binary else 1000) ** ("KMGT".index(unit) + 1))


def leave_room(connection: Any, memory: str, needed: int) -> None:
    """Let DuckDB move rows to temporary files: the program itself needs some of the memory."""
    import duckdb

    share = max(ENGINE_SHARE * in_bytes(memory) - needed, LEAST_SHARE * in_bytes(memory))
    with contextlib.suppress(duckdb.Error):  # what cannot be moved stays
        connection.execute(f"SET memory_limit = '{share / 1000:.0f}KB'")


def _config(memory: str, scratch: Path) -> dict[str, Any]:
    return {
        "memory_limit": f"{ENGINE_SHARE * in_bytes(memory) / 1000:.0f}KB",
        "temp_directory": str(scratch / "spill"),
        "threads": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2,
        # Nothing is fetched from a network, whatever a file is called.
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        # Rows are checked by what they hold, not by what a damaged file says of them; see examine.
        "disabled_optimizers": "statistics_propagation",
    }


def _without(hive: Partitions, header: Sequence[str]) -> Partitions:
    """Partition columns that the files do not have; the engine takes Day and day as one name."""
    own = {name.casefold() for name in header}
    return {key: values for key, values in hive.items() if key.casefold() not in own}


def _with_partitions(
    connection: Any,
    relation: Any,
    paths: Sequence[Path],
    hive: Partitions,
    with_file: bool,
) -> Any:
    """Add the partition columns; whole numbers are numbers, everything else is text."""
    kept = [quoted(name) for name in relation.columns if with_file or name != FILE]
    for number, (name, given) in enumerate(hive.items()):
        kind = "BIGINT" if all(v is None or re.search(WHOLE, v) for v in given) else "VARCHAR"
        # A file's name is one value for thousands of rows, so the engine looks it up once for them.
        keys = ", ".join(literal(str(path)) for path in paths)
        listed = ", ".join("NULL" if value is None else literal(value) for value in given)
        variable = f"trueodds_partition_{number}"
        connection.execute(f"SET VARIABLE {variable} = map([{keys}], [{listed}])")
        value = f"getvariable('{variable}')[{quoted(FILE)}]"
        kept.append(f"CAST({value} AS {kind}) AS {quoted(name)}")
    return relation.project(", ".join(kept))


def _typed(
    connection: Any,
    files: InputFiles,
    scratch: Path,
    reading: Reading,
    by_file: bool,
    features: Sequence[str],
    lines: bool,
) -> Any:
    """Files of a format whose values have types."""
    names = [glob.escape(str(path)) for path in files.paths]
    if files.format == "parquet":
        listed = ", ".join(map(literal, names))
        column = f", filename = {literal(FILE)}" if by_file else ""
        return connection.sql(
            f"SELECT * FROM read_parquet([{listed}], hive_partitioning = false{column})"  # noqa: S608
        )
    if files.format == "jsonl":
        check_whole(files)
        for path in files.paths:
            check_keys(path)
        return _json_lines(
            connection, files, names, reading.skip_malformed, by_file, features, lines
        )
    dataset = require("pyarrow.dataset")
    paths = [
        str(sound_arrow_file(path, scratch / f"{number}.arrow"))
        for number, path in enumerate(files.paths)
    ]
    if not by_file:
        return connection.from_arrow(dataset.dataset(paths, format="ipc"))
    schema = dataset.dataset(paths, format="ipc").schema
    parts = [
        connection.from_arrow(dataset.dataset(path, format="ipc", schema=schema)).project(
            f"*, {literal(str(original))} AS {quoted(FILE)}"
        )
        for path, original in zip(paths, files.paths, strict=True)
    ]
    return reduce(lambda above, below: above.union(below), parts)


def _json_lines(
    connection: Any,
    files: InputFiles,
    names: Sequence[str],
    skip_malformed: bool,
    by_file: bool,
    features: Sequence[str],
    lines: bool,
) -> Any:
    """JSON lines as columns, and on request the lines themselves.

    A column of numbers and texts is one of texts. Texts in features stay texts, even if all of
    them are dates.
    """
    options = f"[{', '.join(map(literal, names))}], ignore_errors = {skip_malformed}"
    options += ", hive_partitioning = false"
    options += f", filename = {literal(FILE)}" if by_file else ""
    # All rows are looked at for types: a late text must not stop the reading half-way.
    # Objects of very many keys would become one column of pairs.
    inference = f"sample_size = -1, map_inference_threshold = {MOST_COLUMNS}"
    relation = connection.sql(f"FROM read_json({options}, {inference})")
    types = {
        name: "JSON" if str(kind) == '"NULL"' else str(kind)
        for name, kind in zip(relation.columns, relation.types, strict=True)
        if name != FILE
    }
    check_columns(list(types), list(types.values()), files.paths[0])
    dates = [name for name in features if types.get(name, "").startswith(INFERRED)]
    types |= dict.fromkeys(dates, "VARCHAR")
    if lines or dates:
        selected = [f"unnest(json_transform(json, {literal(json.dumps(types))}))"]
        selected += [quoted(FILE)] * by_file + [f"json AS {quoted(LINE)}"] * lines
        relation = connection.sql(
            f"SELECT {', '.join(selected)} FROM read_ndjson_objects({options})"  # noqa: S608
        )
    parts = [
        f"{as_text(name, kind)} AS {quoted(name)}" if kind == "JSON" else quoted(name)
        for name, kind in types.items()
    ]
    parts += [quoted(name) for name in relation.columns if name not in types]
    return relation.project(", ".join(parts))


def _csv(
    connection: Any,
    files: InputFiles,
    n_columns: int,
    delimiter: str,
    reading: Reading,
    by_file: bool,
) -> Any:
    """CSV files as columns of text.

    They are read by position and named afterwards: the reader takes no empty names.
    """
    options: dict[str, Any] = {"header": True, "sep": delimiter, "quotechar": '"'}
    options |= {"escapechar": '"', "max_line_size": LONGEST_LINE, "buffer_size": LONGEST_LINE}
    if reading.skip_malformed:
        options |= {"ignore_errors": True, "store_rejects": True, "rejects_limit": 0}
    options |= {"hive_partitioning": False} | ({"filename": FILE} if by_file else {})
    columns = {f"column{number}": "VARCHAR" for number in range(n_columns)}
    names = [glob.escape(str(path)) for path in files.paths]
    return connection.read_csv(names, columns=columns, auto_detect=False, **options)


def _common_header(files: InputFiles) -> tuple[list[str], str]:
    header, delimiter = csv_header(files.paths[0])
    for path in files.paths[1:]:
        other, _ = csv_header(path)
        if other != header:
            raise InputError(
                f"{path.name} has different columns from {files.paths[0].name}: "
                f"{', '.join(map(shown, other[:20]))} instead of "
                f"{', '.join(map(shown, header[:20]))}."
            )
    return header, delimiter


def arrow_batches(relation: Any, rows: int = 100_000) -> Iterator[Any]:
    """A relation's rows in order, as Arrow record batches, a few at a time.

    Batches of many columns have fewer rows, because the engine reserves room for all values.
    """
    rows = max(1, min(rows, CELLS_AT_ONCE // len(relation.columns)))
    if hasattr(relation, "to_arrow_reader"):
        yield from relation.to_arrow_reader(rows)
    else:  # DuckDB before 1.4, where a relation has one result
        yield from relation.project("*").fetch_arrow_reader(rows)
