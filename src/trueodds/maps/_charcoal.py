"""Charcoal Grill Scaling: a temperature that is an average over coals and depends on the score.

Benton, Calibration for anomaly detection, equations 11 and 12.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from trueodds.exceptions import InputError
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
    total,
)
from trueodds.export.expressions import sigmoid as sigmoid_expression
from trueodds.inputs import Floats, positive_column
from trueodds.kernels.maps import apply_charcoal_grill
from trueodds.maps._base import BinaryMap, CalibrationMap
from trueodds.maps._formulas import (
    SATURATED,
    class_logits_expression,
    log_sum_exp,
    probability_bounds,
    probability_log_odds,
)
from trueodds.numerics.charcoal_grill import ClassCoals, class_coal_weights, coal_weights
from trueodds.numerics.log_odds import log_odds
from trueodds.numerics.magnitude import size_exponent
from trueodds.numerics.softmax.logits import class_logits, log_softmax, softmax

__all__ = ["CharcoalGrillMap", "CharcoalSoftmaxMap"]

MOST_WIDTHS = 1e150
"""The squares of distances in widths are float64."""
CHUNK_VALUES = 1 << 19  # numbers in one temporary array
NEGLIGIBLE = -60.0
"""exp(-60) is lost when it is added to a probability."""
LOWEST_POWER = -700.0
"""exp(-700) is a float64 with all its digits."""
LARGEST_EXPONENT = 256
"""Coals that lie or reach further than 2²⁵⁶ are scaled, lest their squares overflow."""
FURTHEST = -(2.0**300)
"""Logarithms below this have no square; the coals see them here."""
MOST_CLASS_WIDTHS = 1e60
"""The squares of distances in widths are float64."""
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
            raise InputError("means, temperatures and widths must be finite.")
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
                (SATURATED + abs(self.bias)) * float(self.temperatures.max()), LARGEST_FLOAT
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


@dataclass(frozen=True, eq=False, kw_only=True)
class CharcoalSoftmaxMap(CalibrationMap):
    """softmax(l/T(l) + bias), where l are logarithms of probabilities and T averages over coals.

    A coal counts with weight exp(−‖l − mean‖²/(2·width²)), and weights are divided by their sum
    (Benton, Calibration for anomaly detection, equation 12 with vectors as means). Logits and
    decision values are first turned into logarithms of probabilities.

    Parameters
    ----------
    means : array of shape (n_components, n_classes)
    temperatures, widths : array of shape (n_components,)
        Positive.
    bias : array of shape (n_classes,)
    floor : float, default=-700.0
        The logarithm that stands for a probability of exactly 0, counted from the largest of its
        row. What lies below is treated alike.

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
            raise InputError("means, temperatures, widths and bias must be finite.")
        if not ((temperatures > 0).all() and (widths > 0).all()):
            raise InputError("temperatures and widths must be positive.")
        largest = max(float(np.abs(means).max()), float(widths.max()), 1.0)
        if largest / MOST_CLASS_WIDTHS > widths.min() or temperatures.min() < LEAST_TEMPERATURE:
            raise InputError(
                f"no mean may be further off than {MOST_CLASS_WIDTHS:g} of any width, and no "
                f"temperature below {LEAST_TEMPERATURE:g}."
            )
        self._finite_number("floor")
        if self.floor > 0:
            raise InputError(f"floor must not be positive; got {self.floor}.")

    def temperature(self, scores: Any) -> Floats:
        """T(l) of each row of class scores."""
        return self._field(self._logs(self._validated(scores)))

    def _logs(self, scores: Floats) -> Floats:
        return log_softmax(self._relative(scores))

    def _relative(self, scores: Floats) -> Floats:
        """Logits less the largest of their row; next to 1e20 the floor would be lost."""
        logits = class_logits(scores, self.scale)
        with np.errstate(over="ignore"):  # margins at both ends of float64
            logits -= logits.max(axis=1, keepdims=True)
        return np.maximum(logits, self.floor, out=logits)

    def _field(self, logs: Floats) -> Floats:
        exponent = self._exponent()
        means, widths = np.ldexp(self.means, -exponent), np.ldexp(self.widths, -exponent)
        logs = np.maximum(np.ldexp(logs, -exponent), FURTHEST)
        coals = ClassCoals(means, self.temperatures, widths, self.bias)
        squares = np.einsum("nk,nk->n", logs, logs)
        return np.asarray(class_coal_weights(logs, squares, coals)[0] @ self.temperatures)

    def _exponent(self) -> int:
        """The power of two by which distances are divided; 0 unless they are extreme."""
        exponent = max(size_exponent(self.means), size_exponent(self.widths))
        return exponent if exponent > LARGEST_EXPONENT else 0

    def _apply(self, scores: Floats) -> Floats:
        out = np.empty(scores.shape)
        rows = max(1, CHUNK_VALUES // self.n_classes)
        cold = self.temperatures.min() < COLD
        for begin in range(0, len(scores), rows):
            relative = self._relative(scores[begin : begin + rows])
            logs = log_softmax(relative)
            eta = (relative if cold else logs) / self._field(logs)[:, None] + self.bias
            out[begin : begin + rows] = softmax(eta)
        return out

    def _formulas(self, scores: Sequence[Expression]) -> tuple[Expression, ...]:
        """Logarithms of probabilities over a temperature that is an average over coals.

        The logarithms are r − L, where L is the same for all classes of a row: the softmax cannot
        see it, and where it is seen it is written once.
        """
        relative, whole = self._log_parts(scores)
        temperature = self._field_expression(relative, whole)
        eta = tuple(r / temperature + b for r, b in zip(relative, self.bias.tolist(), strict=True))
        return tuple(Softmax(eta, index) for index in range(len(eta)))

    def _log_parts(self, scores: Sequence[Expression]) -> tuple[tuple[Expression, ...], Expression]:
        """The r and L of :meth:`_formulas`."""
        top = maximum(*scores)
        if self.scale == "probability" and self.floor >= LOWEST_POWER:
            least = float(np.exp(self.floor)) * top
            floored = tuple(maximum(p, least) for p in scores)
            whole = total(scores) if self.floor < NEGLIGIBLE else total(floored)
            return tuple(log(p) for p in floored), log(whole)
        if self.scale == "probability":
            relative = class_logits_expression(scores, self.scale, self.floor)
            return relative, log_sum_exp(relative)
        relative = tuple(maximum(x - top, self.floor) for x in scores)
        powers = [exp(maximum(r, LOWEST_POWER)) for r in relative]
        return relative, log(total(powers))

    def _field_expression(self, relative: tuple[Expression, ...], whole: Expression) -> Expression:
        if len(self.temperatures) == 1:
            return Constant(float(self.temperatures[0]))
        # Exponents −‖l − μ‖²/(2σ²) less that of the first coal, which the shares cannot see; the
        # squares of l vanish if all coals are as wide.
        exponent = self._exponent()
        means, widths = np.ldexp(self.means, -exponent), np.ldexp(self.widths, -exponent)
        if exponent:
            unit = 0.5**exponent
            relative, whole = tuple(r * unit for r in relative), whole * unit
        if np.ldexp(self.floor, -exponent) < FURTHEST:  # as in _field; squares must not overflow
            relative = tuple(maximum(r, FURTHEST) for r in relative)
        precision = 1 / widths**2
        linear = means * precision[:, None]
        linear = linear - linear[0]
        square = -0.5 * (precision - precision[0])
        fixed = -0.5 * np.einsum("ck,ck->c", means, means) * precision
        # ‖r − L‖², with L written as seldom as can be.
        squares = total([r * r for r in relative]) + whole * (
            len(relative) * whole - 2 * total(relative)
        )
        parts = (*relative, whole, squares)
        exponents = []
        for coal in range(len(precision)):
            weights = (*linear[coal].tolist(), -float(linear[coal].sum()), float(square[coal]))
            exponents.append(Dot(weights, parts) + float(fixed[coal] - fixed[0]))
        shares = tuple(Softmax(tuple(exponents), coal) for coal in range(len(exponents)))
        return Dot(tuple(self.temperatures.tolist()), shares)
