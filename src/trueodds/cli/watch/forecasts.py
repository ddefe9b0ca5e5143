"""What ``trueodds stream`` writes: forecasts, the map of the moment, and the state, in step."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from trueodds.basics.shown import json_printable
from trueodds.cli.errors import UsageError
from trueodds.cli.files.write import write_text
from trueodds.exceptions import InputError
from trueodds.watch.state import StreamWatch

__all__ = ["Forecasts"]

KINDS = (".csv", ".jsonl")


class Forecasts:
    """Where forecasts go: a file that grows with the state, or standard output.

    The state holds the size of the file. What a run that was killed wrote beyond it is cut off by
    the next run, which writes the same rows again.
    """

    def __init__(
        self,
        job: StreamWatch,
        state: str,
        output: str | None,
        *,
        to_output: bool,
        map_out: str | None = None,
        map_every: int | None = None,
    ) -> None:
        self.job, self.state, self.count = job, state, 0
        self.map_out, self.map_every = map_out, map_every or sys.maxsize
        self._maps_due = job.online.n_rows // self.map_every
        self._header: list[str] | None = None
        self._stream: IO[bytes] | None = None
        self._to_output = to_output and output is None
        self._path = None if output is None else Path(output)
        if self._path is not None and self._path.suffix.lower() not in KINDS:
            raise UsageError(f"--output must end in .csv or .jsonl; got {output}.")

    def __enter__(self) -> Self:
        if self._path is None:
            return self
        job, path = self.job, self._path.absolute()
        if job.output != str(path):
            if path.exists() and path.stat().st_size:
                raise InputError(
                    f"{self._path} exists and is not the output of this state; name another "
                    "with -o."
                )
            job.output, job.written = str(path), 0
            job.save(self.state)  # so that the next run knows the file if this one is killed
        size = path.stat().st_size if path.exists() else 0
        if 0 < size < job.written:
            raise InputError(
                f"{self._path} is shorter than when this state was saved; restore it, or name "
                "another with -o."
            )
        if size == 0:  # moved away, perhaps to archive it
            job.written = 0
        self._stream = path.open("r+b" if path.exists() else "x+b")
        self._stream.truncate(job.written)
        self._stream.seek(job.written)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        if self._stream is not None:
            if kind is not None:  # nothing that the state does not know
                self._stream.flush()
                self._stream.truncate(self.job.written)
            self._stream.close()

    @property
    def wanted(self) -> bool:
        """Whether forecasts go anywhere."""
        return self._stream is not None or self._to_output

    def write(self, rows: list[dict[str, Any]]) -> None:
        """Add rows, all with the same keys."""
        self.count += len(rows)
        if not rows or not self.wanted:
            return
        if self._path is not None and self._path.suffix.lower() == ".csv":
            text = self._csv(rows)
        else:
            text = "".join(json_printable(json.dumps(row, allow_nan=False)) + "\n" for row in rows)
        if self._stream is not None:
            self._stream.write(text.encode("utf-8", "backslashreplace"))
        else:
            sys.stdout.write(text)

    def _csv(self, rows: list[dict[str, Any]]) -> str:
        target = io.StringIO()
        writer = csv.DictWriter(target, list(rows[0]), lineterminator="\n")
        if self._header is None:
            self._header = list(rows[0])
            if self.job.written == 0:
                writer.writeheader()
        writer.writerows(rows)
        return target.getvalue()

    def flush(self) -> None:
        """Hand over what was written; a file is on the disk then, and its size in the job."""
        if self._stream is not None:
            self._stream.flush()
            os.fsync(self._stream.fileno())
            self.job.written = self._stream.tell()
        elif self._to_output:
            sys.stdout.flush()

    def learned(self) -> None:
        """After rows were learned, write the map if it is time."""
        due = self.job.online.n_rows // self.map_every
        if due > self._maps_due:
            self._write_map()
        self._maps_due = due

    def commit(self) -> None:
        """Make forecasts, map and state agree: the state is written last."""
        if self.map_out is not None:
            self._write_map()
        self.flush()
        self.job.save(self.state)

    def _write_map(self) -> None:
        content = self.job.online.map_.to_dict()
        text = json.dumps(content, allow_nan=False, ensure_ascii=False, indent=1)
        write_text(text, str(self.map_out))
