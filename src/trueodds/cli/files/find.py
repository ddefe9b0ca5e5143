"""File arguments: names, folders, globs, standard input, and formats."""

from __future__ import annotations

import contextlib
import errno
import glob
import gzip
import os
import re
import select
import shutil
import stat
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal
from urllib.parse import unquote

from trueodds.basics.files import new_file
from trueodds.basics.signals import STOPPING
from trueodds.cli.errors import UsageError
from trueodds.exceptions import InputError

__all__ = [
    "Format",
    "InputFiles",
    "as_unicode",
    "format_of",
    "matching",
    "no_match",
    "partitions",
    "refuse_idle_pipe",
    "resolve",
    "scratch_folder",
    "standard_input",
    "uncompressed",
]

Format = Literal["csv", "parquet", "arrow", "jsonl", "xlsx"]

SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".xlsx": "xlsx",
}
MAGIC: dict[bytes, Format] = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow",  # a stream
    b"PK\x03\x04": "xlsx",
}
"""How files begin whose format is not text."""
COMPRESSED = (".gz",)
STANDARD_INPUT = "-"
NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""What Hive and Spark call the folder of rows whose partition value is missing."""
WRITER_SECONDS = 2.0
"""Seconds to wait for the writer of a named pipe."""


SCRATCH = "trueodds-scratch-"
SCRATCH_NAME = re.compile(rf"{SCRATCH}[a-z0-9_]{{8}}")


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Create a temporary folder; the next run removes it if this one is killed.

    The folder is locked while in use. A lock ends with its process, so a folder that can be locked
    is abandoned.
    """
    _remove_abandoned()
    folder, lock = None, None
    try:
        with STOPPING.held():
            while lock is None:
                folder = Path(tempfile.mkdtemp(prefix=SCRATCH))
                lock = _locked(folder)  # None: another run took it for an abandoned one
        assert folder is not None  # noqa: S101
        yield folder
    finally:
        try:
            _remove(folder)
        finally:  # a signal may have cut that short, but comes only once
            _remove(folder)
            if lock is not None and lock >= 0:
                os.close(lock)


def _remove(folder: Path | None) -> None:
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned() -> None:
    for path in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
        if not SCRATCH_NAME.fullmatch(path.name) or path.is_symlink():
            continue
        with contextlib.suppress(OSError):
            if path.stat().st_uid == os.getuid():
                lock = _locked(path)
                if lock is not None and lock >= 0:
                    shutil.rmtree(path, ignore_errors=True)
                    os.close(lock)


def _locked(folder: Path) -> int | None:
    """The descriptor of a lock on a folder; None if another process has it or removed it.

    It is -1 on systems without such locks, where nothing is removed later.
    """
    try:
        import fcntl
    except ImportError:
        return -1
    try:
        lock = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(lock).st_nlink and folder.exists():
            return lock
    except OSError as error:
        if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
            os.close(lock)
            return -1  # a file system without locks
    os.close(lock)
    return None


@dataclass(frozen=True)
class InputFiles:
    """Files of one format that are read as one table."""

    shown: str
    """What to call them in messages."""
    paths: tuple[Path, ...]
    format: Format
    partitions: dict[str, list[str | None]] = field(default_factory=dict)
    """Columns in the names of folders as they were given, with one value for each file."""


