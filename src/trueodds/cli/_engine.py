"""Files as relations of an embedded DuckDB, in bounded memory."""

from __future__ import annotations

import glob
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueodds.basics.log import logger
from trueodds.cli._arrow import sound_arrow_file
from trueodds.cli._exit import UsageError, require
from trueodds.cli._files import Format, InputFiles, csv_header, named, resolve
from trueodds.cli._sql import quoted
from trueodds.cli._types import with_types
from trueodds.exceptions import InputError

__all__ = ["DataSource", "arrow_batches", "open_source"]

MEMORY = "1GB"
"""What DuckDB may use; what does not fit goes to a temporary folder."""


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
    skip_malformed: bool

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
    *,
    format: Format | None = None,  # noqa: A002
    memory: str = MEMORY,
    skip_malformed: bool = False,
    detect_types: bool = False,
) -> Iterator[DataSource]:
    """Open files as one relation; all temporary files are gone afterwards.

    Parameters
    ----------
    file : str
        A name, a glob, or ``-``.
    format : {"csv", "parquet", "arrow", "jsonl"}, default=None
        By default told from the name.
    memory : str, default="1GB"
    skip_malformed : bool, default=False
        Leave out lines of text files that do not have the columns of the header.
    detect_types : bool, default=False
        Give CSV columns the types that all their values have; otherwise all are texts.
    """
    duckdb = require("duckdb")
    scratch = Path(tempfile.mkdtemp(prefix="trueodds-"))
    connection = None
    try:
        files = resolve(file, format, scratch)
        connection = duckdb.connect(":memory:", config=_config(memory, scratch))
        if files.format == "csv":
            header, delimiter = _common_header(files)
            relation = _csv(connection, files, header, delimiter, skip_malformed)
            relation = with_types(relation) if detect_types else relation
        else:
            relation = _typed(connection, files, scratch, skip_malformed)
            header = relation.columns
        kinds = dict(zip(relation.columns, map(str, relation.types), strict=True))
        kind, version = files.format, duckdb.__version__
        logger.info("%s (%s) is read by DuckDB %s", files.shown, kind, version)
        yield DataSource(connection, relation, files, kinds, tuple(header), skip_malformed)
    finally:
        if connection is not None:
            connection.close()
        shutil.rmtree(scratch, ignore_errors=True)


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


def _typed(connection: Any, files: InputFiles, scratch: Path, skip_malformed: bool) -> Any:
    """Files of a format whose values have types."""
    names = [glob.escape(str(path)) for path in files.paths]
    if files.format == "parquet":
        return connection.read_parquet(names)
    if files.format == "jsonl":
        # All rows are looked at for types: a late text must not stop the reading half-way.
        return connection.read_json(names, sample_size=-1, ignore_errors=skip_malformed)
    dataset = require("pyarrow.dataset")
    paths = [
        str(sound_arrow_file(path, scratch / f"{number}.arrow"))
        for number, path in enumerate(files.paths)
    ]
    return connection.from_arrow(dataset.dataset(paths, format="ipc"))


def _csv(
    connection: Any, files: InputFiles, header: list[str], delimiter: str, skip_malformed: bool
) -> Any:
    """CSV files as columns of text.

    They are read by position and named afterwards: the reader takes no empty names.
    """
    options: dict[str, Any] = {"header": True, "sep": delimiter, "quotechar": '"'}
    options["escapechar"] = '"'
    if skip_malformed:
        options |= {"ignore_errors": True, "store_rejects": True, "rejects_limit": 0}
    columns = {f"column{number}": "VARCHAR" for number in range(len(header))}
    names = [glob.escape(str(path)) for path in files.paths]
    relation = connection.read_csv(names, columns=columns, auto_detect=False, **options)
    pairs = zip(columns, named(header), strict=True)
    return relation.project(", ".join(f"{column} AS {quoted(name)}" for column, name in pairs))


def _common_header(files: InputFiles) -> tuple[list[str], str]:
    header, delimiter = csv_header(files.paths[0])
    for path in files.paths[1:]:
        other, _ = csv_header(path)
        if other != header:
            raise InputError(
                f"{path.name} has other columns than {files.paths[0].name}: "
                f"{', '.join(other)} instead of {', '.join(header)}."
            )
    return header, delimiter


def arrow_batches(relation: Any, rows: int = 100_000) -> Iterator[Any]:
    """A relation's rows in order, as Arrow record batches, a few at a time."""
    if hasattr(relation, "to_arrow_reader"):
        yield from relation.to_arrow_reader(rows)
    else:  # DuckDB before 1.4
        yield from relation.fetch_arrow_reader(rows)
