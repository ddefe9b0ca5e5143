"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from trueodds.basics.shown import shown
from trueodds.basics.signals import STOPPING
from trueodds.exceptions import InputError

__all__ = ["as_path", "atomic_file", "write_text"]

LONGEST_NAME = 100
"""Bytes of the name of a temporary file, so that long names of the user's own still fit."""


def as_path(path: str | os.PathLike[str]) -> Path:
    """A path, or an :class:`InputError` for what is none.

    Examples
    --------
    >>> as_path(3)
    Traceback (most recent call last):
    ...
    trueodds.exceptions.InputError: path must be a text or a Path; got 3.
    """
    try:
        found = Path(path)
        os.fsencode(found)
    except (TypeError, UnicodeError):
        raise InputError(f"path must be a text or a Path; got {shown(path)}.") from None
    if "\0" in str(found):
        raise InputError(f"path must not hold a NUL character; got {shown(path)}.")
    return found


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
    target = as_path(path).resolve()
    if target.exists() and not target.is_file():
        with target.open("wb") as stream:
            yield stream
        return
    temporary = None
    try:
        begin = os.fsencode(target.name)[:LONGEST_NAME].decode("utf-8", "ignore")
        with STOPPING.held():
            handle, name = tempfile.mkstemp(prefix=f".{begin}.", suffix=".tmp", dir=target.parent)
            temporary = Path(name)
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
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
