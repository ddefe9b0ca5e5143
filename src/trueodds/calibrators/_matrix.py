"""Matrix scaling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from trueodds.basics.shown import shown
from trueodds.calibrators import Calibrator
from trueodds.calibrators._shared.parametric import fit_log_odds_map
from trueodds.calibrators._shared.softmax import fit_softmax_map, fit_structured_map
from trueodds.exceptions import InputError
from trueodds.inputs import check_number
from trueodds.maps import CalibrationMap
from trueodds.numerics.softmax.regression import MatrixModel
from trueodds.rows import Rows

__all__ = ["MatrixCalibrator"]


@dataclass(kw_only=True, eq=False, repr=False)
class MatrixCalibrator(Calibrator):
    """Matrix scaling: softmax(W·l + bias), where each class uses the logits of all classes.

    Use it when classes are confused with each other systematically. It has k·(k + 1) parameters,
    which are penalized by default, more strongly when rows are few.

    Parameters
    ----------
    ridge : "structured" or float, default="structured"
        Penalty on the parameters, added to the mean log-loss. ``"structured"``: a temperature is
        fitted first. What the matrix adds to it is penalized by k/n for each squared bias and
        diagonal weight, and by k·(k − 1)/n for each squared off-diagonal weight, so that few rows
        change little. A number: 0.5·ridge·Σ w² on the off-diagonal weights alone; the larger it is,
        the closer the fit is to vector scaling, and 0 is maximum likelihood.
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores. Probabilities are replaced by their logarithms; logits are used
        directly.
    label_smoothing : {"platt", None} or float, default=None
        Platt's correction of the labels, generalized to k classes.
    classes : array-like, default=None
        All labels; a class without rows keeps its row of the temperature's matrix, or of the
        identity matrix if ``ridge`` is a number.

    Attributes
    ----------
    map_ : SoftmaxMap, or LogOddsMap for two classes

    Notes
    -----
    With two classes it works on ln p and ln(1−p), where a full matrix has no more freedom than a
    diagonal one: ``ridge`` has no effect, and the method is beta calibration without a constraint.
    Very large and small logits are scaled for the fit as in :class:`~trueodds.VectorCalibrator`.

    With ``ridge=0`` and many classes the scores often separate the classes, because there are many
    parameters. Platt's correction is then used, with a warning, and the fit is mostly noise.
    Probabilities of exactly 0 are placed by temperature scaling. If ``ridge`` is a number, they are
    placed by the matrix, or by vector scaling for more than 100 classes. Cost: n·k³ for each of
    about ten steps; 5000 rows of 100 classes take two seconds, and up to a minute by maximum
    likelihood. With more than 100 classes a step takes dozens to hundreds of products of n·k².

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017), On calibration of modern neural networks.
    Berta, Holzmüller, Jordan and Bach (2025), Structured matrix scaling for multi-class
    calibration, for the penalty.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds import MatrixCalibrator
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 1, 1], size=500)
    >>> y = (p.cumsum(axis=1) > rng.random((500, 1))).argmax(axis=1)
    >>> MatrixCalibrator().fit(p, y).predict_proba([[0.2, 0.3, 0.5]]).round(2)
    array([[0.22, 0.32, 0.46]])
    """

    title = "matrix scaling"
    complexity = 60
    compared = (3, 20)
    is_monotone = False
    learns_classes_jointly = True

    ridge: float | Literal["structured"] = "structured"

    def _check_options(self) -> None:
        ridge: Any = self.ridge
        if isinstance(ridge, str) and ridge != "structured":
            raise InputError(
                f'ridge must be "structured" or a number of at least 0; got {shown(ridge)}.'
            )
        if not isinstance(ridge, str):
            check_number(ridge, "ridge")

    def _fit(self, rows: Rows) -> CalibrationMap:
        return fit_log_odds_map(rows, self.scale, "beta")

    def _fit_multiclass(self, rows: Rows) -> CalibrationMap:
        if self.ridge == "structured":
            return fit_structured_map(rows, model_of=MatrixModel, scale=self.scale, strength=1.0)
        return fit_softmax_map(
            rows,
            model_of=MatrixModel,
            scale=self.scale,
            per_class=True,
            ridge=float(self.ridge),
        )
