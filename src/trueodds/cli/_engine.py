"""Files as relations of an embedded DuckDB, in bounded memory."""

from __future__ import annotations

import glob
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from trueodds.basics.log import logger
from trueodds.basics.shown import shown
from trueodds.basics.signals import STOPPING
from trueodds.cli._arrow import sound_arrow_file
from trueodds.cli._csv_header import LONGEST_LINE, NotUtf8Error, csv_header, named
from trueodds.cli._encoding import UTF_8, guess_encoding, in_utf8
from trueodds.cli._exit import AdvisedError, UsageError, require
from trueodds.cli._files import Format, InputFiles, resolve
from trueodds.cli._json_keys import check_columns, check_keys
from trueodds.cli._line_ends import check_whole, with_even_lines
from trueodds.cli._sql import literal, quoted
from trueodds.cli._types import WHOLE, with_types
from trueodds.cli._xlsx import as_csv
from trueodds.exceptions import InputError

if TYPE_CHECKING:
    from trueodds.cli._columns import ColumnNames

__all__ = ["FILE", "MEMORY", "DataSource", "Reading", "arrow_batches", "open_source"]


MEMORY = "1GB"
"""What DuckDB may use; what does not fit goes to a temporary folder."""
FILE = "trueodds file"
"""The column that ``open_source`` adds on request."""


