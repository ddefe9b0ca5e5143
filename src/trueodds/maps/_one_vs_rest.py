"""One binary map per class, normalised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from trueodds.exceptions import InputError
from trueodds.export.expressions import Choose, Constant, Expression, total
from trueodds.inputs import (
    Floats,
    as_tuple,
)
from trueodds.maps._base import BinaryMap, CalibrationMap, ClassMap
from trueodds.maps._formulas import one_vs_rest_expressions
from trueodds.maps._identity import IdentityMap
from trueodds.numerics.softmax.logits import one_vs_rest_scores

__all__ = ["OneVsRestMap"]


@dataclass(frozen=True, eq=False, kw_only=True)
class OneVsRestMap(ClassMap):
    """Each column through its own binary map; rows are then divided by their sum.

    Parameters
    ----------
    maps : tuple of binary maps
        One per class, of the same ``input``. Logits are first turned into the log-odds of each
        class against all others.

    Notes
    -----
    A row that all maps send to 0 becomes uniform.

    Examples
    --------
    >>> from trueodds.maps import LogOddsMap, OneVsRestMap
    >>> half = LogOddsMap(a=0.5, b=0.5, c=0.0)
    >>> OneVsRestMap(maps=(half, half, half))([[0.0, 0.5, 0.5]]).round(6)
    array([[0. , 0.5, 0.5]])
    """

    maps: tuple[CalibrationMap, ...]

    family: ClassVar[str] = "one_vs_rest"

    @property
    def n_classes(self) -> int:
        """The number of maps."""
        return len(self.maps)

    @property
    def rows_sum_to_one(self) -> bool:
        """No: each column is a score of its own."""
        return False

    @property
    def band_of_forecasts(self) -> bool:
        """No: a band is of each class's score, as the maps are."""
        return False

    def _check(self) -> None:
        object.__setattr__(self, "maps", as_tuple(self.maps, "maps"))
        if len(self.maps) < 2 or not all(
            isinstance(m, (BinaryMap, IdentityMap)) and m.input == self.input for m in self.maps
        ):
            raise InputError("maps must be two or more binary maps of the same input.")

    @classmethod
    def _decode(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        return {"maps": cls._decode_maps(parameters["maps"], (cls.family,))}

    def _apply(self, scores: Floats) -> Floats:
        columns = one_vs_rest_scores(scores, self.input)
        result = np.stack(
            [m._apply(np.ascontiguousarray(columns[:, k])) for k, m in enumerate(self.maps)], axis=1
        )
        total = result.sum(axis=1, keepdims=True)
        uniform = 1 / self.n_classes
        np.divide(result, total, out=result, where=total > 0)
        result[(total == 0).ravel()] = uniform
        return result

    def expression(self, scores: Sequence[Expression]) -> tuple[Expression, ...]:
        """Each class's own formula, divided by the sum of all."""
        columns = one_vs_rest_expressions(scores, self.input)
        values = [m.expression((x,))[0] for m, x in zip(self.maps, columns, strict=True)]
        whole = total(values)
        uniform = Constant(1 / self.n_classes)
        return tuple(Choose(((whole > 0, value / whole),), uniform) for value in values)
