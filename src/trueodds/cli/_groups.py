"""The groups of a file, each with its rows as counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trueodds.cli._prepare import Prepared
from trueodds.cli._show import working
from trueodds.cli._sql import literal, quoted

if TYPE_CHECKING:
    from trueodds.report import GroupCounts

__all__ = ["FileGroups", "find_groups"]

MISSING = "(missing)"


@dataclass(frozen=True)
class FileGroups:
    """The largest groups of each group column, and how many there are beside them."""

    prepared: Prepared
    relation: Any
    names: tuple[tuple[str, str, str, int], ...]
    """Column, SQL of its text, value and number of rows."""
    left_out: int
    """Groups that are smaller."""
    one_class: int
    """Groups without rows of both classes."""

    def counts(self) -> Iterator[GroupCounts]:
        """Read one group after the other."""
        from trueodds.cli._table import score_table
        from trueodds.report import GroupCounts

        weight = self.prepared.columns.weight
        for column, text, value, size in self.names:
            with working(f"{column} = {value}", self.prepared.source.connection):
                own = self.relation.filter(f"{text} = {literal(value)}")
                table = score_table(own, size, weight=weight)
                yield GroupCounts(column, value, size, table)


def find_groups(prepared: Prepared, max_groups: int) -> FileGroups:
    """Find the largest groups of each group column.

    The rows are copied once into a temporary table of DuckDB, which goes to disk if it is large;
    each group is then read from there.
    """
    connection = prepared.source.connection
    with working("copying rows", connection):
        prepared.relation.create("prepared_rows")
    rows = connection.table("prepared_rows")
    names: list[tuple[str, str, str, int]] = []
    left_out = one_class = 0
    for number, column in enumerate(prepared.columns.groups):
        text = f"coalesce(CAST({quoted(f'group_{number}')} AS VARCHAR), '{MISSING}')"
        sizes = rows.aggregate(
            f"{text} AS value, count(*) AS n, count(DISTINCT label) AS classes", text
        ).order("n DESC, value")
        left_out += max(0, sizes.aggregate("count(*)").fetchall()[0][0] - max_groups)
        for value, size, classes in sizes.limit(max_groups).fetchall():
            if classes < 2:
                one_class += 1
            else:
                names.append((column, text, value, size))
    return FileGroups(prepared, rows, tuple(names), left_out, one_class)
