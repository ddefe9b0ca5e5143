"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from trueodds.basics.signals import STOPPING

__all__ = ["atomic_file", "write_text"]

O_BINARY = getattr(os, "O_BINARY", 0)
"""Windows only: bytes are written as they are."""
LONGEST_NAME = 100
"""Bytes of the name of a temporary file, so that long names of the user's own still fit."""


@contextmanager
def atomic_file(path: str | os.PathLike[str], *, durable: bool = True) -> Iterator[IO[bytes]]:
    """A binary stream to a file that replaces ``path`` when all is written.

    It is written beside ``path`` (through a link: beside what that stands for) and renamed, so that
    a reader never sees half of it, and an error or a signal leaves what was there before. A device
    or a pipe is written to directly.

    Parameters
    ----------
    path : path
    durable : bool, default=True
        Wait for the disk, so that a power cut does not leave an empty file either.
    """
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        with target.open("wb") as stream:
            yield stream
        return
    temporary = None
    try:
        begin = os.fsencode(target.name)[:LONGEST_NAME].decode("utf-8", "ignore")
        with STOPPING.held():
            # The system takes the umask off these permissions; no other thread is touched.
            name = target.parent / f".{begin}.{secrets.token_hex(8)}.tmp"
            handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | O_BINARY, 0o666)
            temporary = name
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
        with STOPPING.finishing():
            temporary.replace(target)
    except BaseException:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()
        raise


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Write a text file in UTF-8, whole or not at all."""
    with atomic_file(path) as stream:
        stream.write(text.encode("utf-8"))
