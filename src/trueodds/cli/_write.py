"""Results: written under a temporary name in the target's folder and then renamed."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from trueodds.basics.files import atomic_file
from trueodds.cli._exit import UsageError, require
from trueodds.cli._files import Format, format_of
from trueodds.cli._sql import literal
from trueodds.exceptions import InputError

__all__ = ["atomic_stream", "check_target", "output_format", "table_writer", "write_text"]

STANDARD_OUTPUT = "-"


def output_format(output: str, given: Format | None) -> Format:
    """The format of a table that is to be written."""
    kind = given or (None if output == STANDARD_OUTPUT else format_of(Path(output)))
    if kind is None:
        raise UsageError(
            f"the format of the output {output!r} cannot be told from its name; "
            "pass --output-format csv, parquet, arrow or jsonl."
        )
    return kind


def check_target(output: str, *, force: bool = True) -> None:
    """Refuse an output that cannot be written, before any work is done for it.

    Without ``force`` also one that exists; devices and pipes are not replaced by writing to them.
    """
    path = Path(output)
    if output == STANDARD_OUTPUT:
        return
    if path.is_file() and not force:
        raise UsageError(f"{output} exists; pass --force to replace it.")
    if path.is_dir():
        raise InputError(f"cannot write {output}: it is a folder.")
    if not path.parent.is_dir():
        raise InputError(f"cannot write {output}: there is no folder {path.parent}.")
    folder = path.resolve().parent
    if not path.exists() and not os.access(folder, os.W_OK):
        raise InputError(f"cannot write in the folder {folder}: permission denied.")


@contextmanager
def atomic_stream(output: str) -> Iterator[IO[bytes]]:
    """A binary stream whose file appears whole, or not at all; ``-`` is standard output."""
    if output == STANDARD_OUTPUT:
        if isinstance(sys.stdout.buffer, io.RawIOBase):
            # With PYTHONUNBUFFERED a write may take a part of the bytes and say nothing.
            with open(sys.stdout.fileno(), "wb", closefd=False) as stream:
                yield stream
        else:
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
    stream: IO[bytes], kind: Format, schema: Any, connection: Any, metadata: dict[str, str]
) -> Iterator[Any]:
    """Something that Arrow batches are written to with ``write_batch``.

    Parquet and Arrow files keep the metadata; CSV and JSON lines have no place for it.
    """
    schema = schema.with_metadata(metadata)
    if kind == "parquet":
        parquet = require("pyarrow.parquet")
        with parquet.ParquetWriter(stream, schema, compression="zstd") as writer:
            yield writer
    elif kind == "arrow":
        with require("pyarrow.ipc").new_file(stream, schema) as writer:
            yield writer
    else:
        yield _TextWriter(stream, kind, schema, connection)


class _TextWriter:
    """CSV and JSON lines, with numbers that read back as the same float64."""

    def __init__(self, stream: IO[bytes], kind: Format, schema: Any, connection: Any) -> None:
        self._stream, self._kind, self._connection = stream, kind, connection
        self._pyarrow, self._csv = require("pyarrow"), require("pyarrow.csv")
        if kind == "csv":
            header = ",".join(_csv_cell(name) for name in schema.names)
            stream.write(header.encode("utf-8") + b"\n")

    def write_batch(self, batch: Any) -> None:
        if self._kind == "csv":
            self._stream.write(self._csv_lines(batch))
            return
        # Columns by position: as the name of a column, the engine would change some keys.
        columns = [f"c{number}" for number in range(batch.num_columns)]
        table = self._pyarrow.Table.from_batches([batch]).rename_columns(columns)
        keys = [f"{json.dumps(name, ensure_ascii=False)}:" for name in batch.schema.names]
        pairs = ", ',', ".join(
            f"{literal(key)}, coalesce(CAST(to_json({column}) AS VARCHAR), 'null')"
            for key, column in zip(keys, columns, strict=True)
        )
        lines = self._connection.from_arrow(table).project(f"concat('{{', {pairs}, '}}')")
        text = "".join(f"{line}\n" for (line,) in lines.fetchall())
        self._stream.write(text.encode("utf-8"))

    def _csv_lines(self, batch: Any) -> Any:
        # "needed" quotes every text; "none" refuses a batch in which one needs quotes.
        for style in ("none", "needed"):
            sink = self._pyarrow.BufferOutputStream()
            options = self._csv.WriteOptions(include_header=False, quoting_style=style)
            try:
                self._csv.write_csv(batch, sink, options)
            except self._pyarrow.ArrowInvalid:
                if style == "needed":
                    raise
            else:
                break
        return sink.getvalue()


def _csv_cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\r\n') else text
