"""Structured matrix scaling."""

from __future__ import annotations

from trueodds.calibrators._shared.softmax import MixedStructuredCalibrator
from trueodds.numerics.softmax.regression import MatrixModel

__all__ = ["StructuredMatrixCalibrator"]


class StructuredMatrixCalibrator(MixedStructuredCalibrator):
    """softmax((I + D)·ln q + bias), where q is temperature scaling, slightly smoothed (SMS).

    D and the bias are held back the more, the more classes and the fewer rows there are: with few
    rows it is temperature scaling, with many it is matrix scaling.

    Parameters
    ----------
    scale : {"probability", "logit", "raw"}, default="probability"
        The scale of the scores. Logits are turned into the logarithms of their softmax.
    classes : array-like, default=None
        All labels; for a class without instances D and the bias stay 0.

    Attributes
    ----------
    map_ : StructuredSoftmaxMap
        D is ``on_logs``.

    Notes
    -----
    With n rows and k classes, q = n/(n + 1)·softmax(τ·ln p) + 1/((n + 1)·k). First τ is fitted,
    then D and the bias, against the mean log-loss plus k/n for each squared bias and diagonal
    entry of D and k·(k − 1)/n for each squared entry off the diagonal. n is the sum of the weights.
    Probabilities of exactly 0 are taken for 1.2e-38; :class:`~trueodds.MatrixCalibrator` has the
    same penalty and places them by likelihood. If the scores separate the classes, Platt's
    correction is used, with a warning.
    Cost: n·k³ for each of some ten steps.

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
