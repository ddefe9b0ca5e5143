"""Sending rows down a tree, and the linear models of its nodes."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

__all__ = ["linear_probabilities", "route"]

EXPONENT_LIMIT = 708.0
BELOW_ONE = float(np.nextafter(1.0, 0.0))


@njit(cache=True, nogil=True)
def route(X, fill, n_values, attribute, cut, first, children):  # type: ignore[no-untyped-def]
    """The node at which each row of X (n, d) ends.

    NaN stands for missing and is filled. A code without a branch stops its row at the inner node.
    """
    n = X.shape[0]
    node_of = np.empty(n, np.int32)
    for i in range(n):
        node = 0
        a = attribute[node]
        while a >= 0:
            value = X[i, a]
            if value != value:
                value = fill[a]
            if n_values[a] == 0:
                node = children[first[node] + (0 if value <= cut[node] else 1)]
            elif 0 <= value < n_values[a]:
                node = children[first[node] + int(value)]
            else:
                break
            a = attribute[node]
        node_of[i] = node
    return node_of


@njit(cache=True, nogil=True, error_model="numpy")
def linear_probabilities(columns, node_of, coef):  # type: ignore[no-untyped-def]
    """Probabilities (n, K) of score columns (n, A) by the node's slopes and intercepts.

    One row of coefficients is the log-odds of a positive; several go through the softmax.
    """
    n, n_columns = columns.shape
    n_models = coef.shape[1]
    p = np.empty((n, n_models))
    for i in range(n):
        node = node_of[i]
        top = -np.inf
        for k in range(n_models):
            f = coef[node, k, n_columns]
            for a in range(n_columns):
                f += coef[node, k, a] * columns[i, a]
            p[i, k] = f
            top = max(top, f)
        if n_models == 1:
            # Never exactly 0 or 1, so that no logarithm of it is infinite.
            p[i, 0] = min(1.0 / (1.0 + math.exp(min(-top, EXPONENT_LIMIT))), BELOW_ONE)
        else:
            total = 0.0
            for k in range(n_models):
                p[i, k] = math.exp(p[i, k] - top)
                total += p[i, k]
            for k in range(n_models):
                p[i, k] /= total
    return p
