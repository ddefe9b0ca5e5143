"""Columns of times: dates, texts in ISO form or in a form that is given, and numbers, as SQL."""

from __future__ import annotations

from dataclasses import dataclass

from trueodds.basics.shown import shown
from trueodds.cli.errors import AdvisedError, UsageError
from trueodds.cli.files.open import DataSource
from trueodds.cli.files.sql import TEXT_TYPES, as_text, is_numeric, literal, quoted
from trueodds.engines.rules import find_broken, text_rules, unusable
from trueodds.exceptions import InputError

__all__ = ["TimeRule", "time_rule"]

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

    def check(self, source: DataSource, moment: str, option: str) -> None:
        """Raise for a time that the user gave and that is none."""
        found = source.connection.sql(f"SELECT {self.constant(moment)}").fetchall()
        if found[0][0] is None:
            form = self.format or ("2026-10-01" if self.step else "a number")
            raise UsageError(f"{option} must be of the form {form}; got {shown(moment)}.")

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
