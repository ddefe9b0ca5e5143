"""Rows: validated scores with their labels and weights, from which everything is learned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from trueodds.basics.log import logger
from trueodds.exceptions import InputError
from trueodds.inputs import (
    SCORE_WORDS,
    Floats,
    InputScale,
    Labels,
    LabelSmoothing,
    Weights,
    Words,
    check_length,
    check_positive_class,
    encode_labels,
    mass_of,
    positive_column,
    validate_scores,
)
from trueodds.numerics.label_targets import binary_targets, class_targets, smooth_counts
from trueodds.numerics.magnitude import bounded_scores, bounded_weights
from trueodds.numerics.softmax.logits import one_vs_rest_scores
from trueodds.table import ScoreTable

__all__ = ["CountedRows", "Rows"]


@dataclass(frozen=True, eq=False)
class Rows:
    """Scores with the label and the weight of each, and what a label counts as.

    Methods for two classes that need the order read :attr:`table`, which is sorted and smoothed.
    Those that do not read :attr:`scores` and :meth:`counts`, which saves the sort, and apply
    :attr:`targets` themselves.

    Parameters
    ----------
    scores : ndarray of shape (n,) or (n, n_classes)
        Scores of the positive class, or of every class.
    codes : ndarray of shape (n,)
        Labels as 0 … n_classes − 1; booleans if there are two classes.
    weight : Weights, default=None
        Importances and counts; None means one each. A method is given counts only: see
        :meth:`in_counts`.
    classes : ndarray of shape (n_classes,), default=None
        The labels that the codes stand for; by default the codes themselves.
    label_smoothing : "platt", float or None, default=None
        What a label counts as; see :meth:`trueodds.ScoreTable.smoothed`.
    offset : float, default=0
        Log-odds of the counts minus those of what is to be learned; see :meth:`in_counts`.
    """

    scores: Floats
    codes: npt.NDArray[Any]
    weight: Weights | None = None
    classes: Any = None
    label_smoothing: LabelSmoothing = None
    offset: float = 0.0

    def __post_init__(self) -> None:
        if self.classes is None:
            object.__setattr__(self, "classes", np.arange(self.n_classes))

    def __getstate__(self) -> dict[str, Any]:
        """The fields, without what was computed from them."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def read(
        cls,
        scores: Any,
        y: Any,
        sample_weight: Any = None,
        counts: Any = None,
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
            Importances; a common factor changes nothing.
        counts : array-like of shape (n,), default=None
            How often each row occurred.
        scale : {"probability", "logit", "raw"}
        classes : array-like, default=None
            All labels in the order of the columns; of two, the second is positive. By default
            the sorted labels, see :func:`trueodds.inputs.order_two_labels`.
        words : Words
            What the arguments are called.
        rows_sum_to_one : bool, default=True
            Whether rows of probabilities must sum to 1 (within 0.05).
        keep_two_columns : bool, default=False
            Whether two columns stay two columns.
        """
        codes, labels = encode_labels(y, classes)
        array = validate_scores(scores, scale, words=words, rows_sum_to_one=rows_sum_to_one)
        _check_lengths(len(array), len(codes), words)
        weight = Weights.read(sample_weight, counts, len(array))
        if array.ndim == 1 and classes is None:
            check_positive_class(labels, "classes")
        columns = 2 if array.ndim == 1 else array.shape[1]
        if len(labels) != columns:
            codes, labels = _with_the_other_class(codes, labels, columns, words)
        if array.ndim == 2 and columns == 2 and not keep_two_columns:
            array = positive_column(array, scale)
        return cls(array, codes, weight, labels)

    @staticmethod
    def of_table(table: ScoreTable, classes: npt.NDArray[Any] | None = None) -> CountedRows:
        """Rows of two classes that were counted by score."""
        return CountedRows(table, classes)

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def n_classes(self) -> int:
        """The number of classes, those without rows included."""
        return 2 if self.scores.ndim == 1 else int(self.scores.shape[1])

    def take(self, rows: Any) -> Self:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight.take(rows)
        return replace(self, scores=self.scores[rows], codes=self.codes[rows], weight=weight)

    def distinct(self) -> tuple[Self, Labels]:
        """Each triple of class, score and importance once, with the count of its rows.

        Returns
        -------
        cells : Rows
            The triples in the order of the classes, the scores and the importances.
        cell_of_row : ndarray of shape (n,)
            Which of them each row belongs to.
        """
        columns = self.scores[:, None] if self.scores.ndim == 1 else self.scores
        importance = None if self.weight is None else self.weight.importance
        if importance is not None:
            columns = np.column_stack([columns, importance])
        order = np.lexsort((*columns.T[::-1], self.codes))
        same_score = (columns[order][1:] == columns[order][:-1]).all(axis=1)
        same = same_score & (self.codes[order][1:] == self.codes[order][:-1])
        first = np.concatenate([[True], ~same])
        cell_of_row = np.empty(len(order), dtype=np.intp)
        cell_of_row[order] = np.cumsum(first) - 1
        count = np.bincount(cell_of_row, self.row_counts).astype(np.float64)
        importance = None if importance is None else importance[order[first]]
        return replace(self.take(order[first]), weight=Weights(importance, count)), cell_of_row

    def of_positive_weight(self) -> Self:
        """Without the rows of weight zero, and without counts if these are one each."""
        rows = self
        if self.weight is not None and not self.weight.values.all():
            kept = self.weight.values > 0
            logger.info("left out %s rows of weight zero", f"{len(kept) - kept.sum():,}")
            rows = self.take(kept)
        weight = rows.weight
        if weight is None or weight.count is None or (weight.count != 1).any():
            return rows
        one_each = None if weight.importance is None else Weights(weight.importance)
        return replace(rows, weight=one_each)

    def in_counts(self, *, by_class: bool = False) -> Self:
        """The same rows with the counts that they are worth in a likelihood.

        Every method learns from counts; here importances become counts. All rows have one factor;
        with ``by_class`` each class may have its own, and :attr:`offset` is the log-odds that this
        adds. See :meth:`trueodds.ScoreTable.rows_per_weight_of_class`.
        """
        if self.weight is None or not self.has_importances:
            return self
        if by_class and self.scores.ndim == 1:
            table = ScoreTable.from_codes(self.scores, self.codes, self.weight)
            factors = table.rows_per_weight_of_class
            if factors is not None:
                count = self.weight.values * np.where(self.codes, factors[1], factors[0])
                offset = float(np.log(factors[1] / factors[0]))
                return replace(self, weight=Weights(None, count), offset=offset)
        return replace(self, weight=self.weight.in_counts())

    def check_two_classes(self) -> None:
        """Refuse rows that are all of one class: nothing can be learned from them."""
        first = self.codes[0]
        if (self.codes == first).all():
            raise InputError(
                f"y has one class only ({self.classes.tolist()[first]!r}); calibration needs rows "
                "of at least two classes (with positive weight)."
            )

    def bounded(self, scale: InputScale, *, by_order_alone: bool = False) -> Self:
        """The same rows with scores and weights that float64 can calculate with.

        Ordinary rows are returned unchanged.
        """
        scores = self.scores if by_order_alone else bounded_scores(self.scores, scale)
        weight = self.weight
        if weight is not None and weight.importance is None:
            counts = bounded_weights(weight.values)
            weight = weight if counts is weight.values else Weights(None, counts)
        if scores is self.scores and weight is self.weight:
            return self
        return replace(self, scores=scores, weight=weight)

    def smoothed(self, label_smoothing: LabelSmoothing) -> Self:
        """The same rows with other targets."""
        if label_smoothing == self.label_smoothing:
            return self
        return replace(self, label_smoothing=label_smoothing)

    def uncounted(self) -> Rows:
        """Rows with one label each; of a table, one row for each score and class."""
        return self

    @property
    def row_weight(self) -> Floats:
        """The weight of each row in a sum."""
        return np.ones(len(self)) if self.weight is None else self.weight.values

    @property
    def mass(self) -> Floats | None:
        """The same; None, which kernels need not read, if each is one."""
        return mass_of(self.weight)

    @property
    def has_importances(self) -> bool:
        """Whether some rows matter more than others, beyond how often they occurred."""
        return self.weight is not None and self.weight.importance is not None

    @property
    def effective(self) -> float:
        """The number of rows of equal weight that they are worth."""
        return float(len(self)) if self.weight is None else self.weight.effective

    @property
    def row_counts(self) -> Floats | None:
        """How many rows each stands for; None if each is one."""
        return None if self.weight is None else self.weight.row_counts

    # Two classes.

    def counts(self, rows: slice = slice(None)) -> tuple[Floats, Floats]:
        """The weight of negatives and of positives in each of some rows, before smoothing."""
        n_pos = self.codes[rows].astype(np.float64)
        if self.weight is None:
            return 1 - n_pos, n_pos
        weight = self.weight.values[rows]
        n_pos *= weight
        return weight - n_pos, n_pos

    def smoothed_counts(self) -> tuple[Floats, Floats]:
        """The weight of negatives and of positives in each row, with smoothing."""
        return smooth_counts(*self.counts(), *self.targets)

    @cached_property
    def total_pos(self) -> float:
        """Weight of all positives."""
        if self.weight is None:
            return float(np.count_nonzero(self.codes))
        return float(self.weight.values @ self.codes)

    @cached_property
    def total_neg(self) -> float:
        """Weight of all negatives."""
        return self.total - self.total_pos

    @cached_property
    def total(self) -> float:
        """Weight of all rows."""
        return float(len(self)) if self.weight is None else float(self.weight.values.sum())

    @property
    def targets(self) -> tuple[float, float]:
        """What a negative and a positive count as."""
        return binary_targets(self.total_neg, self.total_pos, self.label_smoothing)

    @cached_property
    def table(self) -> ScoreTable:
        """Distinct scores in increasing order, with smoothing."""
        table = ScoreTable.from_codes(self.scores, self.codes, self.weight)
        return table.smoothed(self.label_smoothing)

    # Any number of classes.

    @cached_property
    def class_weight(self) -> Floats:
        """The weight of each class; 0 for one without rows."""
        return np.bincount(self.codes, self.mass, self.n_classes).astype(np.float64)

    @property
    def class_targets(self) -> Floats:
        """What class j counts as in a row of class i."""
        return class_targets(self.class_weight, self.label_smoothing)

    def one_vs_rest(self, scale: InputScale) -> Iterator[Rows | None]:
        """One binary problem for each class; None for a class without rows."""
        columns = one_vs_rest_scores(self.scores, scale)
        for k in range(self.n_classes):
            positive = self.codes == k
            if positive.any():
                column = np.ascontiguousarray(columns[:, k])
                yield Rows(column, positive, self.weight, label_smoothing=self.label_smoothing)
            else:
                yield None


class CountedRows(Rows):
    """Counts of two classes by score, with the interface of :class:`Rows`."""

    counted: ScoreTable

    def __init__(
        self,
        counted: ScoreTable,
        classes: npt.NDArray[Any] | None = None,
        label_smoothing: LabelSmoothing = None,
        offset: float = 0.0,
    ) -> None:
        vars(self).update(
            counted=counted,
            scores=counted.score,
            weight=None,
            classes=np.arange(2) if classes is None else classes,
            label_smoothing=label_smoothing,
            offset=offset,
        )

    def __getattr__(self, name: str) -> Any:
        if name == "codes":
            raise AttributeError("a table of counts has no label of each row; see uncounted().")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def row_weight(self) -> Floats:
        """The weight at each score."""
        return self.counted.weight

    @property
    def mass(self) -> Floats:
        """The weight at each score."""
        return self.counted.weight

    @property
    def has_importances(self) -> bool:
        """Whether the table has sums of importances."""
        return not self.counted.are_counts

    @property
    def effective(self) -> float:
        """The number of rows of equal weight that the table is worth."""
        return self.counted.effective

    def in_counts(self, *, by_class: bool = False) -> CountedRows:
        """The same scores with the counts that the weights are worth in a likelihood."""
        if self.counted.are_counts:
            return self
        factors = self.counted.rows_per_weight_of_class if by_class else None
        if factors is None:
            return CountedRows(self.counted.in_counts(), self.classes, self.label_smoothing)
        table = self.counted.times(*factors)
        offset = float(np.log(factors[1] / factors[0]))
        return CountedRows(table, self.classes, self.label_smoothing, offset)

    def bounded(self, scale: InputScale, *, by_order_alone: bool = False) -> CountedRows:
        """The same scores and counts as numbers that float64 can calculate with."""
        score = self.scores if by_order_alone else bounded_scores(self.scores, scale)
        columns = given = self.counted.columns
        if self.counted.are_counts:
            counts = np.stack(given)
            bounded = bounded_weights(counts)
            columns = given if bounded is counts else tuple(bounded)
        if score is self.scores and columns is given:
            return self
        table = ScoreTable.of_sorted(score, *columns)
        return CountedRows(table, self.classes, self.label_smoothing, self.offset)

    def smoothed(self, label_smoothing: LabelSmoothing) -> CountedRows:
        """The same counts with other targets."""
        return CountedRows(self.counted, self.classes, label_smoothing, self.offset)

    def uncounted(self) -> Rows:
        """One row for each score and class."""
        scores, positive, weight = self.counted.as_rows()
        return Rows(scores, positive, weight.scaled(), self.classes, self.label_smoothing)

    def counts(self, rows: slice = slice(None)) -> tuple[Floats, Floats]:
        """The weight of negatives and of positives at each of some scores, before smoothing."""
        return self.counted.n_neg[rows], self.counted.n_pos[rows]

    @cached_property
    def total_pos(self) -> float:
        """Weight of all positives."""
        return self.counted.total_pos

    @cached_property
    def total_neg(self) -> float:
        """Weight of all negatives."""
        return self.counted.total_neg

    @cached_property
    def total(self) -> float:
        """Weight of everything."""
        return self.counted.total

    @cached_property
    def table(self) -> ScoreTable:
        """The table, with smoothing."""
        return self.counted.smoothed(self.label_smoothing)


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
