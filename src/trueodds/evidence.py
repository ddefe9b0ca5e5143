"""What every method of two classes learns from, and what those of several classes do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.exceptions import InputError
from trueodds.inputs import Floats, InputScale, LabelledScores, Labels, LabelSmoothing
from trueodds.numerics.label_targets import binary_targets, class_targets, smooth_counts
from trueodds.numerics.softmax.logits import one_vs_rest_scores
from trueodds.table import ScoreTable

__all__ = [
    "ClassEvidence",
    "Evidence",
    "bounded_scores",
    "bounded_weights",
    "calculating",
    "evidence_of",
]

LARGEST_SCORE = 2.0**1020
"""Log-odds and margins are learned from as if they were no larger: twice as much is a float64."""
SMALLEST_SCORE = 2.0**-1020
"""Nearer to 0 they count as 0: what a slope must multiply them by to be seen is no float64."""
SMALLEST_WEIGHT = 2.0**-400
"""A weight counts at least as much, so that products of weights are not 0."""
LIGHT = 2.0**-200
"""If no row weighs more, all are multiplied by a power of two: next to nothing either way."""


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

    def bounded(self, scale: InputScale, *, by_order_alone: bool = False) -> Evidence:
        """The same rows as numbers that can be calculated with; itself if they are ordinary."""
        score = self.score if by_order_alone else bounded_scores(self.score, scale)
        if self.source is None:
            weight = None if self.weight is None else bounded_weights(self.weight)
            if score is self.score and weight is self.weight:
                return self
            return replace(self, score=score, weight=weight)
        counts = np.stack([self.source.n_neg, self.source.n_pos])
        bounded = bounded_weights(counts)
        if score is self.score and bounded is counts:
            return self
        table = ScoreTable.of_sorted(score, *bounded)
        return replace(self, score=table.score, source=table)

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

    def bounded(self, scale: InputScale, *, by_order_alone: bool = False) -> ClassEvidence:
        """The same rows as numbers that can be calculated with; itself if they are ordinary."""
        scores = self.scores if by_order_alone else bounded_scores(self.scores, scale)
        weight = None if self.weight is None else bounded_weights(self.weight)
        if scores is self.scores and weight is self.weight:
            return self
        return replace(self, scores=scores, weight=weight)

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


def bounded_scores(scores: Floats, scale: InputScale) -> Floats:
    """Log-odds and margins within the bounds above; infinite log-odds stay infinite."""
    if scale == "probability":
        return scores
    size = np.abs(scores)
    beyond = (size > LARGEST_SCORE) & (size < np.inf)
    vanishing = (size < SMALLEST_SCORE) & (size > 0)
    if not (beyond.any() or vanishing.any()):
        return scores
    bounded = np.where(vanishing, 0.0, scores)
    return np.where(beyond, np.copysign(LARGEST_SCORE, scores), bounded)


def bounded_weights(weights: Floats) -> Floats:
    """Weights none of which vanishes beside the largest; 0 stays 0."""
    if weights.min() >= LIGHT:
        return weights
    largest = weights.max()
    if largest < LIGHT:
        weights = np.ldexp(weights, int(np.frexp(LIGHT)[1] - np.frexp(largest)[1]))
    small = (weights > 0) & (weights < SMALLEST_WEIGHT)
    return np.where(small, SMALLEST_WEIGHT, weights) if small.any() else weights


@contextmanager
def calculating(name: str, scores: Floats, weight: Floats | None) -> Iterator[None]:
    """Fit inside; an error that is not ours becomes one that says what the numbers are like.

    NumPy is silent meanwhile: what overflows is infinite, and no map takes what is not a number.
    """
    try:
        with np.errstate(all="ignore"):
            yield
    except InputError:
        raise
    except (ArithmeticError, np.linalg.LinAlgError, ValueError) as error:
        raise InputError(
            f"{name} cannot be fitted to these rows, whose numbers lie too far apart for float64: "
            f"{_sizes(scores, weight)}. Bring them to an ordinary size, or take another method "
            f"({type(error).__name__}: {error})."
        ) from error


def _sizes(scores: Floats, weight: Floats | None) -> str:
    words = f"scores are {_span(scores)}"
    return words if weight is None else f"{words}, weights {_span(weight)}"


def _span(values: Floats) -> str:
    return f"{values.min():.6g} to {values.max():.6g}"
