"""Maps of any number of classes that, with two, also take the positive class's score alone."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from trueodds.export import Expression
from trueodds.export.expressions import INFINITE, clip, maximum, minimum
from trueodds.inputs import (
    Floats,
    InputScale,
    positive_column,
    returns_like_input,
    validate_scores,
)
from trueodds.maps._base import CalibrationMap
from trueodds.maps._formulas import positive_expression

__all__ = ["AnyClassesMap", "as_pair", "pair_expression"]


def as_pair(scores: Floats, scale: InputScale) -> Floats:
    """Scores of the positive class, of shape (n,), as those of both, of shape (n, 2)."""
    if scale == "probability":
        return np.stack([1 - scores, scores], axis=1)
    return np.stack([-np.maximum(scores, 0), np.minimum(scores, 0)], axis=1)


def pair_expression(score: Expression, scale: InputScale) -> tuple[Expression, Expression]:
    """The twin of :func:`as_pair`."""
    if scale == "probability":
        return 1 - score, score
    finite = clip(score, -INFINITE, INFINITE)
    return -maximum(finite, 0.0), minimum(finite, 0.0)


class AnyClassesMap(CalibrationMap):
    """A map that works on one score if there are two classes, else on one for each class."""

    @property
    def takes_one_score(self) -> bool:
        """With two classes."""
        return self.n_classes == 2

    @returns_like_input
    def __call__(self, scores: Any) -> Floats:
        """Turn scores into probabilities.

        Parameters
        ----------
        scores : array-like of shape (n, n_classes); with two classes also (n,)
            On the scale that ``input`` says.

        Returns
        -------
        ndarray of the same shape
        """
        array = validate_scores(
            scores, self.input, n_columns=self.n_classes, rows_sum_to_one=self.rows_sum_to_one
        )
        if array.ndim == 1 or not self.takes_one_score:
            return self.apply(array)
        return self.apply_to_both(positive_column(array, self.input))

    def expression(self, scores: Sequence[Expression]) -> tuple[Expression, ...]:
        """The formula of one score, or of a column for each class."""
        if not self.takes_one_score:
            return self._formulas(scores)
        if len(scores) == 1:
            return self._formulas(scores)
        p = self._formulas((positive_expression(scores, self.input),))[0]
        return 1 - p, p

    @abstractmethod
    def _formulas(self, scores: Sequence[Expression]) -> tuple[Expression, ...]:
        """The probability of the positive class from one score, or of each class from as many."""
