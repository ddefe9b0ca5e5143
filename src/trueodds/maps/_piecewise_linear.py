"""Maps that are linear between knots: isotonic regression with interpolation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from trueodds.exceptions import InputError
from trueodds.export.expressions import (
    INFINITE,
    Choose,
    Condition,
    Constant,
    Expression,
    LinearLookup,
)
from trueodds.inputs import Floats, check_increasing, check_unit_interval
from trueodds.kernels.maps import apply_linear
from trueodds.maps._base import BinaryMap, check_reach

__all__ = ["PiecewiseLinearMap"]


@dataclass(frozen=True, eq=False, kw_only=True)
class PiecewiseLinearMap(BinaryMap):
    """Linear interpolation between knots, constant beyond them.

    Parameters
    ----------
    x : array of shape (n_knots,)
        Strictly increasing, none beyond ±9·10³⁰⁷ but for the first and the last, which may be
        infinite (log-odds); a finite score
        beyond the finite knots then gets the nearest finite knot's value.
    y : array of shape (n_knots,)
        Probabilities.

    Examples
    --------
    >>> from trueodds.maps import PiecewiseLinearMap
    >>> PiecewiseLinearMap(x=[0.2, 0.8], y=[0.0, 1.0])([0.0, 0.35, 0.9])
    array([0.  , 0.25, 1.  ])
    """

    x: Floats
    y: Floats

    family: ClassVar[str] = "piecewise_linear"
    compiled: ClassVar[bool] = True

    def _check(self) -> None:
        x, y = self._freeze("x"), self._freeze("y")
        if x.ndim != 1 or x.shape != y.shape or len(x) == 0:
            raise InputError("x and y must be 1-D, of one length, and not empty.")
        check_increasing(x, "x")
        check_reach(x[np.isfinite(x)], "x")
        check_unit_interval(y, "y")

    def _apply(self, scores: Floats) -> Floats:
        out = np.empty(len(scores))
        apply_linear(self.x, self.y, scores, out)
        return out

    def _formula(self, score: Expression) -> Expression:
        finite = np.isfinite(self.x)
        first, last = Constant(float(self.y[0])), Constant(float(self.y[-1]))
        if not finite.any():
            # Knots at −inf, +inf, or both: the last one's value counts from there on.
            reached = score >= (INFINITE if self.x[-1] > 0 else -INFINITE)
            return Choose(((reached, last),), first)
        inner: Expression = LinearLookup(score, self.x[finite], self.y[finite])
        ends: list[tuple[Condition, Expression]] = []
        if not finite[0]:
            ends.append((score <= -INFINITE, first))
        if not finite[-1]:
            ends.append((score >= INFINITE, last))
        return Choose(tuple(ends), inner) if ends else inner
