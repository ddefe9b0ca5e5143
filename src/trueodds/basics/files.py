"""Atomic files, locks between processes, and strict JSON."""

from __future__ import annotations

import contextlib
import io
import json
import os
import secrets
import stat
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

from trueodds.basics.shown import shown
from trueodds.basics.signals import STOPPING
from trueodds.exceptions import InputError

__all__ = [
    "as_path",
    "atomic_file",
    "exclusive",
    "named_stream",
    "new_file",
    "parse_json",
    "write_text",
]

O_BINARY = getattr(os, "O_BINARY", 0)
"""Windows only: bytes are written unchanged."""
LONGEST_NAME = 100
"""Bytes of the name of a temporary file, so that long names of users still fit."""


def as_path(path: str | os.PathLike[str]) -> Path:
    """Return a path; raise :class:`InputError` for anything else.

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
        raise InputError(f"path must not contain a NUL character; got {shown(path)}.")
    return found


@contextmanager
def atomic_file(
    path: str | os.PathLike[str], *, durable: bool = True, final: bool = True
) -> Iterator[IO[bytes]]:
    """Open a binary stream to a file that replaces ``path`` when it is complete.

    The file is written next to ``path`` (or next to the target of a link) and then renamed. So a
    reader never sees a partial file, and an error or a signal keeps the old one. The new file has
    the permissions of the old one and, where the system allows it, its owner. Devices and pipes are
    written to directly.

    Parameters
    ----------
    path : path
    durable : bool, default=True
        Wait for the disk, so that a power cut does not leave an empty file either.
    final : bool, default=True
        Whether the file is the program's result, so that a signal comes too late once it is there.
    """
    target = as_path(path).resolve()
    if target.exists() and not target.is_file():
        with new_file(target) as stream:
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
        with named_stream(handle, os.fspath(target)) as stream:
            if os.name == "posix" and target.exists():
                _take_permissions(handle, target)
            yield stream
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
        with STOPPING.finishing() if final else STOPPING.held():
            temporary.replace(target)
            temporary = None
    except BaseException:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()
        raise


class _NamedFile(io.FileIO):
    """A file whose errors name it, which those of Python's own do not while it is written."""

    def __init__(self, handle: int, name: str, *, closefd: bool) -> None:
        super().__init__(handle, "wb", closefd)
        self._shown = name

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = self._shown
            raise


def named_stream(handle: int, name: str, *, closefd: bool = True) -> IO[bytes]:
    """Open a binary stream to an open file; its errors contain the name."""
    return io.BufferedWriter(_NamedFile(handle, name, closefd=closefd), 1 << 16)


def new_file(path: Path) -> IO[bytes]:
    """Open a binary stream to a new file; an error while it is written names the file."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | O_BINARY
    return named_stream(os.open(path, flags, 0o666), os.fspath(path))


def _take_permissions(handle: int, old: Path) -> None:
    found = old.stat()
    mode = stat.S_IMODE(found.st_mode)
    for owner in (found.st_uid, -1):
        with contextlib.suppress(PermissionError):
            os.fchown(handle, owner, found.st_gid)
            break
    else:  # what was allowed to the old group is not allowed to another one
        mode = mode & ~stat.S_IRWXG | (mode & stat.S_IRWXO) << 3
    os.fchmod(handle, mode)


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Write a text file in UTF-8 atomically."""
    with atomic_file(path) as stream:
        stream.write(text.encode("utf-8"))


@contextmanager
def exclusive(path: str | os.PathLike[str], seconds: float) -> Iterator[bool]:
    """Lock ``path`` against other processes; yield False if another one keeps it.

    The lock is on an empty file next to ``path``. The operating system releases it when the process
    ends, even by SIGKILL. A file system without locks gives none.

    Parameters
    ----------
    path : path
        The file to lock; it need not exist.
    seconds : float
        Longest time to wait for another process.
    """
    target = Path(path).resolve()
    name = target.with_name(f".{target.name}.lock")
    deadline = time.monotonic() + seconds
    while True:
        with name.open("ab") as stream:
            free = _lock(stream.fileno())
            # The process that has the lock removes the file, so the locked file may be gone.
            if free and _is_same(stream.fileno(), name):
                try:
                    yield True
                finally:
                    with contextlib.suppress(OSError):  # Windows keeps a file that is open
                        name.unlink()
                return
        if not free:
            if time.monotonic() >= deadline:
                yield False
                return
            time.sleep(0.05)


def _is_same(handle: int, name: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), name.stat())
    except FileNotFoundError:
        return False


def _lock(handle: int) -> bool:
    """Try to lock an open file; closing it unlocks."""
    try:
        import fcntl
    except ImportError:
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # no locks on this file system
        return True
    return True


def parse_json(text: str, name: str, error: type[Exception]) -> Any:
    """Parse JSON strictly; raise ``error`` with one sentence about what is wrong.

    Parameters
    ----------
    text : str
    name : str
        Origin of the text, for messages.
    error : type of exception

    Examples
    --------
    >>> parse_json('{"a": 1}', "a.json", ValueError)
    {'a': 1}
    >>> parse_json('{"a": 1, "a": 2}', "a.json", ValueError)
    Traceback (most recent call last):
    ...
    ValueError: a.json: duplicate key 'a' in a JSON object.
    """

    def refuse_constant(constant: str) -> Any:
        raise _NotStrictError(f"{constant} is not valid JSON; infinities must be written as texts.")

    def refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) != len(pairs):
            twice = max(Counter(key for key, _ in pairs).items(), key=itemgetter(1))[0]
            raise _NotStrictError(f"duplicate key {shown(twice)} in a JSON object.")
        return result

    try:
        return json.loads(text, parse_constant=refuse_constant, object_pairs_hook=refuse_duplicates)
    except RecursionError:
        raise error(f"{name} is nested too deeply.") from None
    except _NotStrictError as refused:
        raise error(f"{name}: {refused}") from None
    except ValueError as malformed:  # or an integer of thousands of digits
        raise error(f"{name} is not valid JSON: {malformed}") from None


class _NotStrictError(Exception):
    pass
