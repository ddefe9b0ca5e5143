"""Rows for a monitor: those that are new, in the order of their time, a few at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.basics.shown import shown
from trueodds.cli._columns import ColumnNames
from trueodds.cli._engine import DataSource, arrow_batches
from trueodds.cli._exit import UsageError
from trueodds.cli._labels import labels_of, matching_label
from trueodds.cli._prepare import OnBadRows, examine, in_words
from trueodds.cli._show import note
from trueodds.cli._sql import TEXT_TYPES, as_text, is_numeric, literal, quoted, values
from trueodds.engines.grouping import group_scores
from trueodds.exceptions import InputError
from trueodds.table import ScoreTable
from trueodds.validation import Floats, Labels, direction_hint

__all__ = [
    "LabelRule",
    "NewRows",
    "Piece",
    "TimeRule",
    "direction_note",
    "label_rule",
    "left_out",
    "new_rows",
    "time_constant",
    "time_rule",
]

TYPES = {"number": "DOUBLE", "time": "TIMESTAMP", "text": "VARCHAR"}


@dataclass(frozen=True)
class TimeRule:
    """How a column of times is compared and shown, as SQL."""

    kind: str
    key: str
    text: str
    shown: str
    """The period of a row, as text."""

    def constant(self, moment: str) -> str:
        """A time as SQL."""
        return time_constant(self.kind, moment)


def time_constant(kind: str, moment: str) -> str:
    """A time of a kind as SQL; what is no such time is refused by the engine."""
    return f"CAST({literal(moment)} AS {TYPES[kind]})"


def time_rule(source: DataSource, name: str, period: str | None) -> TimeRule:
    """Look at a column of times: numbers, dates, or texts that may be either."""
    kind, column = source.kinds[name], quoted(name)
    if is_numeric(kind):
        found = "number"
    elif kind in TEXT_TYPES:
        column = as_text(name, kind)
        tests = ", ".join(f"count(*) = count(TRY_CAST({column} AS {TYPES[k]}))" for k in TYPES)
        answers = source.relation.aggregate(tests).fetchall()[0]
        found = next((k for k, fits in zip(TYPES, answers, strict=True) if fits), "text")
    elif kind.startswith(("DATE", "TIMESTAMP")):
        found = "time"
    else:
        raise InputError(f"column {shown(name)} must hold times; its type is {kind}.")
    key = f"TRY_CAST({column} AS {TYPES[found]})"
    text = label = f"CAST({column} AS VARCHAR)"
    if period is not None:
        if found != "time":
            raise UsageError(f"--period needs dates; column {shown(name)} holds {found}s.")
        label = f"strftime(date_trunc('{period}', {key}), '%Y-%m-%d')"
        if period == "hour":
            label = f"strftime(date_trunc('hour', {key}), '%Y-%m-%d %H:00')"
    return TimeRule(found, key, text, label)


@dataclass(frozen=True)
class LabelRule:
    """SQL for the code of a label: NULL if it is missing, −1 if it is none of the classes."""

    code: str
    labels: tuple[Any, ...]


def label_rule(
    source: DataSource,
    name: str,
    classes: tuple[Any, ...],
    positive: str | None,
    *,
    named: bool = True,
) -> LabelRule:
    """Code labels as the map's classes; with ``positive``, as that label against all others.

    Parameters
    ----------
    source, name
    classes : tuple
        Of the map, or 0, 1, … if it has no names for them (``named=False``).
    positive : str or None
        The label of the file that stands for the map's positive class.
    named : bool, default=True
    """
    kind = source.kinds[name]
    text = as_text(name, kind)
    nothing = f"{quoted(name)} IS NULL"
    if kind in ("DOUBLE", "FLOAT"):
        nothing += f" OR isnan({quoted(name)})"
    if positive is None:
        cases = " ".join(f"WHEN {_matches(text, x)} THEN {code}" for code, x in enumerate(classes))
        return LabelRule(f"CASE WHEN {nothing} THEN NULL {cases} ELSE -1 END", classes)
    if len(classes) != 2:
        raise UsageError("--positive is for two classes.")
    if named and matching_label(classes, positive) == classes[0]:
        raise UsageError(
            f"the map's positive class is {shown(classes[1])}, and {shown(positive)} (--positive) "
            "is its negative one; leave the option out, or fit a map with it."
        )
    keys, _ = labels_of(source, source.relation.filter(f"NOT ({nothing})"), name)
    chosen = matching_label(keys, positive)
    if chosen is None:
        note(f"{source.name}: no row has the label {shown(positive)} (--positive).")
    test = "false" if chosen is None else f"{text} IN {values(keys[chosen])}"
    return LabelRule(f"CASE WHEN {nothing} THEN NULL WHEN {test} THEN 1 ELSE 0 END", classes)


def _matches(text: str, label: Any) -> str:
    """SQL that compares a column with a class of the map, whatever types both have."""
    if isinstance(label, bool):
        words = ("true", "1", "1.0") if label else ("false", "0", "0.0")
        return f"lower({text}) IN {values(words)}"
    same = f"{text} = {literal(str(label))}"
    try:
        number = float(label)
    except (TypeError, ValueError):
        return same
    truth = " OR lower({0}) = 'true'" if number == 1 else " OR lower({0}) = 'false'"
    truth = truth.format(text) if number in (0, 1) else ""
    return f"({same} OR TRY_CAST({text} AS DOUBLE) = {number!r}{truth})"


def direction_note(rows: NewRows, fitted: Any, classes: tuple[Any, ...]) -> str | None:
    """A sentence if high forecasts go with the map's negative class; None if that is not clear."""
    if rows.n_scores != 1:
        return None
    labelled = rows.relation.filter("label IS NOT NULL").project("score_0 AS score, label")
    count = labelled.aggregate("count(*) FILTER (label = 0), count(*) FILTER (label = 1)")
    negatives, positives = count.fetchall()[0]
    if not (negatives and positives):
        return None
    grouped = group_scores(
        labelled, score="score", label="label", scale="score", max_rows=10_000, checked=True
    )
    forecast = np.asarray(fitted(grouped.score))
    order = np.argsort(forecast, kind="stable")
    table = ScoreTable.of_sorted(forecast[order], grouped.n_neg[order], grouped.n_pos[order])
    wanted = shown(classes[1])
    return direction_hint(
        table.n_neg,
        table.n_pos,
        rows=(negatives, positives),
        negative=classes[0],
        remedy=f"pass the scores of {wanted} (--score), or the label of {wanted} (--positive)",
    )


