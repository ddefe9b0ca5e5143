"""Several labels of one row: an indicator matrix with a column of 0 and 1 for each label."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.exceptions import InputError
from trueodds.inputs._arrays import Floats, as_dense, as_floats

__all__ = ["indicator_matrix", "is_indicator", "label_probabilities"]

Indicators = npt.NDArray[np.int8]


def _dense(values: Any, name: str) -> npt.NDArray[Any]:
    """An array; sparse indicators, as of scikit-learn's MultiLabelBinarizer, become dense."""
    return np.asarray(values.toarray()) if hasattr(values, "toarray") else as_dense(values, name)


def is_indicator(y: Any) -> bool:
    """Whether labels have several columns, so that they can only be an indicator matrix."""
    if hasattr(y, "toarray"):
        return True
    if isinstance(y, (list, tuple)) and not (len(y) and np.ndim(y[0]) == 1):
        return False
    array = y if isinstance(y, np.ndarray) else as_dense(y, "y")
    return array.ndim == 2 and array.shape[1] > 1


def indicator_matrix(y: Any, name: str = "y") -> Indicators:
    """Check an indicator matrix and return it as integers of 0 and 1.

    Parameters
    ----------
    y : {array-like, frame, sparse matrix} of shape (n, n_labels)
        Entries 0 and 1, or False and True.
    name : str, default="y"

    Examples
    --------
    >>> from trueodds.inputs import indicator_matrix
    >>> indicator_matrix([[True, False], [True, True]])
    array([[1, 0],
           [1, 1]], dtype=int8)
    """
    array = _dense(y, name)
    if array.ndim != 2 or array.shape[1] < 1:
        raise InputError(
            f"{name} must have one column of 0 and 1 for each label; got shape {array.shape}."
        )
    if not len(array):
        raise InputError(f"{name} has no rows.")
    try:
        numbers = array.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must have entries 0 and 1 for several labels; {_HINT}") from None
    wrong = ~((numbers == 0) | (numbers == 1))
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        raise InputError(
            f"{name} must have entries 0 and 1 for several labels; got {array[row, column]!r} in "
            f"row {row}, column {column}. {_HINT}"
        )
    return numbers.astype(np.int8)


_HINT = (
    "Sets of labels become such a matrix by sklearn.preprocessing.MultiLabelBinarizer; one label "
    "with several classes needs a 1-D y."
)


def label_probabilities(y_prob: Any, n_rows: int, n_labels: int) -> Floats:
    """Probabilities of each label as a matrix.

    Parameters
    ----------
    y_prob : array-like of shape (n, n_labels), or list of n_labels arrays
        A list has an array of shape (n, 2) or (n,) for each label, as ``predict_proba`` of
        scikit-learn's ``MultiOutputClassifier`` and forests returns it.
    n_rows, n_labels : int
        Shape of the labels.
    """
    if isinstance(y_prob, (list, tuple)) and len(y_prob) == n_labels and _are_arrays(y_prob):
        columns = [as_dense(part, "y_prob") for part in y_prob]
        if any(c.ndim == 2 and c.shape[1] != 2 for c in columns):
            raise InputError("y_prob as a list must have arrays of shape (n, 2) or (n,).")
        lengths = {len(c) for c in columns}
        if lengths != {n_rows}:
            raise InputError(
                f"y_prob as a list must have arrays of {n_rows} rows, as y; got {sorted(lengths)}."
            )
        matrix = np.stack([c[:, 1] if c.ndim == 2 else c for c in columns], axis=1)
    else:
        matrix = _dense(y_prob, "y_prob")
    if matrix.shape != (n_rows, n_labels):
        raise InputError(
            f"y_prob must have a column for each label, shape ({n_rows}, {n_labels}), or be a list "
            f"of {n_labels} arrays; got shape {matrix.shape}."
        )
    return as_floats(matrix, "y_prob")


def _are_arrays(parts: Any) -> bool:
    """Whether a list has arrays as its parts, and not the numbers of rows."""
    return all(hasattr(part, "shape") or np.ndim(part) == 2 for part in parts)
