"""Sums over forecasts of two classes: losses, and what falls into each bin."""

from __future__ import annotations

import cython
from cython.cimports.libc import math

if cython.compiled:
    from cython.cimports.trueodds.kernels.map_rows import count_up_to, minus_log_rest
else:
    from trueodds.kernels.map_rows import count_up_to, minus_log_rest

__all__ = ["add_to_bins", "sum_log_loss", "sum_squared_error"]

INFINITY = cython.declare(cython.double, float("inf"))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _surprise(p: cython.double, happened: cython.bint) -> cython.double:
    """−ln of the probability that was given to what happened."""
    if not happened:
        return minus_log_rest(p)
    return -math.log(p) if p > 0.0 else INFINITY


def sum_log_loss(
    prob: cython.const[cython.double][::1],
    positive: cython.const[cython.Py_ssize_t][::1],
    weight: cython.const[cython.double][::1] = None,
):
    """Σ weight·(−ln of the probability that was given to what happened)."""
    i: cython.Py_ssize_t
    weighted: cython.bint = weight is not None
    total: cython.double = 0.0
    with cython.nogil:
        for i in range(prob.shape[0]):
            w: cython.double = weight[i] if weighted else 1.0
            if w > 0.0:
                total += w * _surprise(prob[i], positive[i])
    return total


def sum_squared_error(
    prob: cython.const[cython.double][::1],
    positive: cython.const[cython.Py_ssize_t][::1],
    weight: cython.const[cython.double][::1] = None,
):
    """Σ weight·(p − y)²."""
    i: cython.Py_ssize_t
    weighted: cython.bint = weight is not None
    total: cython.double = 0.0
    with cython.nogil:
        for i in range(prob.shape[0]):
            off: cython.double = prob[i] - positive[i]
            total += (weight[i] if weighted else 1.0) * off * off
    return total


def add_to_bins(
    sums: cython.double[:, ::1],
    edges: cython.const[cython.double][::1],
    uniform: cython.bint,
    prob: cython.const[cython.double][::1],
    positive: cython.const[cython.Py_ssize_t][::1],
    weight: cython.const[cython.double][::1] = None,
) -> None:
    """Add weight, weight·p, weight of positives and weight·(y − p)² to the four rows of ``sums``.

    ``edges`` are the inner ones; with ``uniform`` they are k/n_bins, and no search is needed.
    """
    last: cython.Py_ssize_t = edges.shape[0]
    n_bins: cython.double = last + 1
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    weighted: cython.bint = weight is not None
    with cython.nogil:
        for i in range(prob.shape[0]):
            p: cython.double = prob[i]
            if uniform:
                k = min(cython.cast(cython.Py_ssize_t, p * n_bins), last)
                # Rounding of the product may have crossed an edge.
                if k < last and p >= edges[k]:
                    k += 1
                elif k > 0 and p < edges[k - 1]:
                    k -= 1
            else:
                k = count_up_to(edges, last, p)
            w: cython.double = weight[i] if weighted else 1.0
            off: cython.double = positive[i] - p
            sums[0, k] += w
            sums[1, k] += w * p
            sums[2, k] += w * positive[i]
            sums[3, k] += w * (off * off)
