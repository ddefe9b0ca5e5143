"""Families of two classes: curves of the log-odds, steps, and straight lines between knots."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from trueodds.exceptions import InputError, NonFiniteError
from trueodds.export.expressions import (
    INFINITE,
    LARGEST_FLOAT,
    Choose,
    Condition,
    Constant,
    Expression,
    LinearLookup,
    StepLookup,
    absolute,
    clip,
    exp,
    log,
    maximum,
    minimum,
    sigmoid as sigmoid_expression,
)
from trueodds.inputs import Floats, check_choice, check_increasing, check_unit_interval
from trueodds.kernels.maps import (
    apply_log_odds,
    apply_log_odds_curve,
    apply_piecewise_linear,
    apply_steps,
)
from trueodds.maps._base import BinaryMap
from trueodds.maps._formulas import SATURATED_LOG_ODDS, probability_bounds, probability_log_odds
from trueodds.numerics.log_odds import log_odds, sigmoid

__all__ = ["LogOddsCurveMap", "LogOddsMap", "PiecewiseLinearMap", "QuadraticMap", "StepMap"]

LARGEST_LOG_ODDS = 1e4
"""Log-odds beyond this say no more, and sums of smaller ones cannot overflow."""
HALF_RANGE = float(np.finfo(np.float64).max) / 2
"""The difference of two such numbers is finite."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LogOddsMap(BinaryMap):
    """σ(a·ln p − b·ln(1−p) + c), where z = ln(p/(1−p)) is first brought into [lower, upper].

    With a = b it is σ(a·z + c): logistic calibration, or temperature scaling if c = 0 also.
    Decision values (``scale="raw"``) replace the log-odds z.

    Parameters
    ----------
    a, b, c : float
        Finite. The map increases if a and b are positive.
    lower, upper : float, default=-inf, inf
        Where probabilities of exactly 0 and 1 (log-odds of −inf and +inf) sit on the log-odds
        axis; what lies beyond is treated alike, so that the map stays monotone.
    axis : {"log_odds", "raw"}, default="log_odds"
        With ``"raw"`` the unchanged scores, probabilities too, replace z; needs a = b.

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
        is_probability = self.scale == "probability" and self.axis == "log_odds"
        out = np.empty(len(scores))
        work = out if self.a == self.b else np.empty(len(scores))
        apply_log_odds(
            scores, out, work, is_probability, self.a, self.b, self.c, self.lower, self.upper
        )
        return out

    def _formula(self, score: Expression) -> Expression:
        if self.a == 0 and self.b == 0:
            return Constant(float(sigmoid(np.array([self.c]))[0]))
        if self.axis == "raw" or self.scale != "probability":
            # The scale of the scores is unknown, but not that of the log-odds they become.
            slopes = [abs(slope) for slope in (self.a, self.b) if slope != 0]
            limit = min((SATURATED_LOG_ODDS + abs(self.c)) / min(slopes), LARGEST_FLOAT)
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

    def _torch_names(self) -> dict[str, str]:
        if self.a != self.b:
            return {"a": "a", "b": "b", "c": "c"}
        if self.c == 0:
            return {"a": "temperature", "b": "temperature"}
        return {"a": "slope", "b": "slope", "c": "intercept"}

    def _eta(self, z: Expression) -> Expression:
        """The calibrated log-odds from log-odds z.

        With t = ln(1 + exp(−|z|)), ln p = min(z, 0) − t and −ln(1−p) = max(z, 0) + t.
        """
        if self.a == self.b:
            return self.a * z + self.c
        t = log(1 + exp(maximum(-absolute(z), -700.0)))
        bent = self.a * minimum(z, 0.0) + self.b * maximum(z, 0.0)
        return bent + (self.b - self.a) * t + self.c

    def _with_log_odds_shift(self, shift: float, tolerance: float) -> LogOddsMap:
        return replace(self, c=self.c + shift)

    @property
    def midpoint(self) -> float:
        """The score m at which the map returns 0.5.

        Papers parametrize by it: c = b·ln(1−m) − a·ln m in beta calibration, −a·m in logistic
        calibration of raw scores. NaN if no score has this value, or several may have. The
        midpoint may lie beyond ``lower`` and ``upper``, where the map is constant.

        Examples
        --------
        >>> from trueodds.maps import LogOddsMap
        >>> LogOddsMap(a=2.0, b=2.0, c=-2.8, axis="raw").midpoint
        1.4
        >>> round(LogOddsMap(a=2.0, b=0.5, c=1.0).midpoint, 4)
        0.508
        """
        if self.a * self.b < 0 or self.a == self.b == 0:
            return float("nan")
        z = -self.c / self.a if self.a == self.b else self._root()
        if self.scale != "probability" or self.axis == "raw":
            return z
        # Log-odds beyond ±700 have no probability next to 0 or 1 in float64.
        return float(sigmoid(np.array([z]))[0]) if abs(z) < 700 else float("nan")

    def _root(self) -> float:
        """Where a·ln p − b·ln(1−p) + c is 0, on the log-odds axis; it is monotone."""
        from scipy.optimize import brentq  # slow to import

        def eta(z: float) -> float:
            log_p, log_rest = -np.logaddexp(0, -z), -np.logaddexp(0, z)
            return float(self.a * log_p - self.b * log_rest + self.c)

        # Beyond ±40 the curve is a straight line, but for rounding.
        reach = 40 + abs(self.c) / min(abs(slope) for slope in (self.a, self.b) if slope != 0)
        if not np.isfinite(reach) or eta(-reach) * eta(reach) > 0:
            return float("nan")
        return float(brentq(eta, -reach, reach, xtol=1e-14))


@dataclass(frozen=True, eq=False, kw_only=True)
class QuadraticMap(BinaryMap):
    """σ(a·z² + b·z + c), where z = ln(p/(1−p)) is first brought into [lower, upper].

    Decision values (``scale="raw"``) replace the log-odds z.

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
                raise NonFiniteError("a·z² + b·z + c must be finite at lower and upper.")

    def _eta(self, z: Floats) -> Floats:
        return np.asarray((self.a * z + self.b) * z + self.c)

    def _apply(self, scores: Floats) -> Floats:
        z = np.clip(log_odds(scores, self.scale), self.lower, self.upper)
        return sigmoid(self._eta(z), overwrite=True)

    def _formula(self, score: Expression) -> Expression:
        if self.scale != "probability":
            return self._curve(clip(score, self.lower, self.upper))
        low, high = probability_bounds(self.lower, self.upper)
        at_low, at_high = self._apply(np.array([low, high])).tolist()
        return Choose(
            ((score <= low, Constant(at_low)), (score >= high, Constant(at_high))),
            self._curve(probability_log_odds(score)),
        )

    def _curve(self, z: Expression) -> Expression:
        eta = (self.a * z + self.b) * z + self.c
        return sigmoid_expression(clip(eta, -SATURATED_LOG_ODDS, SATURATED_LOG_ODDS))

    def _with_log_odds_shift(self, shift: float, tolerance: float) -> QuadraticMap:
        return replace(self, c=self.c + shift)


