"""The columns that a command uses, and the rules that their values must keep."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from trueodds.basics.shown import shown, suggestion
from trueodds.cli.errors import UsageError
from trueodds.cli.files.open import DataSource
from trueodds.cli.files.sql import TEXT_TYPES, as_number, as_text, is_numeric, quoted, values
from trueodds.exceptions import InputError

if TYPE_CHECKING:
    from trueodds.inputs import InputScale

__all__ = [
    "OUTSIDE",
    "ColumnNames",
    "Rule",
    "Unit",
    "UnknownColumnError",
    "refuse_margins",
    "rules_of",
    "shortened",
]

Unit = Literal["fraction", "percent"]
OUTSIDE = "is outside [0, 1]"
LONGEST_GROUP = 10_000
"""Bytes of the name of a group: rows are copied with it, and each is shown."""


class UnknownColumnError(InputError):
    """A column that is asked for and is not there."""


@dataclass(frozen=True)
class ColumnNames:
    """What the columns are called that a command uses, as the user gave them."""

    score: tuple[str, ...]
    label: str | None = None
    weight: str | None = None
    groups: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    """Columns that must be there, for whoever asked for them."""
    scale: InputScale = "probability"
    classes: tuple[str, ...] = ()
    """What --class says the labels are, in the order of the score columns."""
    sums_to_one: bool = True
    unit: Unit = "fraction"
    """Whether probabilities run to 1 or to 100."""

    def number(self, source: DataSource, name: str) -> str:
        """SQL of a column as a number; of scores, on the scale that the library knows."""
        percent = self.unit == "percent" and name in self.score
        return as_number(name, source.kinds[name], source.reading.decimal, percent=percent)

    def found_in(self, source: DataSource) -> ColumnNames:
        """The same with the score columns that a pattern or a range stands for.

        Raises InputError for a column that is not there, and names those that were perhaps meant.
        """
        found: dict[str, None] = {}
        for name in self.score:
            present = name in source.kinds
            found |= dict.fromkeys([name] if present else self._meant(name, [*source.kinds]))
        columns = replace(self, score=tuple(found))
        for name in columns.all_names():
            if name not in source.kinds:
                raise UnknownColumnError(_unknown(source, name))
        return columns

    def named_in(self, header: Sequence[str]) -> bool:
        """Whether a row of texts has all names that are no patterns or ranges."""
        names = [name for name in self.all_names() if not set(name) & set("*?[:")]
        return bool(names) and set(names) <= {text.strip() for text in header}

    def _meant(self, name: str, present: list[str]) -> list[str]:
        """The columns of a range or a pattern, but not those that mean something else."""
        others = {self.label, self.weight, *self.groups, *self.features, *self.others}
        first, colon, last = name.partition(":")
        if colon and first in present and last in present:
            names = present[present.index(first) : present.index(last) + 1]
        else:
            names = [one for one in present if fnmatch.fnmatchcase(one, name)]
        return [one for one in names if one not in others] or [name]

    def all_names(self) -> list[str]:
        """Every column that is needed."""
        single = [name for name in (self.label, self.weight) if name is not None]
        return [*self.score, *single, *self.groups, *self.features, *self.others]


def refuse_margins(scale: InputScale) -> None:
    """Refuse margins where probabilities are measured."""
    if scale == "raw":
        raise UsageError(
            "margins are not probabilities, so their calibration cannot be measured; run "
            "'trueodds fit --scale raw' first, or 'trueodds compare --scale raw'."
        )


@dataclass(frozen=True)
class Rule:
    """One thing that can be wrong with a row."""

    column: str
    problem: str
    condition: str
    """SQL that is true in the rows that break the rule."""
    value: str = "NULL"
    """SQL for what stands there, as text."""
    hint: str = field(default="")


def _unknown(source: DataSource, name: str) -> str:
    """That a column is not there, and which were perhaps meant."""
    return f"{source.name} has no column {shown(name)}; {suggestion(name, source.kinds)}"


def rules_of(source: DataSource, columns: ColumnNames) -> list[Rule]:
    """All rules for the columns of a command, in the order in which they are reported."""
    from trueodds.inputs import ROW_SUM_TOLERANCE

    kinds = source.kinds
    found: list[Rule] = []
    for name in columns.score:
        found += _score_rules(source, name, columns)
    if len(columns.score) > 1 and columns.scale == "probability" and columns.sums_to_one:
        total = " + ".join(columns.number(source, name) for name in columns.score)
        found.append(
            Rule(
                shortened(columns.score, " + "),
                "is not 1",
                f"abs({total} - 1) > {ROW_SUM_TOLERANCE}",
                f"CAST({total} AS VARCHAR)",
                "if the columns are independent scores, fit --method one_vs_rest.",
            )
        )
    for name in columns.groups:
        if kinds[name] in TEXT_TYPES:
            text = as_text(name, kinds[name])
            condition = f"strlen({text}) > {LONGEST_GROUP}"
            problem = f"is longer than {LONGEST_GROUP:,} bytes"
            found.append(Rule(name, problem, condition, f"left({text}, 60)"))
    if columns.label is not None:
        found += _label_rules(columns.label, kinds[columns.label], columns)
    if columns.weight is not None:
        found += _weight_rules(source, columns.weight, columns.number(source, columns.weight))
    return found


def shortened(names: Sequence[str], separator: str) -> str:
    """Names in a row; of many, the first two and the last."""
    return separator.join(names if len(names) < 11 else (*names[:2], "…", names[-1]))


def _number_rules(source: DataSource, name: str, number: str) -> list[Rule]:
    kind = source.kinds[name]
    if not is_numeric(kind) and kind not in TEXT_TYPES:
        raise InputError(f"column {shown(name)} must hold numbers; its type is {kind}.")
    column, text = quoted(name), as_text(name, kind)
    found = [Rule(name, "is missing", f"{column} IS NULL", hint="drop or fill them.")]
    if kind in TEXT_TYPES:
        found.append(Rule(name, "is text", f"{number} IS NULL", text))
    if not is_numeric(kind) or kind in ("DOUBLE", "FLOAT"):
        found.append(Rule(name, "is NaN", f"isnan({number})", text))
    return found


def _score_rules(source: DataSource, name: str, columns: ColumnNames) -> list[Rule]:
    number, text = columns.number(source, name), as_text(name, source.kinds[name])
    found = _number_rules(source, name, number)
    if columns.scale == "probability":
        hint = (
            "if these are log-odds, pass --scale logit; "
            "if they are raw decision values, pass --scale raw."
            if columns.label is not None
            else "the map was fitted to probabilities: name another column, or fit a map with "
            "--scale logit or --scale raw."
        )
        condition = f"{number} < 0 OR {number} > 1"
        found.append(Rule(name, OUTSIDE, condition, text, hint))
    elif columns.scale == "raw":
        found.append(Rule(name, "is infinite", f"isinf({number})", text))
    elif len(columns.score) > 1:
        found.append(Rule(name, "is +infinity", f"{number} = CAST('inf' AS DOUBLE)", text))
    return found


def _label_rules(name: str, kind: str, columns: ColumnNames) -> list[Rule]:
    found = [Rule(name, "is missing", f"{quoted(name)} IS NULL")]
    text = as_text(name, kind)
    if kind in ("DOUBLE", "FLOAT"):
        found.append(Rule(name, "is NaN", f"isnan({quoted(name)})", text))
    if columns.classes:
        condition = f"{text} NOT IN {values(columns.classes)}"
        found.append(Rule(name, "is not among --class", condition, text))
    return found


def _weight_rules(source: DataSource, name: str, number: str) -> list[Rule]:
    text = as_text(name, source.kinds[name])
    return [
        *_number_rules(source, name, number),
        Rule(name, "is negative", f"{number} < 0", text),
        Rule(name, "is infinite", f"isinf({number})", text),
    ]
