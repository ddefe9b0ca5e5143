"""CSV files in UTF-8, whatever their encoding, without the lines around their rows."""

from __future__ import annotations

import codecs
import io
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from trueodds.basics.files import new_file
from trueodds.cli.errors import UsageError
from trueodds.cli.files.find import InputFiles, uncompressed
from trueodds.cli.files.lines import LONGEST_LINE, READ_BYTES, place_of_copy
from trueodds.exceptions import InputError

__all__ = ["UTF_8", "guess_encoding", "rows_in_utf8"]

UTF_8 = "utf-8"
LOOKED_AT = 1 << 20
"""Bytes by which an encoding is guessed."""


def rows_in_utf8(
    files: InputFiles, encoding: str, header_row: int, footer_rows: int, scratch: Path
) -> tuple[InputFiles, tuple[bytes, bytes]]:
    """Copies in UTF-8 without the lines above the header and below the rows.

    Blank lines at the end do not count. Returns also what was left out of the last file, above and
    below. Files that need no change are not copied.
    """
    if (encoding, header_row, footer_rows) == (UTF_8, 1, 0):
        return files, (b"", b"")
    copies, above, below = [], b"", b""
    for number, path in enumerate(files.paths):
        copy = place_of_copy(path, scratch / f"rows-{number}")
        blocks = _blocks(path, encoding)
        with new_file(copy) as target:
            above, rest = _below_titles(blocks, header_row, path.name)
            target.write(rest)
            target.writelines(blocks)
        below = _cut_end(copy, footer_rows)
        copies.append(copy)
    return replace(files, paths=tuple(copies)), (above, below)


def guess_encoding(path: Path) -> str:
    """The encoding that a file which is not UTF-8 is likely to have."""
    with uncompressed(path) as stream:
        head = stream.read(LOOKED_AT)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for encoding, zeros in (("utf-16-le", head[1::2]), ("utf-16-be", head[::2])):
        if 2 * zeros.count(0) > len(zeros):  # every second byte of most texts
            return encoding
    # Latin-1 has control characters where Windows has quotation marks, dashes and the euro.
    return "cp1252" if any(0x80 <= byte <= 0x9F for byte in head) else "latin-1"


def _blocks(path: Path, encoding: str) -> Iterator[bytes]:
    """The text of a file in UTF-8, a part at a time."""
    with uncompressed(path) as stream:
        if encoding == UTF_8:
            while block := stream.read(READ_BYTES):
                yield block
            return
        try:
            text = io.TextIOWrapper(stream, encoding=encoding, newline="")
            while part := text.read(READ_BYTES):
                yield part.encode(UTF_8)
        except LookupError:
            raise UsageError(
                f"--encoding {encoding!r} is unknown; common ones are utf-8, latin-1, cp1252 and "
                "utf-16."
            ) from None
        except UnicodeError:
            raise InputError(
                f"{path.name} is not {encoding} text; pass another --encoding."
            ) from None


def _below_titles(blocks: Iterator[bytes], header_row: int, name: str) -> tuple[bytes, bytes]:
    """The lines above the header, and what follows them in the blocks that were read."""
    head = b""
    for block in blocks:
        head += block
        ends = [0, *(found.end() for found in _breaks(head, header_row - 1))]
        if len(ends) == header_row and ends[-1] < len(head):
            return head[: ends[-1]], head[ends[-1] :]
        if len(head) >= LONGEST_LINE:
            break
    if header_row == 1:
        return b"", head
    raise InputError(
        f"{name} has fewer than {header_row:,} lines in its first {LONGEST_LINE:,} bytes "
        "(--header-row)."
    )


def _breaks(text: bytes, count: int) -> Iterator[re.Match[bytes]]:
    for number, found in enumerate(re.finditer(rb"\r\n|\r|\n", text)):
        if number == count:
            return
        yield found


def _cut_end(path: Path, lines: int) -> bytes:
    """Cut the last lines off a file, and return them."""
    if not lines:
        return b""
    with path.open("r+b") as stream:
        size = stream.seek(0, os.SEEK_END)
        begin = stream.seek(max(0, size - LONGEST_LINE))
        tail = stream.read()
        starts = [0, *(found.end() for found in re.finditer(rb"\r\n|\r|\n", tail))]
        full = [start for start in starts if tail[start:].strip()]
        if len(full) <= lines:
            raise InputError(f"{path.name} has fewer lines than --footer-rows {lines}.")
        stream.truncate(begin + full[-lines])
        return tail[full[-lines] :]
