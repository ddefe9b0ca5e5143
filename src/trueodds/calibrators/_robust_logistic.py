"""Robust logistic calibration: Platt scaling that outliers cannot bend."""

from __future__ import annotations

from dataclasses import dataclass

from trueodds.calibrators import Calibrator
from trueodds.calibrators._shared.log_odds import warn_of_curve
from trueodds.exceptions import InputError
from trueodds.inputs import LabelSmoothing, check_number
from trueodds.maps import CalibrationMap, LogOddsMap
from trueodds.numerics.robust import fit_robust
from trueodds.rows import Rows

__all__ = ["RobustLogisticCalibrator"]

LEAST = 1e-9
"""A robustness below this is none, to the last digit but one."""


@dataclass(kw_only=True, eq=False, repr=False)
class RobustLogisticCalibrator(Calibrator):
    """σ(a·z + c), fitted so that a few scores far on the wrong side cannot bend the curve.

    Use it in place of logistic calibration where some scores or labels are plainly wrong:
    broken measurements, mislabelled rows. Where surprises are real and will come again, do not:
    it takes them for mistakes and is too sure at the ends. It bends no more than logistic
    calibration does.

    Parameters
    ----------
    robustness : float, default=0.5
        α of the loss, above 0 and at most 1. Near 0 the log-loss, which is logistic calibration;
        1 the Brier score. In between an instance that is given the probability q for its class
        costs no more than 1/α as q goes to 0.
    input : {"probability", "logit", "score"}, default="probability"
        The scale of the scores. Margins (``"score"``) are taken as they are.
    label_smoothing : {"platt", None} or float, default="platt"
        Platt's targets (N₊ + 1)/(N₊ + 2) and 1/(N₋ + 2) in place of 1 and 0.

    Attributes
    ----------
    map_ : LogOddsMap
        With ``a`` = ``b`` the slope and ``c`` the intercept.

    Notes
    -----
    The slope may come out negative for inverted scores; a warning says so. Scores of exactly 0 and
    1 stand where the curve reaches their frequency, or at the last other score if it does not.
    The loss may have several minima; the lowest of those reached from three starts is taken. Cost:
    some tens of passes over the scores, and a sort of at most 65,536.

    References
    ----------
    Rüping (2006), Robust probabilistic calibration, ECML, for the aim. Basu, Harris, Hjort and
    Jones (1998), Robust and efficient estimation by minimising a density power divergence,
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
    >>> round(LogisticCalibrator(input="logit").fit(z, y).map_.a, 2)
    0.24
    >>> round(RobustLogisticCalibrator(input="logit").fit(z, y).map_.a, 2)
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
        power = max(float(self.robustness), LEAST)
        fit = fit_robust(rows, scale=self.input, power=power)
        warn_of_curve(fit)
        return LogOddsMap(
            a=fit.b, b=fit.b, c=fit.c, lower=fit.lower, upper=fit.upper, input=self.input
        )
