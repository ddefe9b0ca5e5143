"""Types of CSV columns: what all their values have, and never at the price of a value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trueodds.cli.files.sql import as_number, quoted

__all__ = ["with_types"]

# 007 is a name, not a number: as a number it would lose its zeros.
WHOLE = "^-?(0|[1-9][0-9]*)$"
PADDED = "^[-+]?0[0-9]"
KINDS = ("BIGINT", "DOUBLE", "BOOLEAN")
AT_ONCE = 200


def with_types(relation: Any, decimal: str = ".", kept: Sequence[str] = ()) -> Any:
    """Cast columns of text to numbers and booleans where every value is one.

    Columns in ``kept`` stay texts.
    A pass looks at a few hundred columns: the engine's time grows with the square of what it is
    asked at once.
    """
    names = [name for name in relation.columns if name not in kept]
    numbers = {name: as_number(name, "VARCHAR", decimal) for name in names}
    answers: list[bool] = []
    for begin in range(0, len(names), AT_ONCE):
        answers += _answers(relation, names[begin : begin + AT_ONCE], numbers)
    parts = []
    for position, name in enumerate(names):
        fits = answers[3 * position : 3 * position + 3]
        kind = next((k for k, fit in zip(KINDS, fits, strict=True) if fit), "VARCHAR")
        value = numbers[name] if kind == "DOUBLE" else f"CAST({quoted(name)} AS {kind})"
        parts.append(f"{value} AS {quoted(name)}")
    return relation.project(", ".join([*parts, *map(quoted, kept)]))


def _answers(relation: Any, names: list[str], numbers: dict[str, str]) -> list[bool]:
    """For each column, whether all values are whole numbers, numbers, or truths."""
    tests = []
    for name in names:
        column = quoted(name)
        number = f"{numbers[name]} IS NULL OR regexp_matches({column}, '{PADDED}')"
        whole = f"TRY_CAST({column} AS BIGINT) IS NULL OR NOT regexp_matches({column}, '{WHOLE}')"
        truth = f"lower({column}) NOT IN ('true', 'false')"
        tests += [
            f"count({column}) > 0 AND coalesce(bool_and(NOT ({test})), false)"
            for test in (f"{column} IS NOT NULL AND ({bad})" for bad in (whole, number, truth))
        ]
    return list(relation.aggregate(", ".join(tests)).fetchall()[0])
