"""Checks of the columns that a command uses: the rules for each, and the SQL of its values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trueodds.basics.shown import shown
from trueodds.cli.files.open import DataSource
from trueodds.cli.files.sql import TEXT_TYPES, as_number, as_text, is_numeric, may_be_long, quoted
from trueodds.cli.rows.columns import ColumnNames
from trueodds.exceptions import InputError

if TYPE_CHECKING:
    from trueodds.engines.rules import Column, Rule

__all__ = ["Checks"]

FLOATS = ("DOUBLE", "FLOAT")
LABELED_HINT = (
    "if these are log-odds, pass --scale logit; if they are raw decision values, pass --scale raw."
)
FITTED_HINT = (
    "the map was fitted to probabilities: pass another column, or fit a map with --scale logit or "
    "--scale raw."
)


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
        from trueodds.engines.rules import (
            count_rules,
            label_rules,
            score_rules,
            text_rules,
            weight_rules,
        )

        columns, kinds = self.columns, self.source.kinds
        self.rules += score_rules(
            [self._number(name) for name in columns.score],
            columns.scale,
            sums_to_one=columns.sums_to_one,
            outside_hint=LABELED_HINT if columns.label is not None else FITTED_HINT,
            sum_hint="if a row can have several labels, run the command once for each, with "
            "one -s and one -l. If only one class is right and the columns are separate scores, "
            "fit --method one_vs_rest.",
        )
        for name in columns.texts(self.source):
            self.rules += text_rules(name, self._add(as_text(name, kinds[name])))
        if columns.label is not None:
            kind = kinds[columns.label]
            text = self._add(as_text(columns.label, kind))
            real = kind in FLOATS or kind.startswith("DECIMAL")
            number = self._add(as_number(columns.label, kind)) if real else None
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
        if columns.counts is not None:
            self.rules += count_rules(self._number(columns.counts))

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
            raise InputError(f"column {shown(name)} must contain numbers; its type is {kind}.")
        number = self._add(self.columns.number(self.source, name))
        text = self._add(as_text(name, kind))
        missing = text.is_null() if is_text else None
        return Column(name, number, example_of(text), missing, is_text, is_text or kind in FLOATS)
