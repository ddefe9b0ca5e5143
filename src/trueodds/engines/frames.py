"""Into narwhals and out of it again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.basics.shown import shown, suggestion
from trueodds.exceptions import InputError

__all__ = [
    "check_columns",
    "check_plain_names",
    "collect_columns",
    "collect_row",
    "collect_rows",
    "open_frame",
]


def open_frame(frame: Any) -> Any:
    """A narwhals frame, eager or lazy, of whatever the user has."""
    import narwhals as nw

    try:
        opened = nw.from_native(frame)
    except TypeError:
        raise InputError(
            f"frame must be a frame of pandas, polars, PyArrow, DuckDB, PySpark, Dask or Ibis; got "
            f"{type(frame).__module__}.{type(frame).__name__}. For arrays, use from_arrays or fit."
        ) from None
    if not isinstance(opened, (nw.DataFrame, nw.LazyFrame)):
        raise InputError("frame must be a frame with named columns, not a single column.")
    return opened


def check_columns(frame: Any, columns: Sequence[str]) -> None:
    """Raise for names that the frame does not have, with similar names."""
    present = frame.collect_schema().names()
    for column in columns:
        if not isinstance(column, str) or column not in present:
            raise InputError(
                f"the frame has no column {shown(column)}; {suggestion(column, present)}"
            )


def check_plain_names(frame: Any, columns: Sequence[str]) -> None:
    """Raise for names of Spark columns that narwhals cannot select, because it does not quote."""
    if not frame.implementation.is_spark_like():
        return
    for column in columns:
        if "." in column or "`" in column:
            plain = column.replace(".", "_").replace("`", "_")
            raise InputError(
                f"Spark reads a dot in a name as a field of a structure, so {column!r} cannot be "
                f"read; rename it: frame.withColumnRenamed({column!r}, {plain!r})."
            )


def _collected(frame: Any) -> Any:
    return frame.collect() if hasattr(frame, "collect") else frame


def collect_rows(frame: Any) -> list[dict[str, Any]]:
    """The few rows of a frame of aggregates."""
    if frame.implementation.is_duckdb():  # without PyArrow, which narwhals would import
        native = frame.to_native()
        return [dict(zip(native.columns, row, strict=True)) for row in native.fetchall()]
    rows: list[dict[str, Any]] = _collected(frame).rows(named=True)
    return rows


def collect_row(frame: Any) -> dict[str, Any]:
    """The only row of a frame of aggregates."""
    return collect_rows(frame)[0]


def collect_columns(frame: Any, columns: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """Some columns as arrays; nothing else is read."""
    check_columns(frame, columns)
    local = _collected(frame.select(*dict.fromkeys(columns)))
    return {name: np.asarray(local[name].to_numpy()) for name in dict.fromkeys(columns)}
