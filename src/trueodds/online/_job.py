"""What a stream job remembers: the calibrator, its own monitor, and what was read and written."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from trueodds.exceptions import StateFormatError
from trueodds.monitoring._state_file import Fields, StateFile, document_fields
from trueodds.monitoring._watch import Watch
from trueodds.online._calibrator import OnlineCalibrator

__all__ = ["FORMAT", "LinesRead", "StreamJob"]

FORMAT, VERSION = "trueodds-stream", 1
KEYS = {"online", "watch", "output", "lines"}
LONGEST_NAME = 10_000
DIGEST = 16


@dataclass
class LinesRead:
    """How many lines of standard input were learned, and a hash of them in their order."""

    count: int = 0
    digest: bytes = bytes(DIGEST)

    def add(self, line: bytes) -> None:
        """One more line."""
        self.digest = hashlib.blake2b(self.digest + line, digest_size=DIGEST).digest()
        self.count += 1


@dataclass(eq=False)
class StreamJob(StateFile):
    """What ``trueodds stream`` remembers from one run to the next.

    Parameters
    ----------
    online : OnlineCalibrator
    watch : Watch
        A monitor of the forecasts, and the files that were read.
    output : str or None
        The file of forecasts, as it was named.
    written : int
        Bytes of that file that belong to this state.
    lines : LinesRead
        What was read of standard input.
    """

    online: OnlineCalibrator
    watch: Watch
    output: str | None = None
    written: int = 0
    lines: LinesRead = field(default_factory=LinesRead)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain JSON values."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "online": self.online.to_dict(),
            "watch": self.watch.to_dict(),
            "output": None if self.output is None else {"file": self.output, "size": self.written},
            "lines": {"count": self.lines.count, "digest": self.lines.digest.hex()},
        }

    @classmethod
    def from_dict(cls, content: Any) -> StreamJob:
        """A job from its state, every value of which is checked."""
        fields = document_fields(content, FORMAT, VERSION, KEYS, "state", of="a stream")
        job = cls(
            OnlineCalibrator.from_dict(fields.raw("online")), Watch.from_dict(fields.raw("watch"))
        )
        if fields.raw("output") is not None:
            output = Fields(fields.raw("output"), {"file", "size"}, "state.output")
            job.output, job.written = output.text("file", LONGEST_NAME), output.count("size")
        lines = Fields(fields.raw("lines"), {"count", "digest"}, "state.lines")
        digest = lines.text("digest", 2 * DIGEST)
        try:
            job.lines = LinesRead(lines.count("count"), bytes.fromhex(digest))
        except ValueError as error:
            if isinstance(error, StateFormatError):
                raise
            job.lines.digest = b""
        if len(job.lines.digest) != DIGEST or job.lines.digest.hex() != digest:
            raise StateFormatError(f"state.lines.digest must be {2 * DIGEST} hex digits.")
        return job
