"""What ``trueodds stream`` writes: forecasts, the map of the moment, and the state, in step."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from trueodds.basics.files import O_BINARY, exclusive, named_stream, write_text
from trueodds.basics.shown import json_printable
from trueodds.exceptions import InputError
from trueodds.watch.files_seen import relative_name
from trueodds.watch.state import DIGEST, StreamWatch, Written

__all__ = ["KINDS", "Forecasts"]

KINDS = (".csv", ".jsonl")
TAIL = 1024
"""Bytes at the end of the output that identify it."""
LOCK_SECONDS = 5.0
"""Seconds to wait for a run on another state that writes the same output."""


class Forecasts:
    """Where forecasts go: a file that grows with the state, or standard output.

    The state holds the size of the file, a hash of its end, and whether a run is writing. What a
    run that was killed wrote beyond that size is cut off by the next run, which writes the same
    rows again. A file that differs in any other way is refused.

    Parameters
    ----------
    job : StreamWatch
    state : str
        The file of the state.
    output : str or None
        A file, CSV or JSON lines.
    to_output : bool
        Whether forecasts go to standard output if there is no file.
    map_out : str or None
        The file of the map.
    map_every : int or None
        Rows after which the map is written, if not only at the end.
    log : callable
        Told of rows that were cut off.
    """

    def __init__(
        self,
        job: StreamWatch,
        state: str,
        output: str | None,
        *,
        to_output: bool = False,
        map_out: str | None = None,
        map_every: int | None = None,
        log: Callable[[str], None] = print,
    ) -> None:
        self.job, self.state, self.log, self.count = job, state, log, 0
        self.map_out, self.map_every = map_out, map_every or sys.maxsize
        self._maps_due = job.online.n_rows // self.map_every
        self._header: list[str] | None = None
        self._stream: IO[bytes] | None = None
        self._to_output = to_output and output is None
        self._path = None if output is None else Path(output)
        self._lock = ExitStack()

    def __enter__(self) -> Self:
        if self._path is not None:
            with ExitStack() as lock:
                if not lock.enter_context(exclusive(self._path, LOCK_SECONDS)):
                    raise InputError(f"another run is writing {self._path}; name another with -o.")
                self._stream = self._opened(self._path)
                self._lock = lock.pop_all()
        return self

    def _opened(self, path: Path) -> IO[bytes]:
        """The file, as the state left it."""
        job, name = self.job, relative_name(path, Path(self.state).absolute().parent)
        size = path.stat().st_size if path.exists() else 0
        kept = job.output if job.output is not None and job.output.file == name else None
        if size == 0:  # new, or moved away, perhaps to archive it
            kept = Written(name)
        elif kept is None:
            raise InputError(
                f"{path} exists and is not the output of this state; name another with -o."
            )
        elif size < kept.size:
            raise InputError(
                f"{path} is shorter than when this state was saved; restore it, or name another "
                "with -o."
            )
        elif kept.size and _tail(path, kept.size) != kept.tail:
            raise InputError(
                f"{path} is not the file that this state wrote; restore it, or name another with "
                "-o."
            )
        elif size > kept.size and not kept.is_open:
            raise InputError(
                f"{path} has {size - kept.size:,} bytes more than this state wrote; remove "
                "them, or name another with -o."
            )
        elif size > kept.size:
            self.log(
                f"{path}: cut off {size - kept.size:,} bytes that a run wrote before it was killed."
            )
        kept.is_open, job.output = True, kept
        job.save(self.state)  # so that the next run knows the file if this one is killed
        handle = os.open(path, os.O_RDWR | os.O_CREAT | O_BINARY, 0o666)
        stream = named_stream(handle, str(path))
        stream.truncate(kept.size)
        stream.seek(kept.size)
        return stream

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        with self._lock:
            if self._stream is not None and self._path is not None:
                with suppress(OSError):  # of a full disk, named before
                    self._stream.close()
                if kind is not None:
                    self._discard(self._path)

    def _discard(self, path: Path) -> None:
        """Keep only what the state on the disk contains."""
        saved = StreamWatch.load(self.state)
        if saved.output is not None and saved.output.is_open:
            os.truncate(path, saved.output.size)
            saved.output.is_open = False
            with suppress(OSError):
                saved.save(self.state)

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
            if self.job.output is not None and self.job.output.size == 0:
                writer.writeheader()
        writer.writerows(rows)
        return target.getvalue()

    def flush(self) -> None:
        """Hand over what was written; a file is on the disk then, and its size in the job."""
        kept = self.job.output
        if self._stream is not None and self._path is not None and kept is not None:
            self._stream.flush()
            os.fsync(self._stream.fileno())
            kept.size = self._stream.tell()
            kept.tail = _tail(self._path, kept.size)
        elif self._to_output:
            sys.stdout.flush()

    def learned(self) -> None:
        """After rows were learned, write the map if it is time."""
        due = self.job.online.n_rows // self.map_every
        if due > self._maps_due:
            self._write_map()
        self._maps_due = due

    def commit(self, *, last: bool = False) -> None:
        """Make forecasts, map and state agree: the state is written last.

        After the ``last`` commit of a run, nobody but the next run may write the file.
        """
        if self.map_out is not None:
            self._write_map()
        self.flush()
        if self.job.output is not None:
            self.job.output.is_open = not last and self._stream is not None
        self.job.save(self.state)

    def _write_map(self) -> None:
        content = self.job.online.map_.to_dict()
        text = json.dumps(content, allow_nan=False, ensure_ascii=False, indent=1)
        write_text(text, str(self.map_out))


def _tail(path: Path, size: int) -> str:
    """A hash of the last bytes of a file that ends at ``size``."""
    with path.open("rb") as stream:
        stream.seek(max(0, size - TAIL))
        return hashlib.blake2b(stream.read(min(TAIL, size)), digest_size=DIGEST).hexdigest()
