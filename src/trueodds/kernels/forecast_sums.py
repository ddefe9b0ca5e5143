"""Sums over forecasts of two classes: losses, and sums in bins."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc import math

if cython.compiled:
    from cython.cimports.trueodds.kernels.elementary import uniform_bins
    from cython.cimports.trueodds.kernels.maps import minus_log_complement, searchsorted
else:
    from trueodds.kernels.elementary import uniform_bins
    from trueodds.kernels.maps import minus_log_complement, searchsorted

__all__ = ["add_to_bins", "sum_losses"]

INFINITY = cython.declare(cython.double, float("inf"))
BLOCK = 4096
POSITIVE_UNIT = cython.declare(cython.longlong, 1 << 32)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _log_loss(p: cython.double, is_positive: cython.bint) -> cython.double:
    """Return −ln of the probability of the observed class."""
    if not is_positive:
        return minus_log_complement(p)
    return -math.log(p) if p > 0.0 else INFINITY


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _square(x: cython.double) -> cython.double:
    return x * x


def sum_losses(
    squared: cython.bint,
    prob: cython.const[cython.double][::1],
    positive: cython.const[cython.Py_ssize_t][::1],
    weight: cython.const[cython.double][::1] = None,
):
    """Return Σ weight·(p − y)², or Σ weight·−ln of the probability of the observed class."""
    n: cython.Py_ssize_t = prob.shape[0]
    i: cython.Py_ssize_t = 0
    w: cython.double
    weighted: cython.bint = weight is not None
    # Four independent sums of squares, because additions to one sum are sequential.
    total: cython.double = 0.0
    second: cython.double = 0.0
    third: cython.double = 0.0
    fourth: cython.double = 0.0
    with cython.nogil:
        if squared and not weighted:
            while i + 3 < n:
                total += _square(prob[i] - positive[i])
                second += _square(prob[i + 1] - positive[i + 1])
                third += _square(prob[i + 2] - positive[i + 2])
                fourth += _square(prob[i + 3] - positive[i + 3])
                i += 4
        while i < n:
            w = weight[i] if weighted else 1.0
            if squared:
                total += w * _square(prob[i] - positive[i])
            elif w > 0.0:
                total += w * _log_loss(prob[i], positive[i])
            i += 1
    return (total + third) + (second + fourth)


def add_to_bins(
    sums: cython.double[:, ::1],
    edges: cython.const[cython.double][::1],
    uniform: cython.bint,
    prob: cython.const[cython.double][::1],
    positive: cython.const[cython.Py_ssize_t][::1],
    weight: cython.const[cython.double][::1] = None,
) -> None:
    """Add weight, weight·p, weight·y and weight·(y − p)² of each bin to the rows of ``sums``.

    The last is added only if there is a fourth row. ``edges`` are the inner edges; with ``uniform``
    they are k/n_bins, and no search is needed.
    """
    n: cython.Py_ssize_t = prob.shape[0]
    begin: cython.Py_ssize_t
    end: cython.Py_ssize_t
    i: cython.Py_ssize_t
    k: cython.int
    lane: cython.int
    p: cython.double
    w: cython.double
    packed: cython.longlong
    bin_of: cython.int[::1] = np.empty(min(n, BLOCK), np.int32)
    # Without weights, in four independent lanes. Rows and positives are counted in one integer, the
    # positives in multiples of POSITIVE_UNIT.
    packed_counts: cython.longlong[::1] = np.zeros(4 * sums.shape[1], np.int64)
    totals: cython.double[::1] = np.zeros(4 * sums.shape[1])
    weighted: cython.bint = weight is not None
    with_squares: cython.bint = sums.shape[0] > 3
    with cython.nogil:
        for begin in range(0, n, 4096):  # BLOCK; a step must be a literal
            end = min(begin + 4096, n)
            _find_bins(bin_of, edges, uniform, prob[begin:end])
            if weighted or with_squares:
                for i in range(begin, end):
                    k, p, w = bin_of[i - begin], prob[i], weight[i] if weighted else 1.0
                    sums[0, k] += w
                    sums[1, k] += w * p
                    sums[2, k] += w * positive[i]
                    if with_squares:
                        sums[3, k] += w * ((positive[i] - p) * (positive[i] - p))
                continue
            i = begin
            while i + 3 < end:
                k = 4 * bin_of[i - begin]
                packed_counts[k] += 1 + POSITIVE_UNIT * positive[i]
                totals[k] += prob[i]
                k = 4 * bin_of[i - begin + 1]
                packed_counts[k + 1] += 1 + POSITIVE_UNIT * positive[i + 1]
                totals[k + 1] += prob[i + 1]
                k = 4 * bin_of[i - begin + 2]
                packed_counts[k + 2] += 1 + POSITIVE_UNIT * positive[i + 2]
                totals[k + 2] += prob[i + 2]
                k = 4 * bin_of[i - begin + 3]
                packed_counts[k + 3] += 1 + POSITIVE_UNIT * positive[i + 3]
                totals[k + 3] += prob[i + 3]
                i += 4
            while i < end:
                k = 4 * bin_of[i - begin]
                packed_counts[k] += 1 + POSITIVE_UNIT * positive[i]
                totals[k] += prob[i]
                i += 1
        for lane in range(4):
            for k in range(cython.cast(cython.int, sums.shape[1])):
                packed = packed_counts[4 * k + lane]
                sums[0, k] += packed % POSITIVE_UNIT
                sums[1, k] += totals[4 * k + lane]
                sums[2, k] += packed // POSITIVE_UNIT


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_bins(
    bin_of: cython.int[::1],
    edges: cython.const[cython.double][::1],
    uniform: cython.bint,
    prob: cython.const[cython.double][::1],
) -> cython.void:
    last: cython.int = cython.cast(cython.int, edges.shape[0])
    i: cython.Py_ssize_t
    k: cython.int
    if not uniform:
        for i in range(prob.shape[0]):
            bin_of[i] = cython.cast(cython.int, searchsorted(edges, last, prob[i]))
    elif uniform_bins(prob, last + 1.0, bin_of):
        # Rounding of the product may have crossed an edge, and 1 belongs to the last bin.
        for i in range(prob.shape[0]):
            k = min(bin_of[i], last)
            k += k < last and prob[i] >= edges[k]
            k -= k > 0 and prob[i] < edges[k - 1]
            bin_of[i] = k
