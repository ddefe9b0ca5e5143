"""Rows of a monitor: one or many, with labels that may be missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.basics.shown import shown
from trueodds.exceptions import InputError
from trueodds.inputs import (
    Floats,
    Labels,
    check_counts,
    check_importances,
    check_label_length,
    check_length,
    dense_labels,
    is_missing,
    known_codes,
    positive_column,
    validate_scores,
    where,
)
from trueodds.state_file import Moment, is_moment

__all__ = ["StreamRows", "as_column", "as_rows", "label_codes", "read_stream", "stream_weights"]


@dataclass(frozen=True, eq=False)
class StreamRows:
    """Labeled rows in order."""

    top: Floats
    """The monitored forecast: of the positive class, or of the most probable class."""
    right: Labels
    """Its outcome, 0 or 1."""
    table: Floats | None
    """With several classes, the forecast of each."""
    codes: Labels | None
    weight: Floats | None
    groups: npt.NDArray[Any] | None
    moment: Callable[[int], Moment]
    """Return the time of a row."""
    n_unlabeled: int

    def __len__(self) -> int:
        return len(self.top)


def read_stream(
    scores: Any,
    y: Any,
    sample_weight: Any = None,
    counts: Any = None,
    time: Any = None,
    group: Any = None,
    classes: Sequence[Any] | None = None,
) -> StreamRows:
    """Check rows and drop those without a label."""
    table = validate_scores(as_rows(scores), "probability")
    if table.ndim == 2 and table.shape[1] == 2:
        table = positive_column(table, "probability")
    n = len(table)
    n_classes = 2 if table.ndim == 1 else table.shape[1]
    if classes is not None and len(classes) != n_classes:
        raise InputError(f"scores are of {n_classes} classes, but classes names {len(classes)}.")
    codes = label_codes(y, n, n_classes, classes)
    mass = stream_weights(sample_weight, counts, n)
    names = None if group is None else as_column(group, "group", n)
    times = None if time is None else as_column(time, "time", n)
    kept = np.flatnonzero(codes >= 0)
    if len(kept) < n:
        table, codes = table[kept], codes[kept]
        mass = None if mass is None else mass[kept]
        names = None if names is None else names[kept]

    def moment(row: int) -> Moment:
        return None if times is None else _plain_time(times[kept[row]])

    several = table.ndim == 2
    top = table
    right = codes
    if several:
        table = np.ascontiguousarray(table / table.sum(axis=1, keepdims=True))
        choice = np.argmax(table, axis=1)
        top = table[np.arange(len(table)), choice]
        right = (choice == codes).astype(np.intp)
    return StreamRows(
        np.ascontiguousarray(top),
        np.ascontiguousarray(right),
        table if several else None,
        codes if several else None,
        mass,
        names,
        moment,
        n - len(kept),
    )


def as_rows(scores: Any) -> Any:
    """Return the scores of rows; a single number is one row."""
    return np.atleast_1d(scores) if np.isscalar(scores) else scores


def label_codes(y: Any, n: int, n_classes: int, classes: Sequence[Any] | None) -> Labels:
    """Return labels as 0 … n_classes − 1, and −1 for missing ones."""
    values = as_column(y, "y", n)
    missing = np.zeros(n, dtype=bool)
    if values.dtype.kind in "biu" and classes is None:
        codes = values.astype(np.intp)
    else:
        if values.dtype.kind not in "biuU":
            missing = np.fromiter(map(is_missing, values.tolist()), dtype=bool, count=n)
        codes = known_codes(values, range(n_classes) if classes is None else classes)
    codes[missing] = -1
    wrong = ~missing & ((codes < 0) | (codes >= n_classes))
    if wrong.any():
        found = values[int(np.argmax(wrong))]
        found = found.item() if hasattr(found, "item") else found
        expected = list(classes) if classes is not None else list(range(n_classes))
        raise InputError(
            f"y must hold labels of {expected} or nothing (None, NaN); "
            f"got {shown(found)} {where(wrong)}."
        )
    return codes


def stream_weights(sample_weight: Any, counts: Any, n: int) -> Floats | None:
    """How many rows each counts as, importances included; None if each counts as one.

    A stream has no end, so importances cannot be scaled to the rows that they are worth. A row of
    importance at most 1 counts as a part of one, with which all guarantees hold.
    """
    found = None
    if sample_weight is not None:
        found = check_importances(np.atleast_1d(sample_weight), n, all_zero=True)
        large = found > 1
        if large.any():
            raise InputError(
                f"sample_weight must be at most 1 in a stream; got {found[large][0]:g} "
                f"{where(large)}. Divide importances by the largest that is possible. If these are "
                "numbers of rows, pass them as counts."
            )
    if counts is not None:
        count = check_counts(np.atleast_1d(counts), n, all_zero=True)
        found = count if found is None else found * count
    return found


def as_column(values: Any, name: str, n: int) -> npt.NDArray[Any]:
    """Return a 1-D array of any type from a value or a column of any library; nulls are kept."""
    try:
        array = _as_array(values, name)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a column; got {shown(values)}.") from None
    if np.isscalar(values) or values is None:
        array = np.repeat(array, n) if name != "y" else array
    if array.ndim != 1:
        raise InputError(f"{name} must be 1-D; got shape {array.shape}.")
    check_length(len(array), name, n, "scores")
    if array.dtype.kind in "OU":
        check_label_length(array.tolist(), name)
    return array


def _plain_time(value: Any) -> Moment:
    """Return a time for JSON: numbers unchanged, everything else as text (dates in ISO form)."""
    if isinstance(value, np.datetime64):
        return str(value)
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value if is_moment(value) else str(value)[:64]
    text = value.isoformat() if hasattr(value, "isoformat") else str(value)
    return text[:64]


def _as_array(values: Any, name: str) -> npt.NDArray[Any]:
    if values is None or np.isscalar(values):
        return np.array([values], dtype=object if values is None else None)
    if isinstance(values, (list, tuple)):
        return dense_labels(values, name)
    if isinstance(values, np.ndarray):
        return values
    import narwhals as nw

    native = nw.from_native(values, allow_series=True, pass_through=True)
    return native.to_numpy() if isinstance(native, nw.Series) else np.atleast_1d(values)
