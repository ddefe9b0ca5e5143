"""Maps whose temperature varies over the log-odds: Charcoal Grill Scaling of two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from trueodds.exceptions import InputError
from trueodds.export.expressions import LARGEST, Choose, Constant, Dot, Expression, Softmax, clip
from trueodds.export.expressions import sigmoid as sigmoid_expression
from trueodds.inputs import Floats, positive_column, validate_scores
from trueodds.kernels.maps import apply_charcoal_grill
from trueodds.maps._base import BinaryMap
from trueodds.maps._formulas import probability_bounds, probability_log_odds
from trueodds.numerics.charcoal_grill import coal_weights
from trueodds.numerics.log_odds import log_odds

__all__ = ["CharcoalGrillMap"]

SATURATED = 1e4
"""Log-odds beyond which the logistic function does not change any more."""

MOST_WIDTHS = 1e150
"""The squares of distances in widths are float64."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CharcoalGrillMap(BinaryMap):
    """σ(z/T(z) + bias), where T(z) is an average of the coals' temperatures.

    A coal counts with weight exp(−(z − mean)²/(2·width²)), and weights are divided by their sum
    (Benton, Calibration for anomaly detection, equations 11 and 12). Margins (``input="score"``)
    take the place of the log-odds z.

    Parameters
    ----------
    means : array of shape (n_coals,)
        Where the coals lie on the log-odds axis.
    temperatures, widths : array of shape (n_coals,)
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
        array = validate_scores(scores, self.input, n_columns=2)
        if array.ndim == 2:
            array = positive_column(array, self.input)
        return self._field(np.clip(log_odds(array, self.input), self.lower, self.upper))

    def _field(self, z: Floats) -> Floats:
        if len(self.means) == 1:
            return np.full(len(z), self.temperatures[0])
        return np.asarray(self.temperatures @ coal_weights(z, self.means, self.widths))

    def _apply(self, scores: Floats) -> Floats:
        out = np.empty(len(scores))
        field = (self.means, self.temperatures, self.widths, self.bias, self.lower, self.upper)
        apply_charcoal_grill(scores, out, self.input == "probability", *field)
        return out

    def _formula(self, score: Expression) -> Expression:
        if self.input != "probability":
            limit = min((SATURATED + abs(self.bias)) * float(self.temperatures.max()), LARGEST)
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
