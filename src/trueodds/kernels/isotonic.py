"""Isotonic regression, its slopes, and the path of near-isotonic regression."""

from __future__ import annotations

from typing import NamedTuple

import cython
import numpy as np
import numpy.typing as npt

__all__ = ["Merges", "flattest_slopes", "near_isotonic_merges", "pool_adjacent"]

# Pooling adjacent violators ----------------------------------------------------------------------
# Isotonic regression by pooling adjacent violators.


def pool_adjacent(
    n_pos: cython.const[cython.double][::1], weight: cython.const[cython.double][::1]
):
    """The non-decreasing frequencies of highest likelihood.

    Returns the value of each row, and where the blocks of one value begin; the number of rows ends
    the last. Sums of a block are kept, not its mean, so whole numbers give exact fractions.
    """
    n: cython.Py_ssize_t = n_pos.shape[0]
    fitted = np.empty(n)
    starts = np.empty(n + 1, np.intp)
    value: cython.double[::1] = fitted
    begin: cython.Py_ssize_t[::1] = starts
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
                first = begin[last]
                last -= 1
            last += 1
            total[last] = s
            mass[last] = w
            mean[last] = s / w
            begin[last] = first
        begin[last + 1] = n
        for k in range(last + 1):
            for i in range(begin[k], begin[k + 1]):
                value[i] = mean[k]
    return fitted, starts[: last + 2]


# Slopes ------------------------------------------------------------------------------------------
# The flattest line from each point of a cumulative sum diagram to those after it.


def flattest_slopes(
    n_pos: cython.const[cython.double][::1], weight: cython.const[cython.double][::1]
):
    """Min over j > i of (1 + Σ n_pos)/(1 + Σ weight), the sums over rows i … j − 1, for every i.

    That is the lowest frequency of any run that begins with row i, with one positive added to it.
    Going backwards, the lower convex hull of the points (Σ weight, Σ n_pos) after i is kept as a
    stack; slopes from one point below its line to the corners of a hull first fall and then rise,
    so the flattest is found by bisection. Cost: O(n log n).
    """
    n: cython.Py_ssize_t = n_pos.shape[0]
    result = np.empty(n)
    slope: cython.double[::1] = result
    # Sums from the end backwards: x and y of a point are what lies after it, so they fall with i.
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
            # Point i joins the hull; corners above the line from it to the next are none.
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
# The modified pool-adjacent-violators algorithm: the whole near-isotonic path at once.
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

SAMPLE = 64
"""A round's bound is found among so many meeting points, taken at even distances."""

SHARE = cython.declare(cython.int, 8)
"""One meeting point in so many enters the heap in a round."""

SMALL = cython.declare(cython.int, 256)
"""So few bins are finished in one round."""

STALLED = cython.declare(cython.int, 64)
"""After a round that merges fewer than one bin in so many, the next has no bound."""

INFINITY = cython.declare(cython.double, float("inf"))

# What is read together lies together in memory. A bin: its sums and its first row; of the boundary
# before it, ν and when it may vanish; and the bins on either side, −1 after one that was merged.
Bin = cython.struct(
    pos=cython.double, weight=cython.double, key=cython.double,
    row=cython.int, nu=cython.int, before=cython.int, after=cython.int,
)  # fmt: skip
BIN = np.dtype("f8, f8, f8, i4, i4, i4, i4")
BIN.names = ("pos", "weight", "key", "row", "nu", "before", "after")

# An entry of the heap; out of date if the bin's boundary has another key by now.
Due = cython.struct(key=cython.double, bin=cython.int)
DUE = np.dtype({"names": ["key", "bin"], "formats": ["f8", "i4"]}, align=True)

Integers = npt.NDArray[np.int64]