@dataclass(frozen=True, eq=False)
class Piece:
    """Rows of one period, as far as they came in one batch."""

    period: str
    times: npt.NDArray[Any] | None
    scores: Floats
    codes: Labels
    """−1 where there is no label."""
    weight: Floats | None
    groups: npt.NDArray[Any] | None


@dataclass(frozen=True)
class NewRows:
    """Rows that have not been counted yet, not yet read."""

    relation: Any
    n_scores: int
    weighted: bool
    grouped: bool
    timed: bool
    skipped: dict[str, int]
    n_rows: int
    n_late: int
    """Rows that are not later than the last time that was read."""

    def pieces(self) -> Iterator[Piece]:
        """Read them in order."""
        for batch in arrow_batches(self.relation):
            column = {name: batch.column(name) for name in batch.schema.names}
            scores = [column[f"score_{k}"].to_numpy() for k in range(self.n_scores)]
            table = scores[0] if self.n_scores == 1 else np.stack(scores, axis=1)
            codes = column["label"].fill_null(-1).to_numpy().astype(np.intp)
            weight = column["weight"].to_numpy() if self.weighted else None
            groups = np.array(column["grouping"].to_pylist(), object) if self.grouped else None
            periods = np.array(column["period"].to_pylist(), dtype=object)
            times = np.array(column["time_text"].to_pylist(), dtype=object) if self.timed else None
            cuts = np.flatnonzero(periods[1:] != periods[:-1]) + 1
            for start, end in zip([0, *cuts], [*cuts, len(periods)], strict=True):
                part = slice(int(start), int(end))
                yield Piece(
                    str(periods[start]),
                    None if times is None else times[part],
                    table[part],
                    codes[part],
                    None if weight is None else weight[part],
                    None if groups is None else groups[part],
                )


