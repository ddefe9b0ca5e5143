"""AdaBoost of decision stumps, discrete or real.

The attributes are coded once: ``codes[f, i]`` is the rank of row i's value among the distinct
values of attribute f. A round is then one pass over the rows and one over the distinct values of
each attribute, O(n·d), where growing a tree anew sorts every attribute again.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc import math

__all__ = ["boost_stumps", "stump_margins"]


def boost_stumps(
    codes: cython.int[:, ::1],
    n_distinct: cython.int[::1],
    positive: cython.schar[::1],
    n_rounds: cython.Py_ssize_t,
    real: cython.bint = False,
):
    """Boost on rows with labels ``positive`` (n, int8).

    Returns (attribute, cut, left, right, alpha): the stump of a round votes ``left`` for rows whose
    code is at most ``cut`` and ``right`` for the others, with weight ``alpha``. The split has the
    least weighted Gini impurity, as scikit-learn's trees choose it; the first attribute and the
    lowest cut win ties. Discrete votes are ±1 with alpha = ½·ln((1 − ε)/ε). Real ones are
    ½·ln(w₁/w₀) of the weights on that side, each share at least 2.2e-16, with alpha = 1
    (SAMME.R). Boosting ends when a stump makes no error (its alpha is then 1, as in scikit-learn
    and the beta paper's program) or, if votes are discrete, none is better than chance.
    """
    d: cython.Py_ssize_t = codes.shape[0]
    n: cython.Py_ssize_t = codes.shape[1]
    attribute: cython.int[::1] = np.zeros(n_rounds, np.int32)
    cut: cython.int[::1] = np.zeros(n_rounds, np.int32)
    left: cython.double[::1] = np.zeros(n_rounds)
    right: cython.double[::1] = np.zeros(n_rounds)
    alpha: cython.double[::1] = np.zeros(n_rounds)
    weight: cython.double[::1] = np.full(n, 1.0 / n)
    cells: cython.double[:, ::1] = np.empty((max(1, *n_distinct), 2))
    used: cython.Py_ssize_t = 0
    t: cython.Py_ssize_t
    f: cython.Py_ssize_t
    c: cython.Py_ssize_t
    i: cython.Py_ssize_t
    vote: cython.double
    with cython.nogil:
        for t in range(n_rounds):
            total0: cython.double = 0.0
            total1: cython.double = 0.0
            for i in range(n):
                if positive[i] == 1:
                    total1 += weight[i]
                else:
                    total0 += weight[i]
            total: cython.double = total0 + total1
            best: cython.double = -1.0  # purities are not negative
            best_f: cython.Py_ssize_t = -1
            best_cut: cython.int = 0
            best_left0: cython.double = 0.0
            best_left1: cython.double = 0.0
            for f in range(d):
                if n_distinct[f] < 2:
                    continue
                for c in range(n_distinct[f]):
                    cells[c, 0] = 0.0
                    cells[c, 1] = 0.0
                for i in range(n):
                    cells[codes[f, i], positive[i]] += weight[i]
                left0: cython.double = 0.0
                left1: cython.double = 0.0
                for c in range(n_distinct[f] - 1):
                    left0 += cells[c, 0]
                    left1 += cells[c, 1]
                    weight_left: cython.double = left0 + left1
                    weight_right: cython.double = total - weight_left
                    if weight_left <= 0.0 or weight_right <= 0.0:
                        continue
                    right0: cython.double = total0 - left0
                    right1: cython.double = total1 - left1
                    # Least impurity = greatest Σ over sides of (w₀² + w₁²)/(w₀ + w₁).
                    purity: cython.double = (left0 * left0 + left1 * left1) / weight_left + (
                        right0 * right0 + right1 * right1
                    ) / weight_right
                    if purity > best:
                        best = purity
                        best_f, best_cut = f, cython.cast(cython.int, c)
                        best_left0, best_left1 = left0, left1
            if best_f < 0:
                break
            vote_left: cython.double = 1.0 if best_left1 > best_left0 else -1.0
            vote_right: cython.double = 1.0 if total1 - best_left1 > total0 - best_left0 else -1.0
            error: cython.double = 0.0
            for i in range(n):
                vote = vote_left if codes[best_f, i] <= best_cut else vote_right
                if (vote > 0.0) != (positive[i] == 1):
                    error += weight[i]
            error /= total
            if real:
                vote_left = _half_log_odds(best_left0, best_left1)
                vote_right = _half_log_odds(total0 - best_left0, total1 - best_left1)
            attribute[t] = cython.cast(cython.int, best_f)
            cut[t], left[t], right[t] = best_cut, vote_left, vote_right
            if error <= 0.0:
                alpha[t] = 1.0
                used = t + 1
                break
            if error >= 0.5 and not real:
                break
            alpha[t] = 1.0 if real else 0.5 * math.log((1.0 - error) / error)
            used = t + 1
            total = 0.0
            left_up: cython.double = math.exp(alpha[t] * vote_left)
            left_down: cython.double = math.exp(-alpha[t] * vote_left)
            right_up: cython.double = math.exp(alpha[t] * vote_right)
            right_down: cython.double = math.exp(-alpha[t] * vote_right)
            for i in range(n):
                if codes[best_f, i] <= best_cut:
                    weight[i] *= left_down if positive[i] == 1 else left_up
                else:
                    weight[i] *= right_down if positive[i] == 1 else right_up
                total += weight[i]
            for i in range(n):
                weight[i] /= total
    return (
        np.asarray(attribute)[:used],
        np.asarray(cut)[:used],
        np.asarray(left)[:used],
        np.asarray(right)[:used],
        np.asarray(alpha)[:used],
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _half_log_odds(negative: cython.double, positive: cython.double) -> cython.double:
    """½·ln of the ratio of two weights, each share of them at least 2.2e-16."""
    total: cython.double = negative + positive
    least: cython.double = 2.220446049250313e-16
    return 0.5 * (math.log(max(positive / total, least)) - math.log(max(negative / total, least)))


def stump_margins(
    X: cython.double[:, ::1],
    attribute: cython.int[::1],
    threshold: cython.double[::1],
    left: cython.double[::1],
    right: cython.double[::1],
    alpha: cython.double[::1],
):
    """Σ over the stumps of alpha · vote for each row of X (n, d); at most a threshold is left."""
    margin: cython.double[::1] = np.zeros(X.shape[0])
    i: cython.Py_ssize_t
    t: cython.Py_ssize_t
    with cython.nogil:
        for i in range(X.shape[0]):
            total: cython.double = 0.0
            for t in range(alpha.shape[0]):
                vote: cython.double = left[t] if X[i, attribute[t]] <= threshold[t] else right[t]
                total += alpha[t] * vote
            margin[i] = total
    return np.asarray(margin)
