"""The weighted mean of several maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from trueodds.exceptions import InputError
from trueodds.export.expressions import Dot, Expression, minimum
from trueodds.inputs import (
    Floats,
    as_tuple,
)
from trueodds.maps._base import CalibrationMap
from trueodds.maps._pairs import AnyClassesMap
from trueodds.maps._tree import TreeMap

__all__ = ["AverageMap"]

SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False, kw_only=True)
class AverageMap(AnyClassesMap):
    """Probabilities averaged over several maps.

    Parameters
    ----------
    maps : tuple of maps
        Of the same ``input`` and for as many classes; not averages themselves, nor trees.
    weights : array of shape (len(maps),)
        Not negative, with sum 1.

    Examples
    --------
    >>> from trueodds.maps import AverageMap, IdentityMap, StepMap
    >>> half = StepMap(edges=[], values=[0.5])
    >>> AverageMap(maps=(IdentityMap(), half), weights=[0.8, 0.2])([0.0, 0.4])
    array([0.1 , 0.42])
    """

    maps: tuple[CalibrationMap, ...]
    weights: Floats

    family: ClassVar[str] = "average"

    @property
    def n_classes(self) -> int:
        """As many as the maps have; those that leave scores alone have any number."""
        return max(m.n_classes or 2 for m in self.maps)

    @property
    def rows_sum_to_one(self) -> bool:
        """Unless none of the maps asks for it."""
        return any(m.rows_sum_to_one for m in self.maps)

    def _check(self) -> None:
        object.__setattr__(self, "maps", as_tuple(self.maps, "maps"))
        if not self.maps or not all(
            isinstance(m, CalibrationMap)
            and not isinstance(m, (AverageMap, TreeMap))
            and m.input == self.input
            for m in self.maps
        ):
            raise InputError(
                "maps must be one or more maps of the same input, none an average or a tree."
            )
        known = {m.n_classes for m in self.maps} - {None}
        if len(known) > 1:
            raise InputError(f"maps must have equally many classes; got {sorted(known, key=str)}.")
        if self.n_classes == 2 and not all(m.takes_one_score for m in self.maps):
            raise InputError("with two classes, maps must take the positive class's score alone.")
        weights = self._freeze("weights")
        if weights.shape != (len(self.maps),):
            raise InputError(f"weights must be {len(self.maps)} numbers, one for each map.")
        if not ((weights >= 0).all() and abs(float(weights.sum()) - 1) <= SUM_TOLERANCE):
            raise InputError("weights must not be negative, and their sum must be 1.")

    @classmethod
    def _decode(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        maps = cls._decode_maps(parameters["maps"], (cls.family, "tree"))
        return {**super()._decode({"weights": parameters["weights"]}), "maps": maps}

    def _apply(self, scores: Floats) -> Floats:
        result = np.zeros(scores.shape)
        for weight, m in zip(self.weights.tolist(), self.maps, strict=True):
            result += weight * m._apply(scores)
        return np.minimum(result, 1.0, out=result)  # weights sum to 1 but for rounding

    def _formulas(self, scores: Sequence[Expression]) -> tuple[Expression, ...]:
        outputs = [m.expression(scores) for m in self.maps]
        weights = tuple(self.weights.tolist())
        return tuple(
            minimum(Dot(weights, tuple(terms)), 1.0) for terms in zip(*outputs, strict=True)
        )
