"""Preparation of rows: invalid rows are counted, reported, and refused or skipped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from trueodds.basics.log import logger
from trueodds.basics.shown import shortened, shown
from trueodds.cli.errors import AdvisedError
from trueodds.cli.files.csv import typed_columns
from trueodds.cli.files.open import DataSource
from trueodds.cli.files.sql import as_category, as_group, quoted
from trueodds.cli.output import note
from trueodds.cli.rows.advice import ReadingAdvice, advise, totals_found
from trueodds.cli.rows.checks import Checks
from trueodds.cli.rows.columns import ColumnNames
from trueodds.cli.rows.labels import Classes, find_classes
from trueodds.exceptions import InputError

if TYPE_CHECKING:
    from trueodds.engines.rules import Broken
    from trueodds.inputs import InputScale

__all__ = [
    "GOOD",
    "OnBadRows",
    "Prepared",
    "Tally",
    "examine",
    "group_values",
    "in_words",
    "prepare",
]

OnBadRows = Literal["error", "skip", "blank"]
MOST_COMPARED, MOST_COLUMNS = 1_000_000, 200
"""Rows and columns up to which repeated rows are counted."""
KEY_SHARE = 0.99
"""A column is a key if it has at least this share of as many values as there are rows."""
MALFORMED = "malformed lines"


@dataclass(frozen=True)
class Tally:
    """How many rows there are, and how many were left out for which reason."""

    rows: int
    skipped: dict[str, int]
    repeated: int = 0
    """Good rows that are equal to another in every column, one of each not counted."""

    @property
    def used(self) -> int:
        """Rows that are good."""
        return self.rows - sum(self.skipped.values())

    def to_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {"rows": self.rows, "rows_used": self.used, "rows_skipped": dict(self.skipped)}


@dataclass(frozen=True)
class Prepared:
    """Good rows with the names that commands use.

    ``relation`` has ``scores`` (``score``, or ``score_0``, ``score_1``, …), ``label`` as the code
    of the class, ``weight``, ``counts``, ``group_0``, … and ``feature_0``, … , if requested.
    """

    source: DataSource
    relation: Any
    scores: tuple[str, ...]
    tally: Tally
    columns: ColumnNames
    classes: Classes

    def describe(self) -> dict[str, Any]:
        """What was read, for ``--json``."""
        return {
            **self.tally.to_dict(),
            "rows_repeated": self.tally.repeated,
            "score": list(self.columns.score),
            "label": self.columns.label,
            "weight": self.columns.weight,
            "counts": self.columns.counts,
            "scale": self.columns.scale,
            "classes": list(self.classes.labels),
        }

    def left_out(self) -> str:
        """How many rows were left out and why, as the end of a sentence; may be empty."""
        skipped = self.tally.skipped
        return f" (left out: {in_words(skipped)})" if skipped else ""

    def classes_line(self) -> str:
        """Which column belongs to which label; of two labels, which is positive."""
        if len(self.columns.score) == 1:
            negative, positive = map(shown, self.classes.labels)
            return f"positive: {positive}, negative: {negative}."
        pairs = zip(self.columns.score, self.classes.labels, strict=True)
        named = [f"{name} = {shown(label)}" for name, label in pairs]
        positive = f"; positive: {shown(self.classes.labels[1])}" if len(named) == 2 else ""
        return f"classes: {shortened(named, ', ')}{positive}."


def prepare(
    source: DataSource,
    columns: ColumnNames,
    *,
    on_bad_rows: OnBadRows = "error",
    positive: str | None = None,
    as_probability: bool = False,
) -> Prepared:
    """Check all rows in one pass, find the classes, and give columns their plain names.

    Two score columns, one for each of two classes, become that of the positive class.

    Parameters
    ----------
    source, columns
    on_bad_rows : {"error", "skip"}, default="error"
    positive : str, default=None
        The label that counts as positive.
    as_probability : bool, default=False
        Turn log-odds of two classes into probabilities.
    """
    columns = columns.found_in(source)
    good, tally = examine(source, columns, on_bad_rows)
    tally = replace(tally, repeated=_repeated(good, columns, tally.used))
    classes = find_classes(source, good, columns, positive)
    numbers = [columns.number(source, name) for name in columns.score]
    if len(numbers) == 2:
        negative, positive_class = numbers
        numbers = [_positive_column(negative, positive_class, columns.scale)]
    many = len(numbers) > 1
    if as_probability and columns.scale == "logit" and not many:
        numbers = [_probability(numbers[0])]
    names = tuple(f"score_{number}" if many else "score" for number in range(len(numbers)))
    parts = [f"{number} AS {name}" for name, number in zip(names, numbers, strict=True)]
    parts.append(f"{classes.code} AS label")
    for role, name in (("weight", columns.weight), ("counts", columns.counts)):
        if name is not None:
            parts.append(f"{columns.number(source, name)} AS {role}")
    values = group_values(source, good, columns.groups)
    parts += [f"{value} AS group_{number}" for number, value in enumerate(values)]
    for number, name in enumerate(columns.features):
        value, is_text = quoted(name), source.kinds[name] == "VARCHAR"
        value = as_category(value, source.reading.decimal) if is_text else value
        parts.append(f"{value} AS feature_{number}")
    return Prepared(source, good.project(", ".join(parts)), names, tally, columns, classes)


def group_values(source: DataSource, rows: Any, names: Sequence[str]) -> list[str]:
    """SQL of columns of groups, as numbers or texts.

    Text files have no types: a column is of numbers if all its values are written as numbers.
    """
    texts = [n for n in names if source.files.format == "csv" and source.kinds[n] == "VARCHAR"]
    typed = {name: (quoted(name), source.kinds[name]) for name in names}
    if texts:
        typed |= typed_columns(rows, texts, source.reading.decimal)
    return [as_group(*typed[name]) for name in names]


def _repeated(good: Any, columns: ColumnNames, n_rows: int) -> int:
    """How many rows were delivered twice: equal to another in all columns, one of them a key.

    Without a key, rows may well be equal: scores are rounded, and groups are few.
    """
    used = set(columns.all_names())
    others = [name for name in good.columns if name not in used]
    if not others or n_rows > MOST_COMPARED or len(good.columns) > MOST_COLUMNS:
        return 0
    whole = ", ".join(map(quoted, good.columns))
    distinct = good.aggregate(f"count(DISTINCT hash({whole}))").fetchall()[0][0]
    if distinct == n_rows:
        return 0
    keys = good.aggregate(", ".join(f"count(DISTINCT {quoted(name)})" for name in others))
    return n_rows - distinct if max(keys.fetchall()[0]) >= KEY_SHARE * distinct else 0


def _positive_column(negative: str, positive: str, scale: InputScale) -> str:
    """SQL of :func:`trueodds.inputs.positive_column`."""
    if scale == "probability":
        return f"({positive}) / (({negative}) + ({positive}))"
    return f"({positive}) - ({negative})"


def _probability(logit: str) -> str:
    x = f"({logit})"
    return f"CASE WHEN {x} >= 0 THEN 1 / (1 + exp(-{x})) ELSE 1 - 1 / (1 + exp({x})) END"


def examine(source: DataSource, columns: ColumnNames, on_bad_rows: OnBadRows) -> tuple[Any, Tally]:
    """The relation of good rows in the file's own columns, and the tally of the others.

    With ``on_bad_rows="blank"`` the relation has all rows, and ``GOOD`` marks the valid ones.
    """
    import narwhals as nw

    from trueodds.engines.frames import collect_row
    from trueodds.engines.rules import OUTSIDE, any_broken, count_true, find_broken

    checks = Checks(source, columns)
    is_bad = any_broken(checks.rules)
    values = nw.from_native(source.relation.project(checks.select()))
    found = collect_row(values.select(nw.len().alias("rows"), count_true(is_bad).alias("bad")))
    rows = int(found["rows"])
    if rows == 0:
        raise InputError(f"{source.name} has no rows.")
    broken: list[Broken] = []
    if found["bad"]:
        broken = find_broken(values, checks.rules, _numbered)
        outside = sum(one.count for one in broken if one.rule.problem == OUTSIDE)
        advice = advise(source, columns)
        if on_bad_rows == "error" or advice.wrong_scale or 2 * outside > rows:
            message = _refusal(source, broken, rows, advice, on_bad_rows)
            raise AdvisedError(message, advice.options, advice.hint)
    if source.totals:
        note(
            f"{source.name}: {totals_found(source.totals)}, but read as data; to skip totals, "
            f"pass --footer-rows {source.totals}."
        )
    skipped = {f"{one.rule.column} {one.rule.problem}": one.count for one in broken}
    malformed = source.malformed_lines() if source.reading.skip_malformed else 0
    if malformed:
        skipped[MALFORMED] = malformed
    tally = Tally(rows + malformed, skipped)
    left_out = in_words(skipped) if skipped else "none left out"
    logger.info("checked %s rows: %s", f"{tally.rows:,}", left_out)
    if tally.used == 0:
        raise InputError(
            f"{source.name}: none of {tally.rows} rows can be used: {in_words(skipped)}."
        )
    if on_bad_rows == "blank":
        return _marked(source.relation, checks, ~is_bad.fill_null(False)), tally
    if broken:
        marked = nw.from_native(source.relation.project(f"*, {checks.select()}"))
        good = nw.to_native(marked.filter(~is_bad.fill_null(False)))
        return good.project(f"* EXCLUDE ({', '.join(map(quoted, checks.names))})"), tally
    source.connection.execute("SET disabled_optimizers = ''")  # every value has been seen
    return source.relation, tally


def _numbered(frame: Any, name: str) -> Any:
    """The rows of a frame with their numbers in the file, from 1."""
    import narwhals as nw

    numbers = f"*, row_number() OVER () AS {quoted(name)}"
    return nw.from_native(nw.to_native(frame).project(numbers))


def in_words(skipped: dict[str, int]) -> str:
    """How many rows were left out for which reasons."""
    return ", ".join(
        f"{count:,} {reason}" if reason == MALFORMED else f"{count:,} where {reason}"
        for reason, count in skipped.items()
    )


def _marked(relation: Any, checks: Checks, is_good: Any) -> Any:
    """All rows, and whether each is good; narwhals takes no column with the name ``*``."""
    import narwhals as nw

    own = [(f"c{place}", quoted(name)) for place, name in enumerate(relation.columns)]
    plain = relation.project(", ".join([f"{name} AS {c}" for c, name in own] + [checks.select()]))
    marked = nw.to_native(nw.from_native(plain).with_columns(is_good.alias(GOOD)))
    return marked.project(", ".join([f"{c} AS {name}" for c, name in own] + [quoted(GOOD)]))


def _refusal(
    source: DataSource,
    broken: list[Broken],
    rows: int,
    advice: ReadingAdvice,
    on_bad_rows: OnBadRows,
) -> str:
    """What is wrong with how many rows, and what to do."""
    from trueodds.engines.rules import hint_of, unusable

    said = unusable(broken, rows, source.name, "in row")
    if advice.options:
        skip = " To skip such rows, pass --on-bad-rows skip." * ("blank" in advice.options)
        return f"{said} {advice.hint}{skip}"
    if on_bad_rows == "error":
        return f"{said}{hint_of(broken)} To skip them, pass --on-bad-rows skip."
    return f"{said}{hint_of(broken)} More than half of the rows are invalid, so the command stops."


GOOD = "trueodds good row"
