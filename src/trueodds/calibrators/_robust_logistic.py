"""Robust logistic calibration: Platt scaling that limits the influence of outliers.

The line η = a·z + c is fitted by a proper score that bounds the influence of each row. Instead of
−ln q for the probability q of the row's own class, the loss is that of the density power divergence
of order α,

    L = (p^(1+α) + (1−p)^(1+α))/(1+α) − q^α/α,

which is the log-loss for α → 0 and the Brier score for α = 1. It is a proper score, so the true
curve minimizes it for every α, and it is bounded, however wrong a row is. Its gradient is that of
the log-loss times u(p) = p^α·(1−p) + (1−p)^α·p: rows with predictions near 0 or 1, right or wrong,
count little.

The loss may have more than one minimum. The search starts at three curves of highest likelihood: of
all scores, of scores clipped to their fences, and of the scores within the fences only. The lowest
minimum is used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from trueodds.calibrators import Calibrator
from trueodds.calibrators._shared.parametric import warn_of_curve
from trueodds.exceptions import InputError
from trueodds.inputs import Floats, InputScale, LabelSmoothing, check_number
from trueodds.maps import CalibrationMap, LogOddsMap
from trueodds.numerics.log_odds import LogOddsRows, log_sigmoid
from trueodds.numerics.logistic_regression import (
    IDENTITY,
    LOSS_ROUNDING,
    Axes,
    LogisticFit,
    LogOddsFit,
    fit_logistic,
    minimize_on,
)
from trueodds.numerics.newton import Point
from trueodds.numerics.saturated import BinaryRows, fit_curve
from trueodds.numerics.separable import is_separable, with_platt_targets
from trueodds.rows import Rows

__all__ = ["RobustLogisticCalibrator"]

LEAST_ROBUSTNESS = 1e-9
"""Robustness below which the method equals logistic calibration to the last digit but one."""


@dataclass(kw_only=True, eq=False, repr=False)
class RobustLogisticCalibrator(Calibrator):
    """Platt scaling with a bounded loss, so that a few very wrong scores cannot bend the curve.

    Use it instead of logistic calibration if some scores or labels are plainly wrong: broken
    measurements, mislabeled rows. Do not use it if surprises are real and will come again: it
    treats them as mistakes and is overconfident at the ends. It is as rigid as logistic
    calibration.

    Parameters
    ----------
    robustness : float, default=0.5
        α of the loss, above 0 and at most 1. Values near 0 give the log-loss, which is logistic
        calibration; 1 gives the Brier score. In between, a row with predicted probability q for its
        class costs no more than 1/α as q goes to 0.
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores. Raw scores (``"raw"``) are used unchanged.
    label_smoothing : {"platt", None} or float, default="platt"
        Platt's targets (N₊ + 1)/(N₊ + 2) and 1/(N₋ + 2) instead of 1 and 0.

    Attributes
    ----------
    map_ : LogOddsMap
        The map; ``a`` = ``b`` is the slope and ``c`` the intercept.

    Notes
    -----
    The slope may be negative for inverted scores, with a warning. Scores of exactly 0 or 1 are
    placed where the curve equals their observed frequency, or at the most extreme other score if it
    never does. The loss may have several minima; the lowest of those reached from three starts is
    used. Cost: some tens of passes over the scores, and a sort of at most 65,536.

    References
    ----------
    Rüping (2006), Robust probabilistic calibration, ECML, for the aim. Basu, Harris, Hjort and
    Jones (1998), Robust and efficient estimation by minimizing a density power divergence,
    Biometrika 85, and Ghosh and Basu (2016), Robust estimation in generalized linear models: the
    density power divergence approach, TEST 25, for the loss.

    Examples
    --------
    Five scores of 400 are far on the wrong side; the true curve is σ(z).

    >>> import numpy as np
    >>> from trueodds import LogisticCalibrator, RobustLogisticCalibrator
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(0, 2, 400)
    >>> y = rng.random(400) < 1 / (1 + np.exp(-z))
    >>> z[:5], y[:5] = -30.0, True
    >>> round(LogisticCalibrator(scale="logit").fit(z, y).map_.a, 2)
    0.24
    >>> round(RobustLogisticCalibrator(scale="logit").fit(z, y).map_.a, 2)
    0.99
    """

    title = "robust logistic calibration"
    label = "robust logistic"
    complexity = 21
    is_monotone = False

    robustness: float = 0.5
    label_smoothing: LabelSmoothing = "platt"

    def _check_options(self) -> None:
        if check_number(self.robustness, "robustness", above=True) > 1:
            raise InputError(f"robustness must be at most 1; got {self.robustness!r}.")

    def _fit(self, rows: Rows) -> CalibrationMap:
        power = max(float(self.robustness), LEAST_ROBUSTNESS)
        fit = fit_robust(rows, scale=self.scale, power=power)
        warn_of_curve(fit)
        return LogOddsMap(
            a=fit.a, b=fit.b, c=fit.c, lower=fit.lower, upper=fit.upper, scale=self.scale
        )


FENCE = 1.5
"""Tukey's factor: scores farther from the quartiles than this times their distance are outliers."""
MOST_UNITS = 1e6  # units from the middle
LEAST_UNIT = 1e-14  # of the axis, relative to its middle
STEEP = 10.0
"""Rise between the middle and a fence above which the slope may be unbounded."""


