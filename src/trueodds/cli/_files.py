"""What a file argument stands for: names, globs, standard input, and the format."""

from __future__ import annotations

import glob
import gzip
import shutil
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from trueodds.cli._exit import UsageError
from trueodds.exceptions import InputError

__all__ = ["Format", "InputFiles", "format_of", "matching", "resolve", "uncompressed"]

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
COMPRESSED = (".gz",)
STANDARD_INPUT = "-"


@dataclass(frozen=True)
class InputFiles:
    """Files of one format that are read as one table."""

    shown: str
    """What to call them in messages."""
    paths: tuple[Path, ...]
    format: Format


def format_of(path: Path) -> Format | None:
    """The format that a file's name says; ``.csv.gz`` is CSV."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return SUFFIXES.get(suffixes[-1]) if suffixes else None


def matching(file: str) -> list[Path]:
    """The files that a name or a glob stands for; a name that exists is never a glob."""
    path = Path(file)
    if path.exists() or not glob.has_magic(file):
        return [path]
    found = [Path(name) for name in sorted(glob.glob(file, recursive=True))]  # noqa: PTH207
    return [path for path in found if path.is_file()]


def resolve(
    file: str, given: Format | None, scratch: Path, found: Sequence[Path] | None = None
) -> InputFiles:
    """Find the files, or copy standard input to a file that can be read more than once.

    ``found`` are the files, if the caller has looked for them; ``file`` is what to call them then.
    """
    if file == STANDARD_INPUT:
        return _standard_input(given, scratch)
    path = Path(file)
    if path.is_dir():
        raise InputError(f"{file} is a folder; name a file or a glob such as '{file}/*.parquet'.")
    paths = matching(file) if found is None else list(found)
    if not paths:
        raise InputError(f"no file matches {file!r}.")
    if not paths[0].exists():
        raise InputError(f"{file}: no such file.")
    formats = {given or format_of(path) for path in paths}
    if None in formats:
        raise UsageError(
            f"the format of {paths[0]} cannot be told from its name; "
            "pass --format csv, parquet, arrow, jsonl or xlsx."
        )
    if len(formats) > 1:
        raise InputError(f"{file!r} matches files of several formats; narrow it down.")
    for path in paths:
        if path.stat().st_size == 0:
            raise InputError(f"{path} is empty (0 bytes).")
    kind = next(iter(formats))
    assert kind is not None  # noqa: S101
    return InputFiles(file, tuple(path.absolute() for path in paths), kind)


def _standard_input(given: Format | None, scratch: Path) -> InputFiles:
    if given is None:
        raise UsageError("with '-' for standard input, pass --format csv, parquet, arrow or jsonl.")
    if sys.stdin.isatty():
        raise UsageError("standard input is a terminal; pipe a file into it.")
    copy = scratch / f"stdin.{given}"
    with copy.open("wb") as target:
        shutil.copyfileobj(sys.stdin.buffer, target, 1 << 20)
    if copy.stat().st_size == 0:
        raise InputError("standard input is empty (0 bytes).")
    return InputFiles("standard input", (copy,), given)


@contextmanager
def uncompressed(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, decompressed if its name says so; what goes wrong becomes a sentence."""
    open_bytes: Any = gzip.open if path.suffix.lower() in COMPRESSED else open
    try:
        with open_bytes(path, "rb") as stream:
            yield stream
    except EOFError:
        raise InputError(
            f"{path.name} is cut off: its compressed data has no end. Copy or load it again."
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path.name} is not a sound .gz file: {error}.") from None
    except OSError as error:
        raise InputError(f"{path.name} cannot be read: {error.strerror or error}.") from None
