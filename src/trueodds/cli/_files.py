"""What a file argument stands for: names, folders, globs, standard input, and the format."""

from __future__ import annotations

import glob
import gzip
import shutil
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal
from urllib.parse import unquote

from trueodds.cli._exit import UsageError
from trueodds.exceptions import InputError

__all__ = [
    "Format",
    "InputFiles",
    "format_of",
    "matching",
    "no_match",
    "partitions",
    "resolve",
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
COMPRESSED = (".gz",)
STANDARD_INPUT = "-"
NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""What Hive and Spark call the folder of rows whose partition value is missing."""


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
    """The format that a file's name says; ``.csv.gz`` is CSV."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return SUFFIXES.get(suffixes[-1]) if suffixes else None


def matching(file: str) -> list[Path]:
    """The files of a name, a folder or a glob; a name that exists is never a glob.

    A folder stands for all files in it and below whose format is known from their names. Names
    that begin with a dot or an underscore, such as ``_SUCCESS``, are left out.
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
            found[unquote(key)] = None if value == NO_PARTITION else unquote(value)
    return found


def common_partitions(paths: Sequence[Path]) -> dict[str, list[str | None]]:
    """The values of each file for the partition columns that all files have."""
    each = [partitions(path) for path in paths]
    names = [name for name in each[0] if all(name in one for one in each)]
    return {name: [one[name] for one in each] for name in names}


def resolve(
    file: str, given: Format | None, scratch: Path, found: Sequence[Path] | None = None
) -> InputFiles:
    """Find the files, or copy standard input to a file that can be read more than once.

    ``found`` are the files, if the caller has looked for them; ``file`` is what to call them then.
    """
    if file == STANDARD_INPUT:
        return _standard_input(given, scratch)
    paths = matching(file) if found is None else list(found)
    if not paths:
        raise InputError(no_match(file))
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
    absolute = tuple(path.absolute() for path in paths)
    return InputFiles(file, absolute, kind, common_partitions(paths))


def no_match(file: str) -> str:
    """What to say of a folder or a glob without files."""
    if not Path(file).is_dir():
        return f"no file matches {file!r}."
    known = ", ".join(SUFFIXES)
    return (
        f"the folder {file} holds no file of a known format ({known}); "
        f"name other files by a glob such as '{file}/*' with --format."
    )


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
