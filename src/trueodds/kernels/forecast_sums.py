"""Sums over forecasts of two classes: losses, and what falls into each bin."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc import math

if cython.compiled:
    from cython.cimports.trueodds.kernels.map_rows import count_up_to, minus_log_rest
else:
    from trueodds.kernels.map_rows import count_up_to, minus_log_rest

__all__ = ["add_to_bins", "sum_losses"]

NEAR_EDGE = cython.declare(cython.double, 1e-9)
INFINITY = cython.declare(cython.double, float("inf"))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _surprise(p: cython.double, happened: cython.bint) -> cython.double:
    """−ln of the probability that was given to what happened."""
    if not happened:
        return minus_log_rest(p)
    return -math.log(p) if p > 0.0 else INFINITY


def sum_losses(
    squared: cython.bint,
    prob: cython.const[cython.double][::1],
    positive: cython.const[cython.Py_ssize_t][::1],
    weight: cython.const[cython.double][::1] = None,
):
    """Σ weight·(p − y)², or of −ln of the probability that was given to what happened."""
    i: cython.Py_ssize_t
    w: cython.double
    weighted: cython.bint = weight is not None
    total: cython.double = 0.0
    rest: cython.double = 0.0  # of every second row: one sum would wait for itself
    with cython.nogil:
        for i in range(prob.shape[0]):
            w = weight[i] if weighted else 1.0
            if squared:
                rest, total = total, rest + w * (prob[i] - positive[i]) * (prob[i] - positive[i])
            elif w > 0.0:
                total += w * _surprise(prob[i], positive[i])
    return total + rest


def add_to_bins(
    sums: cython.double[:, ::1],
    edges: cython.const[cython.double][::1],
    uniform: cython.bint,
    prob: cython.const[cython.double][::1],
    positive: cython.const[cython.Py_ssize_t][::1],
    weight: cython.const[cython.double][::1] = None,
) -> None:
    """Add weight, weight·p, weight of positives and weight·(y − p)² to the rows of ``sums``.

    The last only if there is a fourth row. ``edges`` are the inner ones; with ``uniform`` they are
    k/n_bins, and no search is needed.
    """
    n: cython.Py_ssize_t = prob.shape[0]
    last: cython.int = edges.shape[0]
    n_bins: cython.double = last + 1
    i: cython.Py_ssize_t
    k: cython.int
    p: cython.double
    w: cython.double
    bin_of: cython.int[::1] = np.empty(n, np.int32)
    weighted: cython.bint = weight is not None
    spread: cython.bint = sums.shape[0] > 3
    with cython.nogil:
        if uniform:
            near: cython.int = 0
            for i in range(n):
                p = prob[i] * n_bins
                k = cython.cast(cython.int, p)
                bin_of[i] = k
                near |= (p - k < NEAR_EDGE) | (p - k > 1.0 - NEAR_EDGE)
            if near:
                # Rounding of a product may have crossed an edge, and 1 is in the last bin.
                for i in range(n):
                    k = min(bin_of[i], last)
                    k += k < last and prob[i] >= edges[k]
                    k -= k > 0 and prob[i] < edges[k - 1]
                    bin_of[i] = k
        else:
            for i in range(n):
                bin_of[i] = cython.cast(cython.int, count_up_to(edges, last, prob[i]))
        if weighted or spread:
            for i in range(n):
                k, p, w = bin_of[i], prob[i], weight[i] if weighted else 1.0
                sums[0, k] += w
                sums[1, k] += w * p
                sums[2, k] += w * positive[i]
                if spread:
                    sums[3, k] += w * ((positive[i] - p) * (positive[i] - p))
        else:
            for i in range(n):
                k = bin_of[i]
                sums[0, k] += 1.0
                sums[1, k] += prob[i]
                sums[2, k] += positive[i]
