"""What every method of two classes learns from, and what those of several classes do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.numerics.label_targets import binary_targets, class_targets, smooth_counts
from trueodds.numerics.softmax.logits import one_vs_rest_scores
from trueodds.table import ScoreTable
from trueodds.validation import Floats, InputScale, LabelledScores, Labels, LabelSmoothing

__all__ = ["ClassEvidence", "Evidence", "evidence_of"]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Scores of two classes with the weight of each class, and what a label counts as.

    Made from rows or from a table; a method cannot tell which. Most methods want :attr:`table`,
    which is sorted and has smoothing in it. Those that need no order read :attr:`score` and
    :meth:`counts`, which spares the sort, and apply :attr:`targets` themselves.

    Parameters
    ----------
    score : ndarray of shape (n,)
        In the order in which the rows came, or increasing if they came as a table.
    positive, weight : ndarray of shape (n,), or None
        Of rows: whether they are positive, and their weight (None means one each).
    source : ScoreTable or None
        The table, if they came as one.
    label_smoothing : "platt", float or None
        What a label counts as; see :meth:`trueodds.ScoreTable.smoothed`.
    """

    score: Floats
    positive: npt.NDArray[Any] | None = None
    weight: Floats | None = None
    source: ScoreTable | None = None
    label_smoothing: LabelSmoothing = None

    @classmethod
    def of_table(cls, table: ScoreTable) -> Evidence:
        """A table as evidence."""
        return cls(table.score, source=table)

    def smoothed(self, label_smoothing: LabelSmoothing) -> Evidence:
        """The same rows with other targets."""
        if label_smoothing == self.label_smoothing:
            return self
        return replace(self, label_smoothing=label_smoothing)

    def __len__(self) -> int:
        return len(self.score)

    def counts(self, rows: slice = slice(None)) -> tuple[Floats, Floats]:
        """The weight of negatives and of positives in each of some rows, before smoothing."""
        if self.source is not None:
            return self.source.n_neg[rows], self.source.n_pos[rows]
        n_pos = self._positive[rows].astype(np.float64)
        if self.weight is None:
            return 1 - n_pos, n_pos
        weight = self.weight[rows]
        n_pos *= weight
        return weight - n_pos, n_pos

    def smoothed_counts(self) -> tuple[Floats, Floats]:
        """The weight of negatives and of positives in each row, with smoothing."""
        return smooth_counts(*self.counts(), *self.targets)

    @property
    def row_weight(self) -> Floats | None:
        """Weight of both classes in each row; None means one each."""
        return self.weight if self.source is None else self.source.weight

    @cached_property
    def total_pos(self) -> float:
        """Weight of all positives."""
        if self.source is not None:
            return self.source.total_pos
        if self.weight is None:
            return float(np.count_nonzero(self._positive))
        return float(self.weight @ self._positive)

    @cached_property
    def total_neg(self) -> float:
        """Weight of all negatives."""
        if self.source is not None:
            return self.source.total_neg
        total = len(self.score) if self.weight is None else float(self.weight.sum())
        return total - self.total_pos

    @property
    def total(self) -> float:
        """Weight of everything."""
        return self.total_neg + self.total_pos

    @property
    def targets(self) -> tuple[float, float]:
        """What a negative and a positive count as."""
        return binary_targets(self.total_neg, self.total_pos, self.label_smoothing)

    @cached_property
    def table(self) -> ScoreTable:
        """Distinct scores in increasing order, with smoothing."""
        table = self.source
        if table is None:
            table = ScoreTable.from_codes(self.score, self.positive, self.weight)
        return table.smoothed(self.label_smoothing)

    def rows(self) -> tuple[Floats, npt.NDArray[Any], Floats | None]:
        """Scores, whether positive, and weights, before smoothing."""
        if self.source is not None:
            return self.source.as_rows()
        return self.score, self._positive, self.weight

    @property
    def _positive(self) -> npt.NDArray[Any]:
        assert self.positive is not None  # noqa: S101  # rows have labels
        return self.positive


@dataclass(frozen=True, eq=False)
class ClassEvidence:
    """Scores of several classes, and what a label counts as.

    Parameters
    ----------
    scores : ndarray of shape (n, n_classes)
    codes : ndarray of shape (n,)
    weight : ndarray of shape (n,) or None
        None means one each.
    label_smoothing : "platt", float or None
    """

    scores: Floats
    codes: Labels
    weight: Floats | None
    label_smoothing: LabelSmoothing = None

    def smoothed(self, label_smoothing: LabelSmoothing) -> ClassEvidence:
        """The same rows with other targets."""
        return replace(self, label_smoothing=label_smoothing)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.scores.shape[1])

    @property
    def row_weight(self) -> Floats:
        """The weight of each row."""
        return np.ones(len(self.codes)) if self.weight is None else self.weight

    @cached_property
    def class_weight(self) -> Floats:
        """The weight of each class; 0 for one without instances."""
        return np.bincount(self.codes, self.weight, self.n_classes).astype(np.float64)

    @property
    def targets(self) -> Floats:
        """What class j counts as in a row of class i."""
        return class_targets(self.class_weight, self.label_smoothing)

    def one_vs_rest(self, scale: InputScale) -> Iterator[Evidence | None]:
        """One binary problem for each class; None for a class without instances."""
        columns = one_vs_rest_scores(self.scores, scale)
        for k in range(self.n_classes):
            positive = self.codes == k
            if positive.any():
                column = np.ascontiguousarray(columns[:, k])
                yield Evidence(column, positive, self.weight, label_smoothing=self.label_smoothing)
            else:
                yield None


def evidence_of(rows: LabelledScores) -> Evidence | ClassEvidence:
    """What a method learns from rows that have been validated."""
    kind = Evidence if rows.n_classes == 2 else ClassEvidence
    return kind(rows.scores, rows.codes, rows.weight)
