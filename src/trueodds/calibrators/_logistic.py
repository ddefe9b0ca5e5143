"""Logistic calibration, also called Platt scaling."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from trueodds.calibrators import Calibrator
from trueodds.calibrators._shared.parametric import fit_log_odds_map
from trueodds.inputs import LabelSmoothing, check_choice
from trueodds.maps import CalibrationMap
from trueodds.rows import Rows

__all__ = ["LogisticCalibrator"]


@dataclass(kw_only=True, eq=False, repr=False)
class LogisticCalibrator(Calibrator):
    """Platt scaling: a logistic curve σ(a·z + c) of the log-odds or of the raw scores.

    Use it with little data, or when the scores of each class are about normal on the chosen axis.
    It cannot bend. On the log-odds axis it contains the identity; on the raw axis of probabilities
    it does not, and can make good probabilities worse.

    Parameters
    ----------
    axis : {"log_odds", "raw"}, default="log_odds"
        Axis of the curve. ``"raw"`` uses the scores without a transformation: Platt's method for
        decision values, and what scikit-learn does to probabilities.
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores. Raw scores (``"raw"``) are never transformed.
    label_smoothing : {"platt", None} or float, default="platt"
        Platt's targets (N₊ + 1)/(N₊ + 2) and 1/(N₋ + 2) instead of 1 and 0; None for plain maximum
        likelihood.

    Attributes
    ----------
    map_ : LogOddsMap
        The map; ``a`` = ``b`` is the slope and ``c`` the intercept.

    Notes
    -----
    The slope may be negative for inverted scores, with a warning. Probabilities of exactly 0 and 1
    are placed on the axis by maximum likelihood, not by a clip. Cost: a few passes over the scores,
    no sorting.

    References
    ----------
    Platt (2000), Probabilities for SV machines. Kull, Silva Filho and Flach (2017), Beta
    calibration, Proposition 1.

    Examples
    --------
    >>> from trueodds import LogisticCalibrator
    >>> scores, y = [0.02, 0.4, 0.1, 0.97, 0.8, 0.95], [0, 0, 1, 1, 0, 1]
    >>> LogisticCalibrator().fit(scores, y).predict_proba([0.9]).round(3)
    array([[0.399, 0.601]])
    """

    title = "logistic calibration"
    label = "logistic (Platt)"
    complexity = 20
    compared = (2, 20)
    is_monotone = False

    axis: Literal["log_odds", "raw"] = "log_odds"
    label_smoothing: LabelSmoothing = "platt"

    def _check_options(self) -> None:
        check_choice(self.axis, ("log_odds", "raw"), "axis")

    def _counts_by_class(self) -> bool:
        return True

    def _fit(self, rows: Rows) -> CalibrationMap:
        if self.axis == "raw":
            fitted = fit_log_odds_map(rows, "raw", "logistic")
            return replace(fitted, axis="raw", scale=self.scale)
        return fit_log_odds_map(rows, self.scale, "logistic")
