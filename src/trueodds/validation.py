"""The one door through which scores, labels and weights enter.

Whatever comes in (lists, NumPy arrays, columns of pandas, polars or Arrow), plain contiguous
NumPy arrays come out, or an :class:`~trueodds.exceptions.InputError` that says what was expected,
what was found, where, and what to do.
"""

from __future__ import annotations

import math
from typing import Any, Literal, cast, get_args

import numpy as np
import numpy.typing as npt

from trueodds.exceptions import InputError

__all__ = [
    "Floats",
    "InputScale",
    "Labels",
    "as_dense",
    "check_choice",
    "check_scale",
    "encode_labels",
    "label_column",
    "validate_scores",
    "validate_weights",
]

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.intp]
InputScale = Literal["probability", "logit", "score"]
SCALES = get_args(InputScale)

ROW_SUM_TOLERANCE = 0.05
"""Rows of probabilities are normalised; rows further than this from 1 are refused."""


def as_dense(values: Any, name: str) -> npt.NDArray[Any]:
    """Turn an array, a list, or a series or frame of any library into a NumPy array."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise InputError(f"{name} must have no masked values; drop or fill them first.")
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "tocsr"):
        raise InputError(f"{name} must be dense; got a sparse matrix. Pass {name}.toarray().")
    if not isinstance(values, (list, tuple)) and not np.isscalar(values):
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


def check_choice(value: Any, choices: tuple[Any, ...], name: str) -> None:
    """Refuse an option that is not one of ``choices``."""
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        allowed = ", ".join(repr(choice) for choice in choices)
        raise InputError(f"{name} must be one of {allowed}; got {value!r}.")


def check_scale(scale: Any) -> None:
    """Refuse anything but the three scales that scores can have."""
    if not isinstance(scale, str) or scale not in SCALES:
        check_choice(scale, SCALES, "input")


def _as_floats(values: Any, name: str) -> Floats:
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


def validate_scores(
    scores: Any, scale: InputScale, *, n_columns: int | None = None, rows_sum_to_one: bool = True
) -> Floats:
    """Check scores and return them as float64, 1-D or with one column per class.

    Parameters
    ----------
    scores : array-like of shape (n,), (n, 1) or (n, n_classes)
        A single column becomes 1-D.
    scale : {"probability", "logit", "score"}
        What the numbers are. Only log-odds may be infinite.
    n_columns : int, default=None
        Refuse another number of columns; 1 stands for 1-D.
    rows_sum_to_one : bool, default=True
        Whether rows of probabilities must sum to 1 (within 0.05). They are not changed.

    Returns
    -------
    ndarray of float64
    """
    check_scale(scale)
    array = _as_floats(scores, "scores")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.ravel()
    if array.ndim not in (1, 2) or 0 in array.shape[1:]:
        raise InputError(
            "scores must be 1-D (the positive class) or 2-D (one column per class); "
            f"got shape {array.shape}."
        )
    if array.shape[0] == 0:
        raise InputError("scores is empty: found 0 sample(s), a minimum of 1 is required.")
    columns = 1 if array.ndim == 1 else array.shape[1]
    if n_columns is not None and columns != n_columns and not (n_columns == 2 and columns == 1):
        raise InputError(f"scores must have {n_columns} columns as in fit; got {columns}.")
    _check_range(array, scale)
    if array.ndim == 2 and scale == "probability" and rows_sum_to_one:
        _check_row_sums(array)
    return array


def _check_range(array: Floats, scale: InputScale) -> None:
    lowest, highest = float(array.min()), float(array.max())
    if math.isnan(lowest):
        raise InputError(f"scores must not contain NaN; found {_where(np.isnan(array))}.")
    if scale == "probability" and (lowest < 0 or highest > 1):
        outside = (array < 0) | (array > 1)
        first = array[tuple(np.argwhere(outside)[0])]
        raise InputError(
            f"scores must lie in [0, 1]; got {first:.6g} {_where(outside)}. If these are log-odds, "
            'pass input="logit"; if they are margins of another scale, pass input="score".'
        )
    if scale == "score" and (np.isinf(lowest) or np.isinf(highest)):
        raise InputError(
            f"scores must be finite; got an infinity (inf) {_where(np.isinf(array))}. "
            'Infinite log-odds are legal with input="logit".'
        )
    if scale == "logit" and array.ndim == 2:
        if np.isposinf(highest):
            raise InputError(
                f"a class's logit must be below +inf; found {_where(np.isposinf(array))}. "
                "Use -inf for the classes that are impossible."
            )
        hopeless = np.asarray(np.isneginf(array).all(axis=1))
        if np.isneginf(lowest) and hopeless.any():
            raise InputError(f"every logit of a row is -inf {_where(hopeless)}.")


def _check_row_sums(array: Floats) -> None:
    off = np.abs(array.sum(axis=1) - 1) > ROW_SUM_TOLERANCE
    if off.any():
        row = int(np.argmax(off))
        raise InputError(
            f"rows of probabilities must sum to 1; row {row} sums to {array[row].sum():.6g} "
            f"({int(off.sum())} of {len(off)} rows off by more than {ROW_SUM_TOLERANCE}). If the "
            "columns are independent scores, use OneVsRestCalibrator."
        )


def _where(bad: npt.NDArray[np.bool_]) -> str:
    index = tuple(int(i) for i in np.argwhere(bad)[0])
    place = index[0] if len(index) == 1 else index
    return f"at index {place} ({int(bad.sum())} of {bad.size})"


def label_column(y: Any) -> npt.NDArray[Any]:
    """Labels as a 1-D array; a single column becomes one."""
    array = as_dense(y, "y")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.ravel()
    if array.ndim != 1:
        raise InputError(f"y must be 1-D; got shape {array.shape}.")
    return array


def encode_labels(y: Any, classes: Any = None) -> tuple[Labels, npt.NDArray[Any]]:
    """Code labels as 0 … n_classes − 1, in sorted order or in the order of ``classes``.

    Returns
    -------
    codes : ndarray of intp
    classes : ndarray
        The labels that the codes stand for.
    """
    array = label_column(y)
    if array.size == 0:
        raise InputError("y is empty.")
    if array.dtype.kind == "f":
        _check_float_labels(array)
    if array.dtype.kind == "O":
        array = _plain_labels(array)
    if classes is None:
        return _encode_seen(array)
    declared = np.asarray(as_dense(classes, "classes"))
    if declared.ndim != 1 or len(declared) < 2 or len(set(declared.tolist())) != len(declared):
        raise InputError(f"classes must be two or more distinct labels; got {classes!r}.")
    codes = np.full(array.shape, -1, dtype=np.intp)
    for code, label in enumerate(declared):
        codes[array == label] = code
    if (codes < 0).any():
        index = int(np.argmax(codes < 0))
        label = array[index : index + 1].tolist()[0]
        raise InputError(f"y has the label {label!r} at index {index}, not in classes.")
    return codes, declared


def _encode_seen(array: npt.NDArray[Any]) -> tuple[Labels, npt.NDArray[Any]]:
    if array.dtype.kind in "biu":
        lowest, highest = array.min(), array.max()
        if lowest == 0 and highest == 1:  # the common case, at the price of two passes
            return array.astype(np.intp, copy=False), np.array([0, 1], dtype=array.dtype)
    classes, codes = np.unique(array, return_inverse=True)
    return codes.astype(np.intp, copy=False), classes


def _check_float_labels(array: npt.NDArray[Any]) -> None:
    if np.isnan(array).any():
        raise InputError("Input y contains NaN.")
    if np.isinf(array).any():
        raise InputError(f"Input y contains infinity or a value too large for {array.dtype!r}.")
    if (array != np.floor(array)).any():
        raise InputError(
            "Unknown label type: continuous. y must hold class labels, not real numbers; got "
            f"{array[np.argmax(array != np.floor(array))]:.6g}."
        )


def _plain_labels(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    labels = array.tolist()
    if any(label is None or label != label for label in labels):
        raise InputError("y must not contain missing labels (None or NaN).")
    if all(isinstance(label, str) for label in labels):
        return np.asarray(labels, dtype=object)
    kinds = {type(label).__name__ for label in labels}
    if len(kinds) > 1 and "str" in kinds:
        raise InputError(f"y mixes labels of several types: {', '.join(sorted(kinds))}.")
    plain = np.asarray(labels)
    return plain if plain.dtype.kind != "O" else array


def validate_weights(sample_weight: Any, n_rows: int) -> Floats | None:
    """Check sample weights; None stays None and means one each."""
    if sample_weight is None:
        return None
    weights = _as_floats(sample_weight, "sample_weight")
    if weights.shape != (n_rows,):
        raise InputError(f"sample_weight must have shape ({n_rows},); got {weights.shape}.")
    unbounded = ~np.isfinite(weights)
    if unbounded.any():
        raise InputError(f"sample_weight must be finite; got NaN or infinity {_where(unbounded)}.")
    if (weights < 0).any():
        raise InputError(f"sample_weight must not be negative; got one {_where(weights < 0)}.")
    if not weights.any():
        raise InputError("sample_weight is zero everywhere.")
    return weights
