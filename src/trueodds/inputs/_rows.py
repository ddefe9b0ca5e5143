"""Scores, labels and weights together: the door that every row passes once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from trueodds.basics.log import logger
from trueodds.exceptions import InputError
from trueodds.inputs._arrays import Floats, Labels, as_dense, check_length
from trueodds.inputs._labels import check_positive_class, encode_labels
from trueodds.inputs._scores import (
    SCORE_WORDS,
    InputScale,
    Words,
    positive_column,
    validate_scores,
)
from trueodds.inputs._weights import validate_weights

__all__ = ["LabelledScores", "encode_groups", "read_rows"]


@dataclass(frozen=True, eq=False)
class LabelledScores:
    """Validated rows.

    Parameters
    ----------
    scores : ndarray of shape (n,) or (n, n_classes)
    codes : ndarray of shape (n,)
        Labels as 0 … n_classes − 1.
    weight : ndarray of shape (n,) or None
        None means one each.
    classes : ndarray of shape (n_classes,)
        The labels that the codes stand for.
    """

    scores: Floats
    codes: Labels
    weight: Floats | None
    classes: npt.NDArray[Any]

    @classmethod
    def read(
        cls,
        scores: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        scale: InputScale,
        classes: Any = None,
        words: Words = SCORE_WORDS,
        rows_sum_to_one: bool = True,
        keep_two_columns: bool = False,
    ) -> Self:
        """Validate rows; two columns become that of the positive class.

        Parameters
        ----------
        scores : array-like of shape (n,), (n, 1) or (n, n_classes)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), default=None
        scale : {"probability", "logit", "score"}
        classes : array-like, default=None
            All labels in the order of the columns; of two, the second is positive. By default
            the sorted labels, see :func:`order_two_labels`.
        words : Words
            What the arguments are called.
        rows_sum_to_one : bool, default=True
            Whether rows of probabilities must sum to 1 (within 0.05).
        keep_two_columns : bool, default=False
            Leave two columns as they are.
        """
        array = validate_scores(scores, scale, words=words, rows_sum_to_one=rows_sum_to_one)
        codes, labels = encode_labels(y, classes)
        _check_lengths(len(array), len(codes), words)
        weight = validate_weights(sample_weight, len(array))
        if array.ndim == 1 and classes is None:
            check_positive_class(labels, "classes")
        columns = 2 if array.ndim == 1 else array.shape[1]
        if len(labels) != columns:
            codes, labels = _with_the_other_class(codes, labels, columns, words)
        if array.ndim == 2 and columns == 2 and not keep_two_columns:
            array = positive_column(array, scale)
        return cls(array, codes, weight, labels)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def n_classes(self) -> int:
        """The number of classes, those without rows included."""
        return len(self.classes)

    def take(self, rows: Any) -> Self:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return type(self)(self.scores[rows], self.codes[rows], weight, self.classes)

    def of_positive_weight(self) -> Self:
        """Without the rows of weight zero."""
        if self.weight is None or self.weight.all():
            return self
        kept = self.weight > 0
        logger.info("left out %s rows of weight zero", f"{len(kept) - kept.sum():,}")
        return self.take(kept)

    def check_two_classes(self) -> None:
        """Refuse rows that are all of one class: nothing can be learned from them."""
        first = self.codes[0]
        if (self.codes == first).all():
            raise InputError(
                f"y has one class only ({self.classes.tolist()[first]!r}); calibration needs "
                "instances of at least two classes (of positive weight)."
            )


def encode_groups(groups: Any, n_rows: int) -> tuple[Labels, npt.NDArray[Any]]:
    """Code groups of rows as 0 … n_groups − 1, and what the codes stand for."""
    array = as_dense(groups, "groups")
    if array.shape != (n_rows,):
        raise InputError(f"groups must have shape ({n_rows},); got {array.shape}.")
    try:
        names, unit = np.unique(array, return_inverse=True)
    except TypeError:
        kinds = sorted({type(name).__name__ for name in array.tolist()})
        raise InputError(f"groups must be of one type that sorts; got {kinds}.") from None
    return unit.astype(np.intp, copy=False), names


def _check_lengths(n_scores: int, n_labels: int, words: Words) -> None:
    if words.labels_first:
        check_length(n_scores, words.scores, n_labels, words.labels)
    else:
        check_length(n_labels, words.labels, n_scores, words.scores)


def _with_the_other_class(
    codes: Labels, labels: npt.NDArray[Any], columns: int, words: Words
) -> tuple[Labels, npt.NDArray[Any]]:
    """Only zeros or only ones: there is no doubt which of the two classes it is."""
    if columns == 2 and len(labels) == 1 and labels.dtype.kind in "biuf" and labels[0] in (0, 1):
        return codes + int(labels[0]), np.array([0, 1])
    found = f"{len(labels)} classes"
    if len(labels) == 1:
        found = f"one class only ({labels.tolist()[0]!r})"
    hint = " Pass classes= to name the absent ones." if columns > len(labels) else ""
    raise InputError(
        f"{words.scores} has {columns} columns (1-D counts as 2), but {words.labels} has "
        f"{found}.{hint}"
    )


read_rows = LabelledScores.read
