"""Maps that are quadratic in the log-odds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from trueodds.exceptions import InputError
from trueodds.export.expressions import Choose, Constant, Expression, clip
from trueodds.export.expressions import sigmoid as sigmoid_expression
from trueodds.inputs import Floats
from trueodds.maps._base import BinaryMap
from trueodds.maps._formulas import probability_bounds, probability_log_odds
from trueodds.numerics.log_odds import log_odds, sigmoid

__all__ = ["QuadraticMap"]

SATURATED = 1e4
"""Log-odds beyond which the logistic function does not change any more."""


@dataclass(frozen=True, eq=False, kw_only=True)
class QuadraticMap(BinaryMap):
    """σ(a·z² + b·z + c), where z = ln(p/(1−p)) is first brought into [lower, upper].

    Margins (``input="score"``) take the place of the log-odds z.

    Parameters
    ----------
    a, b, c : float
        Finite. The map increases where 2·a·z + b is positive.
    lower, upper : float
        Finite: a parabola has no sensible value at infinity.

    Examples
    --------
    >>> from trueodds.maps import QuadraticMap
    >>> QuadraticMap(a=0.1, b=1.0, c=0.0, lower=-4.0, upper=4.0)([0.0, 0.5, 0.9]).round(3)
    array([0.083, 0.5  , 0.936])
    """

    a: float
    b: float
    c: float
    lower: float
    upper: float

    family: ClassVar[str] = "quadratic"

    def _check(self) -> None:
        for name in ("a", "b", "c", "lower", "upper"):
            self._finite_number(name)
        if not self.lower <= self.upper:
            raise InputError(f"lower must not exceed upper; got {self.lower} and {self.upper}.")
        with np.errstate(over="ignore", invalid="ignore"):
            ends = np.array([self.lower, self.upper])
            if not np.isfinite(self._eta(ends)).all():
                raise InputError("a·z² + b·z + c must be finite at lower and upper.")

    def _eta(self, z: Floats) -> Floats:
        return np.asarray((self.a * z + self.b) * z + self.c)

    def _apply(self, scores: Floats) -> Floats:
        z = np.clip(log_odds(scores, self.input), self.lower, self.upper)
        return sigmoid(self._eta(z), overwrite=True)

    def _formula(self, score: Expression) -> Expression:
        if self.input != "probability":
            return self._curve(clip(score, self.lower, self.upper))
        low, high = probability_bounds(self.lower, self.upper)
        at_low, at_high = self._apply(np.array([low, high])).tolist()
        return Choose(
            ((score <= low, Constant(at_low)), (score >= high, Constant(at_high))),
            self._curve(probability_log_odds(score)),
        )

    def _curve(self, z: Expression) -> Expression:
        eta = (self.a * z + self.b) * z + self.c
        return sigmoid_expression(clip(eta, -SATURATED, SATURATED))
