"""Whether the columns of a frame can be used: one query on the engine, one sentence if not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trueodds.engines.frames import (
    check_columns,
    check_plain_names,
    collect_row,
)
from trueodds.engines.labels import LabelColumn
from trueodds.engines.rules import (
    OUTSIDE,
    Column,
    Rule,
    any_broken,
    count_rules,
    count_true,
    example_of,
    find_broken,
    hint_of,
    score_rules,
    unusable,
    weight_rules,
)
from trueodds.exceptions import InputError
from trueodds.inputs import InputScale, seem_percentages

__all__ = [
    "INFINITE_HINT",
    "OUTSIDE_HINT",
    "Facts",
    "FrameColumns",
    "WeightColumns",
    "check_number",
    "check_rows",
    "open_columns",
    "refusal",
]

NUMBER = r"^\s*[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\s*$"
FEW_ROWS = 1000
OUTSIDE_HINT = (
    'if these are log-odds, pass scale="logit"; if they are raw decision values, pass scale="raw".'
)
INFINITE_HINT = 'infinite log-odds are legal with scale="logit".'


@dataclass(frozen=True)
class WeightColumns:
    """Names of the columns of importances and of counts, and what they are worth together."""

    importance: str | None = None
    count: str | None = None

    @property
    def names(self) -> list[str]:
        """Those that there are."""
        return [name for name in (self.importance, self.count) if name is not None]

    @property
    def value(self) -> Any:
        """The weight of a row in a sum."""
        return math.prod(_number_column(name) for name in self.names)

    @property
    def square(self) -> Any:
        """The weight of a row in the variance of a sum of importances."""
        return self.value * _number_column(str(self.importance))

    def rules(self) -> list[Rule]:
        """What is refused."""
        found: list[Rule] = []
        if self.importance is not None:
            found += weight_rules(Column(self.importance, _number_column(self.importance)))
        if self.count is not None:
            found += count_rules(Column(self.count, _number_column(self.count)))
        return found

    def collected(self, found: dict[str, Any]) -> dict[str, Any]:
        """The columns of a frame that was read, as arguments of ``fit``."""
        named = {"sample_weight": self.importance, "counts": self.count}
        return {role: None if name is None else found[name] for role, name in named.items()}


def _number_column(name: str) -> Any:
    import narwhals as nw

    return nw.col(name).cast(nw.Float64)


@dataclass(frozen=True, eq=False)
class FrameColumns:
    """A frame, what its columns mean, and the expressions that read them."""

    frame: Any
    score_name: str
    score: Any
    label: LabelColumn
    weights: WeightColumns


@dataclass(frozen=True)
class Facts:
    """What one pass over the rows finds.

    ``low`` and ``high`` are the lowest and the highest score but 0 and 1 (or the infinities);
    None if there is no other.
    """

    n_rows: int
    low: float | None
    high: float | None
    first_label: Any
    last_label: Any
    zero_weights: int


def open_columns(frame: Any, score: str, label: str, weights: WeightColumns) -> FrameColumns:
    """Check names and types, which costs no pass over the rows."""
    names = [score, label, *weights.names]
    check_columns(frame, names)
    check_plain_names(frame, names)
    schema = frame.collect_schema()
    check_number(frame, schema[score], score, "score")
    for name in weights.names:
        check_number(frame, schema[name], name, "weight")
    column = LabelColumn.of(label, schema[label])
    return FrameColumns(frame, score, _number_column(score), column, weights)


def check_number(frame: Any, kind: Any, name: str, role: str) -> None:
    """Refuse a column whose type is not one of numbers."""
    import narwhals as nw

    if kind.is_numeric():
        return
    if kind != nw.String:
        raise InputError(f"{role} column {name!r} must hold numbers; its type is {kind}.")
    text = nw.col(name)
    rules = [Rule(name, "is text", ~text.str.contains(NUMBER), example_of(text))]
    row = collect_row(
        frame.select(nw.len().alias("rows"), count_true(any_broken(rules)).alias("bad"))
    )
    if int(row["bad"] or 0):
        raise InputError(refusal(frame, rules, int(row["rows"])))
    raise InputError(f"{role} column {name!r} holds numbers as text; cast it to numbers first.")


def refusal(frame: Any, rules: Sequence[Rule], n_rows: int) -> str:
    """Why rows of a frame cannot be used; a frame in memory has positions, another examples."""
    import narwhals as nw

    in_memory = isinstance(frame, nw.DataFrame)
    broken = find_broken(frame, rules, nw.DataFrame.with_row_index if in_memory else None)
    hint = hint_of(broken)
    for one in broken:
        if one.rule.problem == OUTSIDE:
            ends = {"low": one.rule.value.min(), "high": one.rule.value.max()}
            found = collect_row(frame.select(*(end.alias(key) for key, end in ends.items())))
            if seem_percentages(found["low"], found["high"], one.count / n_rows):
                hint = f" These look like percentages: divide {one.rule.column!r} by 100."
    return unusable(broken, n_rows, "the frame", "at position") + hint


def check_rows(columns: FrameColumns, scale: InputScale, *, checked: bool = False) -> Facts:
    """Look at every row once and refuse what cannot be learned from.

    With ``checked`` the rows are known to be good, and only facts are gathered.
    """
    import narwhals as nw

    def known(column: Any) -> Any:
        # NaN is the greatest number to some engines and poisons the rest.
        return nw.when(~column.is_nan()).then(column).otherwise(None)

    label = columns.label.value
    finite = known(columns.score)
    if columns.label.is_float:
        known_label = known(label)
    else:  # pandas finds no least text among nulls, which are refused below
        known_label = label.fill_null("") if columns.label.is_text else label
    inner = finite.abs() < math.inf
    if scale == "probability":
        inner = (finite > 0) & (finite < 1)
    wanted = {
        "rows": nw.len(),
        "inner_min": nw.when(inner).then(finite).otherwise(None).min(),
        "inner_max": nw.when(inner).then(finite).otherwise(None).max(),
        "label_min": known_label.min(),
        "label_max": known_label.max(),
    }
    if columns.weights.names:
        wanted["weight_zero"] = count_true(columns.weights.value == 0)
    rules = [] if checked else _rules(columns, scale)
    if rules:
        wanted["bad"] = count_true(any_broken(rules))
    query = columns.frame.select(*(value.alias(name) for name, value in wanted.items()))
    row = collect_row(query)
    n_rows = int(row["rows"])
    if n_rows == 0:
        raise InputError("the frame has no rows.")
    if int(row.get("bad") or 0):
        raise InputError(refusal(columns.frame, rules, n_rows))
    zero_weights = int(row.get("weight_zero") or 0)
    if zero_weights == n_rows:
        named = " × ".join(map(repr, columns.weights.names))
        raise InputError(f"weight column {named} is zero in all {n_rows} rows.")
    return Facts(
        n_rows,
        None if row["inner_min"] is None else _number(row["inner_min"]),
        None if row["inner_max"] is None else _number(row["inner_max"]),
        row["label_min"],
        row["label_max"],
        zero_weights,
    )


def _rules(columns: FrameColumns, scale: InputScale) -> list[Rule]:
    score = Column(columns.score_name, columns.score)
    found = score_rules([score], scale, outside_hint=OUTSIDE_HINT, infinite_hint=INFINITE_HINT)
    return found + columns.label.rules() + columns.weights.rules()


def _number(value: Any) -> float | None:
    """As float; the least of nothing is NaN to pandas, None here."""
    return None if math.isnan(value) else float(value)
