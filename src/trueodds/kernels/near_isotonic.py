"""The modified pool-adjacent-violators algorithm: the whole near-isotonic path at once.

Naeini and Cooper (2016), algorithm 1; Tibshirani, Hoefling and Tibshirani (2011).

Three facts make it short and exact.

1. Whether a bin's upper neighbour is below it, the paper's ν, belongs to the boundary between
   the two and never changes while the boundary exists: a gap between neighbours can only shrink,
   and when it is closed they merge for good. So ν is set once, at λ = 0, and carried.
2. A bin's value is (S + λ·(ν_left − ν_right))/W (equation 6) with S and W the sums over the bin,
   so nothing accumulates along the path. With whole-number weights the numerator and denominator
   of a meeting point (equation 8) are exact, hence equal meeting points are equal in float64.
3. Only the two boundaries beside a merge get a new meeting point.

The queue of meeting points is a binary heap that never holds all of them: in each round only
those up to a bound enter it, about one in sixteen. What is left is compacted before the next
round, so the heap and the bins it refers to stay in the processor's cache.
"""

from __future__ import annotations

from typing import NamedTuple

import cython
import numpy as np
import numpy.typing as npt

__all__ = ["Merges", "near_isotonic_merges"]

MERGE_TOLERANCE = cython.declare(cython.double, 1e-13)
"""Neighbours have met when their values differ by less than this, relative to their own size."""

SAMPLE = cython.declare(cython.int, 16)
"""A round's bound is the least of so many meeting points, taken at even distances."""

SMALL = cython.declare(cython.int, 256)
"""So few bins are finished in one round."""

STALLED = cython.declare(cython.int, 64)
"""After a round that merges fewer than one bin in so many, the next has no bound."""

