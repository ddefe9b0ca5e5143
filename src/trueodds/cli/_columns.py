"""The columns that a command uses, and the rules that their values must keep."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trueodds.cli._engine import DataSource
from trueodds.cli._sql import TEXT_TYPES, as_number, as_text, is_numeric, quoted, values
from trueodds.exceptions import InputError

if TYPE_CHECKING:
    from trueodds.validation import InputScale

__all__ = ["ColumnNames", "Rule", "check_names", "rules_of"]


@dataclass(frozen=True)
class ColumnNames:
    """What the columns are called that a command uses, as the user gave them."""

    score: tuple[str, ...]
    label: str | None = None
    weight: str | None = None
    groups: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    input: InputScale = "probability"
    classes: tuple[str, ...] = ()
    """What --class says the labels are, in the order of the score columns."""
    sums_to_one: bool = True

    def all_names(self) -> list[str]:
        """Every column that is needed."""
        single = [name for name in (self.label, self.weight) if name is not None]
        return [*self.score, *single, *self.groups, *self.features]


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


def check_names(source: DataSource, columns: ColumnNames) -> None:
    """Refuse a column that is not there, and name those that were perhaps meant."""
    present = list(source.kinds)
    for name in columns.all_names():
        if name in present:
            continue
        near = difflib.get_close_matches(name, present, n=3, cutoff=0.5)
        folded = [other for other in present if other.casefold() == name.casefold()]
        near = list(dict.fromkeys(folded + near))
        shown = ", ".join(repr(other) for other in (near or present[:20]))
        more = ", …" if not near and len(present) > 20 else ""
        ask = "did you mean" if near else "it has"
        end = "?" if near else "."
        raise InputError(f"{source.name} has no column {name!r}; {ask} {shown}{more}{end}")


def rules_of(source: DataSource, columns: ColumnNames) -> list[Rule]:
    """All rules for the columns of a command, in the order in which they are told."""
    from trueodds.validation import ROW_SUM_TOLERANCE

    kinds = source.kinds
    found: list[Rule] = []
    for name in columns.score:
        found += _score_rules(name, kinds[name], columns)
    if len(columns.score) > 1 and columns.input == "probability" and columns.sums_to_one:
        total = " + ".join(as_number(name, kinds[name]) for name in columns.score)
        found.append(
            Rule(
                " + ".join(columns.score),
                "is not 1",
                f"abs({total} - 1) > {ROW_SUM_TOLERANCE}",
                f"CAST({total} AS VARCHAR)",
                "if the columns are independent scores, fit --method one_vs_rest.",
            )
        )
    if columns.label is not None:
        found += _label_rules(columns.label, kinds[columns.label], columns)
    if columns.weight is not None:
        found += _weight_rules(columns.weight, kinds[columns.weight])
    return found


def _number_rules(name: str, kind: str) -> list[Rule]:
    if not is_numeric(kind) and kind not in TEXT_TYPES:
        raise InputError(f"column {name!r} must hold numbers; its type is {kind}.")
    column, number, text = quoted(name), as_number(name, kind), as_text(name, kind)
    found = [Rule(name, "is missing", f"{column} IS NULL", hint="drop or fill them.")]
    if kind in TEXT_TYPES:
        found.append(Rule(name, "is text", f"{number} IS NULL", text))
    if not is_numeric(kind) or kind in ("DOUBLE", "FLOAT"):
        found.append(Rule(name, "is NaN", f"isnan({number})", text))
    return found


def _score_rules(name: str, kind: str, columns: ColumnNames) -> list[Rule]:
    found = _number_rules(name, kind)
    number, text = as_number(name, kind), as_text(name, kind)
    if columns.input == "probability":
        hint = (
            "if these are log-odds, pass --input logit; "
            "if they are margins of another scale, pass --input score."
            if columns.label is not None
            else "the map was fitted to probabilities: name another column, or fit a map with "
            "--input logit or --input score."
        )
        condition = f"{number} < 0 OR {number} > 1"
        found.append(Rule(name, "is outside [0, 1]", condition, text, hint))
    elif columns.input == "score":
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


def _weight_rules(name: str, kind: str) -> list[Rule]:
    number, text = as_number(name, kind), as_text(name, kind)
    return [
        *_number_rules(name, kind),
        Rule(name, "is negative", f"{number} < 0", text),
        Rule(name, "is infinite", f"isinf({number})", text),
    ]
