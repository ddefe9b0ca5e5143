"""Structured vector scaling."""

from __future__ import annotations

from trueodds.calibrators._shared.softmax import MixedStructuredCalibrator
from trueodds.numerics.softmax.regression import VectorModel

__all__ = ["StructuredVectorCalibrator"]


class StructuredVectorCalibrator(MixedStructuredCalibrator):
    """Structured vector scaling (SVS): softmax((1 + d)·ln q + bias) on temperature-scaled q.

    Each class has a weight and a bias, penalized more strongly with more classes and fewer rows.
    With few rows the method is temperature scaling, with many it is vector scaling. q is
    temperature scaling, slightly smoothed.

    Parameters
    ----------
    input, classes
        Scale of the scores; see :class:`~trueodds.StructuredMatrixCalibrator`.

    Attributes
    ----------
    map_ : StructuredSoftmaxMap
        The map; d is ``on_logs``.

    Notes
    -----
    This is :class:`~trueodds.StructuredMatrixCalibrator` with a diagonal matrix: q, zeros and
    separable scores are treated in the same way, and the penalty is k/n for each squared entry of d
    and the bias. Cost: some dozens of passes over n·k numbers.

    References
    ----------
    Berta, Holzmüller, Jordan and Bach (2025), Structured matrix scaling for multi-class
    calibration.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds import StructuredVectorCalibrator
    >>> rng = np.random.default_rng(0)
    >>> z = 2 * rng.normal(size=(500, 3))
    >>> y = (z + 2 * rng.gumbel(size=z.shape)).argmax(axis=1)  # logits twice too large
    >>> calibrator = StructuredVectorCalibrator(scale="logit").fit(z, y)
    >>> calibrator.predict_proba([[0.0, 0.0, 2.0]]).round(1)
    array([[0.2, 0.2, 0.6]])
    """

    title = "structured vector scaling"
    label = "structured vector"
    complexity = 40
    is_monotone = False
    learns_classes_jointly = True

    model = VectorModel
