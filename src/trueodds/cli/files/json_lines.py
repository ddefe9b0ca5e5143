"""The keys of JSON lines, which the engine would rename where it cannot keep them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trueodds.basics.shown import shown
from trueodds.cli.files.csv import MOST_COLUMNS
from trueodds.cli.files.find import uncompressed
from trueodds.cli.files.lines import LONGEST_LINE
from trueodds.exceptions import InputError

__all__ = ["check_columns", "check_keys", "what_is_wrong"]

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


def what_is_wrong(path: Path) -> str | None:
    """Name the first line that is not a JSON object; the engine counts lines in its own way."""
    with uncompressed(path) as stream:
        for number, line in enumerate(iter(lambda: stream.readline(LONGEST_LINE), b""), start=1):
            problem = _problem(line)
            if problem is not None:
                return (
                    f"{path.name}: line {number:,} {problem}. To leave such lines out, pass "
                    "--on-bad-rows skip."
                )
    return None


def _problem(line: bytes) -> str | None:
    if len(line) > LONGEST_OBJECT:
        return f"is longer than {LONGEST_OBJECT:,} bytes"
    try:
        found = json.loads(line.decode().strip() or "{}", object_pairs_hook=_once)
        json.dumps(found, ensure_ascii=False).encode()
    except UnicodeDecodeError:
        return "is not UTF-8 text"
    except UnicodeEncodeError:
        return "is not JSON: half of a surrogate pair"
    except RecursionError:
        return "is nested too deeply"
    except ValueError as error:
        return f"is not JSON: {str(error).partition(': line ')[0]}"
    return None if isinstance(found, dict) else "is not a JSON object"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise ValueError(f"the key {shown(twice)} occurs twice")
    return dict(pairs)
