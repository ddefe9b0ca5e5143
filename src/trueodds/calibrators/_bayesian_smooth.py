"""Bayesian smooth calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from trueodds.calibrators import PosteriorCalibrator
from trueodds.estimator import fact
from trueodds.inputs import Floats, check_choice
from trueodds.maps import CalibrationMap, LogOddsCurveMap
from trueodds.numerics.isotonic import isotonic_fit
from trueodds.numerics.log_odds import log_odds
from trueodds.numerics.magnitude import deviation_unit
from trueodds.numerics.smooth_curve.fit import fit_smooth_curve
from trueodds.numerics.smooth_curve.posterior import CurvePosterior
from trueodds.rows import Rows

__all__ = ["BayesianSmoothCalibrator"]


@dataclass(kw_only=True, eq=False, repr=False)
class BayesianSmoothCalibrator(PosteriorCalibrator):
    """Smooth curve of the log-odds: the posterior average of many Bayesian models.

    Use it as the default for two classes. It changes scores little when there are few rows, finds
    any smooth shape when there are many, never returns 0 or 1, and has a posterior, so its
    intervals are its own. The map need not be monotone unless ``monotone=True``.

    Parameters
    ----------
    monotone : bool, default=False
        Whether the map must be monotone: the curve is then replaced by the closest non-decreasing
        one.
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores. Log-odds and probabilities may already be calibrated, which is one of
        the models; raw scores (``"raw"``) may not.
    label_smoothing : {"platt", None} or float, default=None
        Platt's correction of the labels. The prior makes it unnecessary.

    Attributes
    ----------
    map_ : LogOddsCurveMap
        Posterior mean of the probability, linear in the log-odds between knots.
    posterior_ : CurvePosterior
        Posterior of the curve at the knots; two classes only.

    Notes
    -----
    A model is η(z) = center(z) + features(z)·θ + f(v), where z are the log-odds of a score, v its
    normal quantile among the scores of the calibration set, and f a Gaussian process. Centers are
    the scores themselves, their temperature, the temperature of squashed scores, and the base rate.
    Priors differ in width and in the amplitude and length of f. Each model is fitted by Laplace's
    method and weighted by its evidence, which replaces cross-validation. See
    ``docs/methods/bayesian-smooth.md``.

    Outside the range of the fitted scores the map is constant. Cost: one sort, then a fixed amount
    of work (5 to 25 milliseconds).

    References
    ----------
    Rasmussen and Williams (2006), Gaussian processes for machine learning, MIT Press, section 3.4
    (Laplace's method) and 5.2 (evidence). Hoeting, Madigan, Raftery and Volinsky (1999), Bayesian
    model averaging: a tutorial, Statistical Science 14(4).

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds import BayesianSmoothCalibrator
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(0, 2, 1000)
    >>> y = rng.random(1000) < 1 / (1 + np.exp(-z / 2))  # the scores are twice too sure
    >>> smooth = BayesianSmoothCalibrator().fit(1 / (1 + np.exp(-z)), y)
    >>> smooth.predict_proba([0.9]).round(1)
    array([[0.3, 0.7]])
    >>> low, high = smooth.predict_interval([0.9])
    >>> bool(low[0] < 0.75 < high[0])
    True
    """

    posterior_: CurvePosterior = field(init=False)

    title = "Bayesian smooth calibration"
    label = "Bayesian smooth"
    complexity = 110
    compared = (2, 2)

    monotone: bool = False

    @fact
    def is_monotone(self) -> bool:
        """True if requested."""
        return bool(self.monotone)

    def _check_options(self) -> None:
        check_choice(self.monotone, (True, False), "monotone")

    def _counts_by_class(self) -> bool:
        return True

    def _fit(self, rows: Rows) -> CalibrationMap:
        table = rows.table
        unit = deviation_unit(table.score, table.weight) if self.scale == "raw" else 1.0
        posterior = fit_smooth_curve(
            log_odds(table.score, self.scale) / unit,
            table.n_neg,
            table.n_pos,
            centered_on_scores=self.scale != "raw",
            offset=rows.offset,
        )
        self.posterior_ = replace(posterior, z=posterior.z * unit)
        return self._map_of(posterior.log_odds())

    def _map_of(self, curve: Floats) -> LogOddsCurveMap:
        """Curve at the posterior's knots, as a map."""
        posterior = self.posterior_
        if self.monotone:
            curve = _never_falling(curve, posterior.weight)
        return LogOddsCurveMap(x=posterior.z, y=curve, scale=self.scale)

    def _quantile_maps(self, shares: Sequence[float]) -> list[CalibrationMap]:
        # Those of any method: the same models, but for two that are too sure of themselves.
        posterior = self._truth()[0]
        curves = [posterior.quantile(share) for share in shares]
        if self.monotone:
            curves = [_never_falling(curve, posterior.weight) for curve in curves]
        return [LogOddsCurveMap(x=posterior.z, y=curve, scale=self.scale) for curve in curves]

    def _drawn_maps(self, n_maps: int, rng: np.random.Generator) -> list[CalibrationMap]:
        return [self._map_of(curve) for curve in self.posterior_.draw(n_maps, rng)]


def _never_falling(curve: Floats, weight: Floats) -> Floats:
    """Nearest non-decreasing curve."""
    low, height = curve.min(), float(np.ptp(curve)) or 1.0
    shares, _ = isotonic_fit((curve - low) / height * weight, weight)
    return np.asarray(low + height * shares)
