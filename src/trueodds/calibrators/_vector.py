"""Vector scaling."""

from __future__ import annotations

import math

from trueodds.calibrators import Calibrator
from trueodds.calibrators._shared.parametric import fit_log_odds_map
from trueodds.calibrators._shared.softmax import fit_softmax_map
from trueodds.maps import CalibrationMap
from trueodds.numerics.softmax.regression import VectorModel
from trueodds.rows import Rows

__all__ = ["VectorCalibrator"]


class VectorCalibrator(Calibrator):
    """Vector scaling: softmax(w·l + bias), one weight and one bias per class.

    Use it when some classes are overconfident and others are not. It has twice as many parameters
    as classes; with few rows per class prefer temperature scaling.

    Parameters
    ----------
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores. Probabilities are replaced by their logarithms. Logits are used
        directly, so adding a constant to a row of logits matters.
    label_smoothing : {"platt", None} or float, default=None
        Platt's correction of the labels, generalized to k classes.
    classes : array-like, default=None
        All labels; a class without rows has the mean weight of the others and bias 0.

    Attributes
    ----------
    map_ : SoftmaxMap, or LogOddsMap for two classes

    Notes
    -----
    With two classes it works on ln p and ln(1−p) and so is beta calibration without a constraint.
    The log-loss is convex and minimized by Newton's method with conjugate gradients. Logits that
    typically spread by less than 1/65,536 or more than 65,536 within a row are scaled by a power of
    two for the fit.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017), On calibration of modern neural networks.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds import VectorCalibrator
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 1, 1], size=500)
    >>> y = (p.cumsum(axis=1) > rng.random((500, 1))).argmax(axis=1)
    >>> VectorCalibrator().fit(p, y).predict_proba([[0.2, 0.3, 0.5]]).round(2)
    array([[0.24, 0.32, 0.44]])
    """

    title = "vector scaling"
    complexity = 40
    compared = (3, math.inf)
    is_monotone = False
    learns_classes_jointly = True

    def _fit(self, rows: Rows) -> CalibrationMap:
        return fit_log_odds_map(rows, self.scale, "beta")

    def _fit_multiclass(self, rows: Rows) -> CalibrationMap:
        return fit_softmax_map(
            rows,
            model_of=VectorModel,
            scale=self.scale,
            per_class=True,
        )
