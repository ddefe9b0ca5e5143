"""Curves on the log-odds scale: splines and Bayesian smooth maps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from trueodds.exceptions import InputError
from trueodds.export.expressions import (
    Choose,
    Constant,
    Expression,
    LinearLookup,
    clip,
)
from trueodds.export.expressions import sigmoid as sigmoid_expression
from trueodds.inputs import Floats, check_increasing
from trueodds.kernels.maps import apply_log_odds_curve
from trueodds.maps._base import BinaryMap, check_reach
from trueodds.maps._formulas import probability_bounds, probability_log_odds

__all__ = ["LogOddsCurveMap"]

STEEPEST = 1e4
"""Log-odds beyond this say no more, and sums of smaller ones cannot overflow."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LogOddsCurveMap(BinaryMap):
    """σ(y(z)), where y is linear between knots of the log-odds z and constant beyond them.

    Margins (``input="score"``) take the place of the log-odds z. Probabilities of exactly 0 and 1
    get the value of the first and the last knot.

    Parameters
    ----------
    x : array of shape (n_knots,)
        Log-odds of scores, strictly increasing, none beyond ±9·10³⁰⁷.
    y : array of shape (n_knots,)
        Calibrated log-odds, between −10⁴ and 10⁴.

    Examples
    --------
    >>> from trueodds.maps import LogOddsCurveMap
    >>> LogOddsCurveMap(x=[-2.0, 0.0, 2.0], y=[-1.0, 0.0, 1.0])([0.0, 0.5, 0.8]).round(3)
    array([0.269, 0.5  , 0.667])
    """

    x: Floats
    y: Floats

    family: ClassVar[str] = "log_odds_curve"
    compiled: ClassVar[bool] = True

    def _check(self) -> None:
        x, y = self._freeze("x"), self._freeze("y")
        if x.ndim != 1 or x.shape != y.shape or len(x) == 0:
            raise InputError("x and y must be 1-D, of one length, and not empty.")
        check_increasing(x, "x")
        check_reach(x, "x")
        if np.abs(y).max() > STEEPEST:
            worst = y[np.abs(y).argmax()]
            raise InputError(f"y must lie between -{STEEPEST:g} and {STEEPEST:g}; got {worst}.")

    def _apply(self, scores: Floats) -> Floats:
        out = np.empty(len(scores))
        apply_log_odds_curve(self.x, self.y, scores, out, self.input == "probability")
        return out

    def _formula(self, score: Expression) -> Expression:
        first, last = float(self.x[0]), float(self.x[-1])
        if len(self.x) == 1:
            return sigmoid_expression(Constant(float(self.y[0])))
        if self.input != "probability":
            return sigmoid_expression(LinearLookup(clip(score, first, last), self.x, self.y))
        low, high = probability_bounds(first, last)
        at_low, at_high = self._apply(np.array([low, high])).tolist()
        curve = LinearLookup(probability_log_odds(score), self.x, self.y)
        return Choose(
            ((score <= low, Constant(at_low)), (score >= high, Constant(at_high))),
            sigmoid_expression(curve),
        )
