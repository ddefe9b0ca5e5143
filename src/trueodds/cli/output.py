"""Printing: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from trueodds.basics.progress import Progress
from trueodds.basics.shown import json_printable, printable
from trueodds.basics.wording import decimal_text
from trueodds.cli.streams import print_error

__all__ = ["console", "emit_json", "interval", "note", "number", "say", "show_table", "working"]

PIPE_WIDTH = 160


def console() -> Any:
    """A rich console on standard output, wide enough for whole tables in a pipe."""
    from rich.console import Console

    return Console(
        width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False, soft_wrap=False
    )


def emit_json(command: str, content: dict[str, Any]) -> None:
    """Print one versioned document; infinite numbers and NaN become null."""
    document = {"format": f"trueodds-{command}", "version": 1, **content}
    in_utf8 = (sys.stdout.encoding or "utf-8").lower().replace("-", "") == "utf8"
    text = json.dumps(plain(document), allow_nan=False, ensure_ascii=not in_utf8, indent=1)
    sys.stdout.write(json_printable(text) + "\n")


def plain(value: Any) -> Any:
    """Convert arrays and NumPy numbers to plain JSON values."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def note(text: str) -> None:
    """Print a line on standard error."""
    print_error(f"{printable(text)}\n")


def say(text: str) -> None:
    """Print a line of the result."""
    sys.stdout.write(f"{printable(text)}\n")


def number(value: float | None, digits: int = 4) -> str:
    """Format a number with fixed decimals, small ones in scientific notation."""
    return decimal_text(value, digits, powers=True, minus="-")


def interval(low: float | None, high: float | None, digits: int = 4) -> str:
    """Format an interval as ``[low, high]``."""
    return f"[{number(low, digits)}, {number(high, digits)}]"


def show_table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1
) -> None:
    """Print a table whose first ``left`` columns are text and the others numbers."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for position, name in enumerate(header):
        table.add_column(Text(printable(name)), justify="left" if position < left else "right")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    sys.stdout.write(printable(title) + "\n")
    console().print(table)


@contextmanager
def working(text: str, connection: Any = None) -> Iterator[None]:
    """Show progress on a terminal."""
    percent = getattr(connection, "query_progress", None)
    with Progress(None, text, sys.stderr.isatty(), percent):
        yield