INFINITY = cython.declare(cython.double, float("inf"))

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
    count = _merge_neighbours(
        np.array(n_pos, dtype=np.float64),
        np.array(weight, dtype=np.float64),
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
    heap: cython.longlong[::1],
    pos: cython.longlong[::1],
    key: cython.double[::1],
    at: cython.Py_ssize_t,
) -> cython.void:
    """Move an entry of the heap towards the top until its parent is not later."""
    item: cython.Py_ssize_t = heap[at]
    own: cython.double = key[item]
    while at > 0:
        parent: cython.Py_ssize_t = (at - 1) >> 1
        other: cython.Py_ssize_t = heap[parent]
        if key[other] <= own:
            break
        heap[at] = other
        pos[other] = at
        at = parent
    heap[at] = item
    pos[item] = at


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sink(
    heap: cython.longlong[::1],
    pos: cython.longlong[::1],
    key: cython.double[::1],
    at: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.void:
    """Move an entry of the heap towards the bottom until its children are not earlier."""
    item: cython.Py_ssize_t = heap[at]
    own: cython.double = key[item]
    while True:
        child: cython.Py_ssize_t = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and key[heap[child + 1]] < key[heap[child]]:
            child += 1
        other: cython.Py_ssize_t = heap[child]
        if key[other] >= own:
            break
        heap[at] = other
        pos[other] = at
        at = child
    heap[at] = item
    pos[item] = at


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _meeting(
    s: cython.double[::1],
    w: cython.double[::1],
    nu: cython.uchar[::1],
    left: cython.Py_ssize_t,
    right: cython.Py_ssize_t,
    beyond: cython.Py_ssize_t,
    early: cython.double,
) -> cython.double:
    """λ at which bins ``left`` and ``right`` meet (equation 8).

    With MERGE_TOLERANCE for ``early`` it is when they may be merged: earlier by what rounding can
    make of the other.
    """
    mine: cython.uchar = nu[right]
    rate: cython.double = 0.0
    if nu[left] != mine:
        rate += w[right]
    if nu[beyond] != mine:
        rate += w[left]
    if rate == 0.0:
        return INFINITY
    one: cython.double = s[left] * w[right]
    other: cython.double = s[right] * w[left]
    gap: cython.double = one - other if mine else other - one
    return (gap - early * (one + other)) / rate


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _round_bound(key: cython.double[::1], count: cython.Py_ssize_t) -> cython.double:
    """A bound that about one meeting point in SAMPLE is below: the least of so many."""
    lowest: cython.double = INFINITY
    k: cython.Py_ssize_t
    for k in range(SAMPLE):
        lowest = min(lowest, key[1 + (k * (count - 1)) // SAMPLE])
    return lowest


def _merge_neighbours(
    n_pos: cython.double[::1], weight: cython.double[::1],
    # the columns of Merges
    violates: cython.uchar[::1], boundary: cython.longlong[::1], start: cython.longlong[::1],
    stop: cython.longlong[::1], lambdas: cython.double[::1], made_pos: cython.double[::1],
    made_weight: cython.double[::1],
):  # fmt: skip
    """Fill the columns of Merges and return how many merges there are.

    Bin i has the sums s[i] and w[i] and begins at row[i]; the boundary before it has ν = nu[i],
    may vanish at key[i], and is at pos[i] in the heap. A bin that was merged has after[i] = −1.
    """
    n: cython.Py_ssize_t = weight.shape[0]
    s: cython.double[::1] = np.empty(n + 1)
    w: cython.double[::1] = np.empty(n + 1)
    key: cython.double[::1] = np.empty(n + 1)
    nu: cython.uchar[::1] = np.zeros(n + 1, np.uint8)
    row: cython.longlong[::1] = np.empty(n + 1, np.int64)
    before: cython.longlong[::1] = np.empty(n + 1, np.int64)
    after: cython.longlong[::1] = np.empty(n + 1, np.int64)
    pos: cython.longlong[::1] = np.empty(n + 1, np.int64)
    heap: cython.longlong[::1] = np.empty(n + 1, np.int64)
    merges: cython.Py_ssize_t = 0
    count: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    at: cython.Py_ssize_t
    side: cython.int
    one: cython.double
    other: cython.double
    with cython.nogil:
        # λ = 0: neighbours of equal value are one bin.
        for i in range(n):
            if count > 0:
                one = s[count - 1] * weight[i]
                other = n_pos[i] * w[count - 1]
                if abs(one - other) <= MERGE_TOLERANCE * (one + other):
                    s[count - 1] += n_pos[i]
                    w[count - 1] += weight[i]
                    boundary[merges] = i
                    start[merges] = row[count - 1]
                    stop[merges] = i + 1
                    lambdas[merges] = 0.0
                    made_pos[merges] = s[count - 1]
                    made_weight[merges] = w[count - 1]
                    merges += 1
                    continue
                nu[count] = one > other
                violates[i] = one > other
            s[count] = n_pos[i]
            w[count] = weight[i]
            row[count] = i
            count += 1
        row[count] = n
        key[0] = key[count] = INFINITY
        for i in range(1, count):
            key[i] = _meeting(s, w, nu, i - 1, i, i + 1, MERGE_TOLERANCE)

        now: cython.double = 0.0
        bounded: cython.bint = True
        while count > 1:
            bound: cython.double = INFINITY
            if bounded and count > SMALL:
                bound = _round_bound(key, count)
            size: cython.Py_ssize_t = 0
            for i in range(count):
                before[i] = i - 1
                after[i] = i + 1
                pos[i] = -1
                if key[i] <= bound and key[i] < INFINITY:
                    heap[size] = i
                    pos[i] = size
                    size += 1
            if size == 0:
                break
            for at in range(size // 2 - 1, -1, -1):
                _sink(heap, pos, key, at, size)
            merged: cython.Py_ssize_t = 0
            while size > 0:
                b: cython.Py_ssize_t = heap[0]
                if key[b] > bound or key[b] == INFINITY:
                    break
                size -= 1
                if size > 0:
                    heap[0] = heap[size]
                    _sink(heap, pos, key, 0, size)
                left: cython.Py_ssize_t = before[b]
                right: cython.Py_ssize_t = after[b]
                if key[b] > now:  # a new breakpoint; otherwise this merge belongs to the last one
                    now = max(now, _meeting(s, w, nu, left, b, right, 0.0))
                s[left] += s[b]
                w[left] += w[b]
                after[left] = right
                before[right] = left
                after[b] = -1
                boundary[merges] = row[b]
                start[merges] = row[left]
                stop[merges] = row[right]
                lambdas[merges] = now
                made_pos[merges] = s[left]
                made_weight[merges] = w[left]
                merges += 1
                merged += 1
                edge: cython.Py_ssize_t = left
                for side in range(2):
                    # A boundary that is due at this very breakpoint stays due, even if the merge
                    # beside it leaves both its bins at rest.
                    if 0 < edge < count and key[edge] > now:
                        old: cython.double = key[edge]
                        key[edge] = _meeting(
                            s, w, nu, before[edge], edge, after[edge], MERGE_TOLERANCE
                        )
                        if pos[edge] < 0:
                            if key[edge] <= bound and key[edge] < INFINITY:
                                heap[size] = edge
                                size += 1
                                _rise(heap, pos, key, size - 1)
                        elif key[edge] < old:
                            _rise(heap, pos, key, pos[edge])
                        else:
                            _sink(heap, pos, key, pos[edge], size)
                    edge = right
            bounded = merged * STALLED >= count
            # The bins that are left move together.
            kept: cython.Py_ssize_t = 0
            for i in range(count + 1):
                if i == count or after[i] >= 0:
                    s[kept] = s[i]
                    w[kept] = w[i]
                    nu[kept] = nu[i]
                    row[kept] = row[i]
                    key[kept] = key[i]
                    kept += 1
            count -= merged
    return merges
