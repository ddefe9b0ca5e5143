"""The keys of JSON lines, which the engine would rename where it cannot keep them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trueodds.basics.shown import shown
from trueodds.cli.files.csv import MOST_COLUMNS
from trueodds.cli.files.find import uncompressed
from trueodds.cli.files.lines import LONGEST_LINE
from trueodds.exceptions import InputError

__all__ = ["check_columns", "check_keys", "unreadable"]

LONGEST_OBJECT = 16_777_216
"""Bytes of a line that the engine reads."""


def check_keys(path: Path) -> None:
    """Refuse a first object with a nameless key, or with keys that differ in case alone."""
    with uncompressed(path) as stream:
        line = stream.readline(LONGEST_LINE)
    try:
        first: Any = json.loads(line)
    except (ValueError, RecursionError):  # the engine will say what is wrong with it
        return
    if not isinstance(first, dict):
        raise InputError(f"{path.name} must hold one JSON object in each line.")
    folded: dict[str, str] = {}
    for key in first:
        if not key or "\0" in key:
            what = "an empty key" if not key else f"the key {shown(key)}, with a NUL in it"
            raise InputError(f"{path.name} has {what}, which cannot name a column; rename it.")
        other = folded.setdefault(key.casefold(), key)
        if other != key:
            raise InputError(
                f"{path.name}: the keys {shown(other)} and {shown(key)} differ only in case; "
                "DuckDB cannot distinguish them. Rename one."
            )


def unreadable(paths: Sequence[Path], error: Exception) -> InputError:
    """What is wrong with the first line that the engine could not read."""
    for path in paths:
        with uncompressed(path) as stream:
            lines = iter(lambda: stream.readline(LONGEST_OBJECT + 1), b"")
            for number, line in enumerate(lines, start=1):
                problem = _problem(line)
                if problem is not None:
                    return InputError(f"{path.name}: line {number:,} {problem}")
    said = str(error).splitlines()[0].partition(": ")[2]
    return InputError(f"{paths[0].name}: the JSON lines cannot be read: {said}")


def _problem(line: bytes) -> str | None:
    """What is wrong with a line of JSON, and what to do."""
    if len(line) > LONGEST_OBJECT:
        return f"is longer than {LONGEST_OBJECT:,} bytes, which is more than can be read."
    skip = "Pass --on-bad-rows skip to leave such lines out."
    try:
        value = json.loads(line.strip() or b"{}", object_pairs_hook=_different)
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError:
        return f"is not UTF-8 text. {skip}"
    except UnicodeEncodeError:
        return f"contains half of a surrogate pair. {skip}"
    except RecursionError:
        return f"is nested too deeply. {skip}"
    except json.JSONDecodeError as error:
        return f"is not valid JSON: {error.msg} (column {error.colno:,}). {skip}"
    except ValueError as error:
        return f"{error}. {skip}"
    return None


def _different(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are different."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f'has the key "{key}" twice')
        found[key] = value
    return found


def check_columns(columns: list[str], types: list[str], path: Path) -> None:
    """Refuse what the engine could not take apart into columns."""
    if columns == ["json"] and types[0].startswith("MAP("):
        raise InputError(
            f"{path.name} has more than {MOST_COLUMNS:,} different keys, which is more than can be "
            "read as columns. Keep those that are needed."
        )
    if columns == ["json"] and types == ["JSON"]:
        raise InputError(
            f"{path.name}: the lines are not JSON objects whose keys can name columns."
        )
