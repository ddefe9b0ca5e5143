"""What can be wrong with a row, for frames and files alike: counted on the engine, one sentence.

A rule is a narwhals expression that is true in the rows that break it. The first rule that a row
breaks is its reason.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from trueodds.basics.shown import shortened, shown
from trueodds.engines.frames import collect_row, collect_rows
from trueodds.inputs import (
    LONGEST_LABEL,
    MOST_COUNT,
    MOST_LABEL,
    ROW_SUM_TOLERANCE,
    InputScale,
    number_text,
)

__all__ = [
    "OUTSIDE",
    "Broken",
    "Column",
    "Rule",
    "any_broken",
    "count_rules",
    "count_true",
    "example_of",
    "find_broken",
    "hint_of",
    "label_rules",
    "number_rules",
    "score_rules",
    "text_rules",
    "unusable",
    "weight_rules",
]

OUTSIDE = "is outside [0, 1]"
MOST_REASONS = 10
LONGEST_SHOWN = 60
REASON, ROW = "trueodds reason", "trueodds row"
COUNT, VALUE = "trueodds count", "trueodds value"


@dataclass(frozen=True, eq=False)
class Rule:
    """One thing that can be wrong with a row."""

    column: str
    problem: str
    condition: Any
    """True in the rows that break the rule; null counts as false."""
    value: Any = None
    """An expression of the value to show, if there is one."""
    hint: str = field(default="")


@dataclass(frozen=True, eq=False)
class Column:
    """A column of numbers, as expressions.

    Parameters
    ----------
    name : str
        The user's name for it.
    number : Expr
        As float64; null where it is missing or text.
    value : Expr, default=None
        What a message shows; by default the number.
    missing : Expr, default=None
        Whether there is no value; by default whether the number is null.
    may_be_text, may_be_nan : bool
        Whether the column's type has such values.
    """

    name: str
    number: Any
    value: Any = None
    missing: Any = None
    may_be_text: bool = False
    may_be_nan: bool = True

    def rule(self, problem: str, condition: Any, hint: str = "") -> Rule:
        """A rule for this column."""
        return Rule(
            self.name, problem, condition, self.number if self.value is None else self.value, hint
        )


def number_rules(column: Column) -> list[Rule]:
    """A number must be there."""
    missing = column.number.is_null() if column.missing is None else column.missing
    found = [Rule(column.name, "is missing", missing, hint="drop or fill them.")]
    if column.may_be_text:
        found.append(column.rule("is text", column.number.is_null()))
    if column.may_be_nan:
        found.append(column.rule("is NaN", column.number.is_nan()))
    return found


def score_rules(
    columns: Sequence[Column],
    scale: InputScale,
    *,
    sums_to_one: bool = True,
    outside_hint: str = "",
    infinite_hint: str = "",
    sum_hint: str = "",
) -> list[Rule]:
    """Scores must be numbers of their scale; several probabilities of a row must sum to 1."""
    found: list[Rule] = []
    for column in columns:
        found += number_rules(column)
        number = column.number
        if scale == "probability":
            found.append(column.rule(OUTSIDE, (number < 0) | (number > 1), outside_hint))
        elif scale == "raw":
            found.append(column.rule("is infinite", number.abs() == math.inf, infinite_hint))
        elif len(columns) > 1:
            found.append(column.rule("is +infinity", number == math.inf))
    if len(columns) > 1 and scale == "probability" and sums_to_one:
        total = _joined([column.number for column in columns], operator.add)
        name = shortened([column.name for column in columns], " + ")
        off = (total - 1).abs() > ROW_SUM_TOLERANCE
        found.append(Rule(name, "is not 1", off, total, sum_hint))
    return found


def weight_rules(column: Column) -> list[Rule]:
    """A weight must be a finite number of at least 0."""
    return [
        *number_rules(column),
        column.rule("is negative", column.number < 0),
        column.rule("is infinite", column.number == math.inf),
    ]


def count_rules(column: Column) -> list[Rule]:
    """A count must be a whole number of rows."""
    number = column.number
    hint = "if these are importances, pass them as weight."
    return [
        *weight_rules(column),
        column.rule("is not a whole number", _has_fraction(number, MOST_COUNT), hint),
        column.rule(f"is more than {MOST_COUNT:g}", number > MOST_COUNT),
    ]


def _has_fraction(number: Any, most: float) -> Any:
    """Whether a number of at most this size is not whole; some engines round no greater ones."""
    import narwhals as nw

    inside = nw.when(number.abs() <= most).then(number).otherwise(nw.lit(0.0))
    return inside != inside.floor()


def text_rules(name: str, text: Any) -> list[Rule]:
    """A text that serves as a label, a group or a time must not be long."""
    problem = f"is longer than {LONGEST_LABEL:,} characters"
    condition = text.str.len_chars() > LONGEST_LABEL
    return [Rule(name, problem, condition, example_of(text))]


def example_of(text: Any) -> Any:
    """As much of a text as a message shows."""
    return text.str.slice(0, LONGEST_SHOWN)


def label_rules(
    name: str,
    missing: Any,
    value: Any,
    *,
    is_text: bool = False,
    number: Any = None,
    classes: Sequence[str] = (),
) -> list[Rule]:
    """A label must be there, and be a class.

    Parameters
    ----------
    name : str
    missing, value : Expr
    is_text : bool, default=False
        Whether the values are texts.
    number : Expr, default=None
        The label, if its type has fractions and NaN: it must be a whole number that float64
        distinguishes from its neighbors.
    classes : sequence of str
        All that ``value`` may be; empty if anything.
    """
    found = [Rule(name, "is missing", missing, hint="drop or fill them.")]
    example = value
    if is_text:
        found += text_rules(name, value)
        example = example_of(value)
    if number is not None:
        hint = "labels must be classes, not real numbers."
        found += [
            Rule(name, "is NaN", number.is_nan(), example),
            Rule(name, "is infinite", number.abs() == math.inf, example),
            Rule(name, "is too large for a label (2⁵³)", number.abs() > MOST_LABEL, example),
            Rule(name, "is not a whole number", _has_fraction(number, MOST_LABEL), example, hint),
        ]
    if classes:
        found.append(Rule(name, "is not among --class", ~value.is_in(list(classes)), example))
    return found


def any_broken(rules: Sequence[Rule]) -> Any:
    """Whether a row breaks a rule; null or false if none."""
    return _joined([rule.condition for rule in rules], operator.or_)


def _joined(parts: list[Any], join: Callable[[Any, Any], Any]) -> Any:
    """One expression of many, as a balanced tree: engines limit the depth of an expression."""
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        parts = [join(a, b) for a, b in pairs] + ([parts[-1]] if len(parts) % 2 else [])
    return parts[0]


def count_true(condition: Any) -> Any:
    """Return how many rows fulfill a condition."""
    import narwhals as nw

    return condition.cast(nw.Int64).sum()


@dataclass(frozen=True, eq=False)
class Broken:
    """A rule that rows break: how many, and the first of them where rows have an order."""

    rule: Rule
    count: int
    value: Any
    row: int | None

    def sentence(self, place: str) -> str:
        """What is wrong, how often, and an example; ``place`` is the word before its number."""
        found = self.value
        if isinstance(found, (int, float)):
            found = number_text(found, 0, 1)
        elif found is not None:
            found = shown(found, 40)
        example = "" if found is None else f" (for example {found})"
        if self.row is not None:
            example = f" (first {place} {self.row:,}{'' if found is None else f': {found}'})"
        return f"{shown(self.rule.column)} {self.rule.problem} in {self.count:,}{example}"


def find_broken(
    frame: Any, rules: Sequence[Rule], number: Callable[[Any, str], Any] | None = None
) -> list[Broken]:
    """Which rules the rows break, in the order of the rules.

    Parameters
    ----------
    frame : narwhals frame
    rules : sequence of Rule
    number : callable, default=None
        Adds a column of this name to a frame, which numbers its rows; None if they have no order.
        It is given what is small in each row: an engine holds many rows while it numbers them.
    """
    import narwhals as nw

    # Narwhals 2.9 refuses several columns of one name, and literals share theirs; with Arrow it
    # does not extend a literal to all rows. Spark has no minimum of one column.
    *cases, last = [nw.when(rule.condition).then(nw.lit(k)) for k, rule in enumerate(rules)]
    whole = [*cases, last.otherwise(nw.lit(len(rules)))]
    named = [case.alias(f"rule {k}") for k, case in enumerate(whole)]
    reason = (nw.min_horizontal(*named) if len(named) > 1 else named[0]).alias(REASON)

    def numbered(*values: Any) -> Any:
        small = frame.select(reason, *values)
        return small if number is None else number(small, ROW)

    first = [] if number is None else [nw.col(ROW).min()]
    marked = numbered().filter(nw.col(REASON) < len(rules))
    groups = collect_rows(marked.group_by(REASON).agg(nw.len().alias(COUNT), *first))
    found: list[Broken] = []
    for one in sorted(groups, key=lambda one: int(one[REASON])):
        place, at = int(one[REASON]), None if number is None else int(one[ROW])
        rule, value = rules[place], None
        if rule.value is not None and len(found) < MOST_REASONS:
            own = nw.col(REASON) == place if number is None else nw.col(ROW) == at
            value = collect_row(numbered(rule.value.alias(VALUE)).filter(own).head(1))[VALUE]
        found.append(Broken(rule, int(one[COUNT]), value, at))
    return found


def unusable(broken: Sequence[Broken], n_rows: int, name: str, place: str) -> str:
    """One sentence: how many rows of what cannot be used, why, and where the first are.

    Parameters
    ----------
    broken : sequence of Broken
    n_rows : int
    name : str
        What holds the rows.
    place : str
        What precedes the number of a row, such as "in row".
    """
    total = sum(one.count for one in broken)
    parts = [one.sentence(place) for one in broken[:MOST_REASONS]]
    if len(broken) > MOST_REASONS:
        parts.append(f"{len(broken) - MOST_REASONS} other problems")
    return f"{name}: {total:,} of {n_rows:,} rows cannot be used: {'; '.join(parts)}."


def hint_of(broken: Sequence[Broken]) -> str:
    """The first hint of the rules that are broken, as a sentence after another; may be empty."""
    hints = (one.rule.hint for one in broken if one.rule.hint)
    return next((f" {hint[:1].upper()}{hint[1:]}" for hint in hints), "")
