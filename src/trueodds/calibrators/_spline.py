"""Spline calibration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from trueodds.calibrators import Calibrator
from trueodds.calibrators._shared.log_odds import warn_not_converged, warn_separable
from trueodds.inputs import (
    check_choice,
    check_integer,
    check_number,
    is_choice,
)
from trueodds.maps import CalibrationMap, LogOddsCurveMap
from trueodds.numerics.spline_calibration import fit_spline
from trueodds.rows import Rows

__all__ = ["SplineCalibrator"]

PRIOR_WEIGHT = 10.0


@dataclass(kw_only=True, eq=False, repr=False)
class SplineCalibrator(Calibrator):
    """A smooth curve of the log-odds that bends only as far as the data insists.

    A natural cubic spline whose curvature is penalised; how strongly is decided by the evidence,
    without cross-validation. Use it where no formula fits and steps are not wanted. A strong
    penalty leaves logistic calibration, and a prior of a few instances keeps small samples near
    the scores as they are.

    Parameters
    ----------
    n_knots : int, default=20
        At quantiles of the log-odds. More cost time and, thanks to the penalty, change little.
    strength : float, default=None
        λ of the penalty ½·λ·∫η″², where the log-odds have been scaled to a standard deviation of 1.
        None: the one of highest evidence.
    prior_weight : float or "auto", default="auto"
        How many instances the belief counts for that the scores are right as they are: that many,
        spread evenly over the probabilities 0.01, 0.02, …, 0.99, with labels as they say.
        ``"auto"``: 10 for probabilities and log-odds, 0 for margins.
    monotone : bool, default=False
        Whether parts that fall are replaced by constants.
    input : {"probability", "logit", "score"}, default="probability"
        The scale of the scores; margins (``"score"``) take the place of log-odds.

    Attributes
    ----------
    map_ : LogOddsCurveMap
        The spline at points that are close enough for an error of 1e-6.
    strength_ : float
        The strength used; only with two classes.

    Notes
    -----
    Beyond the range of scores seen in fitting the map is constant. Scores of exactly 0 and 1 stand
    a tenth of the range of the others beyond them. Cost: one pass over the scores, and some
    milliseconds.

    References
    ----------
    Lucena (2018), Spline-based probability calibration, arXiv:1809.07751, for the idea and the
    prior; Wood (2011), JRSS B 73, for the strength. ``splinecalib`` differs in the penalty and in
    how its strength is found.

    Examples
    --------
    >>> from trueodds import SplineCalibrator
    >>> scores, y = [0.02, 0.4, 0.1, 0.97, 0.8, 0.95, 0.6], [0, 0, 1, 1, 0, 1, 1]
    >>> SplineCalibrator().fit(scores, y).predict_proba([0.1, 0.5, 0.9])[:, 1].round(3)
    array([0.225, 0.52 , 0.801])
    """

    title = "spline calibration"
    complexity = 50

    strength_: float = field(init=False)

    n_knots: int = 20
    strength: float | None = None
    prior_weight: float | Literal["auto"] = "auto"
    monotone: bool = False

    @property
    def is_monotone(self) -> bool:
        """On request."""
        return bool(self.monotone)

    def _check_options(self) -> None:
        check_integer(self.n_knots, "n_knots", 3)
        check_choice(self.monotone, (True, False), "monotone")
        if self.strength is not None:
            check_number(self.strength, "strength", above=True, otherwise="None or ")
        if not is_choice(self.prior_weight, "auto"):
            check_number(self.prior_weight, "prior_weight", otherwise='"auto" or ')

    def _fit(self, rows: Rows) -> CalibrationMap:
        prior = self.prior_weight
        if prior == "auto":
            prior = 0.0 if self.input == "score" else PRIOR_WEIGHT
        fit = fit_spline(
            rows,
            scale=self.input,
            n_knots=int(self.n_knots),
            strength=self.strength,
            prior_weight=float(prior),
            monotone=bool(self.monotone),
        )
        if fit.separable:
            warn_separable()
        if not fit.converged:
            warn_not_converged(fit.n_iter)
        self.strength_ = fit.strength
        # Log-odds that differ in their last digit may have one place.
        rises = np.append(True, fit.x[1:] > np.maximum.accumulate(fit.x)[:-1])
        return LogOddsCurveMap(x=fit.x[rises], y=fit.y[rises], input=self.input)
