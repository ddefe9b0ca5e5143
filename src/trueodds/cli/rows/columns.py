"""The columns that a command uses, and the rules that their values must keep."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from trueodds.basics.shown import shown, suggestion
from trueodds.cli.errors import UsageError
from trueodds.cli.files.open import DataSource
from trueodds.cli.files.sql import TEXT_TYPES, as_number, as_text, is_numeric, may_be_long, quoted
from trueodds.exceptions import InputError

if TYPE_CHECKING:
    from trueodds.engines.rules import Column, Rule
    from trueodds.inputs import InputScale

__all__ = ["Checks", "ColumnNames", "Unit", "UnknownColumnError", "refuse_margins"]

Unit = Literal["fraction", "percent"]
FLOATS = ("DOUBLE", "FLOAT")
LABELED_HINT = (
    "if these are log-odds, pass --scale logit; if they are raw decision values, pass --scale raw."
)
FITTED_HINT = (
    "the map was fitted to probabilities: name another column, or fit a map with "
    "--scale logit or --scale raw."
)


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
    named: tuple[str, ...] = ()
    """Columns of labels that may be missing, of times and of groups, for whoever asked for them."""
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

    def texts(self, source: DataSource) -> list[str]:
        """Columns whose texts name groups and times, or labels that may be missing."""
        return [name for name in (*self.groups, *self.named) if may_be_long(source.kinds[name])]

    def named_in(self, header: Sequence[str]) -> bool:
        """Whether a row of texts has all names that are no patterns or ranges."""
        names = [name for name in self.all_names() if not set(name) & set("*?[:")]
        return bool(names) and set(names) <= {text.strip() for text in header}

    def _meant(self, name: str, present: list[str]) -> list[str]:
        """The columns of a range or a pattern, but not those that mean something else."""
        others = {self.label, self.weight, *self.groups, *self.features, *self.named}
        first, colon, last = name.partition(":")
        if colon and first in present and last in present:
            names = present[present.index(first) : present.index(last) + 1]
        else:
            names = [one for one in present if fnmatch.fnmatchcase(one, name)]
        return [one for one in names if one not in others] or [name]

    def all_names(self) -> list[str]:
        """Every column that is needed."""
        single = [name for name in (self.label, self.weight) if name is not None]
        return [*self.score, *single, *self.groups, *self.features, *self.named]


def refuse_margins(scale: InputScale) -> None:
    """Refuse margins where probabilities are measured."""
    if scale == "raw":
        raise UsageError(
            "margins are not probabilities, so their calibration cannot be measured; run "
            "'trueodds fit --scale raw' first, or 'trueodds compare --scale raw'."
        )


def _unknown(source: DataSource, name: str) -> str:
    """That a column is not there, and which were perhaps meant."""
    return f"{source.name} has no column {shown(name)}; {suggestion(name, source.kinds)}"


@dataclass(eq=False)
class Checks:
    """The rules for the columns of a command, and the columns that the rules are about.

    Rules are expressions of columns with plain names; ``parts`` is the SQL that makes these of
    the file's own, whose names and types may be anything.
    """

    source: DataSource
    columns: ColumnNames
    parts: list[str] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)

    def __post_init__(self) -> None:
        from trueodds.engines.rules import label_rules, score_rules, text_rules, weight_rules

        columns, kinds = self.columns, self.source.kinds
        self.rules += score_rules(
            [self._number(name) for name in columns.score],
            columns.scale,
            sums_to_one=columns.sums_to_one,
            outside_hint=LABELED_HINT if columns.label is not None else FITTED_HINT,
            sum_hint="if the columns are independent scores, fit --method one_vs_rest.",
        )
        for name in columns.texts(self.source):
            self.rules += text_rules(name, self._add(as_text(name, kinds[name])))
        if columns.label is not None:
            kind = kinds[columns.label]
            text = self._add(as_text(columns.label, kind))
            number = self._add(as_number(columns.label, kind)) if kind in FLOATS else None
            self.rules += label_rules(
                columns.label,
                text.is_null(),
                text,
                is_text=may_be_long(kind),
                number=number,
                classes=columns.classes,
            )
        if columns.weight is not None:
            self.rules += weight_rules(self._number(columns.weight))

    @property
    def names(self) -> list[str]:
        """The plain names."""
        return [f"trueodds value {number}" for number in range(len(self.parts))]

    def select(self) -> str:
        """The SQL of the plain columns."""
        pairs = zip(self.parts, self.names, strict=True)
        return ", ".join(f"{part} AS {quoted(name)}" for part, name in pairs)

    def _add(self, part: str) -> Any:
        import narwhals as nw

        self.parts.append(part)
        return nw.col(self.names[-1])

    def _number(self, name: str) -> Column:
        from trueodds.engines.rules import Column, example_of

        kind = self.source.kinds[name]
        is_text = kind in TEXT_TYPES
        if not is_numeric(kind) and not is_text:
            raise InputError(f"column {shown(name)} must hold numbers; its type is {kind}.")
        number = self._add(self.columns.number(self.source, name))
        text = self._add(as_text(name, kind))
        missing = text.is_null() if is_text else None
        return Column(name, number, example_of(text), missing, is_text, is_text or kind in FLOATS)
