"""Ranking, and skill against the frequency of the event."""

from __future__ import annotations

from typing import Any

from trueodds.metrics._recalibration import binary_view, weights_of
from trueodds.metrics._sample import Event
from trueodds.numerics.concordance import concordance

__all__ = ["c_statistic", "scaled_brier_of", "scaled_brier_score"]


def c_statistic(
    y_true: Any, y_prob: Any, *, sample_weight: Any = None, classes: Any = None
) -> float:
    """How often a row with the event has a higher probability than one without; 1 is best.

    The area under the ROC curve, with ties as half. It says nothing of calibration. Its interval by
    DeLong's method is in :func:`validation_table`. Cost: one sort.

    Parameters
    ----------
    y_true, y_prob, sample_weight, classes
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
    view = binary_view(y_true, y_prob, sample_weight, classes)
    return concordance(view.prob, view.hit, view.weight).estimate


def scaled_brier_score(
    y_true: Any, y_prob: Any, *, sample_weight: Any = None, classes: Any = None
) -> float:
    """Share by which the Brier score is below that of the mere frequency of the event.

    1 − Brier/(f·(1 − f)), where f is the frequency: 1 is best, 0 is no better than to say f always,
    and it may be negative. Also called Brier skill score or index of prediction accuracy.

    Parameters
    ----------
    y_true, y_prob, sample_weight, classes
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
    return scaled_brier_of(binary_view(y_true, y_prob, sample_weight, classes))


def scaled_brier_of(view: Event) -> float:
    """The same of rows that were read."""
    weight = weights_of(view)
    total = float(weight.sum())
    share = float(weight @ view.hit) / total
    if share * (1 - share) == 0:
        return float("nan")
    return 1 - float(weight @ (view.prob - view.hit) ** 2) / (total * share * (1 - share))