def fit_robust(rows: BinaryRows, *, scale: InputScale, power: float) -> LogOddsFit:
    """Minimize the score of the given order α.

    Parameters
    ----------
    rows : Rows
        Scores in any order, possibly saturated.
    scale : {"probability", "logit", "raw"}
    power : float
        α > 0.

    Returns
    -------
    LogOddsFit
        With a = b.
    """
    return fit_curve(
        rows, scale, partial(_fit_finite, power=power), separable_by=None, identity=IDENTITY
    )


class _PowerLoss:
    """The score of a line, on an axis whose unit is the way from the middle to a fence.

    Mean and standard deviation would be dominated by the outliers. Distances are limited to a
    million units, which has no effect unless the curve is as flat.
    """

    def __init__(self, rows: LogOddsRows, power: float) -> None:
        self.rows, self.power, self.total = rows, power, rows.total
        self.fences = _fences(rows)
        middle = float(np.mean(self.fences))
        column = rows.z - middle
        # Scores that are one to the last digits say nothing beyond the constant.
        sizes = (self.fences[1] - middle, float(np.abs(column).max()), np.inf)
        unit = next(size for size in sizes if size > LEAST_UNIT * abs(middle))
        matrix = np.stack([np.clip(column / unit, -MOST_UNITS, MOST_UNITS), np.ones(len(column))])
        self.axes = Axes(matrix, np.array([middle]), np.array([unit]), intercept=True)
        self.chunks = self.axes.chunks(rows.weight, rows.n_neg, rows.n_pos)

    def at(self, theta: Floats) -> Point:
        """Loss per unit of weight; gradient and Hessian per unit of weight that counts."""
        alpha = self.power
        gradient, hessian, fisher = np.zeros(2), np.zeros((2, 2)), np.zeros((2, 2))
        loss = size = counted = 0.0
        for x, weight, n_neg, n_pos in self.chunks:
            eta = theta @ x
            log_p, log_q = log_sigmoid(eta), log_sigmoid(-eta)
            p, q = np.exp(log_p), np.exp(log_q)
            pa, qa = np.exp(alpha * log_p), np.exp(alpha * log_q)
            # Less by a constant, which for α → 0 would drown the rest.
            own = n_pos @ np.expm1(alpha * log_p) + n_neg @ np.expm1(alpha * log_q)
            gained = float(own) / alpha
            spread = float(weight @ (p * pa + q * qa)) / (1 + alpha)
            loss += spread - gained
            size += spread + abs(gained)
            u = pa * q + qa * p
            used = weight * u
            wrong = n_neg * p - n_pos * q
            steeper = alpha * (pa * q * q - qa * p * p) + p * q * (qa - pa)  # of u, by η
            counted += float(used.sum())
            gradient += x @ (u * wrong)
            fisher += (x * (used * p * q)) @ x.T
            hessian += (x * (steeper * wrong)) @ x.T
        hessian += fisher
        scale = counted if counted > 0 else 1.0
        convex = hessian[0, 0] > 0 and np.linalg.det(hessian) > 0
        return Point(
            loss / self.total,
            LOSS_ROUNDING * size / self.total,
            gradient / scale,
            (hessian if convex else fisher) / scale,
        )


def _fit_finite(rows: LogOddsRows, power: float) -> LogOddsFit:
    separable = is_separable(rows)
    if not separable:
        problem = _PowerLoss(rows, power)
        best = _lowest(problem)
        # But for outliers, which count little, a threshold may part the classes.
        theta = problem.axes.from_original(best.coef, best.intercept)
        steep = float(np.abs(theta).max()) > STEEP
        separable = steep and problem.at(2 * theta).value <= best.loss
    if separable:
        best = _lowest(_PowerLoss(with_platt_targets(rows), power))
    slope = float(best.coef[0])
    return LogOddsFit(
        slope,
        slope,
        best.intercept,
        converged=best.converged,
        n_iter=best.n_iter,
        gradient=best.gradient,
        separable=separable,
        mean_slope=slope,
    )


def _lowest(problem: _PowerLoss) -> LogisticFit:
    rows = problem.rows
    low, high = problem.fences
    within = rows.take((rows.z >= low) & (rows.z <= high))
    starts = [rows, replace(rows, z=np.clip(rows.z, low, high)), within]
    if low <= rows.z.min() and high >= rows.z.max():
        starts = starts[:1]
    found = []
    for start in starts:
        if not (start.n_neg.any() and start.n_pos.any()):
            continue
        likely = fit_logistic([start.z], start.n_pos, start.weight)
        theta = problem.axes.from_original(likely.coef, likely.intercept)
        if np.isfinite(theta).all():
            found.append(minimize_on(problem.axes, problem, theta))
    return min(found, key=lambda fit: fit.loss)


def _fences(rows: LogOddsRows) -> tuple[float, float]:
    order = np.argsort(rows.z, kind="stable")
    z, weight = rows.z[order], rows.weight[order]
    middle = np.cumsum(weight) - weight / 2
    first, third = (z[np.searchsorted(middle, share * middle[-1])] for share in (0.25, 0.75))
    reach = FENCE * (third - first)
    return float(first - reach), float(third + reach)
