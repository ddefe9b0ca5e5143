"""Whatever users hold their numbers in, as NumPy arrays."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt

from trueodds.exceptions import InputError
from trueodds.validation._tensors import tensor_to_numpy

__all__ = [
    "Floats",
    "Labels",
    "as_codes",
    "as_dense",
    "as_floats",
    "check_increasing",
    "check_length",
    "check_unit_interval",
    "number_text",
    "where",
]

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.intp]


def as_dense(values: Any, name: str) -> npt.NDArray[Any]:
    """Turn an array, a list, or a series or frame of any library into a NumPy array."""
    if type(values) is np.ndarray:
        return values
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise InputError(f"{name} must have no masked values; drop or fill them first.")
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "tocsr"):
        raise InputError(f"{name} must be dense; got a sparse matrix. Pass {name}.toarray().")
    if not isinstance(values, (list, tuple)) and not np.isscalar(values):
        tensor = tensor_to_numpy(values)
        if tensor is not None:
            return tensor
        # Imported here: narwhals is only needed for frames and series.
        import narwhals as nw

        native = nw.from_native(values, allow_series=True, pass_through=True)
        if isinstance(native, nw.LazyFrame):
            raise InputError(f"{name} is a lazy frame; collect it first.")
        if isinstance(native, nw.Series):
            _refuse_nulls(native, name)
            return cast("npt.NDArray[Any]", native.to_numpy())
        if isinstance(native, nw.DataFrame):
            for column in native.columns:
                _refuse_nulls(native[column], f"{name}[{column!r}]")
            return cast("npt.NDArray[Any]", native.to_numpy())
    try:
        return np.asarray(values)
    except ValueError as error:  # ragged nested lists
        raise InputError(f"{name} must be a rectangular array: {error}") from None


def _refuse_nulls(series: Any, name: str) -> None:
    nulls = int(series.null_count())
    if nulls:
        raise InputError(f"{name} must have no missing values; found {nulls} of {len(series)}.")


def as_floats(values: Any, name: str) -> Floats:
    """Numbers as contiguous float64; what is not a real number is refused."""
    array = as_dense(values, name)
    if array.dtype.kind in "mMcV":
        raise InputError(
            f"{name} must be real numbers; got dtype {array.dtype}. Complex data not supported."
        )
    if array.dtype.kind in "OUS":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"{name} must be numbers: {error}") from None
    return np.ascontiguousarray(array, dtype=np.float64)


def as_codes(positive: npt.NDArray[Any]) -> Labels:
    """Whether rows are positive (bool, or 0 and 1), as compiled loops read it."""
    return np.ascontiguousarray(positive, dtype=np.intp)


def where(bad: npt.NDArray[np.bool_]) -> str:
    """``at index 3 (1 of 200)``: the first place, and how many there are."""
    index = tuple(int(i) for i in np.argwhere(bad)[0])
    place = index[0] if len(index) == 1 else index
    return f"at index {place} ({int(bad.sum())} of {bad.size})"


def number_text(value: float, *limits: float) -> str:
    """A number as a message shows it: six digits, or all if six lie on another side of a limit.

    ``must lie in [0, 1]; got 1`` would be no answer to 1.0000000000000002.
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
