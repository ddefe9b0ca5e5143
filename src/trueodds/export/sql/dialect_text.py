"""What has no common form in SQL: values with a name inside an expression, and large tables.

Both are written as text for one dialect:

- A value is named by a lambda of a list of one (DuckDB, Spark) or by a subquery without a table
  (PostgreSQL, BigQuery, SQLite). For Snowflake neither has been tried.
- A table of more than :data:`MOST_CASES` knots is an array, written as one string where the engine
  can read one. Parsers and optimizers take far longer over 10⁴ literals, or 10⁴ nested CASE, than
  the search itself takes. ``WIDTH_BUCKET`` and ``RANGE_BUCKET`` search it in PostgreSQL and
  BigQuery; in DuckDB and Spark a reduction over descending powers of 2 does, one for each binary
  digit of the position.

Texts of numbers read back as the same float64 in all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["MOST_CASES", "NAMING", "SEARCHING", "array", "item", "named", "position"]

MOST_CASES = 64
"""From here on DuckDB searches an array faster than it walks through nested CASE."""

NAMING = ("duckdb", "spark", "postgres", "bigquery", "sqlite")
"""Dialects in which a value can get a name."""

SEARCHING = ("duckdb", "spark", "postgres", "bigquery")
"""Dialects in which an array can be searched."""


def named(values: Sequence[tuple[str, str]], body: str, holder: str, dialect: str) -> str:
    """An expression in which ``holder.name`` stands for a value, for each (name, value)."""
    if dialect == "duckdb":
        fields = ", ".join(f"'{name}': {value}" for name, value in values)
        return f"list_transform([{{{fields}}}], lambda {holder}: {body})[1]"
    if dialect == "spark":
        fields = ", ".join(f"'{name}', {value}" for name, value in values)
        return f"TRANSFORM(ARRAY(NAMED_STRUCT({fields})), {holder} -> {body})[0]"
    columns = ", ".join(f"{value} AS {name}" for name, value in values)
    # PostgreSQL would put the values back where their names are, but for the OFFSET.
    fence = " OFFSET 0" if dialect == "postgres" else ""
    return f"(SELECT {body} FROM (SELECT {columns}{fence}) AS {holder})"  # noqa: S608  # of our own parts


def array(numbers: Sequence[float], dialect: str) -> str:
    """Numbers as a constant array of doubles."""
    texts = [repr(float(number)) for number in numbers]
    if dialect == "duckdb":
        return f"CAST('[{','.join(texts)}]' AS DOUBLE[])"
    if dialect == "spark":
        return f"CAST(SPLIT('{','.join(texts)}', ',') AS ARRAY<DOUBLE>)"
    if dialect == "postgres":
        return f"CAST('{{{','.join(texts)}}}' AS DOUBLE PRECISION[])"
    return f"[{', '.join(text if 'e' in text else text + 'e0' for text in texts)}]"


def item(numbers: Sequence[float], place: str, dialect: str) -> str:
    """The number at a place, counted from 0, of a constant array."""
    written = array(numbers, dialect)
    if dialect == "spark":
        return f"{written}[{place}]"
    if dialect == "bigquery":
        return f"{written}[OFFSET({place})]"
    return f"({written})[{place} + 1]"


def position(at: str, edges: Sequence[float], holder: str, dialect: str) -> str:
    """How many of some increasing edges do not exceed a number."""
    written = array(edges, dialect)
    if dialect == "postgres":
        return f"WIDTH_BUCKET({at}, {written})"
    if dialect == "bigquery":
        return f"RANGE_BUCKET({at}, {written})"
    count = len(edges)
    powers = ", ".join(str(2**k) for k in reversed(range(count.bit_length())))
    if dialect == "duckdb":
        # The first number of the list is where the search begins. Beyond the end of the table
        # there is NULL, which compares with nothing.
        return (
            f"list_reduce([0, {powers}], lambda {holder}_i, {holder}_k: CASE WHEN "
            f"({written})[{holder}_i + {holder}_k] <= {at} THEN {holder}_i + {holder}_k "
            f"ELSE {holder}_i END)"
        )
    # The array has a name, so that it is read once for each row even where the plan does not
    # fold constants; beyond its end there is an error.
    there = f"{holder}_i + {holder}_k"
    search = (
        f"AGGREGATE(ARRAY({powers}), 0, ({holder}_i, {holder}_k) -> CASE WHEN {there} <= {count} "
        f"AND {holder}.edges[LEAST({there}, {count}) - 1] <= {at} THEN {there} ELSE {holder}_i END)"
    )
    return named([("edges", written)], search, holder, dialect)
