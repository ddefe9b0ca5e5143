"""No command replaces a file that it reads, whatever the options: checked before any work."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

from trueodds.cli.errors import UsageError
from trueodds.cli.files.find import STANDARD_INPUT, matching
from trueodds.cli.files.write import STANDARD_OUTPUT

__all__ = ["DATA", "MAP", "OUTPUT", "PARENT", "keeps_its_input"]

DATA, MAP, PARENT, OUTPUT = "file", "map_file", "parent", "output"
"""What the arguments of every command are called that name files."""


def keeps_its_input(command: Callable[..., None]) -> Callable[..., None]:
    """The command, refusing an ``-o`` that is its data or its map under any name."""

    @wraps(command)  # the options are read from the signature
    def checked(**values: Any) -> None:
        output = values.get(OUTPUT)
        if output not in (None, STANDARD_OUTPUT):
            maps = [values.get(MAP), values.get(PARENT)]
            _refuse_input(output, values.get(DATA), [file for file in maps if file is not None])
        command(**values)

    return checked


def _refuse_input(output: str, data: str | None, maps: list[str]) -> None:
    target = _identity(output)
    if target is None:
        return
    for name, file in _inputs(data, maps):
        if _identity(file) == target:
            raise UsageError(
                f"the output {output} and {name} are the same file, which would be lost; "
                "name another with -o."
            )


def _inputs(data: str | None, maps: list[str]) -> Iterator[tuple[str, str | int | Path]]:
    """What to call each input, and its path or descriptor."""
    if data == STANDARD_INPUT:
        yield "standard input", 0
    elif data is not None:
        for path in matching(data):
            yield f"the input {path}", path
    for map_file in maps:
        yield f"the map {map_file}", map_file


def _identity(file: str | int | Path) -> tuple[int, int] | None:
    """The same for all names and links of a regular file; None if there is no such file.

    Devices and pipes are not replaced: a terminal may be both input and output.
    """
    try:
        found = os.stat(file)  # noqa: PTH116 (a descriptor is no path)
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None
