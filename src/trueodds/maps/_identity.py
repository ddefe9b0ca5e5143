"""The map that leaves probabilities alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from trueodds.export.expressions import (
    INFINITE,
    Expression,
    Softmax,
    maximum,
    sigmoid,
    total,
)
from trueodds.inputs import Floats, returns_like_input, validate_scores
from trueodds.maps._base import CalibrationMap
from trueodds.numerics import log_odds
from trueodds.numerics.softmax.logits import softmax

__all__ = ["IdentityMap"]


@dataclass(frozen=True, eq=False, kw_only=True)
class IdentityMap(CalibrationMap):
    """Probabilities as they are; log-odds and margins through the logistic function.

    Examples
    --------
    >>> from trueodds.maps import IdentityMap
    >>> IdentityMap()([0.1, 1.0])
    array([0.1, 1. ])
    >>> IdentityMap(input="logit")([0.0, float("inf")])
    array([0.5, 1. ])
    """

    family: ClassVar[str] = "identity"

    @property
    def n_classes(self) -> int | None:
        """None: any number, unless ``classes`` says."""
        return None if self.classes is None else len(self.classes)

    @property
    def takes_one_score(self) -> bool:
        """Unless there are more than two classes."""
        return self.n_classes in (None, 2)

    def _check(self) -> None:
        pass

    @returns_like_input
    def __call__(self, scores: Any) -> Floats:
        """Return the probabilities that the scores already are, rows summing to 1."""
        columns = self.n_classes
        return self.apply(validate_scores(scores, self.input, n_columns=columns))

    def _apply(self, scores: Floats) -> Floats:
        if self.input == "probability":
            if scores.ndim == 1:
                return scores.copy()
            return np.asarray(scores / scores.sum(axis=1, keepdims=True))
        if scores.ndim == 1:
            return log_odds.sigmoid(scores)
        return np.asarray(softmax(scores))

    def expression(self, scores: Sequence[Expression]) -> tuple[Expression, ...]:
        """The score itself, or each divided by the sum of its row."""
        if len(scores) == 1:
            return (scores[0] if self.input == "probability" else sigmoid(scores[0]),)
        if self.input == "probability":
            whole = total(scores)
            return tuple(p / whole for p in scores)
        logits = tuple(maximum(x, -INFINITE) if self.input == "logit" else x for x in scores)
        return tuple(Softmax(logits, index) for index in range(len(logits)))
