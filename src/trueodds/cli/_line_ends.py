"""Text files whose lines end in more than one way, or whose header has line breaks in it.

The engine tells the end of lines from the first break of a file, even inside a quoted name, and
takes no other afterwards. Such files are copied with one kind of end;
quoted values stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

from trueodds.cli._files import InputFiles, uncompressed

__all__ = ["check_whole", "with_even_lines"]

BLOCK = 1 << 20


def check_whole(files: InputFiles) -> None:
    """Read compressed files to their end: the engine may take what is left of them for all."""
    for path in files.paths:
        with uncompressed(path) as stream:
            while stream.read(BLOCK):
                pass


def with_even_lines(
    files: InputFiles, header: Sequence[str], delimiter: str, scratch: Path
) -> InputFiles:
    """The same CSV files, or copies of them that the engine can read."""
    broken = any("\n" in name or "\r" in name for name in header)
    paths = []
    for number, path in enumerate(files.paths):
        with uncompressed(path) as stream:
            uneven = _is_uneven(stream)
        if broken or uneven:
            copy = scratch / f"lines-{number}" / path.name.removesuffix(".gz")
            copy.parent.mkdir()
            with uncompressed(path) as stream, copy.open("wb") as target:
                target.writelines(_even(stream, delimiter.encode()))
            path = copy
        paths.append(path)
    return replace(files, paths=tuple(paths))


def _is_uneven(stream: IO[bytes]) -> bool:
    """Whether lines end in more than one way; reads to the end, so that a cut is noticed."""
    import numpy as np

    kinds: set[str] = set()
    last = b""
    while block := stream.read(BLOCK):
        if b"\r" not in block and last != b"\r":
            if b"\n" in block:
                kinds.add("\n")
        else:
            codes = np.frombuffer(last + block, dtype=np.uint8)
            returns, feeds = codes == ord("\r"), codes == ord("\n")
            pairs = returns[:-1] & feeds[1:]
            if pairs.any():
                kinds.add("\r\n")
            if (returns[:-1] & ~feeds[1:]).any():
                kinds.add("\r")
            if (feeds[1:] & ~returns[:-1]).any():
                kinds.add("\n")
        last = block[-1:]
    if last == b"\r":
        kinds.add("\r")
    return len(kinds) > 1


def _even(stream: IO[bytes], delimiter: bytes) -> Iterator[bytes]:
    """The text with line feeds at the ends of lines, and no breaks inside the header.

    A quote opens where a field begins, and again right after one that closed: then it was doubled.
    """
    inside, closed, header = False, False, True
    last, held = b"\n", b""
    while block := stream.read(BLOCK):
        block = held + block
        held = b"\r" if block.endswith(b"\r") else b""  # a line feed may follow
        block = block.removesuffix(b"\r")
        for number, part in enumerate(block.split(b'"')):
            if number:
                yield b'"'
                if inside:
                    inside, closed = False, True
                else:
                    inside, closed = closed or last in (delimiter, b"\n"), False
                last = b'"'
            if not part:
                continue
            if inside:
                yield part.replace(b"\r", b" ").replace(b"\n", b" ") if header else part
                continue
            part = part.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            closed, last = False, part[-1:]
            header = header and b"\n" not in part
            yield part
    if held:
        yield b"\n" if not inside else held
