"""The groups of a file, each with its rows as counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trueodds.cli.files.sql import literal, quoted
from trueodds.cli.output import working
from trueodds.cli.rows.prepare import Prepared

if TYPE_CHECKING:
    from trueodds.metrics import GroupCounts

__all__ = ["FileGroups", "find_groups"]

MISSING = "(missing)"
WHOLE = frozenset(
    ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
    + ("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
)
BROKEN = ("FLOAT", "DOUBLE")


@dataclass(frozen=True)
class FileGroups:
    """The largest groups of each group column, and how many others there are."""

    prepared: Prepared
    relation: Any
    names: tuple[tuple[str, str, str, int], ...]
    """Column, SQL of its text, value and number of lines."""
    left_out: int
    """Groups that are smaller."""

    def counts(self) -> Iterator[GroupCounts]:
        """Read one group after the other."""
        from trueodds.cli.rows.read import count_rows
        from trueodds.metrics import GroupCounts

        for column, text, value, size in self.names:
            with working(f"{column} = {value}", self.prepared.source.connection):
                own = self.relation.filter(f"{text} = {literal(value)}")
                rows = size
                if self.prepared.columns.counts is not None:
                    rows = round(own.aggregate("sum(counts)").fetchall()[0][0])
                table = count_rows(own, size, self.prepared.columns)
                yield GroupCounts(column, value, rows, table)


def find_groups(prepared: Prepared, max_groups: int) -> FileGroups:
    """Find the largest groups of each group column.

    The rows are copied once into a temporary table of DuckDB, which goes to disk if it is large;
    each group is then read from there.
    """
    connection = prepared.source.connection
    with working("copying rows", connection):
        prepared.relation.create("prepared_rows")
    rows = connection.table("prepared_rows")
    if prepared.columns.weight is not None:
        rows = rows.filter("weight > 0")
    names: list[tuple[str, str, str, int]] = []
    left_out = 0
    types = dict(zip(rows.columns, map(str, rows.types), strict=True))
    for number, column in enumerate(prepared.columns.groups):
        name = f"group_{number}"
        text = _text(rows, quoted(name), types[name])
        sizes = rows.aggregate(f"{text} AS value, count(*) AS n", text).order("n DESC, value")
        left_out += max(0, sizes.aggregate("count(*)").fetchall()[0][0] - max_groups)
        names += [(column, text, *found) for found in sizes.limit(max_groups).fetchall()]
    return FileGroups(prepared, rows, tuple(names), left_out)


def _text(rows: Any, column: str, kind: str) -> str:
    """SQL for the name of a row's group: a text, or a band of numbers of many values.

    The bands are those of :func:`trueodds.metrics.group_test`.
    """
    from trueodds.metrics._groups import NUMBER_BANDS, band_names

    plain = f"coalesce(CAST({column} AS VARCHAR), {literal(MISSING)})"
    if kind not in (*WHOLE, *BROKEN):
        return plain
    missing = f"{column} IS NULL"
    if kind in BROKEN:
        missing = f"({missing} OR isnan({column}))"
        plain = f"CASE WHEN {missing} THEN {literal(MISSING)} ELSE format('{{:g}}', {column}) END"
    given = rows.filter(f"NOT {missing}")
    if given.aggregate(f"count(DISTINCT {column})").fetchall()[0][0] <= 2 * NUMBER_BANDS:
        return plain
    shares = ", ".join(f"{k / NUMBER_BANDS}" for k in range(1, NUMBER_BANDS))
    found = given.aggregate(f"quantile_cont(CAST({column} AS DOUBLE), [{shares}])").fetchall()
    cuts = sorted(set(found[0][0]))
    bands = band_names(cuts)
    cases = " ".join(
        f"WHEN {column} < {cut!r} THEN {literal(band)}"
        for cut, band in zip(cuts, bands[:-1], strict=True)
    )
    return f"CASE WHEN {missing} THEN {literal(MISSING)} {cases} ELSE {literal(bands[-1])} END"
