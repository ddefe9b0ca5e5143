"""Rows for a monitor: checked, with their times, in order, a few at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.basics.shown import shown
from trueodds.cli.errors import AdvisedError, UsageError
from trueodds.cli.files.open import FILE, DataSource, arrow_batches
from trueodds.cli.files.sql import TEXT_TYPES, as_category, as_text, is_numeric, literal, quoted
from trueodds.cli.rows.columns import ColumnNames
from trueodds.cli.rows.prepare import OnBadRows, examine
from trueodds.engines.group import group_scores
from trueodds.engines.rules import find_broken, text_rules, unusable
from trueodds.exceptions import InputError
from trueodds.inputs import LONGEST_LABEL, direction_hint
from trueodds.table import ScoreTable
from trueodds.watch.periods import Piece

__all__ = [
    "TimeRule",
    "WatchedRows",
    "direction_note",
    "file_starts",
    "read_once",
    "time_rule",
    "watched_rows",
]

TYPES = {"number": "DOUBLE", "time": "TIMESTAMP"}
ISO = r"\d{4}-\d{2}-\d{2}([T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d([.,]\d+)?)?)?"
"""A day without a 24th hour and minutes without a 60th second."""
ZONE = r"\s*(Z|[+-]\d{2}(:?\d{2})?)"
NUMBER = r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?"
"""A number without leading zeros: 01.09 is a day of September."""
FORMATS = (
    *("%d.%m.%Y", "%d.%m.%y", "%d/%m/%Y", "%m/%d/%Y", "%d/%m/%y", "%m/%d/%y", "%Y/%m/%d"),
    *("%d-%m-%Y", "%m-%d-%Y", "%Y.%m.%d", "%d%m%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y"),
)
LONGEST_NUMBER = 10_000
"""Characters; the decimal digits of any float64 take fewer."""
UNIX = {"unix": 1e6, "unix-ms": 1e3, "unix-us": 1.0, "unix-ns": 1e-3}
"""Time formats of numbers: microseconds per unit since 1970."""
LAST_MOMENT = 253_402_300_800_000_000
"""Microseconds from 1970 to the year 10,000."""
MOST_NUMBERS = 1_000
"""Maximum number of periods of a run if times are numbers."""
CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")


@dataclass(frozen=True)
class TimeRule:
    """How a column of times is compared and shown, as SQL."""

    kind: str
    key: str
    shown: str
    """The period of a row, as text."""
    text: str
    format: str | None = None
    step: str | None = None
    """The length of a period; None for numbers."""
    note: str | None = None
    """What suggests that the numbers are times."""

    def constant(self, moment: str) -> str:
        """A time that the user gave, as SQL; NULL if it is none."""
        text, plain = literal(moment), f"TRY_CAST({literal(moment)} AS {TYPES[self.kind]})"
        if self.format in UNIX:
            return f"coalesce({_since_1970(text, UNIX[self.format])}, {plain})"
        return plain if self.format is None else _parsed(text, self.format)

    def known(self, moment: str) -> str:
        """A time that the state holds, as SQL."""
        return f"CAST({literal(moment)} AS {TYPES[self.kind]})"

    def start(self, moment: str) -> str:
        """SQL of the beginning of the period of a time."""
        return moment if self.step is None else f"date_trunc({literal(self.step)}, {moment})"


def time_rule(
    source: DataSource, name: str, period: str | None, time_format: str | None
) -> TimeRule:
    """Look at a column of times: numbers, dates, texts in ISO form or in a form that is given.

    Numbers order the rows, and each is a period unless ``time_format`` makes them times. If a run
    has too many, it is one period.
    """
    kind, column = source.kinds[name], quoted(name)
    found, is_unix = "time", time_format in UNIX
    if kind in TEXT_TYPES:
        _refuse_long(source, name)
    if time_format is not None:
        if not (kind in TEXT_TYPES or is_numeric(kind)):
            raise UsageError(
                f"--time-format applies to text columns; column {shown(name)} is {kind}."
            )
        text = as_text(name, kind)
        key = _since_1970(text, UNIX[time_format]) if is_unix else _parsed(text, time_format)
        _check_times(source, name, key, f"is not of the form {time_format}")
    elif kind in TEXT_TYPES:
        found, key = _kind_of_texts(source, name)
    elif is_numeric(kind):
        found, key = "number", f"CAST({column} AS DOUBLE)"
    elif kind.endswith("WITH TIME ZONE"):
        key = f"make_timestamp(epoch_us({column}))"
    elif kind.startswith(("DATE", "TIMESTAMP")):
        key = f"CAST({column} AS TIMESTAMP)"
    else:
        raise InputError(f"column {shown(name)} must contain times; its type is {kind}.")
    if found == "number":
        if period is not None:
            raise UsageError(
                f"--period needs dates; column {shown(name)} contains numbers. If they are seconds "
                "since 1970, pass --time-format unix."
            )
        text = f"trim(CAST({column} AS VARCHAR))"
        whole, note = _many_numbers(source, name, key)
        return TimeRule(found, key, whole or text, text, note=note)
    step = period or "day"
    form = "%Y-%m-%d %H:00" if step == "hour" else "%Y-%m-%d"
    label = f"strftime(date_trunc({literal(step)}, {key}), {literal(form)})"
    text = (
        f"CASE WHEN {key} = date_trunc('day', {key}) THEN strftime({key}, '%Y-%m-%d') "
        f"ELSE CAST({key} AS VARCHAR) END"
    )
    return TimeRule(found, key, label, text, time_format, step)


def _since_1970(text: str, unit: float) -> str:
    """SQL of a number as a time; NULL if it is none."""
    moment = f"round(TRY_CAST(trim({text}) AS DOUBLE) * {unit})"
    return (
        f"CASE WHEN abs({moment}) < {LAST_MOMENT} THEN make_timestamp(CAST({moment} AS BIGINT)) END"
    )


def _many_numbers(source: DataSource, name: str, key: str) -> tuple[str | None, str | None]:
    """SQL of the one period of numbers that are too many for periods, and a note."""
    facts = f"count(DISTINCT {key}), min({key}), max({key})"
    count, first, last = source.relation.aggregate(facts).fetchall()[0]
    if count <= MOST_NUMBERS:
        return None, None
    note = (
        f"column {shown(name)} (--time) contains {count:,} different numbers, so these rows are "
        "one period."
    )
    for form, unit in UNIX.items():
        if 1e14 <= first * unit <= last * unit < 1e16:  # from 1973 to 2286
            note += f" If they are times since 1970, pass --time-format {form}."
    return literal(f"{first:.15g} … {last:.15g}"), note


def _refuse_long(source: DataSource, name: str) -> None:
    """Refuse long texts before the usual forms of times are tried on them."""
    import narwhals as nw

    text = as_text(name, source.kinds[name])
    frame = nw.from_native(source.relation.project(f"{text} AS text"))
    broken = find_broken(frame, text_rules(name, nw.col("text")))
    if broken:
        n_rows = int(source.relation.aggregate("count(*)").fetchall()[0][0])
        said = unusable(broken, n_rows, source.name, "in row")
        raise InputError(f"{said} Pass a column of times as --time.")


def _kind_of_texts(source: DataSource, name: str) -> tuple[str, str]:
    """Whether texts are dates in ISO form or numbers, and SQL for them."""
    text = f"trim({as_text(name, source.kinds[name])})"
    zoned = f"regexp_full_match({text}, {literal(ISO + ZONE)})"
    utc = f"make_timestamp(epoch_us(TRY_CAST({text} AS TIMESTAMP WITH TIME ZONE)))"
    date = f"CASE WHEN regexp_full_match({text}, {literal(ISO)}) THEN TRY_CAST({text} AS TIMESTAMP)"
    date += f" WHEN {zoned} THEN {utc} END"
    number = f"CASE WHEN regexp_full_match({text}, {literal(NUMBER)}) THEN "
    number += f"TRY_CAST({text} AS DOUBLE) END"
    tests = f"count({text}) = count({date}), count({text}) = count({number})"
    is_date, is_number = source.relation.aggregate(tests).fetchall()[0]
    if is_date:
        return "time", date
    if is_number:
        return "number", number
    example = source.relation.filter(f"({date}) IS NULL AND {text} IS NOT NULL").project(text)
    found = shown(example.limit(1).fetchall()[0][0], 40)
    said = (
        f"{source.name}: column {shown(name)} contains times such as {found}, which are not in "
        "ISO format (2026-10-01)."
    )
    fitting = _fitting_formats(source, text)
    if not fitting:
        raise InputError(f"{said} Pass their format as --time-format, such as %d.%m.%Y.")
    if len(fitting) > 1:
        both = " and ".join(fitting[:2])
        raise InputError(f"{said} Both {both} fit them; pass the right one as --time-format.")
    raise AdvisedError(f"{said} They read as {fitting[0]}.", ["--time-format", fitting[0]])


def _parsed(text: str, form: str) -> str:
    """SQL of a text as a time of a form; NULL if it has another one.

    The engine reads 26 as the year 26 where a form has four digits.
    """
    moment = f"try_strptime({text}, {literal(form)})"
    return f"CASE WHEN year({moment}) >= 1000 THEN {moment} END"


def _fitting_formats(source: DataSource, text: str) -> list[str]:
    """The usual forms that all times have."""
    forms = [day + clock for day in FORMATS for clock in CLOCKS]
    tests = [f"count({text}) = count({_parsed(text, form)})" for form in forms]
    fits = source.relation.aggregate(", ".join(tests)).fetchall()[0]
    return [form for form, fit in zip(forms, fits, strict=True) if fit]


def _check_times(source: DataSource, name: str, key: str, problem: str) -> None:
    text = as_text(name, source.kinds[name])
    wrong = source.relation.filter(f"({key}) IS NULL AND {text} IS NOT NULL")
    count = int(wrong.aggregate("count(*)").fetchall()[0][0])
    if count:
        example = shown(wrong.project(text).limit(1).fetchall()[0][0], 40)
        raise InputError(
            f"{source.name}: column {shown(name)} {problem} in {count:,} rows, "
            f"such as {example}; pass another --time-format."
        )


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
    """

    relation: Any
    n_scores: int
    features: tuple[str, ...]
    n_positions: int
    skipped: dict[str, int]
    starts: list[str]

    def batches(self) -> Iterator[Piece]:
        """In the order of the files; of several periods at once."""
        plain = self.relation.project("* EXCLUDE (period, late, time_text)")
        for batch in arrow_batches(plain):
            yield self._piece(batch)

    def pieces(self, connection: Any, positions: npt.NDArray[Any]) -> Iterator[Piece]:
        """Yield the rows at these positions, in this order, by period."""
        import pyarrow as pa

        places = np.arange(len(positions))
        chosen = connection.from_arrow(pa.table({"position": positions, "place": places}))
        for batch in arrow_batches(self.relation.join(chosen, "position").order("place")):
            whole = self._piece(batch)
            names = np.array(batch.column("period").to_pylist(), dtype=object)
            late = batch.column("late").to_numpy(zero_copy_only=False)
            cuts = np.flatnonzero((names[1:] != names[:-1]) | (late[1:] != late[:-1])) + 1
            for start, end in zip([0, *cuts], [*cuts, len(names)], strict=True):
                part = slice(int(start), int(end))
                yield whole.part(part, str(names[start]), bool(late[start]))

    def periods_of(self, connection: Any, positions: npt.NDArray[Any]) -> dict[str, int]:
        """How many of these rows each period has."""
        import pyarrow as pa

        chosen = connection.from_arrow(pa.table({"position": positions}))
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
        found = source.connection.sql(f"SELECT {time.constant(until)}") if until else None
        if found is not None and found.fetchall()[0][0] is None:
            form = time.format or ("2026-10-01" if time.step else "a number")
            raise UsageError(f"--until must be of the form {form}; got {shown(until)}.")
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
    return WatchedRows(rows, len(columns.score), columns.features, n_positions, skipped, starts)


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
