"""Labels of any type as codes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.basics.shown import (
    shown,
)
from trueodds.exceptions import InputError
from trueodds.kernels.scan import has_zeros_and_ones_only
from trueodds.validation._arrays import Labels, as_dense

__all__ = ["dense_labels", "encode_labels", "label_column"]


def label_column(y: Any) -> npt.NDArray[Any]:
    """Labels as a 1-D array; a single column becomes one."""
    is_plain = type(y) is np.ndarray and y.dtype.kind != "O"
    array = y if is_plain else dense_labels(y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.ravel()
    if array.ndim != 1:
        raise InputError(f"y must be 1-D; got shape {array.shape}.")
    return array


def dense_labels(y: Any, name: str = "y") -> npt.NDArray[Any]:
    """Labels as an array; members of an Enum of texts or numbers as their values.

    Examples
    --------
    >>> from enum import Enum
    >>> Answer = Enum("Answer", {"NO": "no", "YES": "yes"}, type=str)
    >>> dense_labels([Answer.NO, Answer.YES])
    array(['no', 'yes'], dtype=object)
    """
    if isinstance(y, (list, tuple)) and _enums(y):
        members = np.empty(len(y), dtype=object)  # NumPy would cut the names of some
        members[:] = y
        y = members
    array = as_dense(y, name)
    enums = _enums(array.flat) if array.dtype.kind == "O" else []
    if not enums:
        return array
    if not issubclass(enums[0], (str, int, float)):
        raise InputError(
            f"labels must be texts or numbers, which have an order; got members of the Enum "
            f"{enums[0].__name__}. Pass their names or values: [label.name for label in {name}]."
        )
    plain = [label.value if isinstance(label, Enum) else label for label in array.flat]
    return np.array(plain, dtype=object).reshape(array.shape)


def _enums(labels: Iterable[Any]) -> list[type[Enum]]:
    """The kinds of Enum among labels, those without an order first."""
    found = [kind for kind in set(map(type, labels)) if issubclass(kind, Enum)]
    return sorted(found, key=lambda kind: issubclass(kind, (str, int, float)))


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
    kind = array.dtype.kind
    if kind == "f":
        _check_float_labels(array)
    elif kind == "O":
        array = _plain_labels(array)
    if classes is None:
        return _encode_seen(array)
    declared = np.asarray(dense_labels(classes, "classes"))
    if declared.ndim != 1 or len(declared) < 2 or not _are_distinct(declared):
        raise InputError(f"classes must be two or more distinct labels; got {shown(classes)}.")
    codes = np.full(array.shape, -1, dtype=np.intp)
    for code, label in enumerate(declared):
        # 10**400 is no label of an array of floats, and a text none of structures.
        with contextlib.suppress(OverflowError, TypeError):
            same = array == label
            codes[same if isinstance(same, np.ndarray) and same.dtype == bool else []] = code
    if (codes < 0).any():
        index = int(np.argmax(codes < 0))
        label = array[index : index + 1].tolist()[0]
        raise InputError(f"y has the label {shown(label)} at index {index}, not in classes.")
    return codes, declared


def _are_distinct(labels: npt.NDArray[Any]) -> bool:
    try:
        return len(set(labels.tolist())) == len(labels)
    except TypeError:  # lists, which cannot be labels
        return False


def _encode_seen(array: npt.NDArray[Any]) -> tuple[Labels, npt.NDArray[Any]]:
    if array.dtype.kind in "biu":
        codes = np.ascontiguousarray(array, dtype=np.intp)
        if has_zeros_and_ones_only(codes):  # the common case, at the price of one pass
            return codes, np.array([0, 1], dtype=array.dtype)
    try:
        classes, codes = np.unique(array, return_inverse=True)
    except (TypeError, ValueError, ArithmeticError):
        kinds = sorted({type(label).__name__ for label in array.tolist()})
        raise InputError(
            f"labels must be texts, numbers or others of one type that sorts; got {kinds}."
        ) from None
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
    if any(map(_is_missing, labels)):
        raise InputError("y must not contain missing labels (None or NaN).")
    if all(isinstance(label, str) for label in labels):
        return np.asarray(labels, dtype=object)
    kinds = {type(label).__name__ for label in labels}
    if len(kinds) > 1 and "str" in kinds:
        raise InputError(f"y mixes labels of several types: {', '.join(sorted(kinds))}.")
    try:
        plain = np.asarray(labels)
    except ValueError:  # lists of several lengths
        return array
    return plain if plain.ndim == 1 and plain.dtype.kind != "O" else array


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):  # pandas' NA is neither equal nor not; an array is both
        return type(label).__name__ == "NAType"
