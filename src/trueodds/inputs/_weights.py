"""The two meanings of a weight: a count and an importance.

A **count** is the number of times that a row occurred: a row of count k equals k rows. ``counts``,
and the columns ``n_neg`` and ``n_pos`` of a :class:`~trueodds.ScoreTable`, are counts.

An **importance** is the weight of a row that remains one observation. ``sample_weight``
of tests, intervals and comparisons is an importance.

Fits, losses and averages are the same with either, so their ``sample_weight`` may be both: a weight
of k equals k rows. Two parts of a fit depend on the total weight, Platt's correction and the levels
of scores of exactly 0 and 1. Scale importances to sum to the number of rows for them.

``None`` means a weight of one for each row, here and in kernels, which then read no weights;
``Rows.row_weight`` is always an array.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds.exceptions import InputError
from trueodds.inputs._arrays import Floats, as_dense, as_floats, number_text, where
from trueodds.inputs._options import check_number

__all__ = [
    "MOST_WEIGHT",
    "check_effective_rows",
    "check_weight_size",
    "repeat_rows",
    "validate_weights",
]

MOST_WEIGHT = 1e15
"""Largest weight of a row; beyond it, float64 cannot count one row more."""


def validate_weights(sample_weight: Any, n_rows: int) -> Floats | None:
    """Check sample weights; None stays None and means one each."""
    if sample_weight is None:
        return None
    weights = as_floats(sample_weight, "sample_weight")
    if weights.shape != (n_rows,):
        raise InputError(f"sample_weight must have shape ({n_rows},); got {weights.shape}.")
    unbounded = ~np.isfinite(weights)
    if unbounded.any():
        raise InputError(f"sample_weight must be finite; got NaN or infinity {where(unbounded)}.")
    if (weights < 0).any():
        raise InputError(f"sample_weight must not be negative; got one {where(weights < 0)}.")
    if not weights.any():
        raise InputError("sample_weight is zero everywhere.")
    check_weight_size(weights, "sample_weight")
    return weights


def repeat_rows(counts: Any, **columns: Any) -> dict[str, Any]:
    """Repeat each row ``counts`` times; without counts, rows are unchanged.

    Tests and intervals then have every row, so a table of counts and its rows give the same
    result. Memory is that of all rows.

    Parameters
    ----------
    counts : array-like of shape (n,) or None
        Whole numbers, not negative, not all zero.
    **columns
        Arrays of n rows by name; None stays None.
    """
    if counts is None:
        return columns
    whole = as_floats(counts, "counts")
    if whole.ndim != 1:
        raise InputError(f"counts must be 1-D; got shape {whole.shape}.")
    wrong = ~(np.isfinite(whole) & (whole >= 0) & (whole == np.floor(whole)))
    if wrong.any():
        raise InputError(
            f"counts must be whole numbers of rows, 0 or more; got {whole[wrong][0]:g} "
            f"{where(wrong)}. If these are importance weights, pass them as sample_weight."
        )
    if not whole.any():
        raise InputError("counts are zero everywhere.")
    check_weight_size(whole, "counts")
    repeated: dict[str, Any] = {}
    for name, column in columns.items():
        if column is None:
            repeated[name] = None
            continue
        array = as_dense(column, name)
        if array.ndim == 0:
            raise InputError(f"{name} must have a value for each row; got one number.")
        if len(array) != len(whole):
            raise InputError(
                f"counts must have shape ({len(array)},), as {name} has; got {whole.shape}."
            )
        repeated[name] = np.repeat(array, whole.astype(np.int64), axis=0)
    return repeated


def check_weight_size(weights: Floats, name: str) -> None:
    """Raise for weights that are too large to be counts."""
    large = weights > MOST_WEIGHT
    if large.any():
        place = int(np.argmax(large))
        raise InputError(
            f"{name} must not exceed {MOST_WEIGHT:g}, as a weight of k counts like k rows; got "
            f"{number_text(weights[place], MOST_WEIGHT)} at index {place}. "
            "Rescale the weights, e.g. to mean 1."
        )


def check_effective_rows(n_effective: Any) -> float:
    """Check a number of rows that importance weights are worth: (Σw)²/Σw²."""
    return check_number(n_effective, "n_effective", 1.0, MOST_WEIGHT)
