"""The rows that a model takes, as columns: arrays, and frames of pandas or polars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.basics.shown import shown
from trueodds.exceptions import InputError
from trueodds.inputs import Floats

__all__ = ["RowColumn", "columns_of", "take", "with_numbers"]

TEXTS = ("String", "Categorical", "Enum", "Object")
"""Kinds of columns whose values are looked at."""


@dataclass(frozen=True, eq=False)
class RowColumn:
    """A feature.

    Parameters
    ----------
    name : str
    values : ndarray of shape (n,)
        Numbers, or texts, "" where one is missing.
    dtype : dtype or None
        The type of numbers; None for texts.
    is_free : bool
        Whether other numbers than those given are of this kind, too: not among categories.
    missing_texts : ndarray of bool
        Where a text is missing.
    """

    name: str
    values: npt.NDArray[Any]
    dtype: np.dtype[Any] | None
    is_free: bool
    missing_texts: npt.NDArray[np.bool_]


def columns_of(X: Any) -> list[RowColumn]:
    """The columns of rows; one that no graph can take raises with its name and a cure."""
    if isinstance(X, np.ndarray) and X.ndim == 2:
        return [_column(f"number {k}", X[:, k], str(X.dtype)) for k in range(X.shape[1])]
    if hasattr(X, "collect") or not hasattr(X, "columns"):
        raise InputError(
            f"X must be a NumPy array or a frame of pandas or polars; got {type(X).__name__}."
        )
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True)
    return [_column(name, frame[name], str(frame[name].dtype)) for name in frame.columns]


def _column(name: str, given: Any, kind: str) -> RowColumn:
    kind = kind.partition("(")[0]
    kept = np.zeros(len(given), dtype=bool)
    numbers = kind.lower().replace("boolean", "bool")
    if numbers.startswith(("int", "uint", "float", "bool")):
        values = given if isinstance(given, np.ndarray) else given.to_numpy()
        if values.dtype.kind == "O":  # with missing ones
            values = np.array([np.nan if v is None or v != v else v for v in values], dtype=float)
        dtype = values.dtype if values.dtype.kind == "f" else np.dtype(numbers)
        return RowColumn(str(name), values, dtype, True, kept)
    if kind in TEXTS or kind.startswith(("<U", "object")):
        items = given.tolist() if isinstance(given, np.ndarray) else given.to_list()
        missing = np.array([v is None or v != v for v in items], dtype=bool)
        known = [v for v in items if not (v is None or v != v)]
        if all(isinstance(v, str) for v in known):
            texts = np.array(["" if gone else v for v, gone in zip(items, missing, strict=True)])
            return RowColumn(str(name), texts.astype(object), None, False, missing)
        if all(isinstance(v, (bool, int, float, np.number, np.bool_)) for v in known):
            values = np.array(
                [np.nan if gone else v for v, gone in zip(items, missing, strict=True)]
            )
            return RowColumn(str(name), values, values.dtype, False, kept)
        found = sorted({type(v).__name__ for v in known})
        kind = f"{kind} of {', '.join(found)}"
    raise InputError(
        f"the column {shown(name)} of X has the type {kind}, which a graph cannot take. Make it "
        "numbers, booleans, or texts or categories throughout, and fit the model on those."
    )


def take(X: Any, places: Sequence[int] | npt.NDArray[Any]) -> Any:
    """Some of the rows."""
    if isinstance(X, np.ndarray):
        return X[places]
    import narwhals as nw

    return nw.from_native(X, eager_only=True)[np.asarray(places)].to_native()


def with_numbers(X: Any, columns: Sequence[RowColumn], numbers: Floats) -> Any:
    """Rows like ``X`` of these numbers; where a column is not free, they are places in it."""
    places = np.nan_to_num(np.rint(numbers)).astype(int).clip(0, max(len(X) - 1, 0))
    if isinstance(X, np.ndarray):
        parts = [
            _as_kind(numbers[:, k], X.dtype) if column.is_free else X[places[:, k], k]
            for k, column in enumerate(columns)
        ]
        return np.column_stack(parts)
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True)
    made = []
    for k, column in enumerate(columns):
        given = frame[frame.columns[k]]
        if column.is_free:
            values = _as_kind(numbers[:, k], column.dtype)
            own = nw.new_series(given.name, values, given.dtype, backend=frame.implementation)
            if hasattr(X, "iloc"):  # where a nullable type has the same name
                native = own.to_native().astype(given.to_native().dtype)
                own = nw.from_native(native, series_only=True)
        else:
            own = nw.maybe_reset_index(given[places[:, k]])
        made.append(own.to_frame())
    return nw.concat(made, how="horizontal").to_native()


def _as_kind(numbers: Floats, dtype: Any) -> npt.NDArray[Any]:
    """Numbers as values of a type."""
    if dtype.kind == "b":
        return np.asarray(numbers > 0.5)
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        low, high = max(ends.min, -(2.0**53)), min(ends.max, 2.0**53)
        return np.rint(np.nan_to_num(numbers)).clip(low, high).astype(dtype)
    return numbers.astype(dtype)
