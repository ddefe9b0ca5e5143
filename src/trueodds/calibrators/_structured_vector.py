"""Structured vector scaling."""

from __future__ import annotations

from trueodds.calibrators._shared.softmax import MixedStructuredCalibrator
from trueodds.numerics.softmax.regression import VectorModel

__all__ = ["StructuredVectorCalibrator"]


class StructuredVectorCalibrator(MixedStructuredCalibrator):
    """softmax((1 + d)·ln q + bias), where q is temperature scaling, slightly smoothed (SVS).

    Each class has a weight and a bias, held back the more, the more classes and the fewer rows
    there are: with few rows it is temperature scaling, with many it is vector scaling.

    Parameters
    ----------
    input, classes
        As in :class:`~trueodds.StructuredMatrixCalibrator`.

    Attributes
    ----------
    map_ : StructuredSoftmaxMap
        d is ``on_logs``.

    Notes
    -----
    As :class:`~trueodds.StructuredMatrixCalibrator` with a diagonal matrix: q, zeros and separable
    scores are treated as there, and the penalty is k/n for each squared entry of d and the bias.
    Cost: some dozens of passes over n·k numbers.

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
