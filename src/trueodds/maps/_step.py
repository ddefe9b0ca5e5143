"""Maps that are constant between edges: histogram binning, isotonic steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from trueodds.exceptions import InputError
from trueodds.export.expressions import INFINITE, Expression, StepLookup
from trueodds.inputs import Floats, check_increasing, check_unit_interval
from trueodds.kernels.maps import apply_steps
from trueodds.maps._base import BinaryMap

__all__ = ["StepMap"]


@dataclass(frozen=True, eq=False, kw_only=True)
class StepMap(BinaryMap):
    """``values[i]`` for edges[i−1] ≤ score < edges[i].

    Parameters
    ----------
    edges : array of shape (n_bins − 1,)
        Strictly increasing; a score on an edge belongs to the bin above it.
    values : array of shape (n_bins,)
        Probabilities.

    Examples
    --------
    >>> from trueodds.maps import StepMap
    >>> StepMap(edges=[0.5], values=[0.2, 0.7])([0.0, 0.5, 1.0])
    array([0.2, 0.7, 0.7])
    """

    edges: Floats
    values: Floats

    family: ClassVar[str] = "step"
    compiled: ClassVar[bool] = True

    def _check(self) -> None:
        edges, values = self._freeze("edges"), self._freeze("values")
        if edges.ndim != 1 or values.ndim != 1 or len(values) != len(edges) + 1:
            raise InputError("values must be one longer than edges, both 1-D.")
        check_increasing(edges, "edges")
        check_unit_interval(values, "values")

    def _apply(self, scores: Floats) -> Floats:
        out = np.empty(len(scores))
        apply_steps(self.edges, self.values, scores, out)
        return out

    def _formula(self, score: Expression) -> Expression:
        # No score lies below an edge of −inf, and none but +inf reaches one of +inf.
        first = 1 if len(self.edges) and self.edges[0] == -np.inf else 0
        edges = np.where(self.edges == np.inf, INFINITE, self.edges)[first:]
        return StepLookup(score, edges, self.values[first:])
