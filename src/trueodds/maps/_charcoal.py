"""Charcoal Grill Scaling: a temperature that is an average over coals and depends on the score.

Benton, Calibration for anomaly detection, equations 11 and 12.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from trueodds.exceptions import InputError, NonFiniteError
from trueodds.export.expressions import (
    LARGEST_FLOAT,
    Choose,
    Constant,
    Dot,
    Expression,
    Softmax,
    clip,
    exp,
    log,
    maximum,
    sigmoid as sigmoid_expression,
    total,
)
from trueodds.inputs import Floats, check_choice, positive_column
from trueodds.kernels.maps import apply_charcoal_grill
from trueodds.maps._base import BinaryMap, CalibrationMap
from trueodds.maps._formulas import (
    SATURATED_LOG_ODDS,
    class_logits_expression,
    log_sum_exp,
    probability_bounds,
    probability_log_odds,
)
from trueodds.numerics.charcoal_grill import coal_weights
from trueodds.numerics.log_odds import log_odds
from trueodds.numerics.magnitude import size_exponent
from trueodds.numerics.softmax.logits import class_logits, log_softmax, softmax

__all__ = ["CharcoalGrillMap", "CharcoalSoftmaxMap"]

MOST_WIDTHS = 1e150
"""The squares of distances in widths are float64."""
CHUNK_VALUES = 1 << 19  # numbers in one temporary array
NEGLIGIBLE_LOG = -60.0
"""exp(-60) is lost when it is added to a probability."""
LOWEST_POWER = -700.0
"""exp(-700) is a float64 with all its digits."""
LARGEST_EXPONENT = 256
"""Coals that lie or reach further than 2²⁵⁶ are scaled, lest their squares overflow."""
FURTHEST = -(2.0**300)
"""Logarithms below this have no square; the coals see them here."""
MOST_CLASS_WIDTHS = 1e60
"""The squares of distances in widths are float64."""
RAW_REACH = 2.0**20
"""In units of the largest mean or width."""
LEAST_TEMPERATURE = 1e-306
COLD = 2.0**-16
"""Over a temperature below this, what all classes share would swamp what they differ by."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CharcoalGrillMap(BinaryMap):
    """σ(z/T(z) + bias), where T(z) is an average of the coals' temperatures.

    A coal counts with weight exp(−(z − mean)²/(2·width²)), and weights are divided by their sum
    (Benton, Calibration for anomaly detection, equations 11 and 12). Decision values
    (``scale="raw"``) replace the log-odds z.

    Parameters
    ----------
    means : array of shape (n_components,)
        Where the coals lie on the log-odds axis.
    temperatures, widths : array of shape (n_components,)
        Positive.
    bias : float, default=0.0
    lower, upper : float, default=-inf, inf
        z is first brought into this range, on which the map is known not to fall.

    Examples
    --------
    >>> from trueodds.maps import CharcoalGrillMap
    >>> grill = CharcoalGrillMap(means=[-3.0, 3.0], temperatures=[1.0, 5.0], widths=[1.0, 1.0])
    >>> grill([0.05, 0.5, 0.95]).round(3)
    array([0.05 , 0.5  , 0.643])
    >>> grill.temperature([0.05, 0.5, 0.95]).round(3)
    array([1., 3., 5.])
    """

    means: Floats
    temperatures: Floats
    widths: Floats
    bias: float = 0.0
    lower: float = -np.inf
    upper: float = np.inf

    family: ClassVar[str] = "charcoal_grill"
    compiled: ClassVar[bool] = True

    def _check(self) -> None:
        columns = [self._freeze(name) for name in ("means", "temperatures", "widths")]
        size = len(columns[0]) if columns[0].ndim == 1 else 0
        if size == 0 or any(column.shape != (size,) for column in columns):
            raise InputError(
                "means, temperatures and widths must be 1-D, of one length, not empty."
            )
        if not all(np.isfinite(column).all() for column in columns):
            raise NonFiniteError("means, temperatures and widths must be finite.")
        if not ((self.temperatures > 0).all() and (self.widths > 0).all()):
            raise InputError("temperatures and widths must be positive.")
        self._finite_number("bias")
        for name in ("lower", "upper"):
            self._finite_number(name, infinite=True)
        if not self.lower <= self.upper or self.lower == np.inf or self.upper == -np.inf:
            raise InputError(f"lower must not exceed upper; got {self.lower} and {self.upper}.")
        if size > 1 and not (np.isfinite(self.lower) and np.isfinite(self.upper)):
            # A field of several coals has no value at infinity that all of them agree on.
            limit = 1e6 * float(self.widths.max()) + float(np.abs(self.means).max())
            object.__setattr__(self, "lower", max(self.lower, -limit))
            object.__setattr__(self, "upper", min(self.upper, limit))
        reach = max(-self.lower, self.upper, float(np.abs(self.means).max()))
        if size > 1 and reach / MOST_WIDTHS > self.widths.min():
            raise InputError(
                f"lower, upper and means must lie within {MOST_WIDTHS:g} of every width; got "
                f"{reach:g} and a width of {self.widths.min():g}."
            )

    def temperature(self, scores: Any) -> Floats:
        """T(z) at each of some scores, given as to the map itself: the paper's figure 7."""
        array = self._validated(scores)
        if array.ndim == 2:
            array = positive_column(array, self.scale)
        return self._field(np.clip(log_odds(array, self.scale), self.lower, self.upper))

    def _field(self, z: Floats) -> Floats:
        if len(self.means) == 1:
            return np.full(len(z), self.temperatures[0])
        return np.asarray(self.temperatures @ coal_weights(z, self.means, self.widths))

    def _apply(self, scores: Floats) -> Floats:
        out = np.empty(len(scores))
        field = (self.means, self.temperatures, self.widths, self.bias, self.lower, self.upper)
        apply_charcoal_grill(scores, out, self.scale == "probability", *field)
        return out

    def _formula(self, score: Expression) -> Expression:
        if self.scale != "probability":
            limit = min(
                (SATURATED_LOG_ODDS + abs(self.bias)) * float(self.temperatures.max()),
                LARGEST_FLOAT,
            )
            z = clip(score, max(self.lower, -limit), min(self.upper, limit))
            return self._calibrated(z)
        low, high = probability_bounds(self.lower, self.upper)
        at_low, at_high = self._apply(np.array([low, high])).tolist()
        return Choose(
            ((score <= low, Constant(at_low)), (score >= high, Constant(at_high))),
            self._calibrated(probability_log_odds(score)),
        )

    def _calibrated(self, z: Expression) -> Expression:
        temperatures = self.temperatures.tolist()
        if len(temperatures) == 1:
            return sigmoid_expression(z / temperatures[0] + self.bias)
        deviations = [
            (z - mean) / width
            for mean, width in zip(self.means.tolist(), self.widths.tolist(), strict=True)
        ]
        exponents = tuple(-0.5 * (d * d) for d in deviations)
        shares = tuple(Softmax(exponents, coal) for coal in range(len(exponents)))
        return sigmoid_expression(z / Dot(tuple(temperatures), shares) + self.bias)

    def _with_log_odds_shift(self, shift: float, tolerance: float) -> CharcoalGrillMap:
        return replace(self, bias=self.bias + shift)


