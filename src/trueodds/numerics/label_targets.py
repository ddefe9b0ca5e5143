"""Labels of 0 and 1 as targets strictly between them."""

from __future__ import annotations

import numpy as np

from trueodds.inputs import Floats, LabelSmoothing

__all__ = ["binary_targets", "class_targets", "platt_targets", "smooth_counts"]


def binary_targets(
    n_neg: float, n_pos: float, label_smoothing: LabelSmoothing
) -> tuple[float, float]:
    """What a negative and a positive count as; see :meth:`trueodds.ScoreTable.smoothed`."""
    if label_smoothing == "platt":
        return platt_targets(n_neg, n_pos)
    half = float(label_smoothing or 0.0) / 2
    return half, 1 - half


def platt_targets(n_neg: float, n_pos: float) -> tuple[float, float]:
    """What a negative and a positive count as: 1/(N₋ + 2) and (N₊ + 1)/(N₊ + 2)."""
    return 1 / (n_neg + 2), (n_pos + 1) / (n_pos + 2)


def smooth_counts(n_neg: Floats, n_pos: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Weights of the classes when a negative counts as ``low`` and a positive as ``high``."""
    if (low, high) == (0.0, 1.0):
        return n_neg, n_pos
    return n_neg * (1 - low) + n_pos * (1 - high), n_pos * high + n_neg * low


def class_targets(counts: Floats, label_smoothing: LabelSmoothing) -> Floats:
    """What class j counts as in a row of class i, for classes of the given weights.

    Platt's correction for k classes: (N_i + 1)/(N_i + 2) for the class itself, and the rest in
    equal shares for the others. A float ε: 1 − ε + ε/k and ε/k.
    """
    n_classes = len(counts)
    one_hot = np.eye(n_classes)
    if label_smoothing == "platt":
        own = ((counts + 1) / (counts + 2))[:, None]
        return np.asarray(one_hot * own + (1 - one_hot) * (1 - own) / (n_classes - 1))
    share = float(label_smoothing or 0.0)
    return np.asarray(one_hot * (1 - share) + share / n_classes)