def new_rows(
    source: DataSource,
    columns: ColumnNames,
    label: LabelRule,
    time: TimeRule | None,
    *,
    group: str | None,
    on_bad_rows: OnBadRows,
    keep: str | None,
    drop_before: str | None,
    period: str,
) -> NewRows:
    """Check all rows and put those that are to be taken in order.

    Parameters
    ----------
    source, columns, label, time
    group : str or None
        A column.
    on_bad_rows : {"error", "skip"}
    keep : str or None
        SQL of the rows to look at at all.
    drop_before : str or None
        The last time that was read; rows up to it are counted as late.
    period : str
        What to call the rows if there is no time.
    """
    good, tally = examine(source, columns, on_bad_rows)
    kinds = source.kinds
    scores = [columns.number(source, name) for name in columns.score]
    parts = [f"{number} AS score_{k}" for k, number in enumerate(scores)]
    parts.append(f"{label.code} AS label")
    if columns.weight is not None:
        parts.append(f"{columns.number(source, columns.weight)} AS weight")
    if group is not None:
        parts.append(f"{as_text(group, kinds[group])} AS grouping")
    parts.append(f"{time.shown if time else literal(period)} AS period")
    parts.append(f"{time.key if time else 'NULL'} AS moment")
    parts.append(f"{time.text if time else 'NULL'} AS time_text")
    parts.append("row_number() OVER () AS position")
    rows = good.project(", ".join(parts))
    if time is not None:
        _refuse_missing(source, rows, "moment IS NULL", "column of --time", "is missing")
        if keep is not None:
            rows = rows.filter(keep)
    late = 0
    if time is not None and drop_before is not None:
        later = f"moment > {time.constant(drop_before)}"
        late = int(rows.filter(f"NOT ({later})").aggregate("count(*)").fetchall()[0][0])
        rows = rows.filter(later)
    skipped = dict(tally.skipped)
    unknown = int(rows.filter("label = -1").aggregate("count(*)").fetchall()[0][0])
    if unknown and on_bad_rows == "error":
        known = ", ".join(repr(one) for one in label.labels[:10])
        raise InputError(
            f"{source.name}: {unknown:,} labels are none of the map's classes ({known}); "
            "pass --positive LABEL, or --on-bad-rows skip to leave them out."
        )
    if unknown:
        skipped["label is none of the map's classes"] = unknown
        rows = rows.filter("label IS NULL OR label >= 0")
    n_rows = int(rows.aggregate("count(*)").fetchall()[0][0])
    # Rows of one time are shuffled, always in the same way: a file that is sorted by its labels
    # must not look like a change in the middle of the day.
    order = "moment, hash(position), position" if time else "position"
    plain = [name for name in rows.columns if name not in ("moment", "position")]
    ordered = rows.order(order).project(", ".join(plain))
    return NewRows(
        ordered,
        len(columns.score),
        columns.weight is not None,
        group is not None,
        time is not None,
        skipped,
        n_rows,
        late,
    )


def _refuse_missing(source: DataSource, rows: Any, test: str, what: str, problem: str) -> None:
    count = int(rows.filter(test).aggregate("count(*)").fetchall()[0][0])
    if count:
        raise InputError(f"{source.name}: the {what} {problem} in {count:,} rows; drop them.")


def left_out(rows: NewRows) -> str:
    """What was not counted and why, for a note; may be empty."""
    words = [in_words(rows.skipped)] if rows.skipped else []
    if rows.n_late:
        words.append(f"{rows.n_late:,} not later than the last time that was read")
    return ", ".join(words)
