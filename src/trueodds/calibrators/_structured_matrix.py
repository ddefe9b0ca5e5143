"""Structured matrix scaling."""

from __future__ import annotations

from trueodds.calibrators._shared.softmax import MixedStructuredCalibrator
from trueodds.numerics.softmax.regression import MatrixModel

__all__ = ["StructuredMatrixCalibrator"]


class StructuredMatrixCalibrator(MixedStructuredCalibrator):
    """Structured matrix scaling (SMS): softmax((I + D)·ln q + bias) on temperature-scaled q.

    D and the bias are penalized more strongly with more classes and fewer rows: with few rows the
    method is temperature scaling, with many it is matrix scaling. q is temperature scaling,
    slightly smoothed.

    Parameters
    ----------
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores. Logits are replaced by the logarithms of their softmax.
    classes : array-like, default=None
        All labels; for a class without rows D and the bias stay 0.

    Attributes
    ----------
    map_ : StructuredSoftmaxMap
        The map; D is ``on_logs``.

    Notes
    -----
    With n rows and k classes, q = n/(n + 1)·softmax(τ·ln p) + 1/((n + 1)·k). First τ is fitted,
    then D and the bias. The mean log-loss is penalized by k/n for each squared bias and diagonal
    entry of D, and by k·(k − 1)/n for each squared entry off the diagonal. n is the sum of the
    weights. Probabilities of exactly 0 are treated as 1.2e-38; :class:`~trueodds.MatrixCalibrator`
    has the same penalty and places them by maximum likelihood. If the scores separate the classes,
    Platt's correction is used, with a warning. Cost: n·k³ for each of about ten steps.

    References
    ----------
    Berta, Holzmüller, Jordan and Bach (2025), Structured matrix scaling for multi-class
    calibration.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds import StructuredMatrixCalibrator
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 1, 1], size=500)
    >>> y = (p.cumsum(axis=1) > rng.random((500, 1))).argmax(axis=1)
    >>> StructuredMatrixCalibrator().fit(p, y).predict_proba([[0.2, 0.3, 0.5]]).round(2)
    array([[0.22, 0.32, 0.46]])
    """

    title = "structured matrix scaling"
    label = "structured matrix"
    complexity = 60
    is_monotone = False
    learns_classes_jointly = True

    model = MatrixModel
