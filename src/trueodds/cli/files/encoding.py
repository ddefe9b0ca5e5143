"""CSV files in other encodings than UTF-8."""

from __future__ import annotations

import codecs
import io
import shutil
from pathlib import Path

from trueodds.cli.errors import UsageError
from trueodds.cli.files.find import InputFiles, uncompressed
from trueodds.exceptions import InputError

__all__ = ["UTF_8", "guess_encoding", "in_utf8"]

UTF_8 = "utf-8"
LOOKED_AT = 1 << 20
"""Bytes by which an encoding is guessed."""


def in_utf8(files: InputFiles, encoding: str, scratch: Path) -> InputFiles:
    """Copies in UTF-8 of CSV files in another encoding."""
    copies = []
    for number, path in enumerate(files.paths):
        copy = scratch / f"utf8-{number}" / path.name.removesuffix(path.suffix)
        copy = copy.with_suffix(".csv")
        copy.parent.mkdir()
        try:
            with (
                uncompressed(path) as stream,
                io.TextIOWrapper(stream, encoding=encoding, newline="") as source,
                copy.open("w", encoding=UTF_8, newline="") as target,
            ):
                shutil.copyfileobj(source, target, 1 << 20)
        except LookupError:
            raise UsageError(
                f"--encoding {encoding!r} is unknown; common ones are utf-8, latin-1, cp1252 and "
                "utf-16."
            ) from None
        except UnicodeError:
            raise InputError(f"{path.name} is not {encoding} text; see --encoding.") from None
        copies.append(copy)
    return InputFiles(files.shown, tuple(copies), files.format)


def guess_encoding(path: Path) -> str:
    """The encoding that a file which is not UTF-8 is likely to have."""
    with uncompressed(path) as stream:
        head = stream.read(LOOKED_AT)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for encoding, zeros in (("utf-16-le", head[1::2]), ("utf-16-be", head[::2])):
        if 2 * zeros.count(0) > len(zeros):  # every second byte of most texts
            return encoding
    # Latin-1 has control characters where Windows has quotation marks, dashes and the euro.
    return "cp1252" if any(0x80 <= byte <= 0x9F for byte in head) else "latin-1"
