"""Conversion of users' data to NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.exceptions import InputError
from trueodds.inputs._tensors import tensor_to_numpy

__all__ = [
    "Floats",
    "Labels",
    "as_codes",
    "as_dense",
    "as_floats",
    "check_increasing",
    "check_length",
    "check_unit_interval",
    "is_label",
    "number_text",
    "where",
]

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.intp]


def as_dense(values: Any, name: str) -> npt.NDArray[Any]:
    """Turn an array, a list, or a series or frame of any library into a NumPy array."""
    if type(values) is np.ndarray:
        return values
    if isinstance(values, np.ma.MaskedArray) and (
        values.dtype.kind == "V" or np.ma.is_masked(values)
    ):
        raise InputError(f"{name} must have no masked values; drop or fill them first.")
    if hasattr(values, "tocsr"):
        raise InputError(f"{name} must be dense; got a sparse matrix. Pass {name}.toarray().")
    is_plain = isinstance(values, (np.ndarray, list, tuple)) or np.isscalar(values)
    if not is_plain:
        tensor = tensor_to_numpy(values)
        if tensor is not None:
            return tensor
        found = _from_frame(values, name)
        if found is not None:
            return found
    try:
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:  # ragged nested lists
        raise InputError(f"{name} must be a rectangular array: {error}") from None


def _from_frame(values: Any, name: str) -> npt.NDArray[Any] | None:
    """A series or a frame of any library, columns by position; None of anything else."""
    # Imported here: narwhals is only needed for frames and series.
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        native = nw.from_native(values, allow_series=True, pass_through=True)
    except DuplicateError:
        native = nw.from_native(_numbered(values))
    if isinstance(native, nw.LazyFrame):
        raise InputError(f"{name} is a lazy frame; collect it first.")
    if isinstance(native, nw.DataFrame):
        if not native.columns:
            return np.empty((len(native), 0))
        for column, series in zip(native.columns, native.iter_columns(), strict=True):
            _refuse_nulls(series, f"{name}[{column!r}]")
    elif isinstance(native, nw.Series):
        _refuse_nulls(native, name)
    else:
        return None
    return np.asarray(native.to_numpy())


def _numbered(frame: Any) -> Any:
    """A frame of pandas or Arrow whose columns are named by position: several had one name."""
    if hasattr(frame, "rename_columns"):
        return frame.rename_columns([str(k) for k in range(frame.num_columns)])
    return frame.set_axis(range(frame.shape[1]), axis=1)


def _refuse_nulls(series: Any, name: str) -> None:
    nulls = int(series.null_count())
    if nulls:
        raise InputError(f"{name} must have no missing values; found {nulls} of {len(series)}.")


def as_floats(values: Any, name: str) -> Floats:
    """Numbers as contiguous float64; what is not a real number is refused."""
    array = as_dense(values, name)
    holds_complex = array.dtype.kind == "O" and any(
        isinstance(value, (complex, np.complexfloating)) for value in array.ravel().tolist()
    )
    if array.dtype.kind in "mMcV" or holds_complex:
        raise InputError(
            f"{name} must be real numbers; got dtype {array.dtype}. Complex data not supported."
        )
    try:
        with np.errstate(over="ignore"):  # a long double beyond float64 is infinite
            array = np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be numbers: {error}") from None
    return array if array.flags.aligned else array.copy()


def as_codes(positive: npt.NDArray[Any]) -> Labels:
    """Whether rows are positive (bool, or 0 and 1), as compiled loops read it."""
    return np.ascontiguousarray(positive, dtype=np.intp)


def is_label(classes: npt.NDArray[Any], label: Any) -> npt.NDArray[np.bool_]:
    """Which of the classes a single label is; all False for what cannot be one."""
    plain = label.item() if isinstance(label, np.generic) else label
    if not isinstance(plain, (str, bytes, int, float)):
        return np.zeros(len(classes), dtype=bool)
    return np.array([bool(own == plain) for own in classes.tolist()], dtype=bool)


def where(bad: npt.NDArray[np.bool_]) -> str:
    """``at index 3 (1 of 200)``: the first place, and how many there are."""
    index = tuple(int(i) for i in np.argwhere(bad)[0])
    place = index[0] if len(index) == 1 else index
    return f"at index {place} ({int(bad.sum())} of {bad.size})"


def number_text(value: float, *limits: float) -> str:
    """A number as a message shows it: six digits, or all if six lie on another side of a limit.

    For 1.0000000000000002, ``must lie in [0, 1]; got 1`` would be useless.
    """
    number, short = float(value), f"{float(value):.6g}"
    shown = float(short)
    same = all((shown < x, shown > x) == (number < x, number > x) for x in limits)
    return short if same else repr(number)


def check_length(length: int, name: str, expected: int, other: str) -> None:
    """Refuse a column that does not have as many rows as another."""
    if length != expected:
        raise InputError(f"{other} and {name} differ in length: {expected} and {length}.")


def check_increasing(values: Floats, name: str) -> None:
    """Refuse numbers that do not strictly increase; the message shows which and where."""
    if len(values) > 1 and (values[1:] > values[:-1]).all():
        return
    if np.isnan(values).any():
        raise InputError(f"{name} must not contain NaN; found {where(np.isnan(values))}.")
    stuck = values[1:] <= values[:-1]
    if stuck.any():
        place = int(np.argmax(stuck)) + 1
        raise InputError(
            f"{name} must be strictly increasing; got {float(values[place])!r} after "
            f"{float(values[place - 1])!r} at index {place}."
        )


def check_unit_interval(values: Floats, name: str) -> None:
    """Refuse numbers that are no probabilities; the message shows which and where."""
    if values.size and values.min() >= 0 and values.max() <= 1:
        return
    outside = ~((values >= 0) & (values <= 1))
    if outside.any():
        first = values[tuple(np.argwhere(outside)[0])]
        raise InputError(
            f"{name} must lie in [0, 1]; got {number_text(first, 0, 1)} {where(outside)}."
        )
