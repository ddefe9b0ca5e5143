"""Dirichlet calibration."""

from __future__ import annotations

from dataclasses import dataclass

from trueodds.calibrators import Calibrator
from trueodds.calibrators._shared.parametric import fit_log_odds_map
from trueodds.calibrators._shared.softmax import fit_softmax_map
from trueodds.inputs import check_number
from trueodds.maps import CalibrationMap
from trueodds.numerics.softmax.regression import MatrixModel
from trueodds.rows import Rows

__all__ = ["DirichletCalibrator"]


@dataclass(kw_only=True, eq=False, repr=False)
class DirichletCalibrator(Calibrator):
    """softmax(W·ln p + b), with the weights off the diagonal and the intercepts held back (ODIR).

    It is exact if the scores of each class follow a Dirichlet distribution. Use it with many rows
    and classes that are confused with each other systematically. The penalty is the paper's ODIR.

    Parameters
    ----------
    off_diagonal_penalty : float, default=0.03
        λ, the penalty on the off-diagonal weights: λ·Σ w² is added to the mean log-loss.
    intercept_penalty : float, default=0.03
        μ, the penalty on the intercepts: μ·Σ b² is added to the mean log-loss. With both penalties
        0, the fit is maximum likelihood.
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores. Logits are used directly instead of the logarithms: this is matrix
        scaling with the same penalty, the paper's MS-ODIR.
    label_smoothing : {"platt", None} or float, default=None
        Platt's correction of the labels, generalized to k classes.
    classes : array-like, default=None
        All labels; a class without rows keeps its row of the identity matrix.

    Attributes
    ----------
    map_ : SoftmaxMap, or LogOddsMap for two classes

    Notes
    -----
    The paper divides λ by k·(k − 1) and μ by k, and picks both by cross-validation. Here they are
    strengths for each parameter, so more rows make them matter less. With two classes it is beta
    calibration without constraints, and the penalty has no effect. Probabilities of exactly 0 and
    separable scores are treated as by :class:`~trueodds.MatrixCalibrator`. Cost: n·k³ for each of
    about ten steps.

    References
    ----------
    Kull, Perello-Nieto, Kängsepp, Silva Filho, Song and Flach (2019), Beyond temperature scaling:
    obtaining well-calibrated multi-class probabilities with Dirichlet calibration.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds import DirichletCalibrator
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 1, 1], size=500)
    >>> y = (p.cumsum(axis=1) > rng.random((500, 1))).argmax(axis=1)
    >>> DirichletCalibrator().fit(p, y).predict_proba([[0.2, 0.3, 0.5]]).round(2)
    array([[0.22, 0.32, 0.46]])
    """

    title = "Dirichlet calibration"
    label = "Dirichlet"
    complexity = 65
    is_monotone = False
    learns_classes_jointly = True

    off_diagonal_penalty: float = 0.03
    intercept_penalty: float = 0.03

    def _check_options(self) -> None:
        check_number(self.off_diagonal_penalty, "off_diagonal_penalty")
        check_number(self.intercept_penalty, "intercept_penalty")

    def _fit(self, rows: Rows) -> CalibrationMap:
        return fit_log_odds_map(rows, self.scale, "beta")

    def _fit_multiclass(self, rows: Rows) -> CalibrationMap:
        return fit_softmax_map(
            rows,
            model_of=MatrixModel,
            scale=self.scale,
            per_class=True,
            ridge=2 * float(self.off_diagonal_penalty),  # the model has ½·ridge·w²
            bias_ridge=2 * float(self.intercept_penalty),
        )
