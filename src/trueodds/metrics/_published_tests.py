"""The tests that papers report: Spiegelhalter's, Cox's, and that of Hosmer and Lemeshow."""

from __future__ import annotations

import numpy as np
from scipy.special import chdtrc, ndtr

from trueodds.metrics._recalibration import cox_statistic, weights_of
from trueodds.metrics._sample import Event
from trueodds.numerics.binning import bin_index, equal_mass_edges

__all__ = ["cox", "hosmer_lemeshow", "spiegelhalter"]


def spiegelhalter(excess: float, variance: float, total: float) -> tuple[float, float, float]:
    """Statistic, p-value and expectation, of the excess loss and its variance if calibrated."""
    rounding = 1e-12 * total
    if variance <= rounding**2:
        # All probabilities are 0, 1 or equal: the loss is certain, so any excess is proof.
        z = 0.0 if abs(excess) <= rounding else float(np.copysign(np.inf, excess))
    else:
        z = float(excess / np.sqrt(variance))
    return z, float(2 * ndtr(-abs(z))), 0.0


def cox(view: Event, *, counts: bool = False) -> tuple[float, float, float]:
    """Statistic, p-value and expectation of the likelihood-ratio test of intercept 0, slope 1.

    With ``counts`` a weight of k stands for k rows, so the likelihood is that of all of them.
    """
    scale = 1.0
    if view.weight is not None and not counts:
        # A row is one observation: weights that are all alike must not change the answer.
        scale = float(view.weight.sum() / (view.weight**2).sum())
    statistic = scale * cox_statistic(view)
    return statistic, float(chdtrc(2, statistic)), 2.0


def hosmer_lemeshow(view: Event, n_bins: int) -> tuple[float, float, float]:
    """Statistic, p-value and expectation in groups of equal mass.

    As many degrees of freedom as groups: nothing was fitted to these rows.
    """
    weight = weights_of(view)
    index = bin_index(equal_mass_edges(view.prob, view.weight, n_bins), view.prob)
    total, squares, expected, gap = (
        np.bincount(index, values)
        for values in (weight, weight**2, weight * view.prob, weight * (view.hit - view.prob))
    )
    filled = total > 0
    total, squares, expected, gap = (v[filled] for v in (total, squares, expected, gap))
    variance = squares * (expected / total) * (1 - expected / total)
    certain = variance <= 0
    if (np.abs(gap[certain]) > 1e-12 * total[certain]).any():
        return np.inf, 0.0, float(len(total))  # what was certain did not come about
    statistic = float((gap[~certain] ** 2 / variance[~certain]).sum())
    degrees = float(max((~certain).sum(), 1))
    return statistic, float(chdtrc(degrees, statistic)), degrees
