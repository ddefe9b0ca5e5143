"""Arrow files: every batch is validated before anything else reads it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trueodds.cli.errors import require
from trueodds.exceptions import InputError

__all__ = ["sound_arrow_file"]

MAGIC = b"ARROW1"


def sound_arrow_file(path: Path, copy: Path) -> Path:
    """Return an Arrow file that is safe to read; raise InputError if it is damaged.

    Readers trust offsets and lengths inside a batch, and wrong ones crash the process. An Arrow
    stream is copied to a file, batch by batch.
    """
    with path.open("rb") as stream:
        is_file = stream.read(len(MAGIC)) == MAGIC
    pyarrow, ipc = require("pyarrow"), require("pyarrow.ipc")
    try:
        if is_file:
            with ipc.open_file(str(path)) as source:
                for _ in _sound(source.get_batch(n) for n in range(source.num_record_batches)):
                    pass
            return path
        with ipc.open_stream(str(path)) as source, ipc.new_file(str(copy), source.schema) as target:
            for batch in _sound(source):
                target.write_batch(batch)
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise InputError(f"{path.name} cannot be read as Arrow: {reason}.") from error
    return copy


def _sound(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        batch.validate(full=True)
        yield batch
