"""Tests of rows that belong to clusters, such as several labels of one post.

A cluster is one observation. If the probabilities are right, the sum of label − probability over
a cluster has mean 0. The sum over all clusters, divided by the root of the sum of their squares,
then follows Student's distribution approximately (the sandwich estimator). Where events are
few, that variance is too small: without an event it is nearly 0. The p-value is therefore the
larger one of this test and of the exact test that takes rows as independent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import logit, stdtr

from trueodds.exceptions import InputError
from trueodds.inputs import Floats, Labels, as_dense, encode_clusters
from trueodds.metrics._exact_test import ExactTest, exact_test
from trueodds.metrics._sample import Forecasts

__all__ = ["ClusteredTest", "clustered_test", "read_clusters", "sum_test"]

FEWEST_CLUSTERS = 2


@dataclass(frozen=True, eq=False)
class ClusteredTest:
    """The tests of rows in clusters, and how many independent rows these are worth.

    Attributes
    ----------
    tests : ExactTest
    effective : float
        The rows divided by the design effect.
    """

    tests: ExactTest
    effective: float


def read_clusters(clusters: Any, y_prob: Any, kept: Labels) -> Labels:
    """The cluster of each of the rows kept, coded from 0."""
    codes, _ = encode_clusters(clusters, len(as_dense(y_prob, "y_prob")))
    found, own = np.unique(codes[kept], return_inverse=True)
    if len(found) < FEWEST_CLUSTERS:
        raise InputError(f"clusters must have at least 2 different values; got {len(found)}.")
    return own


def sum_test(scores: Floats, cluster: Labels) -> float:
    """Two-sided p-value of a sum whose terms have mean 0 and depend within clusters."""
    used, cluster = np.unique(cluster, return_inverse=True)
    sums = np.bincount(cluster, scores)
    n = len(used)
    spread = float(sums @ sums)
    if n < FEWEST_CLUSTERS or spread == 0:
        return 1.0
    # Under the hypothesis the mean is known; Student's t follows from the deviations of the sums.
    variance = float(np.square(sums - sums.mean()).sum()) * n / (n - 1)
    if variance == 0:
        return 0.0
    return float(2 * stdtr(n - 1, -abs(float(sums.sum())) / np.sqrt(variance)))


def clustered_test(view: Forecasts, cluster: Labels) -> ClusteredTest:
    """The tests of :func:`exact_test` with clusters as observations."""
    exact = exact_test(view.table)
    residual = -view.residual
    mean = max(exact.mean, sum_test(residual, cluster))
    slope = exact.slope
    if slope is not None:
        slope = max(slope, sum_test(residual * _centered_odds(view), cluster))
    bins = exact.bins
    if bins is not None:
        index = np.searchsorted(bins.low[1:], view.prob, side="right")
        own = [
            sum_test(residual[index == k], cluster[index == k]) for k in range(len(bins.p_value))
        ]
        bins = replace(bins, p_value=np.maximum(bins.p_value, own))
    found = [p for p in (mean, slope, None if bins is None else bins.together) if p is not None]
    p_value = 0.0 if exact.p_value == 0 else min(1.0, len(found) * min(found))
    tests = ExactTest(mean, slope, bins, p_value, exact.least)
    return ClusteredTest(tests, effective_rows(view, cluster))


def effective_rows(view: Forecasts, cluster: Labels) -> float:
    """The number of rows divided by the design effect, which is at least 1.

    That is the variance of the sum of label − probability with clusters as observations, over its
    variance if rows were independent.
    """
    used, cluster = np.unique(cluster, return_inverse=True)
    if view.hit.all() or not view.hit.any():
        return float(min(len(used), view.effective))
    centered = (view.hit - view.prob) - view.mean(view.hit - view.prob)
    sums = np.bincount(cluster, view.row_weight * centered)
    together = float(sums @ sums) * len(used) / max(len(used) - 1, 1)
    alone = float(view.squares @ np.square(centered))
    return view.effective if together <= alone else view.effective * alone / together


def _centered_odds(view: Forecasts) -> Floats:
    """The log-odds less their mean where labels are uncertain; 0 where they are certain."""
    variance = view.row_weight * view.prob * (1 - view.prob)
    free = variance > 0
    odds = np.zeros(len(view))
    odds[free] = logit(view.prob[free])
    odds[free] -= float(variance[free] @ odds[free]) / float(variance[free].sum())
    return odds
