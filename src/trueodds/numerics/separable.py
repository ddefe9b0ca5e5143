"""Separable classes, where the likelihood has no finite optimum.

A curve that can put all negatives on one side of log-odds 0 and all positives on the other may do
so ever more steeply. Touching at one score counts: the slope would still be infinite. Platt's
targets, 1/(N₋ + 2) and (N₊ + 1)/(N₊ + 2), then replace 0 and 1, the optimum is finite, and the fit
is marked as ``separable``. Which classes are separable depends on the curve:

=============================  ====================================================================
curve                          separable if
=============================  ====================================================================
logistic, beta, spline         a threshold separates the classes (``"threshold"``)
temperature, beta without c    the threshold 0 separates them (``"zero"``)
quadratic                      no row of one class lies strictly among the other's
                               (``"parabola"``)
robust logistic                a threshold separates them; or all but outliers, which shows in a
                               steep curve that loses nothing when it is doubled
Brier score                    a threshold separates them; or the squared error falls towards an
                               infinite slope
softmax of several classes     each row's class has the highest score, found while fitting
                               (:mod:`trueodds.numerics.softmax.regression`)
=============================  ====================================================================

Bayesian methods have proper priors and need no rule.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from trueodds.inputs import Floats
from trueodds.numerics.label_targets import platt_targets
from trueodds.numerics.log_odds import LogOddsRows

__all__ = ["Separator", "is_separable", "with_finite_optimum", "with_platt_targets"]

Separator = Literal["threshold", "zero", "parabola"]


def is_separable(rows: LogOddsRows, by: Separator = "threshold") -> bool:
    """Whether the scores part the classes, either way round; so do rows of one class."""
    neg, pos = rows.z[rows.n_neg > 0], rows.z[rows.n_pos > 0]
    if not len(neg) or not len(pos):
        return True
    if by == "parabola" and _among(rows.z, rows.z).any():  # with two distinct scores, a line
        return not _among(neg, pos).any() or not _among(pos, neg).any()
    if by == "zero":
        separable = neg.max() <= 0 <= pos.min() or pos.max() <= 0 <= neg.min()
    else:
        separable = neg.max() <= pos.min() or pos.max() <= neg.min()
    return bool(separable and rows.z.min() < rows.z.max())


def with_finite_optimum(rows: LogOddsRows, by: Separator = "threshold") -> tuple[LogOddsRows, bool]:
    """The rows, with Platt's targets if the classes are separable; and whether they are."""
    separable = is_separable(rows, by)
    return (with_platt_targets(rows) if separable else rows), separable


def with_platt_targets(rows: LogOddsRows) -> LogOddsRows:
    """The rows with Platt's targets."""
    return rows.with_targets(*platt_targets(float(rows.n_neg.sum()), float(rows.n_pos.sum())))


def _among(some: Floats, others: Floats) -> Floats:
    return np.asarray((some > others.min()) & (some < others.max()))
