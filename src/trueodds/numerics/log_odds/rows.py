"""Binary evidence on the log-odds axis."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from trueodds.inputs import Floats
from trueodds.numerics.label_targets import smooth_counts

__all__ = ["LogOddsRows"]


@dataclass(frozen=True)
class LogOddsRows:
    """Log-odds in any order, some of them perhaps infinite, with the weight of each class."""

    z: Floats
    n_neg: Floats
    n_pos: Floats

    @property
    def weight(self) -> Floats:
        """Weight of both classes in each row."""
        return np.asarray(self.n_neg + self.n_pos)

    @property
    def total(self) -> float:
        """Weight of everything."""
        return float(self.n_neg.sum() + self.n_pos.sum())

    def take(self, rows: Any) -> Self:
        """Some of the rows."""
        return replace(self, z=self.z[rows], n_neg=self.n_neg[rows], n_pos=self.n_pos[rows])

    def with_targets(self, low: float, high: float) -> Self:
        """Let a negative count as ``low`` of a positive, and a positive as ``high``."""
        n_neg, n_pos = smooth_counts(self.n_neg, self.n_pos, low, high)
        return replace(self, n_neg=n_neg, n_pos=n_pos)
