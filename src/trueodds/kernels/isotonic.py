"""Isotonic regression, its slopes, and the path of near-isotonic regression."""

from __future__ import annotations

from typing import NamedTuple

import cython
import numpy as np
import numpy.typing as npt

__all__ = ["Merges", "flattest_slopes", "near_isotonic_merges", "pool_adjacent_violators"]

# Pooling adjacent violators ----------------------------------------------------------------------


def pool_adjacent_violators(
    n_pos: cython.const[cython.double][::1], weight: cython.const[cython.double][::1]
):
    """Return the non-decreasing frequencies of maximum likelihood, and the blocks of equal value.

    The blocks are given by their first rows, with the number of rows at the end. Sums of a block
    are kept, not its mean, so integers give exact fractions.
    """
    n: cython.Py_ssize_t = n_pos.shape[0]
    fitted = np.empty(n)
    starts = np.empty(n + 1, np.intp)
    value: cython.double[::1] = fitted
    starts_view: cython.Py_ssize_t[::1] = starts
    total: cython.double[::1] = np.empty(n)
    mass: cython.double[::1] = np.empty(n)
    mean: cython.double[::1] = np.empty(n)
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    last: cython.Py_ssize_t = -1
    with cython.nogil:
        for i in range(n):
            s: cython.double = n_pos[i]
            w: cython.double = weight[i]
            first: cython.Py_ssize_t = i
            while last >= 0 and mean[last] >= s / w:
                s += total[last]
                w += mass[last]
                first = starts_view[last]
                last -= 1
            last += 1
            total[last] = s
            mass[last] = w
            mean[last] = s / w
            starts_view[last] = first
        starts_view[last + 1] = n
        for k in range(last + 1):
            for i in range(starts_view[k], starts_view[k + 1]):
                value[i] = mean[k]
    return fitted, starts[: last + 2]


# Slopes ------------------------------------------------------------------------------------------
# The flattest line from each point of a cumulative sum diagram to the points after it.


def flattest_slopes(
    n_pos: cython.const[cython.double][::1], weight: cython.const[cython.double][::1]
):
    """Return min over j > i of (1 + Σ n_pos)/(1 + Σ weight), sums over rows i … j − 1, for every i.

    That is the lowest frequency of any run that begins with row i, with one positive added to it.
    Rows are visited backwards, with the lower convex hull of the points (Σ weight, Σ n_pos) after i
    as a stack. Slopes from a point below the hull to its corners first decrease and then increase,
    so bisection finds the flattest. Cost: O(n log n).
    """
    n: cython.Py_ssize_t = n_pos.shape[0]
    result = np.empty(n)
    slope: cython.double[::1] = result
    # Sums from the end backwards: x and y of a point are sums over the rows after it.
    x: cython.double[::1] = np.empty(n + 1)
    y: cython.double[::1] = np.empty(n + 1)
    corner: cython.Py_ssize_t[::1] = np.empty(n + 1, np.intp)
    i: cython.Py_ssize_t
    top: cython.Py_ssize_t = 0
    low: cython.Py_ssize_t
    high: cython.Py_ssize_t
    middle: cython.Py_ssize_t
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    x[n] = 0.0
    y[n] = 0.0
    corner[0] = n
    with cython.nogil:
        for i in range(n - 1, -1, -1):
            x[i] = x[i + 1] + weight[i]
            y[i] = y[i + 1] + n_pos[i]
            # The corner after which the hull is no flatter than the line from i to it; the
            # stack's top is the leftmost corner.
            low = 0
            high = top
            while low < high:
                middle = (low + high + 1) // 2
                a = corner[middle]
                b = corner[middle - 1]
                if (y[a] - y[b]) / (x[a] - x[b]) >= (y[i] - y[a] + 1) / (x[i] - x[a] + 1):
                    low = middle
                else:
                    high = middle - 1
            a = corner[low]
            slope[i] = (y[i] - y[a] + 1) / (x[i] - x[a] + 1)
            # Point i joins the hull; corners above the line from it to the next leave it.
            while top > 0:
                a = corner[top]
                b = corner[top - 1]
                if (y[i] - y[a]) / (x[i] - x[a]) >= (y[a] - y[b]) / (x[a] - x[b]):
                    top -= 1
                else:
                    break
            top += 1
            corner[top] = i
    return result


