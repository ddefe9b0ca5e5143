"""Rows for a monitor: checked, with their times, in order, a few at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.basics.shown import shown
from trueodds.cli.files.open import FILE, DataSource, arrow_batches
from trueodds.cli.files.sql import TEXT_TYPES, as_category, as_text, literal, quoted
from trueodds.cli.rows.columns import ColumnNames
from trueodds.cli.rows.prepare import OnBadRows, examine
from trueodds.cli.rows.times import TimeRule
from trueodds.engines.group import group_scores
from trueodds.exceptions import InputError
from trueodds.inputs import LONGEST_LABEL, direction_hint
from trueodds.table import ScoreTable
from trueodds.watch.files_seen import Delivery
from trueodds.watch.periods import Piece
from trueodds.watch.rows_seen import RowArrays

__all__ = ["WatchedRows", "direction_note", "file_starts", "read_once", "watched_rows"]

LONGEST_NUMBER = 10_000
"""Characters; the decimal digits of any float64 take fewer."""


def direction_note(rows: WatchedRows, fitted: Any, classes: tuple[Any, ...]) -> str | None:
    """A sentence if high forecasts go with the map's negative class; None if that is not clear."""
    if rows.n_scores != 1 or fitted.features:
        return None
    labeled = rows.relation.filter("label IS NOT NULL").project("score_0 AS score, label")
    count = labeled.aggregate("count(*) FILTER (label = 0), count(*) FILTER (label = 1)")
    negatives, positives = count.fetchall()[0]
    if not (negatives and positives):
        return None
    grouped = group_scores(
        labeled, score="score", label="label", scale="raw", max_rows=10_000, checked=True
    )
    forecast = np.asarray(fitted(grouped.score))
    order = np.argsort(forecast, kind="stable")
    table = ScoreTable.of_sorted(forecast[order], *(one[order] for one in grouped.columns))
    wanted = shown(classes[1])
    return direction_hint(
        table.n_neg,
        table.n_pos,
        rows=(negatives, positives),
        negative=classes[0],
        remedy=f"pass the scores of {wanted} (--score), or the label of {wanted} (--positive)",
    )


def read_once(source: DataSource, columns: ColumnNames, paths: tuple[Path, ...]) -> DataSource:
    """The same rows in a table: files that change meanwhile are read only once.

    ``FILE`` becomes the place of each row's file in ``paths``. Texts are cut as soon as they are
    too long for any use: the rules refuse them, and the table stays small.
    """
    longest = dict.fromkeys(columns.all_names(), LONGEST_NUMBER)
    longest |= dict.fromkeys(columns.named, LONGEST_LABEL)
    names = ", ".join(_cut(name, source.kinds[name], most) for name, most in longest.items())
    keys = ", ".join(literal(str(path)) for path in paths)
    places = ", ".join(str(place) for place in range(len(paths)))
    source.connection.execute(f"SET VARIABLE trueodds_files = map([{keys}], [{places}])")
    place = f"CAST(getvariable('trueodds_files')[{quoted(FILE)}] AS INTEGER)"
    source.relation.project(f"{names}, {place} AS {quoted(FILE)}").create("trueodds_rows")
    return replace(source, relation=source.connection.table("trueodds_rows"))


def file_starts(source: DataSource) -> dict[int, int]:
    """The position of the first row of each file."""
    rows = source.relation.project(f"{quoted(FILE)} AS place, rowid AS position")
    return dict(rows.aggregate("place, min(position)", "place").fetchall())


def _cut(name: str, kind: str, longest: int) -> str:
    """SQL of a column of the same type, whose long texts are cut to one character too many."""
    column, text = quoted(name), as_text(name, kind)
    length, short = f"length({text})", f"left({text}, {longest}) || '…'"
    if kind == "JSON":
        short = f"to_json({short})"
    elif kind == "BLOB":
        length, short = f"octet_length({column})", f"{column}[1:{longest + 1}]"
    elif kind != "VARCHAR":
        return column
    return f"CASE WHEN {length} > {longest} THEN {short} ELSE {column} END AS {column}"


