"""Quadratic scaling: the curve η = a·z² + b·z + c of log-odds z.

The curve is constant outside the observed scores: the square would make it turn sharply where there
are no rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueodds.calibrators import Calibrator
from trueodds.calibrators._shared.parametric import warn_of_curve
from trueodds.inputs import Floats, InputScale
from trueodds.maps import CalibrationMap, QuadraticMap
from trueodds.numerics.log_odds import LogOddsRows
from trueodds.numerics.logistic_regression import fit_logistic
from trueodds.numerics.saturated import BinaryRows, CurveFit, fit_curve
from trueodds.rows import Rows

__all__ = ["QuadraticCalibrator"]


class QuadraticCalibrator(Calibrator):
    """Quadratic scaling: σ(a·z² + b·z + c), logistic calibration of the log-odds z with one bend.

    Use it where a logistic curve is almost right but one end is off. It has three parameters, as
    many as beta calibration. The curve can turn down at one end; if that is a problem, use
    ``BetaCalibrator``, which cannot.

    Parameters
    ----------
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores; raw scores (``"raw"``) are treated as log-odds.

    Attributes
    ----------
    map_ : QuadraticMap
        The map with a, b and c.

    Notes
    -----
    The likelihood is maximized without a penalty, to the last digit. Outside the range of the
    fitted scores the map is constant. Scores of exactly 0 or 1 are placed where the curve equals
    their observed frequency, or at the most extreme other score if it never does. Cost: a few
    passes over the scores, no sorting.

    References
    ----------
    Berta, Holzmüller, Jordan and Bach (2025), Structured matrix scaling for multi-class
    calibration, arXiv:2511.03685; ``quadratic-scaling`` of probmetrics.

    Examples
    --------
    >>> from trueodds import QuadraticCalibrator
    >>> scores, y = [0.02, 0.4, 0.1, 0.97, 0.8, 0.95, 0.6], [0, 0, 1, 1, 0, 1, 1]
    >>> QuadraticCalibrator().fit(scores, y).predict_proba([0.9]).round(3)
    array([[0.24, 0.76]])
    """

    title = "quadratic scaling"
    complexity = 32
    is_monotone = False

    def _counts_by_class(self) -> bool:
        return True

    def _fit(self, rows: Rows) -> CalibrationMap:
        fit = fit_quadratic(rows, scale=self.scale)
        warn_of_curve(fit)
        return QuadraticMap(
            a=fit.a,
            b=fit.b,
            c=fit.c - rows.offset,
            lower=fit.lower,
            upper=fit.upper,
            scale=self.scale,
        )


SQUARES = (1e-150, 1e150)
"""Sizes of log-odds whose squares and inverse squares are ordinary numbers."""


@dataclass(frozen=True)
class QuadraticFit(CurveFit):
    """The curve a·z² + b·z + c."""

    a: float
    b: float
    c: float

    def at(self, z: Floats) -> Floats:
        """Fitted log-odds at log-odds z, also outside the fitted range."""
        return np.asarray((self.a * z + self.b) * z + self.c)

    def steepest(self, low: float, high: float) -> float:
        """The largest slope, up or down, in a range."""
        return max(abs(2 * self.a * z + self.b) for z in (low, high))

    def level_beyond(self, wanted: float, edge: float, side: int) -> float | None:
        """The nearest z beyond ``edge`` at which the curve is ``wanted``; None if it never is."""
        size = abs(edge) or 1.0
        a, b, c = self.a * size * size, self.b * size, self.c - wanted
        if a == 0:
            roots = [-c / b] if b != 0 else []
        else:
            inner = b * b - 4 * a * c
            # The sum of two numbers of one sign loses no digits; the other root follows from it.
            q = -(b + np.copysign(np.sqrt(max(inner, 0.0)), b)) / 2
            roots = [] if inner < 0 else [q / a, c / q if q != 0 else 0.0]
        beyond = [root * size for root in roots if (root * size - edge) * side >= 0]
        beyond = [place for place in beyond if np.isfinite(place)]
        return min(beyond, key=lambda place: abs(place - edge)) if beyond else None


def fit_quadratic(rows: BinaryRows, *, scale: InputScale) -> QuadraticFit:
    """Maximize the likelihood; a = 0 if there are fewer than three distinct finite scores."""
    return fit_curve(
        rows,
        scale,
        _fit_finite,
        separable_by="parabola",
        identity=QuadraticFit(0.0, 1.0, 0.0),
        continued=False,
    )


def _fit_finite(rows: LogOddsRows) -> QuadraticFit:
    size = float(np.abs(rows.z).max()) or 1.0
    u = rows.z / size
    bends = SQUARES[0] < size < SQUARES[1] and bool(((u > u.min()) & (u < u.max())).any())
    fit = fit_logistic([u, u * u] if bends else [u], rows.n_pos, rows.weight)
    b, a = float(fit.coef[0]), float(fit.coef[1]) if bends else 0.0
    return QuadraticFit(
        a / size / size,
        b / size,
        fit.intercept,
        converged=fit.converged,
        n_iter=fit.n_iter,
        gradient=fit.gradient,
        mean_slope=2 * a * float(np.average(u, weights=rows.weight)) + b,
    )