# The near-isotonic path --------------------------------------------------------------------------
# The modified pool-adjacent-violators algorithm: the whole near-isotonic path.
#
# Naeini and Cooper (2016), algorithm 1; Tibshirani, Hoefling and Tibshirani (2011).
#
# Three facts make it short and exact.
#
# 1. Whether a bin's upper neighbor is below it, the paper's ν, belongs to the boundary between
#    the two and never changes while the boundary exists: a gap between neighbors can only shrink,
#    and when it is closed they merge for good. So ν is set once, at λ = 0, and carried.
# 2. A bin's value is (S + λ·(ν_left − ν_right))/W (equation 6) with S and W the sums over the bin,
#    so nothing accumulates along the path. With whole-number weights the numerator and denominator
#    of a meeting point (equation 8) are exact, hence equal meeting points are equal in float64.
# 3. Only the two boundaries next to a merge get a new meeting point.
#
# The queue of meeting points is a binary heap that never holds all of them: in each round only
# those up to a bound enter it, about one in eight. What is left is compacted before the next
# round, so the heap and the bins it refers to stay in the processor's cache.

MERGE_TOLERANCE = cython.declare(cython.double, 1e-13)
"""Neighbors have met when their values differ by less than this, relative to their own size."""

BOUND_SAMPLE = 64
"""The bound of a round is a quantile of this many meeting points, taken at equal distances."""

ROUND_SHARE = cython.declare(cython.int, 8)
"""One meeting point of this many enters the heap in a round."""

ONE_ROUND = cython.declare(cython.int, 256)
"""This many bins or fewer are merged in one round, without a bound."""

STALL_SHARE = cython.declare(cython.int, 64)
"""After a round that merges fewer than one bin of this many, the next round has no bound."""

INFINITY = cython.declare(cython.double, float("inf"))

# A bin: its sums and its first row; of the boundary before it, ν and the λ at which it may vanish
# (key); and the neighboring bins. ``after`` is −1 in a bin that was merged.
Bin = cython.struct(
    pos=cython.double, weight=cython.double, key=cython.double,
    row=cython.int, nu=cython.int, before=cython.int, after=cython.int,
)  # fmt: skip
BIN = np.dtype("f8, f8, f8, i4, i4, i4, i4")
BIN.names = ("pos", "weight", "key", "row", "nu", "before", "after")

# An entry of the heap; it is outdated if the boundary of the bin has another key now.
HeapEntry = cython.struct(key=cython.double, bin=cython.int)
HEAP_ENTRY = np.dtype({"names": ["key", "bin"], "formats": ["f8", "i4"]}, align=True)

Integers = npt.NDArray[np.int64]


class Merges(NamedTuple):
    """The merges of the path, in order.

    Parameters
    ----------
    violates : bool array of shape (n_rows + 1,)
        ν of the boundary before each row: whether the value before it is above the one after it
        at λ = 0. False at both ends.
    boundary : int64 array of shape (n_merges,)
        The boundary that vanished, as the row after it.
    start, stop : int64 array of shape (n_merges,)
        Rows of the merged bin.
    lambdas : float64 array of shape (n_merges,)
        λ of the merge. Merges of one breakpoint have exactly the same λ.
    n_pos, weight : float64 array of shape (n_merges,)
        Sums over the rows of the merged bin.
    """

    violates: npt.NDArray[np.bool_]
    boundary: Integers
    start: Integers
    stop: Integers
    lambdas: npt.NDArray[np.float64]
    n_pos: npt.NDArray[np.float64]
    weight: npt.NDArray[np.float64]