@dataclass(frozen=True, eq=False, kw_only=True)
class LogOddsCurveMap(BinaryMap):
    """σ(y(z)), where y is linear between knots of the log-odds z and constant beyond them.

    Decision values (``scale="raw"``) replace the log-odds z. Probabilities of exactly 0 and 1
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
        if np.abs(y).max() > LARGEST_LOG_ODDS:
            worst = y[np.abs(y).argmax()]
            raise InputError(
                f"y must lie between -{LARGEST_LOG_ODDS:g} and {LARGEST_LOG_ODDS:g}; got {worst}."
            )

    def _apply(self, scores: Floats) -> Floats:
        out = np.empty(len(scores))
        apply_log_odds_curve(self.x, self.y, scores, out, self.scale == "probability")
        return out

    def _formula(self, score: Expression) -> Expression:
        first, last = float(self.x[0]), float(self.x[-1])
        if len(self.x) == 1:
            return sigmoid_expression(Constant(float(self.y[0])))
        if self.scale != "probability":
            return sigmoid_expression(LinearLookup(clip(score, first, last), self.x, self.y))
        low, high = probability_bounds(first, last)
        at_low, at_high = self._apply(np.array([low, high])).tolist()
        curve = LinearLookup(probability_log_odds(score), self.x, self.y)
        return Choose(
            ((score <= low, Constant(at_low)), (score >= high, Constant(at_high))),
            sigmoid_expression(curve),
        )

    def _with_log_odds_shift(self, shift: float, tolerance: float) -> LogOddsCurveMap:
        return replace(self, y=self.y + shift)


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

    def _with_log_odds_shift(self, shift: float, tolerance: float) -> StepMap:
        return replace(self, values=_shifted(self.values, shift))


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
        apply_piecewise_linear(self.x, self.y, scores, out)
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

    def _with_log_odds_shift(self, shift: float, tolerance: float) -> PiecewiseLinearMap:
        x, y = _refined(self.x, self.y, shift, tolerance)
        return replace(self, x=x, y=_shifted(y, shift))


def check_reach(knots: Floats, name: str) -> None:
    """Refuse increasing knots so far apart that their distance is no float64."""
    if len(knots) and max(-knots[0], knots[-1]) > HALF_RANGE:
        raise InputError(f"{name} must lie within ±{HALF_RANGE:g}; got {knots[0]} to {knots[-1]}.")


def _shifted(prob: Floats, shift: float) -> Floats:
    """Add ``shift`` to the log-odds; 0 and 1 stay."""
    # Of r and 1/r the one below 1 is used, so that nothing overflows.
    if shift > 0:
        other = (1 - prob) * np.exp(-shift)
        return np.asarray(prob / (prob + other))
    top = prob * np.exp(shift)
    return np.asarray(top / (top + (1 - prob)))


def _refined(x: Floats, y: Floats, shift: float, tolerance: float) -> tuple[Floats, Floats]:
    """Knots between which the shifted map differs from a straight line by ``tolerance`` at most.

    With r = exp(shift), g(y) = r·y/(1 − y + r·y) has |g″| ≤ 2·r·(r − 1) for r > 1, and the same in
    1/r otherwise; a chord of length d is off by at most |g″|·d²/8.
    """
    r = float(np.exp(abs(shift)))
    longest = np.sqrt(8 * tolerance / max(2 * r * (r - 1), 1e-12))
    pieces = np.maximum(np.ceil(np.abs(np.diff(y)) / longest), 1)
    # A knot at infinity stands for that score alone: there is no line to refine.
    pieces[~(np.isfinite(x[1:]) & np.isfinite(x[:-1]))] = 1
    if pieces.sum() > 10**6:
        raise InputError(
            f"the base rates differ so much that {pieces.sum():.0f} knots would be needed; raise "
            "tolerance, or apply adjust_prior to the probabilities."
        )
    count = pieces.astype(np.intp)
    segment = np.repeat(np.arange(len(count)), count)
    within = np.arange(len(segment)) - np.repeat(np.cumsum(count) - count, count)
    share = within / count[segment]
    with np.errstate(invalid="ignore"):
        between = x[segment] + share * (x[segment + 1] - x[segment])
    between = np.where(share == 0, x[segment], between)
    value = y[segment] + share * (y[segment + 1] - y[segment])
    new_x, new_y = np.append(between, x[-1]), np.append(value, y[-1])
    distinct = np.append(True, new_x[1:] > new_x[:-1])  # knots closer than a float64 can tell
    return new_x[distinct], new_y[distinct]
