"""Scores on the scale that the caller names."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from trueodds.exceptions import InputError
from trueodds.inputs._arrays import Floats, as_floats, number_text, where
from trueodds.inputs._options import check_choice
from trueodds.kernels.tables import first_row_with_wrong_sum

__all__ = [
    "METRIC_WORDS",
    "ROW_SUM_TOLERANCE",
    "SCORE_WORDS",
    "InputScale",
    "Words",
    "check_scale",
    "positive_column",
    "seem_percentages",
    "validate_scores",
]

InputScale = Literal["probability", "logit", "raw"]
SCALES = get_args(InputScale)

ROW_SUM_TOLERANCE = 0.05 + 1e-9
"""Rows of probabilities are normalized; rows further than 0.05 from 1 are refused.

The extra billionth exceeds the difference between sums in different orders. For example, 0.98,
0.02 and 0.05 sum to 1.05 in one order and to the next float64 in another. So maps, exports and
engines accept the same rows.
"""
PERCENT_SHARE = 0.05
"""The share of scores above 1 from which they are more than a few slips."""


@dataclass(frozen=True)
class Words:
    """What a function's arguments are called, so that a message names what the caller wrote."""

    scores: str
    labels: str
    has_scale: bool
    """Whether the caller can pass another scale (``scale=``)."""
    labels_first: bool
    """Whether labels come first in the signature."""


SCORE_WORDS = Words("scores", "y", has_scale=True, labels_first=False)
METRIC_WORDS = Words("y_prob", "y_true", has_scale=False, labels_first=True)


def check_scale(scale: Any) -> None:
    """Refuse anything but the three scales that scores can have."""
    if not isinstance(scale, str) or scale not in SCALES:
        check_choice(scale, SCALES, "scale")


def validate_scores(
    scores: Any,
    scale: InputScale,
    *,
    n_columns: int | None = None,
    rows_sum_to_one: bool = True,
    words: Words = SCORE_WORDS,
) -> Floats:
    """Check scores and return them as float64, 1-D or with one column per class.

    Parameters
    ----------
    scores : array-like of shape (n,), (n, 1) or (n, n_classes)
        A single column becomes 1-D.
    scale : {"probability", "logit", "raw"}
        What the numbers are. Only log-odds may be infinite.
    n_columns : int, default=None
        Refuse another number of columns; 1 stands for 1-D.
    rows_sum_to_one : bool, default=True
        Whether rows of probabilities must sum to 1 (within 0.05). They are not changed.
    words : Words
        Name of the scores, and whether another scale can be passed.

    Returns
    -------
    ndarray of float64
    """
    check_scale(scale)
    array = as_floats(scores, words.scores)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.ravel()
    if array.ndim not in (1, 2) or 0 in array.shape[1:]:
        raise InputError(
            f"{words.scores} must be 1-D (the positive class) or 2-D (one column per class); "
            f"got shape {array.shape}."
        )
    if array.shape[0] == 0:
        raise InputError(f"{words.scores} is empty: found 0 sample(s), a minimum of 1 is required.")
    columns = 1 if array.ndim == 1 else array.shape[1]
    if n_columns is not None and columns != n_columns and not (n_columns == 2 and columns == 1):
        raise InputError(f"{words.scores} must have {n_columns} columns as in fit; got {columns}.")
    _check_range(array, scale, words)
    if array.ndim == 2 and scale == "probability" and rows_sum_to_one:
        _check_row_sums(array, words)
    return array


def _check_range(array: Floats, scale: InputScale, words: Words) -> None:
    lowest, highest = array.min(), array.max()
    if math.isnan(lowest):
        raise InputError(f"{words.scores} must not contain NaN; found {where(np.isnan(array))}.")
    if scale == "probability" and (lowest < 0 or highest > 1):
        outside = (array < 0) | (array > 1)
        first = array[tuple(np.argwhere(outside)[0])]
        hint = (
            ' If these are log-odds, pass scale="logit"; if they are raw decision values, '
            'pass scale="raw".'
            if words.has_scale
            else ""
        )
        if seem_percentages(lowest, highest, outside.mean()):
            hint = f" These look like percentages: pass {words.scores} / 100."
        raise InputError(
            f"{words.scores} must lie in [0, 1]; got {number_text(first, 0, 1)} "
            f"{where(outside)}.{hint}"
        )
    if scale == "raw" and (np.isinf(lowest) or np.isinf(highest)):
        raise InputError(
            f"{words.scores} must be finite; got an infinity (inf) {where(np.isinf(array))}. "
            'Infinite log-odds are legal with scale="logit".'
        )
    if scale == "logit" and array.ndim == 2:
        if np.isposinf(highest):
            raise InputError(
                f"a class's logit must be below +inf; found {where(np.isposinf(array))}. "
                "Use -inf for the classes that are impossible."
            )
        hopeless = np.asarray(np.isneginf(array).all(axis=1))
        if np.isneginf(lowest) and hopeless.any():
            raise InputError(f"every logit of a row is -inf {where(hopeless)}.")


def seem_percentages(lowest: float, highest: float, share: float) -> bool:
    """Whether scores outside [0, 1], this share of all, look like percentages and not like slips.

    Examples
    --------
    >>> seem_percentages(0.0, 97.5, 0.9), seem_percentages(0.0, 97.5, 0.01)
    (True, False)
    """
    return lowest >= 0 and 2 < highest <= 100 and share >= PERCENT_SHARE


def _check_row_sums(array: Floats, words: Words) -> None:
    row = first_row_with_wrong_sum(array, 1.0, ROW_SUM_TOLERANCE)
    if row >= 0:
        off = np.abs(array.sum(axis=1) - 1) > ROW_SUM_TOLERANCE
        hint = (
            " If a row can have several labels, take one column at a time. If only one class is "
            "right and the columns are separate scores, use OneVsRestCalibrator."
        )
        limits = (1 - ROW_SUM_TOLERANCE, 1 + ROW_SUM_TOLERANCE)
        raise InputError(
            f"rows of {words.scores} must sum to 1; row {row} sums to "
            f"{number_text(array[row].sum(), *limits)} "
            f"({int(off.sum())} of {len(off)} rows off by more than {ROW_SUM_TOLERANCE:.2g})."
            + (hint if words.has_scale else "")
        )


def positive_column(columns: Floats, scale: InputScale) -> Floats:
    """Reduce two columns, one per class, to the score of the positive class on the same scale.

    Each row of probabilities is divided by its own sum, whatever the other rows look like.
    """
    if scale == "probability":
        return np.asarray(columns[:, 1] / columns.sum(axis=1))
    with np.errstate(over="ignore"):  # margins at both ends of float64
        return np.asarray(columns[:, 1] - columns[:, 0])
