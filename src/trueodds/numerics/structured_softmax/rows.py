"""What a structured softmax is learned from: probabilities of classes, and counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from trueodds.inputs import Floats, InputScale
from trueodds.numerics.softmax.logits import softmax

__all__ = ["DEEPEST", "ClassRows", "class_probabilities", "tops_of"]

DEEPEST = -800.0
"""exp(-800) is 0, so that logits further below the largest say no more."""


def class_probabilities(scores: Floats, scale: InputScale, unit: float = 1.0) -> Floats:
    """Scores of any scale, of shape (n, k), as probabilities of shape (k, n) that sum to 1.

    Logits and decision values are divided by ``unit`` first.
    """
    if scale == "probability":
        columns = np.ascontiguousarray(scores.T)
        return np.asarray(columns / columns.sum(axis=0))
    with np.errstate(over="ignore"):  # margins at both ends of float64 are as sure as can be
        relative = scores - scores.max(axis=1, keepdims=True)
    relative = np.maximum(relative, DEEPEST * unit) / unit
    return np.ascontiguousarray(softmax(relative).T)


def tops_of(scores: Floats) -> npt.NDArray[np.bool_]:
    """Which scores are the largest of their row, of shape (k, n); several if they are equal.

    Of the scores as they came: they compare alike wherever the map is applied, which rounded
    functions of them need not.
    """
    columns = np.ascontiguousarray(scores.T)
    return np.asarray(columns == columns.max(axis=0))


@dataclass(frozen=True, eq=False)
class ClassRows:
    """Rows of class probabilities with what was seen in them.

    Parameters
    ----------
    p : ndarray of shape (k, n)
        Probabilities; columns sum to 1.
    top : ndarray of shape (k, n)
        Whether a class is the most probable of its row.
    counts : ndarray of shape (k, n)
        The weight with which each class was seen in a row.
    """

    p: Floats
    top: npt.NDArray[np.bool_]
    counts: Floats

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.p)

    @cached_property
    def weight(self) -> Floats:
        """The weight of each row."""
        return np.asarray(self.counts.sum(axis=0))

    @cached_property
    def class_weight(self) -> Floats:
        """The weight of each class."""
        return np.asarray(self.counts.sum(axis=1))

    def sample(self, size: int) -> ClassRows:
        """At most ``size`` rows, chosen by their content and not by their order."""
        n = self.p.shape[1]
        if n <= size:
            return self
        order = np.lexsort((self.weight, (self.p**2).sum(axis=0), self.counts.argmax(axis=0)))
        rows = order[:: -(-n // size)]
        return ClassRows(
            np.ascontiguousarray(self.p[:, rows]),
            np.ascontiguousarray(self.top[:, rows]),
            np.ascontiguousarray(self.counts[:, rows]),
        )
