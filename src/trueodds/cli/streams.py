"""Standard streams that may be closed, full, or in an encoding that lacks our characters."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import sys
from typing import Any

from trueodds.basics.files import named_stream

__all__ = ["STANDARD_OUTPUT", "prepare", "print_error", "silence"]

STANDARD_OUTPUT = "standard output"
"""Its name in messages."""
IN_ASCII = {
    "→": "->", "←": "<-", "−": "-", "–": "-", "…": "...", "≤": "<=", "≥": ">=", "±": "+/-",
    "×": "x",
}  # fmt: skip
"""What is printed where the encoding has no such character; others are escaped."""


def prepare() -> None:
    r"""Open closed streams on the null device, and make every character printable.

    Windows writes redirected output in an encoding of one byte, as ``PYTHONIOENCODING`` does
    elsewhere. A closed stream must not leave its number to a file that is opened later.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)  # the lowest free number: that of the stream
            stream = open(handle, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
    codecs.register_error("trueodds", _in_ascii)
    at_once = sys.stdout.isatty() or isinstance(sys.stdout.buffer, io.RawIOBase)  # python -u
    sys.stdout = io.TextIOWrapper(
        named_stream(sys.stdout.fileno(), STANDARD_OUTPUT, closefd=False),
        encoding=sys.stdout.encoding,
        errors="trueodds",
        line_buffering=at_once,
    )


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)  # noqa: S101 - of a stream that writes
    found = error.object[error.start : error.end]
    escaped = (IN_ASCII.get(c) or c.encode("ascii", "backslashreplace").decode() for c in found)
    return "".join(escaped), error.end


def print_error(text: str) -> None:
    """Print on standard error; a full or closed one stops nothing."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        silence(sys.stderr)


def silence(stream: Any) -> None:
    """Send a stream to the null device, so that Python does not fail at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
