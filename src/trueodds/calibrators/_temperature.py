"""Temperature scaling."""

from __future__ import annotations

import math

import numpy as np

from trueodds.calibrators import Calibrator
from trueodds.calibrators._shared.parametric import fit_log_odds_map
from trueodds.calibrators._shared.softmax import fit_softmax_map
from trueodds.exceptions import NonMonotoneWarning, warn_user
from trueodds.maps import CalibrationMap, LogOddsMap, SoftmaxMap
from trueodds.numerics.softmax.regression import TemperatureModel
from trueodds.rows import Rows

__all__ = ["TemperatureCalibrator"]


class TemperatureCalibrator(Calibrator):
    """Temperature scaling: softmax(l/T), all logits divided by one temperature.

    Use it for networks whose confidence is wrong by the same factor everywhere; the ranking of
    classes in a row never changes. It cannot move the decision threshold or correct one class
    relative to another.

    Parameters
    ----------
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores. Logits need not be normalized; decision values are treated as logits.

    Attributes
    ----------
    map_ : LogOddsMap or SoftmaxMap
    temperature_ : float
        T; infinite if the scores carry no information or rank the classes in reverse.

    Notes
    -----
    All classes are fitted jointly. Probabilities of exactly 0 are placed by maximum likelihood, not
    by a clip. Cost: a few passes over the scores.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017), On calibration of modern neural networks.

    Examples
    --------
    >>> from trueodds import TemperatureCalibrator
    >>> logits, y = [-4.0, 3.0, 5.0, -2.0, 1.0, 4.0], [0, 0, 1, 1, 1, 1]
    >>> calibrator = TemperatureCalibrator(scale="logit").fit(logits, y)
    >>> round(calibrator.temperature_, 3)
    3.552
    """

    title = "temperature scaling"
    complexity = 10
    compared = (2, math.inf)
    learns_classes_jointly = True

    @property
    def temperature_(self) -> float:
        """The temperature T."""
        self._check_fitted("map_")
        fitted = self.map_
        if isinstance(fitted, SoftmaxMap):
            inverse = float(fitted.weights[0])
        else:
            assert isinstance(fitted, LogOddsMap)  # noqa: S101
            inverse = fitted.a
        return 1 / inverse if inverse else np.inf

    def _fit(self, rows: Rows) -> CalibrationMap:
        return fit_log_odds_map(rows, self.scale, "temperature", nonnegative=True)

    def _fit_multiclass(self, rows: Rows) -> CalibrationMap:
        fitted = fit_softmax_map(
            rows,
            model_of=TemperatureModel,
            scale=self.scale,
            per_class=False,
        )
        if fitted.weights[0] >= 0:
            return fitted
        warn_user(
            "the scores rank the classes in reverse; the best temperature is infinite.",
            NonMonotoneWarning,
        )
        nothing = np.zeros(rows.n_classes)
        return SoftmaxMap(weights=nothing, bias=nothing, scale=self.scale)
