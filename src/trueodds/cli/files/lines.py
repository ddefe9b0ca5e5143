"""The lines of CSV files: how they end, how long they are, and which quotes hold them together.

The engine infers the line ending from the first break of a file, even inside a quoted name, and
takes no other afterwards. Files with several kinds of ends are copied with one kind; quoted values
are not changed. What the engine would lose silently is refused: a line longer than its buffer, and
a quote that swallows the lines after it.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

from trueodds.basics.files import new_file
from trueodds.cli.files.find import COMPRESSED, InputFiles, uncompressed
from trueodds.exceptions import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = [
    "LONGEST_LINE",
    "READ_BYTES",
    "Lines",
    "check_whole",
    "even_lines",
    "place_of_copy",
]

LONGEST_LINE = 32_000_000
"""Bytes; what the reader keeps in memory at once, and so the longest line that it can take."""
READ_BYTES = 1 << 20
QUOTE, RETURN, FEED, SPACE = b'"\r\n '
TAIL = 1 << 16
"""Bytes at the end of a file in which totals are looked for."""


@dataclass(frozen=True)
class Lines:
    """What a text file is like, apart from its header."""

    ends: frozenset[str]
    """How its lines end."""
    tail: bytes
    """Its last bytes."""


def check_whole(files: InputFiles) -> None:
    """Read compressed files to their end, because the engine may accept truncated ones."""
    for path in files.paths:
        with uncompressed(path) as stream:
            while stream.read(READ_BYTES):
                pass


def even_lines(
    files: InputFiles, header: Sequence[str], delimiter: str, scratch: Path
) -> tuple[InputFiles, list[Lines]]:
    """Return the CSV files, or copies that the engine can read, and their properties."""
    broken = any("\n" in name or "\r" in name for name in header)
    paths, found = [], []
    for number, path in enumerate(files.paths):
        with uncompressed(path) as stream:
            lines = _Scan(path, delimiter).run(stream)
        found.append(lines)
        if broken or len(lines.ends) > 1:
            copy = place_of_copy(path, scratch / f"lines-{number}")
            with uncompressed(path) as stream, new_file(copy) as target:
                _Scan(path, delimiter).run(stream, target)
            path = copy
        paths.append(path)
    return replace(files, paths=tuple(paths)), found


def place_of_copy(path: Path, folder: Path) -> Path:
    """Where a copy of a file is written, in a new folder; its name stays."""
    folder.mkdir()
    return folder / (path.stem if path.suffix.lower() in COMPRESSED else path.name)


class _Scan:
    """One pass over a CSV file that detects truncation, long lines and open quotes.

    A quote opens where a field begins, and again right after one that closed: then it was doubled.
    Elsewhere it is a character like any other.
    """

    def __init__(self, path: Path, delimiter: str) -> None:
        import numpy as np

        self._np = np
        self._path = path
        self._around = np.frombuffer(delimiter.encode() + b"\r\n", np.uint8)
        self._ends: set[str] = set()
        self._offset = 0
        """Bytes before the current block."""
        self._record = 0
        """Where the current record begins; it has several lines if they break inside quotes."""
        self._inside = False
        self._opened = 0
        """Position of the last quote that opened a value."""
        self._broken = False
        """Whether a line broke between that quote and the current block."""
        self._in_header = True

    def run(self, stream: IO[bytes], target: IO[bytes] | None = None) -> Lines:
        """Read to the end; ``target`` gets the text with even lines, and an unbroken header."""
        tail, last, held, more = b"", b"\n", b"", True
        mark = _byte_order_mark(stream)
        self._offset = self._record = len(mark)
        if target is not None:
            target.write(mark)
        while more:
            block = stream.read(READ_BYTES)
            more, block = bool(block), held + block
            # What follows a quote or a return must be in the same block.
            end = len(block.rstrip(b'"\r')) if more else len(block)
            held, block = block[end:], block[:end]
            if block:
                even = self._take(last, block)
                if target is not None:
                    target.write(even)
                self._offset += len(block)
                tail, last = (tail + block)[-TAIL:], block[-1:]
            self._check_length(self._offset + len(held))
        if last == b"\r":
            self._ends.add("\r")
        if self._inside and self._line(self._offset) > self._line(self._opened):
            raise self._swallowed("the end of the file")
        return Lines(frozenset(self._ends), tail)

    def _take(self, last: bytes, block: bytes) -> bytes:
        """Look at a block; returns it with even lines."""
        if not self._inside and b'"' not in block and b"\r" not in block:
            if b"\n" in block:
                self._ends.add("\n")
                self._check_length(self._offset + block.find(b"\n"))
                self._record = self._offset + block.rfind(b"\n") + 1
                self._in_header = False
            return block
        # The end of a file ends a field as a line feed does.
        codes = self._np.frombuffer(last + block + b"\n", dtype=self._np.uint8)
        before, own, after = codes[:-2], codes[1:-1], codes[2:]
        returns, feeds = own == RETURN, own == FEED
        if (returns[:-1] & feeds[1:]).any():
            self._ends.add("\r\n")
        if (returns[:-1] & ~feeds[1:]).any():
            self._ends.add("\r")
        if (feeds & (before != RETURN)).any():
            self._ends.add("\n")
        breaks = self._np.flatnonzero(returns | feeds)
        quotes = self._quotes(before, self._np.flatnonzero(own == QUOTE))
        self._refuse_torn(quotes, breaks, after)
        outside = breaks[(self._np.searchsorted(quotes, breaks) + self._inside) % 2 == 0]
        if len(outside):
            self._check_length(self._offset + int(outside[0]))
            self._record = self._offset + int(outside[-1]) + 1
        opened = quotes[int(self._inside) :: 2]
        if len(opened):
            self._opened, self._broken = self._offset + int(opened[-1]), False
        self._broken |= bool((breaks > self._opened - self._offset).any())
        self._inside = bool((len(quotes) + self._inside) % 2)
        return self._even(own, outside)

    def _even(self, own: npt.NDArray[np.uint8], outside: npt.NDArray[np.int64]) -> bytes:
        """A block with a line feed for each break outside quotes, and none inside the header."""
        even, returns, feeds = own.copy(), own == RETURN, own == FEED
        ends = self._np.zeros(len(own), dtype=bool)
        ends[outside] = True
        if self._in_header:
            first = int(outside[0]) if len(outside) else len(own)
            even[:first][(returns | feeds)[:first]] = SPACE
            self._in_header = not len(outside)
        even[ends & returns] = FEED
        pairs = ends & returns & self._np.append(feeds[1:], False)
        return bytes(even[~pairs])

    def _check_length(self, end: int) -> None:
        if end - self._record > LONGEST_LINE:
            raise InputError(
                f"{self._path.name}: line {self._line(self._record):,} is longer than "
                f"{LONGEST_LINE:,} bytes. Shorten or remove it."
            )

    def _quotes(
        self, before: npt.NDArray[np.uint8], found: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Positions of the quotes that open and close values, in turn; doubled ones are none."""
        begins = self._np.isin(before[found], self._around)
        opens = self._np.arange(len(found)) % 2 == int(self._inside)
        doubled = self._np.append(self._np.diff(found) == 1, False) & ~opens
        doubled[1:] |= doubled[:-1] & opens[1:]
        if begins[opens & ~doubled].all():
            return self._np.asarray(found[~doubled])
        kept: list[int] = []
        inside = self._inside
        for position, begin in zip(found.tolist(), begins.tolist(), strict=True):
            if inside:
                inside = False
            elif kept and kept[-1] == position - 1:
                inside = True
                kept.pop()
                continue
            elif begin:
                inside = True
            else:
                continue
            kept.append(position)
        return self._np.array(kept, dtype=self._np.int64)

    def _refuse_torn(
        self,
        quotes: npt.NDArray[np.int64],
        breaks: npt.NDArray[np.int64],
        after: npt.NDArray[np.uint8],
    ) -> None:
        """Refuse a value of several lines whose closing quote is not the end of a field.

        The quote that opened it was a slip, and the rows in between would be lost.
        """
        closes = quotes[1 - int(self._inside) :: 2]
        torn = ~self._np.isin(after[closes], self._around)
        if not torn.any():
            return
        opens = quotes[int(self._inside) :: 2]
        if self._inside:
            opens = self._np.append(self._opened - self._offset, opens)
        opens = opens[: len(closes)]
        lines = self._np.searchsorted(breaks, closes) - self._np.searchsorted(breaks, opens)
        lines[:1] += self._inside and self._broken
        if (torn & (lines > 0)).any():
            first = int(self._np.argmax(torn & (lines > 0)))
            self._opened = self._offset + int(opens[first])
            raise self._swallowed(f"line {self._line(self._offset + int(closes[first])):,}")

    def _swallowed(self, end: str) -> InputError:
        return InputError(
            f"{self._path.name}: a quote opens in line {self._line(self._opened):,} and is not "
            f"closed before {end}. Close or remove it."
        )

    def _line(self, offset: int) -> int:
        """The number of the line at a place in the file, counted from 1."""
        with uncompressed(self._path) as stream:
            count, last = 1, b""
            while offset > 0 and (block := stream.read(min(READ_BYTES, offset))):
                pairs = block.count(b"\r\n") + (last == b"\r" and block.startswith(b"\n"))
                count += block.count(b"\n") + block.count(b"\r") - pairs
                offset, last = offset - len(block), block[-1:]
        return count


def _byte_order_mark(stream: IO[bytes]) -> bytes:
    """The mark at the beginning of a file, which is then behind; may be empty."""
    if stream.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8:
        return codecs.BOM_UTF8
    stream.seek(0)
    return b""
