"""Maps that are linear in features of the log-odds: logistic, temperature, beta."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from trueodds.exceptions import InputError
from trueodds.export.expressions import (
    LARGEST,
    Choose,
    Constant,
    Expression,
    absolute,
    clip,
    exp,
    log,
    maximum,
    minimum,
)
from trueodds.export.expressions import sigmoid as sigmoid_expression
from trueodds.inputs import Floats, check_choice
from trueodds.kernels.maps import apply_log_odds
from trueodds.maps._base import BinaryMap
from trueodds.maps._formulas import probability_bounds, probability_log_odds
from trueodds.numerics.log_odds import sigmoid

__all__ = ["LogOddsMap"]

SATURATED = 1e4
"""Log-odds beyond which the logistic function does not change any more."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LogOddsMap(BinaryMap):
    """σ(a·ln p − b·ln(1−p) + c), where z = ln(p/(1−p)) is first brought into [lower, upper].

    With a = b it is σ(a·z + c): logistic calibration, or temperature scaling if c = 0 also.
    Margins (``input="score"``) take the place of the log-odds z.

    Parameters
    ----------
    a, b, c : float
        Finite. The map increases if a and b are positive.
    lower, upper : float, default=-inf, inf
        Where probabilities of exactly 0 and 1 (log-odds of −inf and +inf) sit on the log-odds
        axis; what lies beyond is treated alike, so that the map stays monotone.
    axis : {"log_odds", "raw"}, default="log_odds"
        With ``"raw"`` the scores as they are, probabilities too, take the place of z; needs a = b.

    Examples
    --------
    >>> from trueodds.maps import LogOddsMap
    >>> LogOddsMap(a=1.0, b=1.0, c=0.0)([0.25, 0.5]).round(12)
    array([0.25, 0.5 ])
    >>> LogOddsMap(a=0.4, b=0.4, c=0.0, lower=-4.0, upper=4.0)([0.0, 1.0])
    array([0.16798161, 0.83201839])
    """

    a: float
    b: float
    c: float
    lower: float = -np.inf
    upper: float = np.inf
    axis: Literal["log_odds", "raw"] = "log_odds"

    family: ClassVar[str] = "log_odds"
    compiled: ClassVar[bool] = True
    trained_in_torch: ClassVar[tuple[str, ...]] = ("a", "b", "c")

    def _check(self) -> None:
        for name in ("a", "b", "c"):
            self._finite_number(name)
        for name in ("lower", "upper"):
            self._finite_number(name, infinite=True)
        if not self.lower <= self.upper or self.lower == np.inf or self.upper == -np.inf:
            raise InputError(f"lower must not exceed upper; got {self.lower} and {self.upper}.")
        check_choice(self.axis, ("log_odds", "raw"), "axis")
        if self.axis == "raw" and self.a != self.b:
            raise InputError(f"a map of the raw scores needs a = b; got {self.a} and {self.b}.")

    def _apply(self, scores: Floats) -> Floats:
        if self.a == 0 and self.b == 0:  # and 0·inf would be NaN
            return np.full(len(scores), sigmoid(np.array([self.c]))[0])
        is_probability = self.input == "probability" and self.axis == "log_odds"
        out = np.empty(len(scores))
        work = out if self.a == self.b else np.empty(len(scores))
        apply_log_odds(
            scores, out, work, is_probability, self.a, self.b, self.c, self.lower, self.upper
        )
        return out

    def _formula(self, score: Expression) -> Expression:
        if self.a == 0 and self.b == 0:
            return Constant(float(sigmoid(np.array([self.c]))[0]))
        if self.axis == "raw" or self.input != "probability":
            # The scale of the scores is unknown, but not that of the log-odds they become.
            slopes = [abs(slope) for slope in (self.a, self.b) if slope != 0]
            limit = min((SATURATED + abs(self.c)) / min(slopes), LARGEST)
            z = clip(score, max(self.lower, -limit), min(self.upper, limit))
            return sigmoid_expression(self._eta(z))
        low, high = probability_bounds(self.lower, self.upper)
        at_low, at_high = self._apply(np.array([low, high])).tolist()
        if self.a == self.b:
            eta = self.a * probability_log_odds(score) + self.c
        elif self.b == 0:
            eta = self.a * log(score) + self.c
        elif self.a == 0:
            eta = self.c - self.b * log(1 - score)
        else:
            eta = self.a * log(score) - self.b * log(1 - score) + self.c
        return Choose(
            ((score <= low, Constant(at_low)), (score >= high, Constant(at_high))),
            sigmoid_expression(eta),
        )

    def _eta(self, z: Expression) -> Expression:
        """The calibrated log-odds from log-odds z.

        With t = ln(1 + exp(−|z|)), ln p = min(z, 0) − t and −ln(1−p) = max(z, 0) + t.
        """
        if self.a == self.b:
            return self.a * z + self.c
        t = log(1 + exp(maximum(-absolute(z), -700.0)))
        bent = self.a * minimum(z, 0.0) + self.b * maximum(z, 0.0)
        return bent + (self.b - self.a) * t + self.c