def near_isotonic_merges(n_pos: npt.NDArray[np.float64], weight: npt.NDArray[np.float64]) -> Merges:
    """Follow the path from λ = 0 to isotonic regression.

    Parameters
    ----------
    n_pos, weight : array of shape (n_rows,)
        Sums of each row, in the order of the scores; weight > 0.

    Returns
    -------
    Merges
    """
    rows = len(weight)
    violates = np.zeros(rows + 1, dtype=np.bool_)
    boundary, start, stop = (np.empty(rows, dtype=np.int64) for _ in range(3))
    lambdas, merged_pos, merged_weight = (np.empty(rows) for _ in range(3))
    count = _merge_neighbors(
        np.ascontiguousarray(n_pos, dtype=np.float64),
        np.ascontiguousarray(weight, dtype=np.float64),
        violates.view(np.uint8),
        boundary,
        start,
        stop,
        lambdas,
        merged_pos,
        merged_weight,
    )
    return Merges(
        violates,
        boundary[:count],
        start[:count],
        stop[:count],
        lambdas[:count],
        merged_pos[:count],
        merged_weight[:count],
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sift_up(
    heap: HeapEntry[::1], at: cython.Py_ssize_t, key: cython.double, bin_index: cython.int
) -> cython.void:
    """Insert an entry into the heap at ``at`` or above, below a parent that is not later."""
    while at > 0:
        parent: cython.Py_ssize_t = (at - 1) >> 1
        if heap[parent].key <= key:
            break
        heap[at] = heap[parent]
        at = parent
    heap[at].key = key
    heap[at].bin = bin_index


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sift_down(
    heap: HeapEntry[::1],
    at: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    key: cython.double,
    bin_index: cython.int,
) -> cython.void:
    """Insert an entry into the heap at ``at`` or below, above children that are not earlier."""
    while True:
        child: cython.Py_ssize_t = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1].key < heap[child].key:
            child += 1
        if heap[child].key >= key:
            break
        heap[at] = heap[child]
        at = child
    heap[at].key = key
    heap[at].bin = bin_index


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _merge_lambda(
    bins: Bin[::1],
    left: cython.Py_ssize_t,
    right: cython.Py_ssize_t,
    after_right: cython.Py_ssize_t,
    tolerance: cython.double,
) -> cython.double:
    """Return λ at which the values of bins ``left`` and ``right`` meet (equation 8).

    With ``tolerance`` it is the λ at which they may be merged, earlier by the effect of rounding.
    """
    nu_between: cython.int = bins[right].nu
    rate: cython.double = 0.0
    if bins[left].nu != nu_between:
        rate += bins[right].weight
    if bins[after_right].nu != nu_between:
        rate += bins[left].weight
    if rate == 0.0:
        return INFINITY
    left_scaled: cython.double = bins[left].pos * bins[right].weight
    right_scaled: cython.double = bins[right].pos * bins[left].weight
    gap: cython.double = left_scaled - right_scaled if nu_between else right_scaled - left_scaled
    return (gap - tolerance * (left_scaled + right_scaled)) / rate


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _round_bound(
    bins: Bin[::1], count: cython.Py_ssize_t, sample: cython.double[::1]
) -> cython.double:
    """Return a bound below which one meeting point of ROUND_SHARE lies, from a sorted sample."""
    n: cython.Py_ssize_t = sample.shape[0]
    k: cython.Py_ssize_t
    for k in range(n):
        key: cython.double = bins[1 + (k * (count - 1)) // n].key
        place: cython.Py_ssize_t = k
        while place > 0 and sample[place - 1] > key:
            sample[place] = sample[place - 1]
            place -= 1
        sample[place] = key
    return sample[n // ROUND_SHARE]


def _merge_neighbors(
    n_pos: cython.const[cython.double][::1], weight: cython.const[cython.double][::1],
    # the columns of Merges
    violates: cython.uchar[::1], boundary: cython.longlong[::1], start: cython.longlong[::1],
    stop: cython.longlong[::1], lambdas: cython.double[::1], merged_pos: cython.double[::1],
    merged_weight: cython.double[::1],
):  # fmt: skip
    """Fill the columns of Merges and return the number of merges."""
    n: cython.Py_ssize_t = weight.shape[0]
    bins: Bin[::1] = np.zeros(n + 1, BIN).view(np.recarray)
    # A merge adds at most two entries; the outdated ones stay in the heap until they are reached.
    heap: HeapEntry[::1] = np.empty(3 * n + 1, HEAP_ENTRY).view(np.recarray)
    sample: cython.double[::1] = np.empty(BOUND_SAMPLE)
    i: cython.Py_ssize_t
    at: cython.Py_ssize_t
    left_scaled: cython.double
    right_scaled: cython.double
    n_merges: cython.Py_ssize_t = 0
    count: cython.Py_ssize_t = 0
    _side: cython.int
    with cython.nogil:
        # λ = 0: neighbors of equal value are one bin.
        for i in range(n):
            if count > 0:
                left_scaled = bins[count - 1].pos * weight[i]
                right_scaled = n_pos[i] * bins[count - 1].weight
                if abs(left_scaled - right_scaled) <= MERGE_TOLERANCE * (
                    left_scaled + right_scaled
                ):
                    bins[count - 1].pos += n_pos[i]
                    bins[count - 1].weight += weight[i]
                    boundary[n_merges] = i
                    start[n_merges] = bins[count - 1].row
                    stop[n_merges] = i + 1
                    lambdas[n_merges] = 0.0
                    merged_pos[n_merges] = bins[count - 1].pos
                    merged_weight[n_merges] = bins[count - 1].weight
                    n_merges += 1
                    continue
                bins[count].nu = left_scaled > right_scaled
                violates[i] = left_scaled > right_scaled
            bins[count].pos = n_pos[i]
            bins[count].weight = weight[i]
            bins[count].row = cython.cast(cython.int, i)
            count += 1
        bins[count].row = cython.cast(cython.int, n)
        bins[0].key = bins[count].key = INFINITY
        for i in range(1, count):
            bins[i].key = _merge_lambda(bins, i - 1, i, i + 1, MERGE_TOLERANCE)

        current_lambda: cython.double = 0.0
        bounded: cython.bint = True
        while count > 1:
            bound: cython.double = INFINITY
            if bounded and count > ONE_ROUND:
                bound = _round_bound(bins, count, sample)
            size: cython.Py_ssize_t = 0
            for i in range(count):
                bins[i].before = cython.cast(cython.int, i - 1)
                bins[i].after = cython.cast(cython.int, i + 1)
                if bins[i].key <= bound and bins[i].key < INFINITY:
                    heap[size].key = bins[i].key
                    heap[size].bin = cython.cast(cython.int, i)
                    size += 1
            if size == 0:
                break
            for at in range(size // 2 - 1, -1, -1):
                _sift_down(heap, at, size, heap[at].key, heap[at].bin)
            n_merged: cython.Py_ssize_t = 0
            while size > 0:
                b: cython.int = heap[0].bin
                is_current: cython.bint = bins[b].after >= 0 and bins[b].key == heap[0].key
                size -= 1
                if size > 0:
                    _sift_down(heap, 0, size, heap[size].key, heap[size].bin)
                if not is_current:
                    continue
                left: cython.int = bins[b].before
                right: cython.int = bins[b].after
                # A later key is a new breakpoint; otherwise the merge belongs to the last one.
                if bins[b].key > current_lambda:
                    current_lambda = max(current_lambda, _merge_lambda(bins, left, b, right, 0.0))
                bins[left].pos += bins[b].pos
                bins[left].weight += bins[b].weight
                bins[left].after = right
                bins[right].before = left
                bins[b].after = -1
                boundary[n_merges] = bins[b].row
                start[n_merges] = bins[left].row
                stop[n_merges] = bins[right].row
                lambdas[n_merges] = current_lambda
                merged_pos[n_merges] = bins[left].pos
                merged_weight[n_merges] = bins[left].weight
                n_merges += 1
                n_merged += 1
                changed: cython.int = left
                for _side in range(2):
                    # A boundary whose key is this breakpoint keeps it, even if the merge next to it
                    # leaves both its bins constant.
                    if 0 < changed < count and bins[changed].key > current_lambda:
                        old: cython.double = bins[changed].key
                        bins[changed].key = _merge_lambda(
                            bins,
                            bins[changed].before,
                            changed,
                            bins[changed].after,
                            MERGE_TOLERANCE,
                        )
                        key: cython.double = bins[changed].key
                        if key != old and key <= bound and key < INFINITY:
                            _sift_up(heap, size, key, changed)
                            size += 1
                    changed = right
            bounded = n_merged * STALL_SHARE >= count
            # Compact the remaining bins.
            n_kept: cython.Py_ssize_t = 0
            for i in range(count + 1):
                if i == count or bins[i].after >= 0:
                    bins[n_kept] = bins[i]
                    n_kept += 1
            count -= n_merged
    return n_merges
