"""The groups of a file, each with its rows as counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trueodds.cli.files.csv import typed_columns
from trueodds.cli.files.sql import as_group, is_number, literal, values
from trueodds.cli.output import working
from trueodds.cli.rows.prepare import Prepared

if TYPE_CHECKING:
    from trueodds.cli.files.open import DataSource
    from trueodds.inputs import Band
    from trueodds.metrics import GroupCounts

__all__ = ["FileGroups", "cuts_of_texts", "find_groups"]


CATEGORY = "trueodds_category"
"""What :func:`category_text` is called on the engine."""
RESPELLED = "(?i)-?[0-9].*|true|false|nan"
"""Texts that may have another spelling; any other is itself."""


@dataclass(frozen=True)
class FileGroup:
    """A group, the SQL that selects its rows, and its number of lines."""

    column: str
    name: str
    band: Band | None
    rows: str
    size: int


@dataclass(frozen=True)
class FileGroups:
    """The largest groups of each group column, and how many others there are."""

    prepared: Prepared
    relation: Any
    groups: tuple[FileGroup, ...]
    left_out: int
    """Groups that are smaller."""

    def counts(self) -> Iterator[GroupCounts]:
        """Read one group after the other."""
        from trueodds.cli.rows.read import count_rows
        from trueodds.metrics import GroupCounts

        counted = self.prepared.columns.counts is not None
        for group in self.groups:
            with working(f"{group.column} = {group.name}", self.prepared.source.connection):
                own = self.relation.filter(group.rows)
                rows = group.size
                if counted:
                    rows = round(own.aggregate("sum(counts)").fetchall()[0][0])
                table = count_rows(own, group.size, self.prepared.columns)
                yield GroupCounts(group.column, group.name, rows, table, group.band)


def find_groups(prepared: Prepared, max_groups: int) -> FileGroups:
    """Find the largest groups of each group column, by the rule of :func:`group_test`.

    The rows are copied once into a temporary table of DuckDB, which goes to disk if it is large;
    each group is then read from there.
    """
    from trueodds.inputs import category_text

    connection = prepared.source.connection
    with working("copying rows", connection):
        prepared.relation.create("prepared_rows")
    rows = connection.table("prepared_rows")
    if prepared.columns.weight is not None:
        rows = rows.filter("weight > 0")
    connection.create_function(
        CATEGORY, category_text, ["VARCHAR"], "VARCHAR", null_handling="special"
    )
    found: list[FileGroup] = []
    left_out = 0
    types = dict(zip(rows.columns, map(str, rows.types), strict=True))
    for number, column in enumerate(prepared.columns.groups):
        name = f"group_{number}"
        if is_number(types[name]):
            counts = "1" if prepared.columns.counts is None else "counts"
            cuts = cuts_of_numbers(rows, name, counts)
            if cuts is None:
                groups = _numbers(rows, name, column)
            else:
                groups = _bands(rows, name, column, cuts)
            groups.sort(key=lambda group: -group.size)
            n_groups = len(groups)
        else:
            groups, n_groups = _texts(rows, name, column, max_groups)
        left_out += max(0, n_groups - max_groups)
        found += groups[:max_groups]
    return FileGroups(prepared, rows, tuple(found), left_out)


def cuts_of_numbers(rows: Any, column: str, times: str = "1") -> tuple[Any, ...] | None:
    """Where a column of numbers is cut into bands; None if each number is a group.

    ``times`` is SQL of how often a row counts.
    """
    from trueodds.inputs import find_cuts, plain_number

    given = rows.filter(f"{column} IS NOT NULL")
    n_values, n_rows = given.aggregate(f"count(DISTINCT {column}), sum({times})").fetchall()[0]

    def at(places: Sequence[float]) -> list[Any]:
        sizes = given.aggregate(f"{column} AS value, sum({times}) AS n", column)
        reached = sizes.project("value, sum(n) OVER (ORDER BY value) AS reached")
        first = ", ".join(f"min(value) FILTER (reached > {place!r})" for place in places)
        return list(map(plain_number, reached.aggregate(first).fetchall()[0]))

    return find_cuts(n_values, n_rows or 0, at)


def cuts_of_texts(rows: Any, column: str, source: DataSource, name: str) -> tuple[Any, ...] | None:
    """The same of numbers that are given as texts; ``name`` is their column in the source."""
    is_text = source.files.format == "csv" and source.kinds[name] == "VARCHAR"
    if not is_text and not is_number(source.kinds[name]):
        return None
    value, kind = typed_columns(rows, [column], source.reading.decimal)[column]
    if not is_number(kind):
        return None
    times = "weight" if "weight" in rows.columns else "1"
    numbers = rows.project(f"{as_group(value, kind)} AS {column}, {times} AS times")
    return cuts_of_numbers(numbers, column, "times")


def _bands(rows: Any, name: str, column: str, cuts: Sequence[Any]) -> list[FileGroup]:
    from trueodds.inputs import bands_between, group_names

    keys = [*bands_between(cuts), None]
    found = []
    for key, shown in zip(keys, group_names(keys), strict=True):
        low, high = key or (None, None)
        tests = [f"{name} >= {_number(low)}"] if low is not None else []
        tests += [f"{name} < {_number(high)}"] if high is not None else []
        test = f"{name} IS NULL" if key is None else " AND ".join([f"{name} IS NOT NULL", *tests])
        size = rows.filter(test).aggregate("count(*)").fetchall()[0][0]
        if size:
            found.append(FileGroup(column, shown, key, test, size))
    return found


def _number(value: Any) -> str:
    """SQL of a number of Python, which is exact."""
    return str(value) if isinstance(value, int) else f"CAST({literal(repr(value))} AS DOUBLE)"


def _numbers(rows: Any, name: str, column: str) -> list[FileGroup]:
    from trueodds.inputs import group_names, plain_number

    sizes = rows.aggregate(f"{name}, count(*)", name).order(name).fetchall()
    keys = [plain_number(value) for value, _ in sizes]
    tests = [f"{name} IS NULL" if key is None else f"{name} = {_number(key)}" for key in keys]
    found = zip(group_names(keys), tests, sizes, strict=True)
    return [FileGroup(column, shown, None, test, size) for shown, test, (_, size) in found]


def _texts(rows: Any, name: str, column: str, most: int) -> tuple[list[FileGroup], int]:
    """The largest groups, and how many there are; a category in several spellings is one group."""
    from trueodds.inputs import category_key, group_names

    sizes = rows.aggregate(f"{name} AS value, count(*) AS n", name)
    key = f"CASE WHEN regexp_full_match(value, {literal(RESPELLED)}) THEN {CATEGORY}(value) "
    keyed = sizes.project(f"{key} ELSE value END AS key, value, n")
    keyed = keyed.aggregate("key, sum(n)::BIGINT AS n, list(value) AS spelled", "key")
    largest = keyed.order("n DESC, key").limit(most).fetchall()
    keys = [category_key(text, sorted(filter(None, spelled))) for text, _, spelled in largest]
    found = []
    for shown, (_, size, spelled) in zip(group_names(keys), largest, strict=True):
        tests = [f"{name} IS NULL"] if None in spelled else []
        texts = [text for text in spelled if text is not None]
        tests += [f"{name} IN {values(texts)}"] if texts else []
        found.append(FileGroup(column, shown, None, " OR ".join(tests), size))
    return found, keyed.aggregate("count(*)").fetchall()[0][0]
