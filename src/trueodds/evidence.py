"""Binary evidence: scores in some order, with the weight of each class at each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from trueodds.exceptions import InputError
from trueodds.numerics.label_targets import platt_targets
from trueodds.validation import Floats

__all__ = ["Evidence", "LabelSmoothing", "LabelledScores", "check_smoothing"]

LabelSmoothing = Literal["platt"] | float | None


def check_smoothing(label_smoothing: LabelSmoothing) -> None:
    """Refuse what is no way of smoothing labels."""
    if label_smoothing is None or label_smoothing == "platt":
        return
    is_number = isinstance(label_smoothing, (int, float)) and not isinstance(label_smoothing, bool)
    if not is_number or not 0 <= label_smoothing < 1:
        raise InputError(
            f'label_smoothing must be None, "platt" or a number in [0, 1); got {label_smoothing!r}.'
        )


class Evidence(ABC):
    """Binary evidence in some order: enough for the parametric methods, which need not sort."""

    score: Floats

    @abstractmethod
    def counts(self, rows: slice) -> tuple[Floats, Floats]:
        """The weight of negatives and of positives in each of some rows."""

    @property
    @abstractmethod
    def row_weight(self) -> Floats | None:
        """Weight of both classes in each row; None means one each."""

    @property
    @abstractmethod
    def total_neg(self) -> float:
        """Weight of all negatives."""

    @property
    @abstractmethod
    def total_pos(self) -> float:
        """Weight of all positives."""

    def __len__(self) -> int:
        return len(self.score)

    @property
    def total(self) -> float:
        """Weight of everything."""
        return self.total_neg + self.total_pos

    def targets(self, label_smoothing: LabelSmoothing) -> tuple[float, float]:
        """What a negative and a positive count as; see :meth:`ScoreTable.smoothed`."""
        check_smoothing(label_smoothing)
        if label_smoothing == "platt":
            return platt_targets(self.total_neg, self.total_pos)
        half = float(label_smoothing or 0.0) / 2
        return half, 1 - half


@dataclass(frozen=True, eq=False)
class LabelledScores(Evidence):
    """Validated scores as they came, each with its label and perhaps a weight."""

    score: Floats
    positive: npt.NDArray[Any]
    weight: Floats | None

    def counts(self, rows: slice) -> tuple[Floats, Floats]:
        """The weight of negatives and of positives in each of some rows."""
        n_pos = self.positive[rows].astype(np.float64)
        if self.weight is None:
            return 1 - n_pos, n_pos
        weight = self.weight[rows]
        n_pos *= weight
        return weight - n_pos, n_pos

    @property
    def row_weight(self) -> Floats | None:
        """Weight of each row; None means one each."""
        return self.weight

    @property
    def total_neg(self) -> float:
        """Weight of all negatives."""
        total = len(self.score) if self.weight is None else float(self.weight.sum())
        return total - self.total_pos

    @property
    def total_pos(self) -> float:
        """Weight of all positives."""
        if self.weight is None:
            return float(np.count_nonzero(self.positive))
        return float(self.weight @ self.positive)