@dataclass(frozen=True)
class WatchedRows:
    """All good rows of the files, not yet read.

    Parameters
    ----------
    relation
        With a column for each field of :class:`Piece`.
    n_scores : int
    features : tuple of str
        The features of the map.
    n_positions : int
        Positions are less than this.
    skipped : dict
        How many rows were left out for which reasons.
    starts : list of str
        The beginnings of the periods of which there are rows.
    batch : sequence of Delivery
        The files.
    connection
        That of the relation.
    """

    relation: Any
    n_scores: int
    features: tuple[str, ...]
    n_positions: int
    skipped: dict[str, int]
    starts: list[str]
    batch: Sequence[Delivery]
    connection: Any

    def arrays(self) -> RowArrays:
        """What distinguishes the rows."""
        plain = self.relation.project("* EXCLUDE (period, late, time_text)")
        return RowArrays.of(map(self._piece, arrow_batches(plain)), self.n_positions)

    def pieces(self, positions: npt.NDArray[Any]) -> Iterator[Piece]:
        """Yield the rows at these positions, in this order, by period."""
        import pyarrow as pa

        places = np.arange(len(positions), dtype=np.int32)
        chosen = self.connection.from_arrow(pa.table({"position": positions, "place": places}))
        for batch in arrow_batches(self.relation.join(chosen, "position").order("place")):
            whole = self._piece(batch)
            names = np.array(batch.column("period").to_pylist(), dtype=object)
            late = batch.column("late").to_numpy(zero_copy_only=False)
            cuts = np.flatnonzero((names[1:] != names[:-1]) | (late[1:] != late[:-1])) + 1
            for start, end in zip([0, *cuts], [*cuts, len(names)], strict=True):
                part = slice(int(start), int(end))
                yield whole.part(part, str(names[start]), bool(late[start]))

    def periods_of(self, positions: npt.NDArray[Any]) -> dict[str, int]:
        """How many of these rows each period has."""
        import pyarrow as pa

        chosen = self.connection.from_arrow(pa.table({"position": positions}))
        rows = self.relation.project("position, period").join(chosen, "position")
        return dict(rows.aggregate("period, count(*)", "period").order("period").fetchall())

    def _piece(self, batch: Any) -> Piece:
        def column(name: str) -> Any:
            if name not in batch.schema.names:
                return None
            return batch.column(name).to_numpy(zero_copy_only=False)

        def listed(name: str) -> Any:
            if name not in batch.schema.names:
                return None
            return np.array(batch.column(name).to_pylist(), dtype=object)

        scores = [column(f"score_{k}") for k in range(self.n_scores)]
        return Piece(
            "",
            False,
            times=listed("time_text") if "number" in batch.schema.names else None,
            moments=column("number"),
            scores=scores[0] if self.n_scores == 1 else np.stack(scores, axis=1),
            codes=batch.column("label").fill_null(-1).to_numpy().astype(np.intp),
            counts=column("counts"),
            groups=listed("grouping"),
            ids=listed("row_id"),
            features=self._features(batch),
            positions=column("position"),
            files=column("file"),
            held=column("held"),
            expired=column("expired"),
        )

    def _features(self, batch: Any) -> Any:
        import pyarrow as pa

        if not self.features:
            return None
        own = [batch.column(f"feature_{k}") for k in range(len(self.features))]
        return pa.table(own, names=list(self.features))


