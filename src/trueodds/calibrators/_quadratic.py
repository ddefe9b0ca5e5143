"""Quadratic scaling."""

from __future__ import annotations

from trueodds.calibrators import Calibrator
from trueodds.calibrators._shared.log_odds import warn_of_curve
from trueodds.maps import CalibrationMap, QuadraticMap
from trueodds.numerics.quadratic import fit_quadratic
from trueodds.rows import Rows

__all__ = ["QuadraticCalibrator"]


class QuadraticCalibrator(Calibrator):
    """σ(a·z² + b·z + c): logistic calibration of the log-odds z with one bend.

    Use it where a logistic curve is almost right but one end is off: three parameters, as many as
    beta calibration has. Nothing keeps it from turning down at one end; there use
    ``BetaCalibrator``, which cannot.

    Parameters
    ----------
    input : {"probability", "logit", "score"}, default="probability"
        The scale of the scores; margins (``"score"``) are taken as log-odds.

    Attributes
    ----------
    map_ : QuadraticMap
        With a, b and c.

    Notes
    -----
    The likelihood is maximized without a penalty, to the last digit. Beyond the range of scores
    seen in fitting the map is constant. Scores of exactly 0 and 1 stand where the curve reaches
    their frequency, or at the last other score if it does not. Cost: a few passes over the scores,
    no sorting.

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

    def _fit(self, rows: Rows) -> CalibrationMap:
        fit = fit_quadratic(rows, scale=self.input)
        warn_of_curve(fit)
        return QuadraticMap(
            a=fit.a, b=fit.b, c=fit.c, lower=fit.lower, upper=fit.upper, input=self.input
        )
