"""Types of CSV columns: what all their values have, and never at the price of a value."""

from __future__ import annotations

from typing import Any

from trueodds.cli._sql import quoted

__all__ = ["with_types"]

# 007 is a name, not a number: as a number it would lose its zeros.
WHOLE = "^-?(0|[1-9][0-9]*)$"
PADDED = "^[-+]?0[0-9]"
KINDS = ("BIGINT", "DOUBLE", "BOOLEAN")


def with_types(relation: Any) -> Any:
    """Cast columns of text to numbers and booleans where every value is one, in one pass."""
    tests = []
    for name in relation.columns:
        column = quoted(name)
        number = f"TRY_CAST({column} AS DOUBLE) IS NULL OR regexp_matches({column}, '{PADDED}')"
        whole = f"TRY_CAST({column} AS BIGINT) IS NULL OR NOT regexp_matches({column}, '{WHOLE}')"
        truth = f"lower({column}) NOT IN ('true', 'false')"
        tests += [
            f"count({column}) > 0 AND coalesce(bool_and(NOT ({test})), false)"
            for test in (f"{column} IS NOT NULL AND ({bad})" for bad in (whole, number, truth))
        ]
    answers = relation.aggregate(", ".join(tests)).fetchall()[0]
    parts = []
    for position, name in enumerate(relation.columns):
        fits = answers[3 * position : 3 * position + 3]
        kind = next((k for k, fit in zip(KINDS, fits, strict=True) if fit), "VARCHAR")
        parts.append(f"CAST({quoted(name)} AS {kind}) AS {quoted(name)}")
    return relation.project(", ".join(parts))