class Merges(NamedTuple):
    """The merges of the path, in order.

    Parameters
    ----------
    violates : bool array of shape (n_rows + 1,)
        ν of the boundary before each row: whether the value before it is above the one after it
        at λ = 0. False at both ends.
    boundary : int64 array of shape (n_merges,)
        Which boundary vanished, named by the row after it.
    start, stop : int64 array of shape (n_merges,)
        The rows of the bin that the merge made.
    lambdas : float64 array of shape (n_merges,)
        When. Merges of one breakpoint have exactly the same λ.
    n_pos, weight : float64 array of shape (n_merges,)
        Sums over the rows of the bin that the merge made.
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
        Of each row, in the order of the scores; weight > 0.

    Returns
    -------
    Merges
    """
    rows = len(weight)
    violates = np.zeros(rows + 1, dtype=np.bool_)
    boundary, start, stop = (np.empty(rows, dtype=np.int64) for _ in range(3))
    lambdas, made_pos, made_weight = (np.empty(rows) for _ in range(3))
    count = _merge_neighbors(
        np.ascontiguousarray(n_pos, dtype=np.float64),
        np.ascontiguousarray(weight, dtype=np.float64),
        violates.view(np.uint8),
        boundary,
        start,
        stop,
        lambdas,
        made_pos,
        made_weight,
    )
    return Merges(
        violates,
        boundary[:count],
        start[:count],
        stop[:count],
        lambdas[:count],
        made_pos[:count],
        made_weight[:count],
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rise(
    heap: Due[::1], at: cython.Py_ssize_t, key: cython.double, owner: cython.int
) -> cython.void:
    """Put an entry in the heap at ``at`` or above, where its parent is not later."""
    while at > 0:
        parent: cython.Py_ssize_t = (at - 1) >> 1
        if heap[parent].key <= key:
            break
        heap[at] = heap[parent]
        at = parent
    heap[at].key = key
    heap[at].bin = owner


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sink(
    heap: Due[::1],
    at: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    key: cython.double,
    owner: cython.int,
) -> cython.void:
    """Put an entry in the heap at ``at`` or below, where its children are not earlier."""
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
    heap[at].bin = owner


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _meeting(
    bins: Bin[::1],
    left: cython.Py_ssize_t,
    right: cython.Py_ssize_t,
    beyond: cython.Py_ssize_t,
    early: cython.double,
) -> cython.double:
    """λ at which bins ``left`` and ``right`` meet (equation 8).

    With MERGE_TOLERANCE for ``early`` it is when they may be merged: earlier by what rounding can
    make of the other.
    """
    mine: cython.int = bins[right].nu
    rate: cython.double = 0.0
    if bins[left].nu != mine:
        rate += bins[right].weight
    if bins[beyond].nu != mine:
        rate += bins[left].weight
    if rate == 0.0:
        return INFINITY
    one: cython.double = bins[left].pos * bins[right].weight
    other: cython.double = bins[right].pos * bins[left].weight
    gap: cython.double = one - other if mine else other - one
    return (gap - early * (one + other)) / rate


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _round_bound(
    bins: Bin[::1], count: cython.Py_ssize_t, sample: cython.double[::1]
) -> cython.double:
    """A bound that about one meeting point in SHARE is below, from a sorted sample of them."""
    n: cython.Py_ssize_t = sample.shape[0]
    k: cython.Py_ssize_t
    for k in range(n):
        key: cython.double = bins[1 + (k * (count - 1)) // n].key
        place: cython.Py_ssize_t = k
        while place > 0 and sample[place - 1] > key:
            sample[place] = sample[place - 1]
            place -= 1
        sample[place] = key
    return sample[n // SHARE]


def _merge_neighbors(
    n_pos: cython.const[cython.double][::1], weight: cython.const[cython.double][::1],
    # the columns of Merges
    violates: cython.uchar[::1], boundary: cython.longlong[::1], start: cython.longlong[::1],
    stop: cython.longlong[::1], lambdas: cython.double[::1], made_pos: cython.double[::1],
    made_weight: cython.double[::1],
):  # fmt: skip
    """Fill the columns of Merges and return how many merges there are.

    A bin that was merged has ``after`` = −1.
    """
    n: cython.Py_ssize_t = weight.shape[0]
    bins: Bin[::1] = np.zeros(n + 1, BIN).view(np.recarray)
    # A merge makes at most two new entries in place of old ones, which stay until they are due.
    heap: Due[::1] = np.empty(3 * n + 1, DUE).view(np.recarray)
    sample: cython.double[::1] = np.empty(SAMPLE)
    i: cython.Py_ssize_t
    at: cython.Py_ssize_t
    one: cython.double
    other: cython.double
    merges: cython.Py_ssize_t = 0
    count: cython.Py_ssize_t = 0
    _side: cython.int
    with cython.nogil:
        # λ = 0: neighbors of equal value are one bin.
        for i in range(n):
            if count > 0:
                one = bins[count - 1].pos * weight[i]
                other = n_pos[i] * bins[count - 1].weight
                if abs(one - other) <= MERGE_TOLERANCE * (one + other):
                    bins[count - 1].pos += n_pos[i]
                    bins[count - 1].weight += weight[i]
                    boundary[merges] = i
                    start[merges] = bins[count - 1].row
                    stop[merges] = i + 1
                    lambdas[merges] = 0.0
                    made_pos[merges] = bins[count - 1].pos
                    made_weight[merges] = bins[count - 1].weight
                    merges += 1
                    continue
                bins[count].nu = one > other
                violates[i] = one > other
            bins[count].pos = n_pos[i]
            bins[count].weight = weight[i]
            bins[count].row = cython.cast(cython.int, i)
            count += 1
        bins[count].row = cython.cast(cython.int, n)
        bins[0].key = bins[count].key = INFINITY
        for i in range(1, count):
            bins[i].key = _meeting(bins, i - 1, i, i + 1, MERGE_TOLERANCE)

        now: cython.double = 0.0
        bounded: cython.bint = True
        while count > 1:
            bound: cython.double = INFINITY
            if bounded and count > SMALL:
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
                _sink(heap, at, size, heap[at].key, heap[at].bin)
            merged: cython.Py_ssize_t = 0
            while size > 0:
                b: cython.int = heap[0].bin
                fresh: cython.bint = bins[b].after >= 0 and bins[b].key == heap[0].key
                size -= 1
                if size > 0:
                    _sink(heap, 0, size, heap[size].key, heap[size].bin)
                if not fresh:
                    continue
                left: cython.int = bins[b].before
                right: cython.int = bins[b].after
                # A new breakpoint? Otherwise this merge belongs to the last one.
                if bins[b].key > now:
                    now = max(now, _meeting(bins, left, b, right, 0.0))
                bins[left].pos += bins[b].pos
                bins[left].weight += bins[b].weight
                bins[left].after = right
                bins[right].before = left
                bins[b].after = -1
                boundary[merges] = bins[b].row
                start[merges] = bins[left].row
                stop[merges] = bins[right].row
                lambdas[merges] = now
                made_pos[merges] = bins[left].pos
                made_weight[merges] = bins[left].weight
                merges += 1
                merged += 1
                edge: cython.int = left
                for _side in range(2):
                    # A boundary that is due at this very breakpoint stays due, even if the merge
                    # beside it leaves both its bins at rest.
                    if 0 < edge < count and bins[edge].key > now:
                        old: cython.double = bins[edge].key
                        bins[edge].key = _meeting(
                            bins, bins[edge].before, edge, bins[edge].after, MERGE_TOLERANCE
                        )
                        key: cython.double = bins[edge].key
                        if key != old and key <= bound and key < INFINITY:
                            _rise(heap, size, key, edge)
                            size += 1
                    edge = right
            bounded = merged * STALLED >= count
            # The bins that are left move together.
            kept: cython.Py_ssize_t = 0
            for i in range(count + 1):
                if i == count or bins[i].after >= 0:
                    bins[kept] = bins[i]
                    kept += 1
            count -= merged
    return merges