def format_of(path: Path) -> Format | None:
    """Return the format by the file's extension; ``.csv.gz`` is CSV."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return SUFFIXES.get(suffixes[-1]) if suffixes else None


def matching(file: str) -> list[Path]:
    """The files of a name, a folder or a glob; a name that exists is never a glob.

    A folder means all files in and below it whose extension is known. Names that begin with a dot
    or an underscore, such as ``_SUCCESS``, are ignored.
    """
    path = Path(file)
    if path.is_dir():
        return _inside(path)
    if path.exists() or not glob.has_magic(file):
        return [path]
    found = [Path(name) for name in sorted(glob.glob(file, recursive=True))]  # noqa: PTH207
    inside = [one for path in found for one in (_inside(path) if path.is_dir() else [path])]
    return [path for path in dict.fromkeys(inside) if path.is_file()]


def _inside(folder: Path) -> list[Path]:
    paths = (path for path in sorted(folder.rglob("*")) if format_of(path) is not None)
    return [
        path
        for path in paths
        if path.is_file() and not any(n[0] in "._" for n in path.relative_to(folder).parts)
    ]


def partitions(path: Path) -> dict[str, str | None]:
    """The columns in the names of a file's folders, as in ``day=2026-10-01/part-0.parquet``.

    Examples
    --------
    >>> partitions(Path("lake/day=2026-10-01/shop=A%2FB/part-0.csv"))
    {'day': '2026-10-01', 'shop': 'A/B'}
    """
    pairs = (name.partition("=") for name in path.parts[:-1])
    found: dict[str, str | None] = {}
    for key, equals, value in pairs:
        if key and equals and unquote(key).casefold() not in map(str.casefold, found):
            found[as_unicode(unquote(key))] = (
                None if value == NO_PARTITION else as_unicode(unquote(value))
            )
    return found


def as_unicode(name: str) -> str:
    r"""The name of a file as a text; bytes that are not UTF-8 are escaped.

    Examples
    --------
    >>> print(as_unicode("caf\udce9.csv"))
    caf\xe9.csv
    """
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def common_partitions(paths: Sequence[Path]) -> dict[str, list[str | None]]:
    """The values of each file for the partition columns that all files have."""
    each = [partitions(path) for path in paths]
    names = [name for name in each[0] if all(name in one for one in each)]
    return {name: [one[name] for one in each] for name in names}


def resolve(
    file: str, given: Format | None, scratch: Path, found: Sequence[Path] | None = None
) -> InputFiles:
    """Find the files, or copy standard input to a file that can be read more than once.

    ``found`` are the files, if the caller has already found them; ``file`` is then their name in
    messages.
    """
    if file == STANDARD_INPUT:
        return _copied("standard input", standard_input(scratch), given)
    path = Path(file)
    if _is_pipe(path):
        return _pipe(path, given, scratch)
    paths = matching(file) if found is None else list(found)
    if not paths:
        raise InputError(no_match(file))
    if not paths[0].exists():
        raise InputError(f"{file}: file not found.")
    formats = {given or format_of(path) for path in paths}
    if None in formats:
        raise UsageError(
            f"the format of {paths[0]} cannot be inferred from its name; "
            "pass --format csv, parquet, arrow, jsonl or xlsx."
        )
    if len(formats) > 1:
        raise InputError(f"{file!r} matches files of several formats; use a narrower pattern.")
    for path in paths:
        if not path.is_file():
            raise InputError(
                f"{path} is a device or a pipe among other files; pass a regular file."
            )
        if path.stat().st_size == 0:
            raise InputError(f"{path} is empty (0 bytes).")
    kind = next(iter(formats))
    assert kind is not None  # noqa: S101
    named = tuple(_with_text_name(path.absolute(), scratch) for path in paths)
    return InputFiles(as_unicode(file), named, kind, common_partitions(paths))


def no_match(file: str) -> str:
    """Return the message for a folder or a glob without files."""
    if not Path(file).is_dir():
        return f"no file matches {file!r}."
    known = ", ".join(SUFFIXES)
    return (
        f"the folder {file} has no file of a known format ({known}); select other files with a "
        f"glob such as '{file}/*' with --format."
    )


def _with_text_name(path: Path, scratch: Path) -> Path:
    """The path, or a link to it if its name is not UTF-8, which the engine cannot open."""
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        folder = Path(tempfile.mkdtemp(dir=scratch))
        link = folder / as_unicode(path.name)
        link.symlink_to(path)
        return link
    return path


def refuse_idle_pipe(file: str) -> None:
    """Refuse a named pipe, which waits for a writer; pipes of a shell have one."""
    if _is_pipe(Path(file)) and not file.startswith(("/dev/", "/proc/")):
        raise InputError(f"{file} is a named pipe; pass a regular file.")


def _is_pipe(path: Path) -> bool:
    try:
        return stat.S_ISFIFO(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def _pipe(path: Path, given: Format | None, scratch: Path) -> InputFiles:
    """Copy what comes through a named pipe, ``/dev/stdin`` or ``<(command)``.

    The pipe is opened without blocking. Until a writer has opened it, it appears to be at its end;
    the wait for a writer is short.
    """
    copy = scratch / "pipe"
    source = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        patience = time.monotonic() + WRITER_SECONDS
        with new_file(copy) as target:
            while True:
                try:
                    block = os.read(source, 1 << 20)
                except BlockingIOError:  # a writer is there, and writes nothing yet
                    select.select([source], [], [])
                    continue
                if not block and (target.tell() or time.monotonic() > patience):
                    break
                if not block:
                    time.sleep(0.02)
                target.write(block)
    finally:
        os.close(source)
    if copy.stat().st_size == 0:
        raise InputError(f"{path} is a pipe that no program writes to; pass a regular file.")
    return _copied(as_unicode(str(path)), copy, given or format_of(path))


def standard_input(scratch: Path) -> Path:
    """Copy standard input to a file, whose name is what to call it in messages."""
    if sys.stdin.isatty():
        raise UsageError("standard input is a terminal; pipe a file into it, or pass a file name.")
    copy = scratch / "standard input"
    with new_file(copy) as target:
        shutil.copyfileobj(sys.stdin.buffer, target, 1 << 20)
    if copy.stat().st_size == 0:
        raise InputError("standard input is empty (0 bytes).")
    return copy


def _copied(shown: str, copy: Path, kind: Format | None) -> InputFiles:
    """The copy of a stream, which has no name; without ``kind``, its bytes tell the format."""
    if kind is None:
        with copy.open("rb") as stream:
            kind = _format_of_bytes(stream.read(1000))
    return InputFiles(shown, (copy.rename(copy.with_suffix(f".{kind}")),), kind)


def _format_of_bytes(start: bytes) -> Format:
    """Return the format by the first bytes; all that is not known is CSV.

    Examples
    --------
    >>> _format_of_bytes(b'{"p": 0.2}'), _format_of_bytes(b"p,y"), _format_of_bytes(b"PAR1")
    ('jsonl', 'csv', 'parquet')
    """
    for magic, kind in MAGIC.items():
        if start.startswith(magic):
            return kind
    return "jsonl" if re.match(rb"(\xef\xbb\xbf)?\s*(\[\s*)?\{", start) else "csv"


@contextmanager
def uncompressed(path: Path) -> Iterator[IO[bytes]]:
    """Read the bytes of a file, decompressed by its extension; errors become one sentence."""
    open_bytes: Any = gzip.open if path.suffix.lower() in COMPRESSED else open
    try:
        with open_bytes(path, "rb") as stream:
            yield stream
    except EOFError:
        raise InputError(
            f"{path.name} is truncated: its compressed data is incomplete. Copy or download it "
            "again."
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path.name} is not a valid .gz file: {error}.") from None
    except OSError as error:
        if error.filename not in (None, os.fspath(path)):  # a copy cannot be written
            raise
        raise InputError(f"{path.name} cannot be read: {error.strerror or error}.") from None
