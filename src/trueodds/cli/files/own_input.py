"""No command replaces a file that it reads or another that it writes; checked before any work."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

from trueodds.cli.errors import UsageError
from trueodds.cli.files.find import STANDARD_INPUT, matching
from trueodds.cli.files.write import STANDARD_OUTPUT

__all__ = ["DATA", "MAPS", "OUTPUTS", "keeps_its_input"]

DATA, MAPS = ("file", "files"), ("map_file", "parent")
OUTPUTS = ("output", "state", "html", "metrics", "map_out")
"""What the arguments of every command are called that name files."""


def keeps_its_input(command: Callable[..., None]) -> Callable[..., None]:
    """The command, refusing an output that is its data or its map under any name."""

    @wraps(command)  # the options are read from the signature
    def checked(**values: Any) -> None:
        outputs = _named(values, OUTPUTS)
        for output in outputs:
            if output != STANDARD_OUTPUT:
                _refuse_input(output, _named(values, DATA), _named(values, MAPS))
        _refuse_twice([output for output in outputs if output != STANDARD_OUTPUT])
        command(**values)

    return checked


def _named(values: dict[str, Any], names: Sequence[str]) -> list[str]:
    """The files that some arguments name; one may name several."""
    given = [values[name] for name in names if values.get(name) is not None]
    return [file for one in given for file in ([one] if isinstance(one, str) else one)]


def _refuse_input(output: str, data: list[str], maps: list[str]) -> None:
    target = _identity(output)
    if target is None:
        return
    for name, file in _inputs(data, maps):
        if _identity(file) == target:
            raise UsageError(
                f"the output {output} and {name} are the same file, which would be lost; choose "
                "another output with -o."
            )


def _refuse_twice(outputs: list[str]) -> None:
    known: dict[Any, str] = {}
    for output in outputs:
        path = os.path.realpath(output)
        if os.path.exists(path) and _identity(path) is None:  # noqa: PTH110
            continue  # devices take any number of outputs
        for mark in {path, _identity(path) or path}:
            if mark in known:
                raise UsageError(
                    f"the outputs {known[mark]} and {output} are the same file; choose another."
                )
            known[mark] = output


def _inputs(data: list[str], maps: list[str]) -> Iterator[tuple[str, str | int | Path]]:
    """What to call each input, and its path or descriptor."""
    for file in data:
        if file == STANDARD_INPUT:
            yield "standard input", 0
        else:
            for path in matching(file):
                yield f"the input {path}", path
    for map_file in maps:
        yield f"the map {map_file}", 0 if map_file == STANDARD_INPUT else map_file


def _identity(file: str | int | Path) -> tuple[int, int] | None:
    """The same for all names and links of a regular file; None if there is no such file.

    Devices and pipes are not replaced: a terminal may be both input and output.
    """
    try:
        found = os.stat(file)  # noqa: PTH116 (a descriptor is no path)
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None
