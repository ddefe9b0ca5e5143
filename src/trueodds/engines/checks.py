"""Whether the columns of a frame can be used: one query on the engine, one sentence if not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from trueodds.engines.frames import (
    check_columns,
    check_plain_names,
    collect_columns,
    collect_row,
)
from trueodds.exceptions import InputError
from trueodds.inputs import InputScale, number_text

__all__ = ["Facts", "FrameColumns", "check_rows", "open_columns"]

NUMBER = r"^\s*[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\s*$"
FEW_ROWS = 1000


@dataclass(frozen=True, eq=False)
class FrameColumns:
    """A frame, what its columns mean, and the expressions that read them."""

    frame: Any
    score_name: str
    label_name: str
    weight_name: str | None
    score: Any
    label: Any
    weight: Any
    label_is_float: bool
    label_is_bool: bool
    label_is_text: bool


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


def open_columns(frame: Any, score: str, label: str, weight: str | None) -> FrameColumns:
    """Check names and types, which costs no pass over the rows."""
    import narwhals as nw

    names = [score, label, *([] if weight is None else [weight])]
    check_columns(frame, names)
    check_plain_names(frame, names)
    schema = frame.collect_schema()
    _check_number(frame, schema[score], score, "score")
    if weight is not None:
        _check_number(frame, schema[weight], weight, "weight")
    kind = schema[label]
    column = nw.col(label)
    if isinstance(kind, (nw.Object, nw.Unknown, nw.List, nw.Struct, nw.Array)):
        raise InputError(
            f"label column {label!r} holds values of type {kind}; cast it to numbers, booleans or "
            "text first."
        )
    if kind == nw.Boolean:
        column = column.cast(nw.Int64)  # not every engine has a greatest boolean
    elif isinstance(kind, (nw.Categorical, nw.Enum)):
        column = column.cast(nw.String)
    elif kind == nw.Decimal or kind.is_float():
        column = column.cast(nw.Float64)
    return FrameColumns(
        frame,
        score,
        label,
        weight,
        nw.col(score).cast(nw.Float64),
        column,
        None if weight is None else nw.col(weight).cast(nw.Float64),
        label_is_float=kind == nw.Decimal or kind.is_float(),
        label_is_bool=kind == nw.Boolean,
        label_is_text=isinstance(kind, (nw.String, nw.Categorical, nw.Enum)),
    )


def _check_number(frame: Any, kind: Any, name: str, role: str) -> None:
    import narwhals as nw

    if kind.is_numeric():
        return
    if kind != nw.String:
        raise InputError(f"{role} column {name!r} must hold numbers; its type is {kind}.")
    is_text = ~nw.col(name).str.contains(NUMBER)
    row = collect_row(
        frame.select(nw.len().alias("rows"), is_text.cast(nw.Int64).sum().alias("text"))
    )
    count = int(row["text"] or 0)
    if count:
        example = collect_columns(frame.filter(is_text).select(name).head(1), [name])[name][0]
        raise InputError(
            f"{role} column {name!r} must hold numbers; {count} of {row['rows']} rows hold text, "
            f"for example {str(example)!r}."
        )
    raise InputError(f"{role} column {name!r} holds numbers as text; cast it to numbers first.")


def check_rows(columns: FrameColumns, scale: InputScale, *, checked: bool = False) -> Facts:
    """Look at every row once and refuse what cannot be learned from.

    With ``checked`` the rows are known to be good, and only facts are gathered.
    """
    import narwhals as nw

    def count(condition: Any) -> Any:
        return condition.cast(nw.Int64).sum()

    def known(column: Any) -> Any:
        # NaN is the greatest number to some engines and poisons the rest.
        return nw.when(~column.is_nan()).then(column).otherwise(None)

    score, label, weight = columns.score, columns.label, columns.weight
    finite = known(score)
    if columns.label_is_float:
        known_label = known(label)
    else:  # pandas finds no least text among nulls, which are refused below
        known_label = label.fill_null("") if columns.label_is_text else label
    if scale == "probability":
        outside, inner = (finite < 0) | (finite > 1), (finite > 0) & (finite < 1)
    else:
        inner = finite.abs() < math.inf
        outside = ~inner
    wanted = {
        "rows": nw.len(),
        "inner_min": nw.when(inner).then(finite).otherwise(None).min(),
        "inner_max": nw.when(inner).then(finite).otherwise(None).max(),
        "label_min": known_label.min(),
        "label_max": known_label.max(),
    }
    if weight is not None:
        wanted["weight_zero"] = count(weight == 0)
    if not checked:
        wanted |= {
            "score_null": count(score.is_null()),
            "score_nan": count(score.is_nan() & ~score.is_null()),
            "score_outside": count(outside),
            "score_min": finite.min(),
            "score_max": finite.max(),
            "label_null": count(label.is_null()),
        }
        if columns.label_is_float:
            wanted["label_nan"] = count(label.is_nan() & ~label.is_null())
        if weight is not None:
            wanted |= {
                "weight_null": count(weight.is_null()),
                "weight_nan": count(weight.is_nan() & ~weight.is_null()),
                "weight_outside": count((known(weight) < 0) | (known(weight) == math.inf)),
                "weight_min": known(weight).min(),
            }
    query = columns.frame.select(*(value.alias(name) for name, value in wanted.items()))
    row = collect_row(query)
    n_rows = int(row["rows"])
    if not checked:
        _refuse(row, columns, scale, n_rows)
    zero_weights = int(row.get("weight_zero") or 0)
    if zero_weights == n_rows:
        raise InputError(f"weight column {columns.weight_name!r} is zero in all {n_rows} rows.")
    return Facts(
        n_rows,
        None if row["inner_min"] is None else _number(row["inner_min"]),
        None if row["inner_max"] is None else _number(row["inner_max"]),
        row["label_min"],
        row["label_max"],
        zero_weights,
    )


def _refuse(row: dict[str, Any], columns: FrameColumns, scale: InputScale, n_rows: int) -> None:
    if n_rows == 0:
        raise InputError("the frame has no rows.")
    _refuse_missing(row, "score", columns.score_name, n_rows)
    _refuse_missing(row, "label", columns.label_name, n_rows)
    if int(row["score_outside"] or 0) and scale != "logit":
        _refuse_scores(row, columns.score_name, scale, n_rows)
    if columns.weight is not None:
        _refuse_weights(row, str(columns.weight_name), n_rows)
    if columns.label_is_float:
        _refuse_fractions(row, columns.label_name)


def _number(value: Any) -> float | None:
    """As float; the least of nothing is NaN to pandas, None here."""
    return None if math.isnan(value) else float(value)


def _refuse_missing(row: dict[str, Any], role: str, name: str, n_rows: int) -> None:
    missing = int(row[f"{role}_null"] or 0) + int(row.get(f"{role}_nan") or 0)
    if missing:
        raise InputError(
            f"{role} column {name!r} has no value (null or NaN) in {missing} of {n_rows} rows; "
            "drop or fill them first."
        )


def _refuse_scores(row: dict[str, Any], name: str, scale: InputScale, n_rows: int) -> None:
    count = int(row["score_outside"])
    low, high = float(row["score_min"]), float(row["score_max"])
    if scale == "raw":
        raise InputError(
            f"score column {name!r} must be finite; {count} of {n_rows} rows are infinite "
            '(infinite log-odds are legal with scale="logit").'
        )
    raise InputError(
        f"score column {name!r} must lie in [0, 1]; {count} of {n_rows} rows do not, for example "
        f"{number_text(high if high > 1 else low, 0, 1)}; if these are log-odds, pass "
        'scale="logit", if raw decision values, scale="raw".'
    )


def _refuse_weights(row: dict[str, Any], name: str, n_rows: int) -> None:
    _refuse_missing(row, "weight", name, n_rows)
    outside = int(row["weight_outside"] or 0)
    if outside:
        lowest = float(row["weight_min"])
        example = number_text(lowest, 0) if lowest < 0 else "infinity"
        raise InputError(
            f"weight column {name!r} must be finite and not negative; {outside} of {n_rows} rows "
            f"are not, for example {example}."
        )


def _refuse_fractions(row: dict[str, Any], name: str) -> None:
    for value in (row["label_min"], row["label_max"]):
        if value != math.floor(value):
            raise InputError(
                f"label column {name!r} must hold two classes, not real numbers; got "
                f"{number_text(value, round(value))}."
            )
