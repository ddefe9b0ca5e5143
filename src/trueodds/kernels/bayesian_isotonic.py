"""Isotonic maps drawn from the recursive prior: Markov chains, and importance sampling."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc import math

__all__ = [
    "MAX_EXACT_RANKS",
    "Chain",
    "RandomStream",
    "SearchTree",
    "WeightedMaps",
    "draw_maps",
    "sample_weighted_maps",
]

# Random numbers ----------------------------------------------------------------------------------
# One stream of random numbers per seed and index, the same on every machine.
#
# SplitMix64 (Steele, Lea and Flood 2014): a counter that is hashed. Streams begin at hashed
# positions, so that each block of work has its own stream in any thread.

GOLDEN_GAMMA = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)
MIX_1 = cython.declare(cython.ulonglong, 0xBF58476D1CE4E5B9)
MIX_2 = cython.declare(cython.ulonglong, 0x94D049BB133111EB)
MASK_64 = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)  # Python's integers do not overflow
UNIT = cython.declare(cython.double, 2.0**-53)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mix(z: cython.ulonglong) -> cython.ulonglong:
    z = ((z ^ (z >> 30)) * MIX_1) & MASK_64
    z = ((z ^ (z >> 27)) * MIX_2) & MASK_64
    return z ^ (z >> 31)


@cython.final
@cython.cclass
class RandomStream:
    """Stream ``index`` of a seed, both below 2⁶⁴."""

    state: cython.ulonglong

    def __init__(self, seed: cython.ulonglong, index: cython.ulonglong) -> None:
        self.begin(seed, index)

    @cython.ccall
    @cython.nogil
    @cython.exceptval(check=False)
    def begin(self, seed: cython.ulonglong, index: cython.ulonglong) -> cython.void:
        """Move to the beginning of another stream."""
        start: cython.ulonglong = (seed + GOLDEN_GAMMA) & MASK_64
        offset: cython.ulonglong = (((index + 1) & MASK_64) * MIX_2) & MASK_64
        self.state = _mix(_mix(start) ^ _mix(offset))

    @cython.ccall
    @cython.nogil
    @cython.exceptval(check=False)
    def uniform(self) -> cython.double:
        """Return the next number of the stream, uniform and strictly between 0 and 1."""
        self.state = (self.state + GOLDEN_GAMMA) & MASK_64
        return (cython.cast(cython.double, _mix(self.state) >> 11) + 0.5) * UNIT


# The tree of a chain -----------------------------------------------------------------------------
# A tree over the ranks 1…n is stored as the range lo[k]…hi[k] of ranks in the subtree of each k.
# v[0] = 0 and v[n + 1] = 1 are added at both ends. Without bounds, lower is 0 and upper is 1.

MAX_EXACT_RANKS = 80
"""Most ranks of a subtree that is redrawn exactly. Z, scaled, exceeds 1/(n!)²: no underflow."""

MIN_WIDTH = cython.declare(cython.double, 1e-300)  # replaces a width that rounding made zero


@cython.final
@cython.cclass
class SearchTree:
    """A random binary search tree with a value for each rank, and its moves.

    Parameters
    ----------
    n : int
        Ranks.
    stream : RandomStream
    bounds : tuple of two arrays of shape (n_ranks,), default=None
        Lower and upper, both non-decreasing.

    Attributes
    ----------
    values : float64 array of shape (n_ranks + 2,)
    first, last : int64 array of shape (n_ranks + 2,)
        Range of the ranks in each subtree.
    order, place : int64 array of shape (n_ranks + 2,)
        Ranks in pre-order, and the place of each rank, from :meth:`list_preorder`.
    """

    n: cython.Py_ssize_t
    bounded: cython.bint
    stream: RandomStream
    values = cython.declare(object, visibility="readonly")
    first = cython.declare(object, visibility="readonly")
    last = cython.declare(object, visibility="readonly")
    order = cython.declare(object, visibility="readonly")
    place = cython.declare(object, visibility="readonly")
    v: cython.double[::1]
    lower: cython.double[::1]
    upper: cython.double[::1]
    lo: cython.longlong[::1]
    hi: cython.longlong[::1]
    order_view: cython.longlong[::1]
    place_view: cython.longlong[::1]
    rows: cython.double[:, ::1]
    columns: cython.double[:, ::1]

    def __init__(self, n, stream, bounds=None):
        lower, upper = (np.zeros(n), np.ones(n)) if bounds is None else bounds
        self.n, self.stream, self.bounded = n, stream, bounds is not None
        self.lower, self.upper = np.append(0.0, lower), np.append(1.0, upper)
        self.values = np.append(np.zeros(n + 1), 1.0)
        self.first, self.last = np.zeros(n + 2, np.int64), np.zeros(n + 2, np.int64)
        self.order, self.place = np.zeros(n + 2, np.int64), np.zeros(n + 2, np.int64)
        self.v, self.lo, self.hi = self.values, self.first, self.last
        self.order_view, self.place_view = self.order, self.place
        side = min(n, MAX_EXACT_RANKS) + 2
        self.rows, self.columns = np.empty((side, side)), np.empty((side, side))

    @cython.ccall
    @cython.nogil
    @cython.exceptval(check=False)
    def draw(self) -> cython.void:
        """Draw the tree and the values from the prior."""
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        k: cython.Py_ssize_t
        for k in range(1, self.n + 1):
            self.lo[k] = 0  # not yet in the tree
        i = 1
        while i <= self.n:
            if self.lo[i] > 0:
                i += 1
                continue
            # The first range without a root ends before the next rank that is in the tree.
            j = i
            while j < self.n and self.lo[j + 1] == 0:
                j += 1
            k = i + cython.cast(cython.Py_ssize_t, self.stream.uniform() * (j - i + 1))
            self.lo[k] = i
            self.hi[k] = j
            floor: cython.double = max(self.v[i - 1], self.lower[k])
            ceiling: cython.double = min(self.v[j + 1], self.upper[k])
            self.v[k] = floor + self.stream.uniform() * (ceiling - floor)

    @cython.ccall
    @cython.nogil
    @cython.exceptval(check=False)
    def width(
        self, i: cython.Py_ssize_t, j: cython.Py_ssize_t, k: cython.Py_ssize_t
    ) -> cython.double:
        """Return the width of the interval from which rank k is drawn as the root of i…j."""
        ceiling: cython.double = min(self.v[j + 1], self.upper[k])
        floor: cython.double = max(self.v[i - 1], self.lower[k])
        return max(ceiling - floor, MIN_WIDTH)

    @cython.ccall
    @cython.nogil
    @cython.exceptval(check=False)
    def list_preorder(self) -> cython.void:
        """List the ranks in pre-order, every subtree after its root, and the place of each rank.

        They are sorted by lo; ranks of equal lo are a path of left children, from the top down.
        """
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        for i in range(self.n + 2):
            self.place_view[i] = 0
        for k in range(1, self.n + 1):
            self.place_view[self.lo[k]] += 1
        for i in range(1, self.n + 2):
            self.place_view[i] += self.place_view[i - 1]
        for k in range(1, self.n + 1):
            self.place_view[self.lo[k]] -= 1
            self.order_view[self.place_view[self.lo[k]]] = k
        for i in range(self.n):
            self.place_view[self.order_view[i]] = i

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def root_weights(
        self, begin: cython.Py_ssize_t, i: cython.Py_ssize_t, j: cython.Py_ssize_t
    ) -> cython.double:
        """Return Σ_k Z(i, k − 1)·Z(k + 1, j)/width; ranks are counted from ``begin``."""
        total: cython.double = 0.0
        k: cython.Py_ssize_t
        for k in range(i, j + 1):
            total += (
                self.rows[i, k]
                * self.columns[j, k + 1]
                / self.width(begin + i, begin + j, begin + k)
            )
        return total

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def root_weights_unbounded(
        self, begin: cython.Py_ssize_t, i: cython.Py_ssize_t, j: cython.Py_ssize_t
    ) -> cython.double:
        """Return the same without bounds, where all roots have the same width."""
        first: cython.double = 0.0
        second: cython.double = 0.0
        k: cython.Py_ssize_t = i
        while k < j:
            first += self.rows[i, k] * self.columns[j, k + 1]
            second += self.rows[i, k + 1] * self.columns[j, k + 2]
            k += 2
        if k == j:
            first += self.rows[i, j] * self.columns[j, j + 1]
        width: cython.double = max(self.v[begin + j + 1] - self.v[begin + i - 1], MIN_WIDTH)
        return (first + second) / (width * (j - i + 1))

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def sample_root(
        self,
        begin: cython.Py_ssize_t,
        i: cython.Py_ssize_t,
        j: cython.Py_ssize_t,
        threshold: cython.double,
    ) -> cython.Py_ssize_t:
        """Return the k at which the sum of :meth:`root_weights` reaches ``threshold``."""
        total: cython.double = 0.0
        k: cython.Py_ssize_t = i
        width: cython.double = max(self.v[begin + j + 1] - self.v[begin + i - 1], MIN_WIDTH)
        while True:
            if self.bounded:
                width = self.width(begin + i, begin + j, begin + k)
            total += self.rows[i, k] * self.columns[j, k + 1] / width
            if k == j or total >= threshold:
                return k
            k += 1

    @cython.ccall
    @cython.nogil
    @cython.exceptval(check=False)
    def sample_tree(self, begin: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.void:
        """Draw the tree over the ranks begin…end from its distribution given the values.

        Every tree contains every rank once, so Z may be scaled by a factor per rank, the width of
        rank k as a leaf. ``rows[i, k]`` is then that width times Z(i, k − 1), and ``columns[j, k]``
        is Z(k, j). Both factors of the sum are then contiguous in memory.
        """
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        k: cython.Py_ssize_t
        length: cython.Py_ssize_t
        z: cython.double
        n: cython.Py_ssize_t = end - begin + 1
        for i in range(n):
            self.rows[i, i] = self.width(begin + i, begin + i, begin + i)
            self.columns[i, i + 1] = 1.0
        for length in range(1, n + 1):
            for i in range(n - length + 1):
                j = i + length - 1
                if self.bounded:
                    z = self.root_weights(begin, i, j) / length
                else:
                    z = self.root_weights_unbounded(begin, i, j)
                self.columns[j, i] = z
                if j + 1 < n:
                    self.rows[i, j + 1] = self.rows[j + 1, j + 1] * z
        for k in range(begin, end + 1):
            self.lo[k] = 0
        i = 0
        while i < n:
            if self.lo[begin + i] > 0:
                i += 1
                continue
            j = i
            while j + 1 < n and self.lo[begin + j + 1] == 0:
                j += 1
            threshold: cython.double = self.stream.uniform() * self.columns[j, i] * (j - i + 1)
            k = self.sample_root(begin, i, j, threshold)
            self.lo[begin + k] = begin + i
            self.hi[begin + k] = begin + j

    @cython.ccall
    @cython.nogil
    @cython.exceptval(check=False)
    def rotate(self, k: cython.Py_ssize_t) -> cython.void:
        """Draw between the tree and its rotation at the edge above rank k (Gibbs step).

        Every tree has n − 1 edges, and two rotations of an edge restore the tree.
        """
        i: cython.Py_ssize_t = self.lo[k]
        j: cython.Py_ssize_t = self.hi[k]
        before: cython.Py_ssize_t = i - 1
        after: cython.Py_ssize_t = j + 1
        if before < 1 and after > self.n:
            return  # the root
        # Both neighbors of the range are ancestors of k; the parent is the deeper one.
        parent: cython.Py_ssize_t = after
        if after > self.n or (
            before >= 1 and self.hi[before] - self.lo[before] < self.hi[after] - self.lo[after]
        ):
            parent = before
        begin: cython.Py_ssize_t = self.lo[parent]
        end: cython.Py_ssize_t = self.hi[parent]
        # The range of the parent after a rotation.
        first: cython.Py_ssize_t = k + 1 if k < parent else begin
        last: cython.Py_ssize_t = end if k < parent else k - 1
        # The density contains 1/current or 1/rotated; its other factors are equal.
        current: cython.double = (j - i + 1) * self.width(i, j, k)
        current *= self.width(begin, end, parent)
        rotated: cython.double = (last - first + 1) * self.width(first, last, parent)
        rotated *= self.width(begin, end, k)
        if self.stream.uniform() * (current + rotated) < current:
            self.lo[k] = begin
            self.hi[k] = end
            self.lo[parent] = first
            self.hi[parent] = last


# Markov chains -----------------------------------------------------------------------------------
# Markov chains on isotonic maps under the recursive prior of Allikivi and Kull (2019).
#
# A draw of the prior (section 4.2) is a random binary search tree T over the ranks together with a
# value v[k] per rank, uniform between the values l and u of the nearest ranks above it in the tree:
#
#     p(T, v) = Π_k 1/size_k · 1/(u_k − l_k),
#
# where size_k is the number of ranks in the subtree of k. The state of the chain is (T, v), and its
# stationary distribution is the posterior p(T, v)·Π v^n_pos·(1 − v)^n_neg. It needs no bounds. A
# sweep has two kinds of moves, which leave the posterior invariant.
#
# 1. *Values.* In terms of the fractions (v − l)/(u − l) the prior is uniform and independent.
#    Moving one fraction moves the subtree: values left of k are rescaled to l … v[k], values right
#    of it to v[k] … u. All these values are affine in the fraction, so its log-density is concave;
#    it is slice-sampled (Neal 2003).
# 2. *Tree.* Given v, a subtree over the ranks i…j is redrawn exactly. With v[i − 1] and v[j + 1]
#    around it, the sum over all its trees obeys
#
#        Z(i, j) = 1/(j − i + 1) · 1/(v[j + 1] − v[i − 1]) · Σ_k Z(i, k − 1)·Z(k + 1, j),
#
#    from which the root, and then the roots below it, are drawn. O(n³), which for a few dozen ranks
#    is less than the slices take. Trees too large for that are changed by rotations of single edges
#    and by redrawing their smaller subtrees.
#
# *Bounds.* The paper's maps between bounds (section 4.3) are draws of the same tree with v[k]
# uniform between max(l, lower[k]) and min(u, upper[k]). The same two moves sample their
# posterior, with these widths instead of u − l. The values below a moved one are then not affine in
# it, and are computed from their fractions down the tree; in the sum over trees, the width depends
# on the root k.

MAX_SHRINKS = cython.declare(cython.int, 200)
"""A value stays unchanged after this many proposals; the bracket is then below rounding."""

MAX_SINGLE_STEPS = cython.declare(cython.int, 64)
"""Steps out of a slice that are tried one by one; a converged chain needs a few."""

MAX_REPLAYED_STEPS = cython.declare(cython.double, 65536.0)
"""Up to this many steps are added one by one, so that the sum is the same to the last bit."""


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _advance(place: cython.double, step: cython.double, count: cython.double) -> cython.double:
    """Return the place after ``count`` steps."""
    if count > MAX_REPLAYED_STEPS:
        return place + count * step
    _: cython.int
    for _ in range(cython.cast(cython.int, count)):
        place += step
    return place


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.inline
def _ratio(new: cython.double, old: cython.double) -> cython.double:
    """Return by how much a range grows; what rounding has put on its limit stays there."""
    return new / old if old > 0.0 else 0.0


@cython.final
@cython.cclass
class Chain:
    """A Markov chain that begins with a draw from the prior.

    Parameters
    ----------
    n_neg, n_pos : array of shape (n_ranks,)
    seed, index : int
        Chains of different indices have independent random streams.
    bounds : tuple of two arrays of shape (n_ranks,), default=None
        Lower and upper, both non-decreasing.
    """

    tree: SearchTree
    stream: RandomStream
    bounded: cython.bint
    n: cython.Py_ssize_t
    max_exact: cython.Py_ssize_t
    # Ranks are 1…n; v[0] = 0 and v[n + 1] = 1 never change.
    n_neg: cython.double[::1]
    n_pos: cython.double[::1]
    sum_neg: cython.double[::1]
    sum_pos: cython.double[::1]
    lower: cython.double[::1]
    upper: cython.double[::1]
    v: cython.double[::1]
    lo: cython.longlong[::1]
    hi: cython.longlong[::1]
    order: cython.longlong[::1]
    place: cython.longlong[::1]
    fraction: cython.double[::1]
    moved: cython.double[::1]
    # The current slice: its rank, the limits of the value, and the log of the slice level.
    k: cython.Py_ssize_t
    low: cython.double
    high: cython.double
    log_level: cython.double

    def __init__(self, n_neg, n_pos, *, seed, index, bounds=None) -> None:
        self.stream = RandomStream(seed, index)
        self.tree = SearchTree(len(n_neg), self.stream, bounds)
        self.n, self.bounded, self.max_exact = len(n_neg), bounds is not None, MAX_EXACT_RANKS
        self.n_neg, self.sum_neg = np.append(0.0, n_neg), np.append(0.0, np.cumsum(n_neg))
        self.n_pos, self.sum_pos = np.append(0.0, n_pos), np.append(0.0, np.cumsum(n_pos))
        self.lower, self.upper = self.tree.lower, self.tree.upper
        self.v, self.lo, self.hi = self.tree.v, self.tree.lo, self.tree.hi
        self.order, self.place = self.tree.order_view, self.tree.place_view
        self.fraction, self.moved = np.empty(self.n + 2), np.empty(self.n + 2)
        self.tree.draw()

    def run(
        self, n_draws: cython.Py_ssize_t, thin: cython.Py_ssize_t = 1
    ) -> npt.NDArray[np.float64]:
        """Run ``n_draws · thin`` sweeps and return every ``thin``-th map, as rows."""
        result = np.empty((n_draws, self.n))
        draws: cython.double[:, ::1] = result
        row: cython.Py_ssize_t
        k: cython.Py_ssize_t
        _: cython.Py_ssize_t
        with cython.nogil:
            for row in range(n_draws):
                for _ in range(thin):
                    self._sweep()
                for k in range(self.n):
                    draws[row, k] = self.v[k + 1]
        return result

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _sweep(self) -> cython.void:
        k: cython.Py_ssize_t
        if self.n <= self.max_exact:
            self.tree.sample_tree(1, self.n)
        else:
            for _ in range(self.n):
                self.tree.rotate(self._random_rank())
            for _ in range(self.n // 8):
                # The probability of choosing the root of a range does not depend on its subtree.
                k = self._random_rank()
                if 2 <= self.hi[k] - self.lo[k] < self.max_exact:
                    self.tree.sample_tree(self.lo[k], self.hi[k])
        if self.bounded:
            self.tree.list_preorder()
        for k in range(1, self.n + 1):
            self._slice(k)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _random_rank(self) -> cython.Py_ssize_t:
        return 1 + cython.cast(cython.Py_ssize_t, self.stream.uniform() * self.n)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    @cython.inline
    def _log_likelihood(self, m: cython.Py_ssize_t, value: cython.double) -> cython.double:
        """Return the log-likelihood of rank m."""
        total: cython.double = 0.0
        if self.n_pos[m] > 0:
            total += self.n_pos[m] * math.log(value)
        if self.n_neg[m] > 0:
            total += self.n_neg[m] * math.log(1 - value)
        return total

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _rescaled_log_likelihood(self, value: cython.double) -> cython.double:
        """Return the log-likelihood of the subtree of k, rescaled such that v[k] is ``value``."""
        k: cython.Py_ssize_t = self.k
        m: cython.Py_ssize_t
        low: cython.double = self.v[self.lo[k] - 1]
        high: cython.double = self.v[self.hi[k] + 1]
        total: cython.double = self._log_likelihood(k, value)
        factor: cython.double = _ratio(value - low, self.v[k] - low)
        for m in range(self.lo[k], k):
            total += self._log_likelihood(m, min(low + (self.v[m] - low) * factor, value))
        factor = _ratio(high - value, high - self.v[k])
        for m in range(k + 1, self.hi[k] + 1):
            total += self._log_likelihood(m, max(high - (high - self.v[m]) * factor, value))
        return total

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _rescale(self, value: cython.double) -> cython.void:
        """Rescale the subtree of k such that v[k] is ``value``."""
        k: cython.Py_ssize_t = self.k
        m: cython.Py_ssize_t
        low: cython.double = self.v[self.lo[k] - 1]
        high: cython.double = self.v[self.hi[k] + 1]
        factor: cython.double = _ratio(value - low, self.v[k] - low)
        for m in range(self.lo[k], k):
            self.v[m] = min(low + (self.v[m] - low) * factor, value)
        factor = _ratio(high - value, high - self.v[k])
        for m in range(k + 1, self.hi[k] + 1):
            self.v[m] = max(high - (high - self.v[m]) * factor, value)
        self.v[k] = value

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _store_fractions(self) -> cython.void:
        """Store the fractions (v − floor)/width of the values below k."""
        p: cython.Py_ssize_t
        k: cython.Py_ssize_t = self.k
        for p in range(self.place[k] + 1, self.place[k] + self.hi[k] - self.lo[k] + 1):
            m: cython.Py_ssize_t = self.order[p]
            floor: cython.double = max(self.v[self.lo[m] - 1], self.lower[m])
            self.fraction[m] = (self.v[m] - floor) / self.tree.width(self.lo[m], self.hi[m], m)
        self.moved[self.lo[k] - 1] = self.v[self.lo[k] - 1]
        self.moved[self.hi[k] + 1] = self.v[self.hi[k] + 1]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _bounded_log_likelihood(self, value: cython.double) -> cython.double:
        """Return the same between bounds, from the fractions; write the values to ``moved``."""
        p: cython.Py_ssize_t
        k: cython.Py_ssize_t = self.k
        total: cython.double = self._log_likelihood(k, value)
        self.moved[k] = value
        for p in range(self.place[k] + 1, self.place[k] + self.hi[k] - self.lo[k] + 1):
            m: cython.Py_ssize_t = self.order[p]
            floor: cython.double = max(self.moved[self.lo[m] - 1], self.lower[m])
            ceiling: cython.double = min(self.moved[self.hi[m] + 1], self.upper[m])
            value_m: cython.double = floor + self.fraction[m] * max(ceiling - floor, 0.0)
            self.moved[m] = min(value_m, ceiling)
            total += self._log_likelihood(m, self.moved[m])
        return total

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _log_density(self, value: cython.double) -> cython.double:
        return (
            self._bounded_log_likelihood(value)
            if self.bounded
            else self._rescaled_log_likelihood(value)
        )

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _is_in_slice(self, value: cython.double) -> cython.bint:
        """Whether a value is between its limits and its log-density exceeds the level."""
        return self.low < value < self.high and self._log_density(value) > self.log_level

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _step_out(self, start: cython.double, step: cython.double) -> cython.double:
        """Return the first of start, start + step, start + 2·step, … that is not in the slice.

        From a distant start, the slice of a large sample can be millions of steps long. Beyond the
        first few steps the end is found by doubling and halving: the slice of a concave log-density
        is an interval. (With bounds it need not be, but a converged chain makes no such long way.)
        """
        inside: cython.double = start
        end: cython.double = start
        _: cython.int
        for _ in range(MAX_SINGLE_STEPS):
            if not self._is_in_slice(end):
                return end
            inside = end
            end += step
        count: cython.double = 1.0
        is_growing: cython.bint = True
        while count >= 1.0:
            end = _advance(inside, step, count)
            if self._is_in_slice(end):
                inside = end
            else:
                is_growing = False
            count = count * 2.0 if is_growing else count / 2.0
        return _advance(inside, step, 1.0)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _slice(self, k: cython.Py_ssize_t) -> cython.void:
        """Move v[k] with its subtree by a slice sample: stepping out, then shrinkage."""
        i: cython.Py_ssize_t = self.lo[k]
        j: cython.Py_ssize_t = self.hi[k]
        m: cython.Py_ssize_t
        current: cython.double = self.v[k]
        self.k, self.low, self.high = k, self.v[i - 1], self.v[j + 1]
        if self.bounded:
            self.low = max(self.low, self.lower[k])
            self.high = min(self.high, self.upper[k])
            self._store_fractions()
        # Without bounds, only rounding can make a value equal to a limit, which it leaves again.
        if not self.low < self.high or (self.bounded and not self.low < current < self.high):
            return
        self.log_level = self._log_density(current) + math.log(self.stream.uniform())
        # The first bracket may depend on all but v[k]: about four standard errors of the frequency.
        neg: cython.double = self.sum_neg[j] - self.sum_neg[i - 1] + 1
        pos: cython.double = self.sum_pos[j] - self.sum_pos[i - 1] + 1
        width: cython.double = 4 * math.sqrt(neg * pos / (neg + pos)) / (neg + pos)
        left: cython.double = self.low
        right: cython.double = self.high
        if 0 < width < 0.5 * (self.high - self.low):
            left = current - width * self.stream.uniform()
            right = left + width
            left = max(self._step_out(left, -width), self.low)
            right = min(self._step_out(right, width), self.high)
        _: cython.int
        for _ in range(MAX_SHRINKS):
            value: cython.double = left + self.stream.uniform() * (right - left)
            if self._is_in_slice(value):
                if self.bounded:
                    for m in range(i, j + 1):
                        self.v[m] = self.moved[m]
                else:
                    self._rescale(value)
                return
            if value < current:
                left = value
            else:
                right = value


# Importance sampling -----------------------------------------------------------------------------
# Isotonic maps drawn from the recursive prior between bounds, with their likelihoods as weights.
#
# Allikivi and Kull (2019), algorithm 1 and sections 4.2 and 4.3. A map is drawn by choosing a rank
# uniformly, its value uniformly between the bounds and the values already drawn, and then the same
# to the left and to the right.
#
# Map number s has its own random stream, so any map can be drawn again from its number. Only
# log-likelihoods are stored; memory does not grow with maps times ranks.

BLOCKS = 16
"""Blocks of maps, each with a running sum; fixed, so that sums do not depend on threads."""

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class WeightedMaps(NamedTuple):
    """Summary of many weighted maps.

    Parameters
    ----------
    mean : float64 array of shape (n_ranks,)
        Mean of the maps with their likelihoods as weights.
    log_likelihood : float64 array of shape (n_samples,)
        Log-likelihood of each map.
    """

    mean: Floats
    log_likelihood: Floats


def sample_weighted_maps(
    lower: Floats,
    upper: Floats,
    n_neg: Floats,
    n_pos: Floats,
    *,
    n_samples: int,
    seed: int,
    n_threads: int = 1,
    done: Any = None,
) -> WeightedMaps:
    """Draw maps and average them.

    Parameters
    ----------
    lower, upper : array of shape (n_ranks,)
        Bounds, both non-decreasing.
    n_neg, n_pos : array of shape (n_ranks,)
    n_samples : int
    seed : int
        Below 2⁶⁴.
    n_threads : int
        Number of threads; results do not depend on it.
    done : callable, default=None
        Called with the number of maps whenever a block of them is finished.
    """
    cuts = np.linspace(0, n_samples, BLOCKS + 1).astype(np.int64)
    log_likelihood = np.empty(n_samples)
    totals = np.zeros((BLOCKS, len(lower)))

    def run(block: int) -> float:
        first, last = int(cuts[block]), int(cuts[block + 1])
        sampler = _MapSampler(lower, upper, seed)
        max_log_weight = sampler.sample_block(
            n_neg, n_pos, first, log_likelihood[first:last], totals[block]
        )
        if done is not None:
            done(last - first)
        return float(max_log_weight)

    with ThreadPoolExecutor(n_threads) as pool:
        max_log_weight = np.array(list(pool.map(run, range(BLOCKS))))
    best = max_log_weight.max()
    scale = np.exp(max_log_weight - best)
    weight = np.exp(log_likelihood - best).sum()
    mean = (totals * scale[:, None]).sum(axis=0) / weight
    return WeightedMaps(np.clip(mean, lower, upper), log_likelihood)


def draw_maps(lower: Floats, upper: Floats, samples: Integers, seed: int) -> Floats:
    """Draw the maps of the given numbers again, as rows."""
    maps = np.empty((len(samples), len(lower)))
    sampler = _MapSampler(lower, upper, seed)
    for row, sample in enumerate(samples):
        sampler.sample_map(int(sample), maps[row])
    return maps


@cython.final
@cython.cclass
class _MapSampler:
    """Draws maps from the prior, with a stack of ranges and the values around them."""

    seed: cython.ulonglong
    lower: cython.double[::1]
    upper: cython.double[::1]
    first: cython.longlong[::1]
    last: cython.longlong[::1]
    below: cython.double[::1]
    above: cython.double[::1]

    def __init__(self, lower, upper, seed):
        ranks = len(lower)
        self.lower, self.upper = np.array(lower, dtype=float), np.array(upper, dtype=float)
        self.seed = seed
        self.first, self.last = np.empty(ranks + 1, np.int64), np.empty(ranks + 1, np.int64)
        self.below, self.above = np.empty(ranks + 1), np.empty(ranks + 1)

    def sample_map(self, sample: cython.ulonglong, values: cython.double[::1]):
        """Draw map number ``sample``."""
        self._sample(RandomStream(self.seed, sample), values)

    def sample_block(
        self, n_neg, n_pos, start: cython.ulonglong,
        log_likelihood: cython.double[::1], total: cython.double[::1],
    ):  # fmt: skip
        """Sum the maps of a block times exp(log-likelihood − maximum); return the maximum."""
        neg: cython.double[::1] = np.array(n_neg, dtype=float)
        pos: cython.double[::1] = np.array(n_pos, dtype=float)
        values: cython.double[::1] = np.empty(len(n_neg))
        max_log_weight: cython.double = -np.inf
        s: cython.Py_ssize_t
        stream: RandomStream = RandomStream(self.seed, start)
        with cython.nogil:
            for s in range(log_likelihood.shape[0]):
                stream.begin(self.seed, start + s)
                self._sample(stream, values)
                log_likelihood[s] = _log_likelihood(neg, pos, values)
                max_log_weight = _add_weighted(log_likelihood[s], max_log_weight, values, total)
        return max_log_weight

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _sample(self, stream: RandomStream, values: cython.double[::1]) -> cython.void:
        """Draw one map of the prior (section 4.2), within the bounds (section 4.3)."""
        self.first[0], self.last[0] = 0, self.lower.shape[0] - 1
        self.below[0], self.above[0] = 0.0, 1.0
        size: cython.Py_ssize_t = 1
        while size > 0:
            size -= 1
            i: cython.Py_ssize_t = self.first[size]
            j: cython.Py_ssize_t = self.last[size]
            low: cython.double = self.below[size]
            high: cython.double = self.above[size]
            k: cython.Py_ssize_t = i + cython.cast(
                cython.Py_ssize_t, stream.uniform() * (j - i + 1)
            )
            floor: cython.double = max(low, self.lower[k])
            ceiling: cython.double = min(high, self.upper[k])
            values[k] = floor + stream.uniform() * (ceiling - floor)
            if k < j:
                self.first[size], self.last[size] = k + 1, j
                self.below[size], self.above[size] = values[k], high
                size += 1
            if k > i:
                self.first[size], self.last[size] = i, k - 1
                self.below[size], self.above[size] = low, values[k]
                size += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _log_likelihood(
    n_neg: cython.double[::1], n_pos: cython.double[::1], values: cython.double[::1]
) -> cython.double:
    """Return the log-likelihood (equation 3, for counts)."""
    total: cython.double = 0.0
    k: cython.Py_ssize_t
    for k in range(values.shape[0]):
        if n_pos[k] > 0:
            total += n_pos[k] * math.log(values[k])
        if n_neg[k] > 0:
            total += n_neg[k] * math.log(1 - values[k])
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_weighted(
    log_weight: cython.double,
    max_log_weight: cython.double,
    values: cython.double[::1],
    total: cython.double[::1],
) -> cython.double:
    """Add a map times exp(log_weight − max_log_weight) to the total; return the new maximum."""
    k: cython.Py_ssize_t
    if log_weight > max_log_weight:
        shrink: cython.double = math.exp(max_log_weight - log_weight)
        for k in range(total.shape[0]):
            total[k] = total[k] * shrink + values[k]
        return log_weight
    if math.isfinite(log_weight):
        weight: cython.double = math.exp(log_weight - max_log_weight)
        for k in range(total.shape[0]):
            total[k] += weight * values[k]
    return max_log_weight