def watched_rows(
    source: DataSource,
    columns: ColumnNames,
    label: str,
    classes: tuple[Any, ...],
    time: TimeRule | None,
    *,
    named: dict[str, str | None],
    on_bad_rows: OnBadRows,
    until: str | None,
    last: str | None,
    horizon: str | None,
    names: list[str],
    batch: Sequence[Delivery],
) -> WatchedRows:
    """Check all rows and give their columns plain names.

    Parameters
    ----------
    source, columns
    label : str
        SQL for the code of a label.
    classes : tuple
        Classes of the map.
    time : TimeRule or None
    named : dict
        Columns of texts, by what they are called in a piece.
    on_bad_rows : {"error", "skip"}
    until, last, horizon : str or None
        Rows after ``until`` are held, rows of periods before that of ``last`` are late, and those
        up to ``horizon`` are expired.
    names : list of str
        What to call the period of each file if there is no time.
    batch : sequence of Delivery
        The files.
    """
    good, tally = examine(source, columns, on_bad_rows)
    scores = [columns.number(source, name) for name in columns.score]
    parts = [f"{number} AS score_{k}" for k, number in enumerate(scores)]
    parts.append(f"CAST({label} AS INTEGER) AS label")
    if columns.counts is not None:
        parts.append(f"{columns.number(source, columns.counts)} AS counts")
    texts = {name: column for name, column in named.items() if column is not None}
    parts += [f"{as_text(c, source.kinds[c])} AS {name}" for name, c in texts.items()]
    parts += [
        f"{_feature(source, columns, n)} AS feature_{k}" for k, n in enumerate(columns.features)
    ]
    parts += [f"{quoted(FILE)} AS file", "rowid AS position"]
    starts: list[str] = []
    if time is None:
        listed = ", ".join(map(literal, names))
        parts += [f"[{listed}][{quoted(FILE)} + 1] AS period"]
        parts += ["false AS late", "false AS held", "false AS expired", "NULL AS time_text"]
    else:
        key = time.key
        outside = f"NOT isfinite({key})"
        if time.kind == "time":  # infinity has no year
            outside = f"coalesce(year({key}), 0) NOT BETWEEN 1 AND 9999"
        problem = "holds no time of the years 1 to 9999" if time.step else "holds no finite number"
        unusable = f"({key}) IS NULL OR {outside}"
        _refuse_missing(source, good, unusable, "column of --time", problem)
        if until:
            time.check(source, until, "--until")
        late = f"{time.start(key)} < {time.start(time.known(last))}" if last else "false"
        parts.append(f"{key if time.kind == 'number' else f'epoch_us({key})'} AS number")
        parts += [f"{time.shown} AS period", f"{time.text} AS time_text", f"{late} AS late"]
        parts.append(f"{f'{key} > {time.constant(until)}' if until else 'false'} AS held")
        parts.append(f"{f'{key} <= {time.known(horizon)}' if horizon else 'false'} AS expired")
        if time.step is not None:
            kept = good.filter(f"NOT ({key} > {time.constant(until)})") if until else good
            found = kept.project(f"CAST(CAST({time.start(key)} AS TIMESTAMP) AS VARCHAR) AS start")
            starts = [start for (start,) in found.distinct().fetchall()]
    n_positions = int(source.relation.aggregate("count(*)").fetchall()[0][0])
    rows = good.project(", ".join(parts))
    skipped = dict(tally.skipped)
    unknown = int(rows.filter("label = -1").aggregate("count(*)").fetchall()[0][0])
    if unknown and on_bad_rows == "error":
        known = ", ".join(map(shown, classes[:10]))
        raise InputError(
            f"{source.name}: {unknown:,} labels are not among the map's classes ({known}); pass "
            "--positive LABEL, or --on-bad-rows skip to skip them."
        )
    if unknown:
        skipped["label is not one of the map's classes"] = unknown
        rows = rows.filter("label IS NULL OR label >= 0")
    facts = n_positions, skipped, starts, batch, source.connection
    return WatchedRows(rows, len(columns.score), columns.features, *facts)


def _feature(source: DataSource, columns: ColumnNames, name: str) -> str:
    """SQL of a feature of the map: text files have no types, but the map does."""
    kind = source.kinds[name]
    if kind not in TEXT_TYPES:
        return quoted(name)
    text = as_text(name, kind)
    if name in columns.categories:
        return as_category(text, source.reading.decimal)
    number = columns.number(source, name)
    wrong = f"({number}) IS NULL AND trim({text}) <> ''"
    _refuse_missing(source, source.relation, wrong, f"feature {shown(name)}", "is not a number")
    return number


def _refuse_missing(source: DataSource, rows: Any, test: str, what: str, problem: str) -> None:
    count = int(rows.filter(test).aggregate("count(*)").fetchall()[0][0])
    if count:
        raise InputError(f"{source.name}: the {what} {problem} in {count:,} rows; drop them.")
