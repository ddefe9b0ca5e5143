"""Saved maps, as arguments of commands."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from trueodds.cli._files import refuse_idle_pipe
from trueodds.exceptions import MapFormatError

__all__ = ["MapFile", "load_map"]

MapFile = Annotated[
    str, typer.Argument(metavar="MAP.JSON", help="A map that 'trueodds fit' saved.")
]


def load_map(file: str) -> Any:
    """Read a map; what is wrong with it is said with the file's name."""
    import trueodds

    refuse_idle_pipe(file)
    try:
        return trueodds.load(file)
    except MapFormatError as error:
        raise MapFormatError(f"{file} holds no map that can be used: {error}") from None
