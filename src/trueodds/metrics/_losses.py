"""Proper losses of whole forecasts, accuracy, ranking, and skill against the base rate."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds.metrics._sample import Forecasts, read_sample, read_two_classes
from trueodds.numerics.concordance import concordance
from trueodds.numerics.losses import Loss, loss_sum

__all__ = [
    "accuracy",
    "brier_score",
    "brier_skill",
    "c_statistic",
    "log_loss",
    "mean_loss",
    "root_mean_squared_error",
    "scaled_brier_score",
]


def log_loss(
    y_true: Any,
    y_prob: Any,
    *,
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
) -> float:
    """Mean of −ln(probability that was given to what happened); smaller is better.

    It sees calibration and discrimination at once, and punishes certainty that was wrong without
    bound: if anything happened that had probability 0, it is infinite. (scikit-learn's function
    of this name replaces 0 by 2.2e-16 instead.)

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels.
    y_prob : array-like of shape (n,), (n, 2) or (n, n_classes)
        Probabilities: of the positive class (the last label), or one column per class.
    sample_weight : array-like of shape (n,), default=None
        Importance of each row; a common factor changes nothing.
    counts : array-like of shape (n,), default=None
        How often each row occurred.
    classes : array-like, default=None
        All labels in the order of the columns, if some may be absent from ``y_true``.

    Returns
    -------
    float
        In nats.

    Examples
    --------
    >>> from trueodds.metrics import log_loss
    >>> round(log_loss([0, 1, 1], [0.5, 0.5, 1.0]), 6)
    0.462098
    """
    sample = read_sample(y_true, y_prob, sample_weight, counts, classes)
    return mean_loss("log_loss", sample)


def mean_loss(loss: Loss, sample: Forecasts) -> float:
    """The weighted mean of a loss."""
    return loss_sum(loss, sample.codes, sample.prob, sample.mass) / sample.total


def brier_score(
    y_true: Any,
    y_prob: Any,
    *,
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
) -> float:
    """Mean squared difference between probabilities and what happened; smaller is better.

    With two classes the positive one alone is counted, so that it lies in [0, 1]; with more, all
    are, and it lies in [0, 2], as in scikit-learn.

    Parameters
    ----------
    y_true, y_prob, sample_weight, counts, classes
        As in :func:`log_loss`.

    Returns
    -------
    float

    References
    ----------
    Brier (1950), Verification of forecasts expressed in terms of probability.

    Examples
    --------
    >>> from trueodds.metrics import brier_score
    >>> brier_score([0, 1], [0.5, 1.0])
    0.125
    """
    sample = read_sample(y_true, y_prob, sample_weight, counts, classes)
    return mean_loss("brier_score", sample)


def root_mean_squared_error(
    y_true: Any,
    y_prob: Any,
    *,
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
) -> float:
    """Root of the mean of (p − y)² over rows and classes; smaller is better.

    √(Σᵢ Σⱼ (p_ij − y_ij)² / (n·m)), which sees calibration and refinement at once. With two
    classes both columns have the same error, and it is the root of :func:`brier_score`.

    Parameters
    ----------
    y_true, y_prob, sample_weight, counts, classes
        As in :func:`log_loss`.

    Returns
    -------
    float
        In [0, 1].

    References
    ----------
    Leathart, Frank, Holmes and Pfahringer (2017), Probability calibration trees, equation 3.
    Naeini and Cooper (2016), Binary classifier calibration using an ensemble of near isotonic
    regression models, section IV.

    Examples
    --------
    >>> from trueodds.metrics import root_mean_squared_error
    >>> root_mean_squared_error([0, 1], [0.5, 0.5])
    0.5
    """
    sample = read_sample(y_true, y_prob, sample_weight, counts, classes)
    columns = 1 if sample.prob.ndim == 1 else sample.n_classes
    return float(np.sqrt(mean_loss("brier_score", sample) / columns))


def accuracy(
    y_true: Any,
    y_prob: Any,
    *,
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
) -> float:
    """Share of rows whose most probable class is the label; greater is better.

    The first of equally probable classes counts: with two, a probability of exactly one half
    stands for the negative class, as in ``predict``.

    Parameters
    ----------
    y_true, y_prob, sample_weight, counts, classes
        As in :func:`log_loss`.

    Returns
    -------
    float

    Examples
    --------
    >>> from trueodds.metrics import accuracy
    >>> accuracy([0, 1, 1], [0.5, 0.5, 0.7]).__round__(6)
    0.666667
    """
    sample = read_sample(y_true, y_prob, sample_weight, counts, classes)
    if sample.prob.ndim == 1:
        return sample.mean((sample.prob > 0.5) == sample.hit)
    return sample.mean(sample.prob.argmax(axis=1) == sample.codes)


def c_statistic(
    y_true: Any,
    y_prob: Any,
    *,
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
) -> float:
    """How often a row with the event has a higher probability than one without; 1 is best.

    The area under the ROC curve, with ties as half. It does not measure calibration. Its interval
    by DeLong's method is in :func:`validation_report`. Cost: one sort.

    Parameters
    ----------
    y_true, y_prob, sample_weight, counts, classes
        As in :func:`observed_expected_ratio`.

    Returns
    -------
    float
        NaN if there is one class only.

    Examples
    --------
    >>> from trueodds.metrics import c_statistic
    >>> c_statistic([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.8])
    0.875
    """
    view = read_two_classes(y_true, y_prob, sample_weight, counts, classes)
    return concordance(view.prob, view.hit, view.weight).estimate


def scaled_brier_score(
    y_true: Any,
    y_prob: Any,
    *,
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
) -> float:
    """Share by which the Brier score is below that of the mere frequency of the event.

    1 − Brier/(f·(1 − f)), where f is the frequency: 1 is best, 0 is no better than to say f always,
    and it may be negative. Also called Brier skill score or index of prediction accuracy.

    Parameters
    ----------
    y_true, y_prob, sample_weight, counts, classes
        As in :func:`observed_expected_ratio`.

    Returns
    -------
    float
        NaN if there is one class only.

    Examples
    --------
    >>> from trueodds.metrics import scaled_brier_score
    >>> scaled_brier_score([0, 1], [0.25, 0.75])
    0.75
    """
    sample = read_two_classes(y_true, y_prob, sample_weight, counts, classes)
    return brier_skill(mean_loss("brier_score", sample), sample.mean(sample.hit))


def brier_skill(brier: float, frequency: float) -> float:
    """1 − Brier/(f·(1 − f)), or NaN if that divides by 0."""
    chance = frequency * (1 - frequency)
    return 1 - brier / chance if chance > 0 else float("nan")