@dataclass(frozen=True)
class Reading:
    """Format, memory, and what is said of the text of CSV files."""

    format: Format | None = None
    memory: str = MEMORY
    skip_malformed: bool = False
    """Leave out lines of text files that do not have the columns of the header."""
    decimal: Literal[".", ","] = "."
    na: tuple[str, ...] = ()
    """Texts that stand for a missing value, beside the empty one."""
    encoding: str = UTF_8

    def check(self, files: InputFiles) -> None:
        """Refuse options of CSV files for files of another format."""
        given = {
            "--decimal": self.decimal != ".",
            "--na": bool(self.na),
            "--encoding": self.encoding != UTF_8,
        }
        used = [name for name, is_given in given.items() if is_given]
        if used:
            raise UsageError(f"{used[0]} is for CSV files; {files.shown} is {files.format}.")


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

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return self.files.shown

    def malformed_lines(self) -> int:
        """How many lines the last reading of a CSV file left out, if it was to leave any out."""
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
        What the options say.
    detect_types : bool, default=False
        Give CSV columns the types that all their values have; otherwise all are texts.
    found : sequence of Path, default=None
        The files, if they have been looked for already.
    columns : ColumnNames, default=None
        What will be asked for, if more is to be said of a file that cannot be read as it is.
    with_file : bool, default=False
        Add the column ``FILE``: the path of each row's file, as in ``files.paths`` of the result.
    """
    duckdb = require("duckdb")
    connection = scratch = None
    try:
        with STOPPING.held():
            scratch = Path(tempfile.mkdtemp(prefix="trueodds-"))
        files = resolve(file, reading.format, scratch, found)
        hive = files.partitions
        if files.format == "xlsx":
            files = as_csv(files, scratch)
        connection = duckdb.connect(":memory:", config=_config(reading.memory, scratch))
        if files.format == "csv":
            if reading.encoding != UTF_8:
                files = in_utf8(files, reading.encoding, scratch)
            header, delimiter = _common_header(files)
            files = with_even_lines(files, header, delimiter, scratch)
            hive = _without(hive, header)
            by_file = with_file or bool(hive)
            relation = _csv(connection, files, header, delimiter, reading, by_file)
            relation = with_types(relation, reading.decimal) if detect_types else relation
        else:
            reading.check(files)
            by_file = with_file or bool(hive)
            relation = _typed(connection, files, scratch, reading.skip_malformed, by_file)
            header = [name for name in relation.columns if name != FILE]
            hive = _without(hive, header)
        if by_file:
            relation = _with_partitions(connection, relation, files.paths, hive, with_file)
            header = [*header, *hive]
        kinds = dict(zip(relation.columns, map(str, relation.types), strict=True))
        kind, version = files.format, duckdb.__version__
        logger.info("%s (%s) is read by DuckDB %s", files.shown, kind, version)
        yield DataSource(connection, relation, files, kinds, tuple(header), reading)
    except NotUtf8Error as error:
        if reading.encoding != UTF_8:
            raise  # that was the proposal
        raise _of_encoding(error, files, reading, columns) from None
    finally:
        try:
            _clear(connection, scratch)
        finally:  # a signal may have cut that short, but comes only once
            _clear(connection, scratch)


def _clear(connection: Any, scratch: Path | None) -> None:
    if connection is not None:
        connection.close()
    if scratch is not None:
        shutil.rmtree(scratch, ignore_errors=True)


def _of_encoding(
    error: NotUtf8Error, files: InputFiles, reading: Reading, columns: ColumnNames | None
) -> Exception:
    """What to say of a file that is not UTF-8: which encoding fits, and what else it needs."""
    from trueodds.cli._advice import advise

    encoding = guess_encoding(files.paths[0])
    options, hint = ["--encoding", encoding], f"It reads as {encoding}."
    try:
        with open_source(
            files.shown, replace(reading, encoding=encoding), found=files.paths
        ) as source:
            if columns is not None:
                more = advise(source, columns.found_in(source))
                options, hint = [*options, *more.options], f"{hint} {more.hint}"
    except InputError:
        return error  # it is no text, or has other columns: nothing to propose
    return AdvisedError(f"{error} {hint}", options)


def _config(memory: str, scratch: Path) -> dict[str, Any]:
    if not re.fullmatch(r"\d+(\.\d+)? ?[KMGT]i?B", memory):
        raise UsageError(f"--memory must be a size such as 512MB or 4GB; got {memory!r}.")
    return {
        "memory_limit": memory,
        "temp_directory": str(scratch / "spill"),
        "threads": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2,
        # Nothing is fetched from a network, whatever a file is called.
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        # Rows are checked by what they hold, not by what a damaged file says of them; see examine.
        "disabled_optimizers": "statistics_propagation",
    }


def _without(
    hive: dict[str, list[str | None]], header: Sequence[str]
) -> dict[str, list[str | None]]:
    """Partition columns that the files do not have; the engine takes Day and day as one name."""
    own = {name.casefold() for name in header}
    return {key: values for key, values in hive.items() if key.casefold() not in own}


def _with_partitions(
    connection: Any,
    relation: Any,
    paths: Sequence[Path],
    hive: dict[str, list[str | None]],
    with_file: bool,
) -> Any:
    """Add the partition columns; whole numbers are numbers, everything else is text."""
    kept = [quoted(name) for name in relation.columns if with_file or name != FILE]
    for number, (name, values) in enumerate(hive.items()):
        kind = "BIGINT" if all(v is None or re.search(WHOLE, v) for v in values) else "VARCHAR"
        # A file's name is one value for thousands of rows, so the engine looks it up once for them.
        keys = ", ".join(literal(str(path)) for path in paths)
        listed = ", ".join("NULL" if value is None else literal(value) for value in values)
        variable = f"trueodds_partition_{number}"
        connection.execute(f"SET VARIABLE {variable} = map([{keys}], [{listed}])")
        value = f"getvariable('{variable}')[{quoted(FILE)}]"
        kept.append(f"CAST({value} AS {kind}) AS {quoted(name)}")
    return relation.project(", ".join(kept))


def _typed(
    connection: Any, files: InputFiles, scratch: Path, skip_malformed: bool, by_file: bool
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
        # All rows are looked at for types: a late text must not stop the reading half-way.
        options: dict[str, Any] = {"filename": FILE} if by_file else {}
        relation = connection.read_json(
            names,
            sample_size=-1,
            ignore_errors=skip_malformed,
            hive_partitioning=False,
            **options,
        )
        own = [name for name in relation.columns if name != FILE]
        check_columns(own, list(map(str, relation.types))[: len(own)], files.paths[0])
        return relation
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


def _csv(
    connection: Any,
    files: InputFiles,
    header: list[str],
    delimiter: str,
    reading: Reading,
    by_file: bool,
) -> Any:
    """CSV files as columns of text.

    They are read by position and named afterwards: the reader takes no empty names.
    """
    options: dict[str, Any] = {"header": True, "sep": delimiter, "quotechar": '"'}
    options |= {"escapechar": '"', "max_line_size": LONGEST_LINE, "buffer_size": LONGEST_LINE}
    if reading.na:
        options["na_values"] = ["", *reading.na]
    if reading.skip_malformed:
        options |= {"ignore_errors": True, "store_rejects": True, "rejects_limit": 0}
    options |= {"hive_partitioning": False} | ({"filename": FILE} if by_file else {})
    columns = {f"column{number}": "VARCHAR" for number in range(len(header))}
    names = [glob.escape(str(path)) for path in files.paths]
    relation = connection.read_csv(names, columns=columns, auto_detect=False, **options)
    pairs = zip(columns, named(header) if "" in header else header, strict=True)
    parts = [f"{column} AS {quoted(name)}" for column, name in pairs]
    return relation.project(", ".join([*parts, quoted(FILE)] if by_file else parts))


def _common_header(files: InputFiles) -> tuple[list[str], str]:
    header, delimiter = csv_header(files.paths[0])
    for path in files.paths[1:]:
        other, _ = csv_header(path)
        if other != header:
            raise InputError(
                f"{path.name} has other columns than {files.paths[0].name}: "
                f"{', '.join(map(shown, other[:20]))} instead of "
                f"{', '.join(map(shown, header[:20]))}."
            )
    return header, delimiter


def arrow_batches(relation: Any, rows: int = 100_000) -> Iterator[Any]:
    """A relation's rows in order, as Arrow record batches, a few at a time."""
    if hasattr(relation, "to_arrow_reader"):
        yield from relation.to_arrow_reader(rows)
    else:  # DuckDB before 1.4
        yield from relation.fetch_arrow_reader(rows)
