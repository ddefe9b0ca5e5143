"""Printing: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from trueodds.basics.progress import Progress
from trueodds.basics.shown import json_printable, one_line, printable
from trueodds.basics.wording import change_text, decimal_text
from trueodds.cli.streams import print_error

__all__ = [
    "console",
    "emit_json",
    "formula_text",
    "in_brief",
    "interval",
    "losses_text",
    "note",
    "number",
    "ratio_text",
    "say",
    "show_table",
    "working",
]

PIPE_WIDTH = 160
PAIR = ("before", "after")
LENGTH = 200
"""Longest text shown of one value."""


def console() -> Any:
    """A rich console on standard output; in a pipe, wide enough for tables or as $COLUMNS."""
    from rich.console import Console

    own = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    return Console(width=None if own else PIPE_WIDTH, highlight=False, soft_wrap=False)


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
    """Format a number with fixed decimals, small ones with more or in scientific notation."""
    return decimal_text(value, digits, small=True, minus="-")


def interval(low: float | None, high: float | None, digits: int = 4) -> str:
    """Format an interval as ``[low, high]``."""
    return f"[{number(low, digits)}, {number(high, digits)}]"


SHORT_TEXT = 16
"""Letters of a text that a table never folds."""


def show_table(
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    left: int = 1,
    whole: int = 0,
) -> None:
    """Print a table whose first ``left`` columns are text and the others numbers.

    Where there is little room, texts and headers are folded, except those of the first ``whole``
    columns. Numbers and intervals are whole, even if the table is then wider than the terminal.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for position, name in enumerate(header):
        is_text = position < left
        cells = [printable(row[position]) for row in rows]
        words = printable(name).split()
        for cell in cells:
            words += [cell] if is_text or cell.startswith("[") else cell.split()
        longest = max(map(len, words), default=0)
        table.add_column(
            Text(printable(name)),
            justify="left" if is_text else "right",
            overflow="fold",
            no_wrap=position < whole,
            min_width=min(longest, SHORT_TEXT) if is_text else longest,
        )
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    sys.stdout.write(printable(title) + "\n")
    room = console()
    needed = room.measure(table).minimum
    room.print(table, width=max(room.width, needed), crop=False)


def in_brief(value: Any) -> str:
    """Format any JSON value on one line; long lists as their length and range."""
    if isinstance(value, str):
        return one_line(value, LENGTH)
    if isinstance(value, list) and len(value) > 8:
        numbers = [v for v in value if type(v) in (int, float)]
        if len(numbers) == len(value):
            return f"{len(value):,} numbers from {min(numbers):.6g} to {max(numbers):.6g}"
        return f"{len(value):,} entries"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        families = ", ".join(str(entry["family"]) for entry in value if "family" in entry)
        if not families:
            return f"{len(value):,} {'entry' if len(value) == 1 else 'entries'}"
        return one_line(f"{len(value)} maps: {families}", LENGTH)
    return one_line(json.dumps(value, ensure_ascii=False), LENGTH)


def losses_text(metadata: dict[str, Any]) -> str:
    """Format the losses before and after, and the rows that they were measured on."""
    losses = metadata.get("losses", {})
    words = []
    for name, title in (("log_loss", "log-loss"), ("brier_score", "Brier score")):
        if name in losses:
            shown = [key for key in (*PAIR, "one_map") if key in losses[name]]
            texts = change_text(*(losses[name][key] for key in shown)).split(" → ")
            one_map = f" (one map: {texts.pop()})" if "one_map" in shown else ""
            words.append(f"{title} {' → '.join(texts)}{one_map}")
    if not words:
        return ""
    sizes = []
    if "folds" in losses:
        sizes.append(f"{losses['folds']:,} folds")
    if "rows" in losses:
        whole = metadata.get("rows", 0)
        of_all = f" of {whole:,}" if losses["rows"] < whole else ""
        sizes.append(f"{losses['rows']:,}{of_all} rows")
    measured = f" (after: out of fold, {', '.join(sizes)})" if sizes else ", out of fold"
    return f"{', '.join(words)}{measured}"


def ratio_text(metadata: dict[str, Any]) -> str:
    """Format observed/expected before and after the map; empty for several classes."""
    ratio = metadata.get("observed_expected", {})
    parts = [_interval_text(ratio[when]) for when in PAIR if when in ratio]
    level = f"{100 * ratio.get('level', 0.9):g}%"
    return f"O:E {' → '.join(parts)} ({level} intervals)" if parts else ""


def _interval_text(ends: dict[str, Any]) -> str:
    estimate, low, high = (
        value if isinstance(value, str) else f"{value:.3f}"
        for value in (ends["estimate"], ends["low"], ends["high"])
    )
    return f"{estimate} [{low}, {high}]"


def formula_text(metadata: dict[str, Any]) -> str:
    """Name the formula that does as well as a curve; empty if none does."""
    formula = metadata.get("losses", {}).get("formula")
    if formula is None:
        return ""
    method, verdict = (one_line(formula[key], 120) for key in ("method", "verdict"))
    gap, error = formula["difference"], formula["standard_error"]
    return f"{method}, a formula, {verdict} (difference of log-loss {gap:+.1g} ± {error:.1g})"


@contextmanager
def working(text: str, connection: Any = None) -> Iterator[None]:
    """Show progress on a terminal."""
    percent = getattr(connection, "query_progress", None)
    with Progress(None, text, sys.stderr.isatty(), percent):
        yield
