"""Results: written under a temporary name in the target's folder and then renamed."""

from __future__ import annotations

import codecs
import gzip
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from trueodds.basics.files import atomic_file
from trueodds.basics.shown import shown
from trueodds.cli.errors import UsageError, require
from trueodds.cli.files.csv import Dialect
from trueodds.cli.files.find import COMPRESSED, Format, format_of
from trueodds.cli.files.sql import LINE, literal
from trueodds.cli.files.xlsx import new_workbook
from trueodds.exceptions import InputError

__all__ = ["atomic_stream", "check_target", "output_format", "table_writer", "write_text"]

STANDARD_OUTPUT = "-"


def output_format(output: str, given: Format | None) -> Format:
    """The format of a table that is to be written."""
    kind = given or (None if output == STANDARD_OUTPUT else format_of(Path(output)))
    if kind is None:
        raise UsageError(
            f"the format of the output {output!r} cannot be inferred from its name; "
            "pass --output-format csv, parquet, arrow, jsonl or xlsx."
        )
    if _is_compressed(output) and kind not in ("csv", "jsonl"):
        raise UsageError(f"{kind} files are already compressed; write {output!r} without .gz.")
    return kind


def _is_compressed(output: str) -> bool:
    return output != STANDARD_OUTPUT and Path(output).suffix.lower() in COMPRESSED


def check_target(output: str, *, force: bool = True) -> None:
    """Raise for an output that cannot be written, before any work is done.

    Without ``force``, an existing output raises, too; devices and pipes are not replaced by
    writing to them.
    """
    path = Path(output)
    if output == STANDARD_OUTPUT:
        return
    if path.is_file() and not force:
        raise UsageError(f"{output} exists; pass --force to replace it.")
    if path.is_dir():
        raise InputError(f"cannot write {output}: it is a folder.")
    if not path.parent.is_dir():
        raise InputError(f"cannot write {output}: the folder {path.parent} does not exist.")
    folder = path.resolve().parent
    if not path.exists() and not os.access(folder, os.W_OK):
        raise InputError(f"cannot write to the folder {folder}: permission denied.")


@contextmanager
def atomic_stream(output: str) -> Iterator[IO[bytes]]:
    """Open a binary stream whose file appears only when complete; ``-`` is standard output."""
    if output == STANDARD_OUTPUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    check_target(output)
    with atomic_file(output) as stream:
        yield stream


def write_text(text: str, output: str) -> None:
    """Write a text file atomically, or print it."""
    with atomic_stream(output) as stream:
        stream.write(text.encode("utf-8"))
        if not text.endswith("\n"):
            stream.write(b"\n")


@contextmanager
def table_writer(
    output: str,
    kind: Format,
    schema: Any,
    connection: Any,
    metadata: dict[str, str],
    dialect: Dialect,
    title: str,
) -> Iterator[Any]:
    """Return a writer of Arrow batches with the method ``write_batch``.

    Parameters
    ----------
    output : str
        A file, which appears only when complete, or ``-``.
    kind : {"csv", "parquet", "arrow", "jsonl", "xlsx"}
    schema : Arrow schema
    connection : DuckDB connection
        Not the one that makes the batches.
    metadata : dict of str
        Metadata for Parquet and Arrow files; other formats ignore it.
    dialect : Dialect
        For CSV.
    title : str
        Name of the sheet of a workbook.
    """
    with atomic_stream(output) as stream:
        if _is_compressed(output):
            with gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed:
                text = _TextWriter(cast("IO[bytes]", packed), kind, schema, connection, dialect)
                yield text
                text.finish()
        elif kind == "xlsx":
            with new_workbook(stream, title, schema.names) as sheet:
                yield sheet
        else:
            with _plain_writer(stream, kind, schema, connection, metadata, dialect) as writer:
                yield writer


@contextmanager
def _plain_writer(
    stream: IO[bytes],
    kind: Format,
    schema: Any,
    connection: Any,
    metadata: dict[str, str],
    dialect: Dialect,
) -> Iterator[Any]:
    schema = schema.with_metadata(metadata)
    if kind == "parquet":
        parquet = require("pyarrow.parquet")
        with parquet.ParquetWriter(stream, schema, compression="zstd") as writer:
            yield writer
    elif kind == "arrow":
        with require("pyarrow.ipc").new_file(stream, schema) as writer:
            yield writer
    else:
        text = _TextWriter(stream, kind, schema, connection, dialect)
        yield text
        text.finish()