@dataclass(frozen=True, eq=False, kw_only=True)
class CharcoalSoftmaxMap(CalibrationMap):
    """softmax(l/T(l) + bias), where l are logarithms of probabilities and T averages over coals.

    A coal counts with weight exp(−‖l − mean‖²/(2·width²)), and weights are divided by their sum
    (Benton, Calibration for anomaly detection, equation 12 with vectors as means). Logits and
    decision values are first turned into logarithms of probabilities, unless ``axis="raw"``.

    Parameters
    ----------
    means : array of shape (n_components, n_classes)
    temperatures, widths : array of shape (n_components,)
        Positive.
    bias : array of shape (n_classes,)
    floor : float, default=-700.0
        The logarithm that stands for a probability of exactly 0, counted from the largest of its
        row. What lies below is treated alike.
    axis : {"log_probability", "raw"}, default="log_probability"
        With ``"raw"`` l are the logits or decision values as they are given, as in the paper: T
        then changes if a constant is added to all scores of a row. Needs another scale than
        ``"probability"``.

    Examples
    --------
    >>> from trueodds.maps import CharcoalSoftmaxMap
    >>> grill = CharcoalSoftmaxMap(
    ...     means=[[0, -3, -3], [-1, -1, -1]], temperatures=[2, 1], widths=[1, 1], bias=[0, 0, 0]
    ... )
    >>> grill([[0.9, 0.05, 0.05], [0.3, 0.3, 0.4]]).round(2)
    array([[0.68, 0.16, 0.16],
           [0.3 , 0.3 , 0.4 ]])
    >>> grill.temperature([[0.9, 0.05, 0.05], [0.3, 0.3, 0.4]]).round(2)
    array([1.99, 1.01])
    """

    means: Floats
    temperatures: Floats
    widths: Floats
    bias: Floats
    floor: float = -700.0
    axis: Literal["log_probability", "raw"] = "log_probability"

    family: ClassVar[str] = "charcoal_softmax"
    reduces_pairs: ClassVar[bool] = False

    @property
    def n_classes(self) -> int:
        """The length of ``bias``."""
        return len(self.bias)

    def _check(self) -> None:
        names = ("means", "temperatures", "widths", "bias")
        means, temperatures, widths, bias = [self._freeze(name) for name in names]
        coals, k = means.shape if means.ndim == 2 else (0, 0)
        if coals < 1 or k < 2 or bias.shape != (k,):
            raise InputError("means must have shape (n, k) and bias (k,), with n ≥ 1 and k ≥ 2.")
        if temperatures.shape != (coals,) or widths.shape != (coals,):
            raise InputError("temperatures and widths must have one entry for each row of means.")
        if not all(np.isfinite(array).all() for array in (means, temperatures, widths, bias)):
            raise NonFiniteError("means, temperatures, widths and bias must be finite.")
        if not ((temperatures > 0).all() and (widths > 0).all()):
            raise InputError("temperatures and widths must be positive.")
        if (
            self._largest() / MOST_CLASS_WIDTHS > widths.min()
            or temperatures.min() < LEAST_TEMPERATURE
        ):
            raise InputError(
                f"no mean may be further off than {MOST_CLASS_WIDTHS:g} of any width, and no "
                f"temperature below {LEAST_TEMPERATURE:g}."
            )
        self._finite_number("floor")
        if self.floor > 0:
            raise InputError(f"floor must not be positive; got {self.floor}.")
        check_choice(self.axis, ("log_probability", "raw"), "axis")
        if self.axis == "raw" and self.scale == "probability":
            raise InputError('axis="raw" needs scale="logit" or scale="raw".')

    def temperature(self, scores: Any) -> Floats:
        """T(l) of each row of class scores."""
        return self._field(self._parts(self._validated(scores))[1])

    def _parts(self, scores: Floats) -> tuple[Floats, Floats]:
        """Logits less the largest of their row (next to 1e20 the floor would be lost), and l."""
        logits = class_logits(scores, self.scale)
        top = logits.max(axis=1, keepdims=True)
        with np.errstate(over="ignore"):  # margins at both ends of float64
            logits -= top
        if self.axis == "raw":
            reach = self._raw_reach()
            return np.maximum(logits, self.floor), np.clip(scores, -reach, reach)
        relative = np.maximum(logits, self.floor, out=logits)
        return relative, log_softmax(relative)

    def _raw_reach(self) -> float:
        """Scores beyond it count as it: the shares of coals have long stopped changing."""
        return RAW_REACH * self._largest()

    def _largest(self) -> float:
        return max(float(np.abs(self.means).max()), float(self.widths.max()), 1.0)

    def _field(self, logs: Floats) -> Floats:
        linear, square, fixed, exponent = self._powers()
        logs = np.clip(np.ldexp(logs, -exponent), FURTHEST, -FURTHEST)
        powers = np.stack([np.einsum("nk,k->n", logs, along) for along in linear], axis=1)
        powers += np.einsum("nk,nk->n", logs, logs)[:, None] * square + fixed
        powers -= powers.max(axis=1, keepdims=True)
        np.exp(powers, out=powers)
        return np.asarray(powers @ self.temperatures / powers.sum(axis=1))

    def _powers(self) -> tuple[Floats, Floats, Floats, int]:
        """−‖l − μ‖²/(2σ²) less that of the first coal, as linear·l + square·‖l‖² + fixed.

        The shares do not depend on what all coals have in common, and large l would drown the rest.
        Squares vanish if all coals are equally wide. The last value is the power of two by which l,
        means and widths are divided; 0 unless they are extreme.
        """
        exponent = max(size_exponent(self.means), size_exponent(self.widths))
        exponent = exponent if exponent > LARGEST_EXPONENT else 0
        means, precision = (
            np.ldexp(self.means, -exponent),
            1 / np.ldexp(self.widths, -exponent) ** 2,
        )
        linear = means * precision[:, None]
        fixed = -0.5 * np.einsum("ck,ck->c", means, means) * precision
        square = -0.5 * (precision - precision[0])
        return linear - linear[0], square, fixed - fixed[0], exponent

    def _apply(self, scores: Floats) -> Floats:
        out = np.empty(scores.shape)
        rows = max(1, CHUNK_VALUES // self.n_classes)
        cold = self.temperatures.min() < COLD
        for begin in range(0, len(scores), rows):
            relative, logs = self._parts(scores[begin : begin + rows])
            numerator = relative if cold or self.axis == "raw" else logs
            eta = numerator / self._field(logs)[:, None] + self.bias
            out[begin : begin + rows] = softmax(eta)
        return out

    def _formulas(self, scores: Sequence[Expression]) -> tuple[Expression, ...]:
        """The l over a temperature that is an average over coals.

        They are r − L, where L is the same for all classes of a row. The softmax does not depend on
        it; the distances do, and there it is written once.
        """
        relative, whole = self._log_parts(scores)
        if self.axis == "raw":
            reach = self._raw_reach()
            temperature = self._field_expression(tuple(clip(x, -reach, reach) for x in scores))
        else:
            temperature = self._field_expression(relative, whole)
        eta = tuple(r / temperature + b for r, b in zip(relative, self.bias.tolist(), strict=True))
        return tuple(Softmax(eta, index) for index in range(len(eta)))

    def _with_logit_shift(self, shift: Floats) -> CharcoalSoftmaxMap:
        return replace(self, bias=self.bias + shift)

    def _log_parts(self, scores: Sequence[Expression]) -> tuple[tuple[Expression, ...], Expression]:
        """The r and L of :meth:`_formulas`."""
        top = maximum(*scores)
        if self.scale == "probability" and self.floor >= LOWEST_POWER:
            least = float(np.exp(self.floor)) * top
            floored = tuple(maximum(p, least) for p in scores)
            whole = total(scores) if self.floor < NEGLIGIBLE_LOG else total(floored)
            return tuple(log(p) for p in floored), log(whole)
        if self.scale == "probability":
            relative = class_logits_expression(scores, self.scale, self.floor)
            return relative, log_sum_exp(relative)
        relative = tuple(maximum(x - top, self.floor) for x in scores)
        powers = [exp(maximum(r, LOWEST_POWER)) for r in relative]
        return relative, log(total(powers))

    def _field_expression(
        self, relative: tuple[Expression, ...], whole: Expression | float = 0.0
    ) -> Expression:
        if len(self.temperatures) == 1:
            return Constant(float(self.temperatures[0]))
        linear, square, fixed, exponent = self._powers()
        if exponent:
            unit = 0.5**exponent
            relative, whole = tuple(r * unit for r in relative), whole * unit
        if np.ldexp(self.floor, -exponent) < FURTHEST:  # as in _field; squares must not overflow
            relative = tuple(maximum(r, FURTHEST) for r in relative)
        squares = total([r * r for r in relative])
        parts: tuple[Expression, ...] = (*relative, squares)
        weights = np.column_stack([linear, square])
        if isinstance(whole, Expression):
            # ‖r − L‖², with L written as seldom as can be.
            squares += whole * (len(relative) * whole - 2 * total(relative))
            parts = (*relative, squares, whole)
            weights = np.column_stack([weights, -linear.sum(axis=1)])
        exponents = [
            Dot(tuple(row), parts) + float(shift)
            for row, shift in zip(weights.tolist(), fixed, strict=True)
        ]
        shares = tuple(Softmax(tuple(exponents), coal) for coal in range(len(exponents)))
        return Dot(tuple(self.temperatures.tolist()), shares)
