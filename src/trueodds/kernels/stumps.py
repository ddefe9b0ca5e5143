"""Discrete AdaBoost of decision stumps.

The attributes are coded once: ``codes[f, i]`` is the rank of row i's value among the distinct
values of attribute f. A round is then one pass over the rows and one over the distinct values of
each attribute, O(n·d), where growing a tree anew sorts every attribute again.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

__all__ = ["boost_stumps", "stump_margins"]


@njit(cache=True, nogil=True)
def boost_stumps(codes, n_distinct, positive, n_rounds):  # type: ignore[no-untyped-def]
    """Boost on rows with labels ``positive`` (n, int8).

    Returns (attribute, cut, left, right, alpha, n_used): the stump of a round votes ``left`` (±1)
    for rows whose code is at most ``cut`` and ``right`` for the others, with weight ``alpha`` =
    ½·ln((1 − ε)/ε). The split is the one with the least weighted Gini impurity, as scikit-learn's
    trees choose it; the first attribute and the lowest cut win ties. Boosting ends when a stump
    makes no error (its weight is then 1, as in scikit-learn and the beta paper's program) or none
    is better than chance.
    """
    d, n = codes.shape
    attribute = np.zeros(n_rounds, np.int32)
    cut = np.zeros(n_rounds, np.int32)
    left = np.zeros(n_rounds, np.int8)
    right = np.zeros(n_rounds, np.int8)
    alpha = np.zeros(n_rounds)
    weight = np.full(n, 1.0 / n)
    most = 1
    for f in range(d):
        most = max(most, n_distinct[f])
    cells = np.empty((most, 2))
    used = 0
    for t in range(n_rounds):
        total0, total1 = 0.0, 0.0
        for i in range(n):
            if positive[i] == 1:
                total1 += weight[i]
            else:
                total0 += weight[i]
        total = total0 + total1
        best = -np.inf
        best_f, best_cut, best_left0, best_left1 = -1, 0, 0.0, 0.0
        for f in range(d):
            m = n_distinct[f]
            if m < 2:
                continue
            for c in range(m):
                cells[c, 0] = 0.0
                cells[c, 1] = 0.0
            row_codes = codes[f]
            for i in range(n):
                cells[row_codes[i], positive[i]] += weight[i]
            left0, left1 = 0.0, 0.0
            for c in range(m - 1):
                left0 += cells[c, 0]
                left1 += cells[c, 1]
                weight_left = left0 + left1
                weight_right = total - weight_left
                if weight_left <= 0.0 or weight_right <= 0.0:
                    continue
                right0, right1 = total0 - left0, total1 - left1
                # Least impurity = greatest Σ over sides of (w₀² + w₁²)/(w₀ + w₁).
                purity = (left0 * left0 + left1 * left1) / weight_left + (
                    right0 * right0 + right1 * right1
                ) / weight_right
                if purity > best:
                    best = purity
                    best_f, best_cut, best_left0, best_left1 = f, c, left0, left1
        if best_f < 0:
            break
        vote_left = 1 if best_left1 > best_left0 else -1
        vote_right = 1 if total1 - best_left1 > total0 - best_left0 else -1
        row_codes = codes[best_f]
        error = 0.0
        for i in range(n):
            vote = vote_left if row_codes[i] <= best_cut else vote_right
            if (vote == 1) != (positive[i] == 1):
                error += weight[i]
        error /= total
        attribute[t], cut[t], left[t], right[t] = best_f, best_cut, vote_left, vote_right
        if error <= 0.0:
            alpha[t] = 1.0
            used = t + 1
            break
        if error >= 0.5:
            break
        alpha[t] = 0.5 * math.log((1.0 - error) / error)
        used = t + 1
        total = 0.0
        up, down = math.exp(alpha[t]), math.exp(-alpha[t])
        for i in range(n):
            vote = vote_left if row_codes[i] <= best_cut else vote_right
            weight[i] *= down if (vote == 1) == (positive[i] == 1) else up
            total += weight[i]
        for i in range(n):
            weight[i] /= total
    return attribute[:used], cut[:used], left[:used], right[:used], alpha[:used]


@njit(cache=True, nogil=True)
def stump_margins(X, attribute, threshold, left, right, alpha):  # type: ignore[no-untyped-def]
    """Σ over the stumps of alpha · vote for each row of X (n, d); at most a threshold is left."""
    n = X.shape[0]
    margin = np.zeros(n)
    for i in range(n):
        total = 0.0
        for t in range(len(alpha)):
            vote = left[t] if X[i, attribute[t]] <= threshold[t] else right[t]
            total += alpha[t] * vote
        margin[i] = total
    return margin