class _TextWriter:
    """CSV and JSON lines, with numbers that read back as the same float64."""

    def __init__(
        self, stream: IO[bytes], kind: Format, schema: Any, connection: Any, dialect: Dialect
    ) -> None:
        self._stream, self._kind, self._connection = stream, kind, connection
        self._pyarrow, self._compute = require("pyarrow"), require("pyarrow.compute")
        if kind == "csv":
            self._dialect = dialect
            self._special = f'[{re.escape(dialect.delimiter)}"\r\n]'
            self._encoder = codecs.getincrementalencoder(dialect.encoding)("surrogateescape")
            # UTF-16 without a byte order in its name has a mark of its own.
            self._write_text("\ufeff" * dialect.byte_order_mark + _as_text(dialect.above))
            header = self._pyarrow.array(schema.names, self._pyarrow.large_string())
            cells = self._quoted(header, always=dialect.quoted_header).to_pylist()
            self._write_text(dialect.delimiter.join(cells) + dialect.line_end)

    def finish(self) -> None:
        """Write the text below the rows."""
        if self._kind == "csv":
            self._write_text(_as_text(self._dialect.below))

    def write_batch(self, batch: Any) -> None:
        if self._kind == "csv":
            self._write_lines(batch)
            return
        # Columns by position: as the name of a column, the engine would change some keys.
        columns = [f"c{number}" for number in range(batch.num_columns)]
        names = list(batch.schema.names)
        table = self._pyarrow.Table.from_batches([batch]).rename_columns(columns)
        keys = [f"{json.dumps(name, ensure_ascii=False)}:" for name in names]
        pairs = ", ',', ".join(
            f"{literal(key)}, coalesce(CAST(to_json({column}) AS VARCHAR), 'null')"
            for name, key, column in zip(names, keys, columns, strict=True)
            if name != LINE
        )
        start = "'{'"
        if names[0] == LINE:  # the rows of the input, which get more keys
            open_line = "regexp_replace(c0, '\\s*}\\s*$', '')"
            start = f"{open_line}, CASE WHEN {open_line} = '{{' THEN '' ELSE ', ' END"
        lines = self._connection.from_arrow(table).project(f"concat({start}, {pairs}, '}}')")
        text = "".join(f"{line}\n" for (line,) in lines.fetchall())
        self._stream.write(text.encode("utf-8"))

    def _write_lines(self, batch: Any) -> None:
        if not batch.num_rows:
            return
        always = self._dialect.quoted_columns
        always += (bool(always) and all(always),) * (batch.num_columns - len(always))
        cells = [self._cells(*pair) for pair in zip(batch.columns, always, strict=False)]
        separator = self._pyarrow.scalar(self._dialect.delimiter, self._pyarrow.large_string())
        lines = self._compute.binary_join_element_wise(*cells, separator, null_handling="replace")
        end = self._dialect.line_end
        self._write_text(end.join(lines.to_pylist()) + end)

    def _write_text(self, text: str) -> None:
        try:
            self._stream.write(self._encoder.encode(text))
        except UnicodeEncodeError as error:
            raise InputError(
                f"{shown(text[error.start : error.end])} cannot be encoded in "
                f"{self._dialect.encoding}; pass --plain for UTF-8."
            ) from None

    def _cells(self, column: Any, always: bool) -> Any:
        """A column as texts, with quotes where a reader needs them or the file has them."""
        types, kind = self._pyarrow.types, column.type
        if types.is_nested(kind):
            values = column.to_pylist()
            texts = [None if v is None else json.dumps(v, default=str) for v in values]
            return self._quoted(self._pyarrow.array(texts, self._pyarrow.large_string()))
        text = column.cast(self._pyarrow.large_string())
        if types.is_floating(kind) and self._dialect.decimal != ".":
            text = self._compute.replace_substring(text, ".", self._dialect.decimal)
        elif types.is_primitive(kind) and not (always or types.is_temporal(kind)):
            return text  # a number has nothing that needs quotes
        return self._quoted(text, always=always)

    def _quoted(self, text: Any, *, always: bool = False) -> Any:
        compute = self._compute
        needed = compute.match_substring_regex(text, self._special)
        needed = compute.or_(needed, compute.equal(text, ""))  # not to be taken for a missing value
        if always:
            needed = compute.is_valid(text)
        if not compute.any(needed).as_py():
            return text
        doubled = compute.replace_substring(text, '"', '""')
        quote, nothing = (self._pyarrow.scalar(t, self._pyarrow.large_string()) for t in ('"', ""))
        quoted = compute.binary_join_element_wise(quote, doubled, quote, nothing)
        return compute.if_else(needed, quoted, text)


def _as_text(margin: bytes) -> str:
    return margin.decode("utf-8-sig", "surrogateescape")
