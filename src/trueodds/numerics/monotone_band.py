"""Bounds of a non-decreasing probability that hold everywhere at once, at any sample size.

Take a run of neighboring cells from j to k. If probabilities do not fall, no row in it has a
higher one than the last score of cell k. So the number of positives is at most that of as many
trials with this probability, and Clopper and Pearson's lower bound is a bound of it. In the same
way, their upper bound is a bound at the first score of cell j. At level α/(m(m + 1)), those of all
m(m + 1)/2 runs and of either side hold together with probability 1 − α. The band is their envelope
(Dimitriadis, Dümbgen, Henzi, Puke and Ziegel 2023, section 2).
"""

from __future__ import annotations

import numpy as np

from trueodds.inputs import Floats

__all__ = ["lower_bounds", "upper_bounds"]

CERTAIN = 1e-12
"""What a bound must gain to be looked at."""


def lower_bounds(n_pos: Floats, weight: Floats, level: float) -> Floats:
    """What the probability at the end of each cell is at least.

    Parameters
    ----------
    n_pos, weight : ndarray of shape (n_cells,)
        Whole numbers of positives and of rows in cells of increasing scores.
    level : float
        How probable it is that all bounds of either side hold.

    Notes
    -----
    Of all runs that end in cell k, those matter whose bound exceeds that of the cells before, c.
    A bound exceeds c if this many positives or more have a probability below δ where each has the
    probability c: one value of the incomplete beta function, which is much faster than its
    inverse. The inverse is computed for the most promising run, which raises c; few are left.
    """
    from scipy.special import betainc, betaincinv

    m = len(weight)
    delta = (1 - level) / (m * (m + 1))
    positives = np.concatenate([[0.0], np.cumsum(n_pos)])
    rows = np.concatenate([[0.0], np.cumsum(weight)])
    bounds = np.empty(m)
    best = 0.0
    for k in range(m):
        x = positives[k + 1] - positives[: k + 1]
        n = rows[k + 1] - rows[: k + 1]
        promising = np.flatnonzero(x > best * n + CERTAIN)
        while len(promising):
            a, b = x[promising], n[promising] - x[promising] + 1
            tail = betainc(a, b, best) if best > 0 else np.zeros(len(promising))
            beyond = tail < delta
            promising, a, b = promising[beyond], a[beyond], b[beyond]
            if not len(promising):
                break
            # By how many deviations each exceeds what is known: the first guess at the best.
            first = int(np.argmax(_excess(x[promising], n[promising], best)))
            found = float(betaincinv(a[first], b[first], delta))
            best = max(best, found)
            promising = np.delete(promising, first)
        bounds[k] = best
    return bounds


def _excess(x: Floats, n: Floats, probability: float) -> Floats:
    p = min(max(probability, 1e-9), 1 - 1e-9)
    return np.asarray((x - n * p) / np.sqrt(n * p * (1 - p)))


def upper_bounds(n_pos: Floats, weight: Floats, level: float) -> Floats:
    """What the probability at the beginning of each cell is at most: the same for negatives."""
    n_neg = (weight - n_pos)[::-1]
    return 1 - lower_bounds(n_neg, weight[::-1], level)[::-1]
