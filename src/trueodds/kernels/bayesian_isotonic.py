"""Isotonic maps drawn from the recursive prior: Markov chains, and importance sampling."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc import math

__all__ = [
    "LARGEST",
    "Chain",
    "RandomStream",
    "SearchTree",
    "WeightedMaps",
    "draw_maps",
    "sample_weighted_maps",
]

# Random numbers ----------------------------------------------------------------------------------
# Random numbers inside kernels: one stream per seed and index, the same on every machine.
#
# SplitMix64 (Steele, Lea and Flood 2014): a counter that is hashed. Streams begin at places that
# are hashes themselves, so that each block of work has its own, whichever thread does it.

GOLDEN = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)
MIX_1 = cython.declare(cython.ulonglong, 0xBF58476D1CE4E5B9)
MIX_2 = cython.declare(cython.ulonglong, 0x94D049BB133111EB)
ALL_BITS = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)  # where Python's integers go on
UNIT = cython.declare(cython.double, 2.0**-53)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mix(z: cython.ulonglong) -> cython.ulonglong:
    z = ((z ^ (z >> 30)) * MIX_1) & ALL_BITS
    z = ((z ^ (z >> 27)) * MIX_2) & ALL_BITS
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
        """Go to the beginning of another stream."""
        where: cython.ulonglong = (seed + GOLDEN) & ALL_BITS
        offset: cython.ulonglong = (((index + 1) & ALL_BITS) * MIX_2) & ALL_BITS
        self.state = _mix(_mix(where) ^ _mix(offset))

    @cython.ccall
    @cython.nogil
    @cython.exceptval(check=False)
    def uniform(self) -> cython.double:
        """The next number of the stream, uniform and strictly between 0 and 1."""
        self.state = (self.state + GOLDEN) & ALL_BITS
        return (cython.cast(cython.double, _mix(self.state) >> 11) + 0.5) * UNIT


# The tree of a chain -----------------------------------------------------------------------------
# The tree of a Markov chain on isotonic maps.
#
# A tree over the ranks 1…n is the range lo[k]…hi[k] of ranks below each k, and k itself. v[0] =
# 0 and v[n + 1] = 1 are added at both ends. Without bounds, lower is 0 and upper 1 everywhere.

LARGEST = 80
"""Ranks of a subtree that is redrawn at once. Z, scaled, is above 1/(n!)², hence no underflow."""

TINY = cython.declare(cython.double, 1e-300)  # stands for a width that rounding made zero


@cython.final
@cython.cclass
class SearchTree:
    """A tree with a value for each rank, and its moves.

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
        The range of ranks below each.
    order, place : int64 array of shape (n_ranks + 2,)
        What :meth:`list_ranks` found.
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
    listed: cython.longlong[::1]
    at: cython.longlong[::1]
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
        self.listed, self.at = self.order, self.place
        side = min(n, LARGEST) + 2
        self.rows, self.columns = np.empty((side, side)), np.empty((side, side))

    @cython.ccall
    @cython.nogil
    @cython.exceptval(check=False)
    def draw(self) -> cython.void:
        """Draw tree and values from the prior."""
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
            # The first range without a root: it ends before the next rank that is in the tree.
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
        """Of the interval from which rank k is drawn as the root of i…j."""
        ceiling: cython.double = min(self.v[j + 1], self.upper[k])
        floor: cython.double = max(self.v[i - 1], self.lower[k])
        return max(ceiling - floor, TINY)

    @cython.ccall
    @cython.nogil
    @cython.exceptval(check=False)
    def list_ranks(self) -> cython.void:
        """Ranks with every subtree in a row after its root, and the place of each among them.

        That is the order of lo; those that share it are a line from an ancestor down to the left.
        """
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        for i in range(self.n + 2):
            self.at[i] = 0
        for k in range(1, self.n + 1):
            self.at[self.lo[k]] += 1
        for i in range(1, self.n + 2):
            self.at[i] += self.at[i - 1]
        for k in range(1, self.n + 1):
            self.at[self.lo[k]] -= 1
            self.listed[self.at[self.lo[k]]] = k
        for i in range(self.n):
            self.at[self.listed[i]] = i

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def weigh_roots(
        self, begin: cython.Py_ssize_t, i: cython.Py_ssize_t, j: cython.Py_ssize_t
    ) -> cython.double:
        """Σ_k Z(i, k − 1)·Z(k + 1, j)/width; places are counted from ``begin``."""
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
    def weigh_roots_of_one_width(
        self, begin: cython.Py_ssize_t, i: cython.Py_ssize_t, j: cython.Py_ssize_t
    ) -> cython.double:
        """The same without bounds, where all roots have the same width."""
        first: cython.double = 0.0
        second: cython.double = 0.0
        k: cython.Py_ssize_t = i
        while k < j:
            first += self.rows[i, k] * self.columns[j, k + 1]
            second += self.rows[i, k + 1] * self.columns[j, k + 2]
            k += 2
        if k == j:
            first += self.rows[i, j] * self.columns[j, j + 1]
        width: cython.double = max(self.v[begin + j + 1] - self.v[begin + i - 1], TINY)
        return (first + second) / (width * (j - i + 1))

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def pick_root(
        self,
        begin: cython.Py_ssize_t,
        i: cython.Py_ssize_t,
        j: cython.Py_ssize_t,
        enough: cython.double,
    ) -> cython.Py_ssize_t:
        """The k at which the sum of :meth:`weigh_roots` reaches ``enough``."""
        total: cython.double = 0.0
        k: cython.Py_ssize_t = i
        width: cython.double = max(self.v[begin + j + 1] - self.v[begin + i - 1], TINY)
        while True:
            if self.bounded:
                width = self.width(begin + i, begin + j, begin + k)
            total += self.rows[i, k] * self.columns[j, k + 1] / width
            if k == j or total >= enough:
                return k
            k += 1

    @cython.ccall
    @cython.nogil
    @cython.exceptval(check=False)
    def redraw(self, begin: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.void:
        """Draw the tree over the ranks begin…end from its law given the values.

        Every tree contains every rank once, so Z may be scaled by a factor per rank: the width
        that rank k has as a leaf. rows[i, k] is then that width times Z(i, k − 1), and
        columns[j, k] is Z(k, j), such that both factors of the sum lie in a row.
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
                    z = self.weigh_roots(begin, i, j) / length
                else:
                    z = self.weigh_roots_of_one_width(begin, i, j)
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
            enough: cython.double = self.stream.uniform() * self.columns[j, i] * (j - i + 1)
            k = self.pick_root(begin, i, j, enough)
            self.lo[begin + k] = begin + i
            self.hi[begin + k] = begin + j

    @cython.ccall
    @cython.nogil
    @cython.exceptval(check=False)
    def rotate(self, k: cython.Py_ssize_t) -> cython.void:
        """Perhaps turn the edge above rank k round, with the odds of the two trees.

        Every tree has n − 1 edges, and turning one round twice restores the tree.
        """
        i: cython.Py_ssize_t = self.lo[k]
        j: cython.Py_ssize_t = self.hi[k]
        before: cython.Py_ssize_t = i - 1
        after: cython.Py_ssize_t = j + 1
        if before < 1 and after > self.n:
            return  # the root
        # Both neighbors of the range are above k; its parent is the lower of the two.
        parent: cython.Py_ssize_t = after
        if after > self.n or (
            before >= 1 and self.hi[before] - self.lo[before] < self.hi[after] - self.lo[after]
        ):
            parent = before
        begin: cython.Py_ssize_t = self.lo[parent]
        end: cython.Py_ssize_t = self.hi[parent]
        # The parent's range if turned.
        first: cython.Py_ssize_t = k + 1 if k < parent else begin
        last: cython.Py_ssize_t = end if k < parent else k - 1
        # The density has 1/now or 1/turned; all else is the same.
        now: cython.double = (j - i + 1) * self.width(i, j, k)
        now *= self.width(begin, end, parent)
        turned: cython.double = (last - first + 1) * self.width(first, last, parent)
        turned *= self.width(begin, end, k)
        if self.stream.uniform() * (now + turned) < now:
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
# where size_k is the number of ranks in the subtree of k. The chain has (T, v) as its state and the
# posterior p(T, v)·Π v^n_pos·(1 − v)^n_neg as its law. It needs no bounds. A sweep has two kinds of
# moves, and each leaves that law invariant.
#
# 1. *Values.* In terms of the fractions (v − l)/(u − l) the prior is uniform and independent.
#    Moving one fraction carries the subtree along: what is left of k is stretched between l and
#    v[k], what is right of it between v[k] and u. All these values are affine in the fraction,
#    so its log-density is concave; it is slice-sampled (Neal 2003).
# 2. *Tree.* Given v, a subtree over the ranks i…j is redrawn exactly. With v[i − 1] and v[j + 1]
#    around it, the sum over all its trees obeys
#
#        Z(i, j) = 1/(j − i + 1) · 1/(v[j + 1] − v[i − 1]) · Σ_k Z(i, k − 1)·Z(k + 1, j),
#
#    from which the root, and then the roots below it, are drawn. O(n³), which for a few dozen ranks
#    is less than the slices take. Trees too large for that are changed by rotations of single edges
#    and by redrawing their smaller subtrees.
#
# A tree is kept as the range lo[k]…hi[k] of ranks below each k.
#
# *Bounds.* The paper's maps between bounds (section 4.3) are draws of the same tree with v[k]
# uniform between max(l, lower[k]) and min(u, upper[k]). The same two moves sample their
# posterior, with these widths instead of u − l. What hangs on a moved value is then no longer
# affine in it, and is found from its fractions down the tree; in the sum over trees, the width
# depends on the root k.

TRIES = cython.declare(cython.int, 200)
"""A slice is left as it is after so many; a bracket has then shrunk below any rounding."""

SINGLE_STEPS = cython.declare(cython.int, 64)
"""Steps out of a slice that are tried one by one; a chain that has settled needs a few."""

REPLAYED = cython.declare(cython.double, 65536.0)
"""Up to so many steps are added one by one, so that the place is the same to the last bit."""


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _after(place: cython.double, step: cython.double, count: cython.double) -> cython.double:
    """The place after ``count`` steps."""
    if count > REPLAYED:
        return place + count * step
    _: cython.int
    for _ in range(cython.cast(cython.int, count)):
        place += step
    return place


@cython.final
@cython.cclass
class Chain:
    """One chain, which begins with a draw from the prior.

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
    largest: cython.Py_ssize_t
    # Ranks are 1…n, between values of 0 and 1 that never change.
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
    # The slice of the moment: its rank, the limits of the value, and the least log-density.
    k: cython.Py_ssize_t
    low: cython.double
    high: cython.double
    level: cython.double

    def __init__(self, n_neg, n_pos, *, seed, index, bounds=None) -> None:
        self.stream = RandomStream(seed, index)
        self.tree = SearchTree(len(n_neg), self.stream, bounds)
        self.n, self.bounded, self.largest = len(n_neg), bounds is not None, LARGEST
        self.n_neg, self.sum_neg = np.append(0.0, n_neg), np.append(0.0, np.cumsum(n_neg))
        self.n_pos, self.sum_pos = np.append(0.0, n_pos), np.append(0.0, np.cumsum(n_pos))
        self.lower, self.upper = self.tree.lower, self.tree.upper
        self.v, self.lo, self.hi = self.tree.v, self.tree.lo, self.tree.hi
        self.order, self.place = self.tree.listed, self.tree.at
        self.fraction, self.moved = np.empty(self.n + 2), np.empty(self.n + 2)
        self.tree.draw()

    def run(
        self, n_draws: cython.Py_ssize_t, thin: cython.Py_ssize_t = 1
    ) -> npt.NDArray[np.float64]:
        """Go on for ``n_draws · thin`` sweeps and return every ``thin``-th map, as rows."""
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
        if self.n <= self.largest:
            self.tree.redraw(1, self.n)
        else:
            for _ in range(self.n):
                self.tree.rotate(self._any_rank())
            for _ in range(self.n // 8):
                # The root of a range is chosen as often whatever the tree inside is.
                k = self._any_rank()
                if 2 <= self.hi[k] - self.lo[k] < self.largest:
                    self.tree.redraw(self.lo[k], self.hi[k])
        if self.bounded:
            self.tree.list_ranks()
        for k in range(1, self.n + 1):
            self._slice(k)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _any_rank(self) -> cython.Py_ssize_t:
        return 1 + cython.cast(cython.Py_ssize_t, self.stream.uniform() * self.n)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    @cython.inline
    def _log_likelihood(self, m: cython.Py_ssize_t, value: cython.double) -> cython.double:
        """Of rank m alone."""
        total: cython.double = 0.0
        if self.n_pos[m] > 0:
            total += self.n_pos[m] * math.log(value)
        if self.n_neg[m] > 0:
            total += self.n_neg[m] * math.log(1 - value)
        return total

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _stretched(self, value: cython.double) -> cython.double:
        """Log-likelihood of the ranks below k if v[k] were ``value`` and carried them along."""
        k: cython.Py_ssize_t = self.k
        m: cython.Py_ssize_t
        low: cython.double = self.v[self.lo[k] - 1]
        high: cython.double = self.v[self.hi[k] + 1]
        total: cython.double = self._log_likelihood(k, value)
        factor: cython.double = (value - low) / (self.v[k] - low)
        for m in range(self.lo[k], k):
            total += self._log_likelihood(m, min(low + (self.v[m] - low) * factor, value))
        factor = (high - value) / (high - self.v[k])
        for m in range(k + 1, self.hi[k] + 1):
            total += self._log_likelihood(m, max(high - (high - self.v[m]) * factor, value))
        return total

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _stretch(self, value: cython.double) -> cython.void:
        """Do what ``_stretched`` weighs."""
        k: cython.Py_ssize_t = self.k
        m: cython.Py_ssize_t
        low: cython.double = self.v[self.lo[k] - 1]
        high: cython.double = self.v[self.hi[k] + 1]
        factor: cython.double = (value - low) / (self.v[k] - low)
        for m in range(self.lo[k], k):
            self.v[m] = min(low + (self.v[m] - low) * factor, value)
        factor = (high - value) / (high - self.v[k])
        for m in range(k + 1, self.hi[k] + 1):
            self.v[m] = max(high - (high - self.v[m]) * factor, value)
        self.v[k] = value

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _note_fractions(self) -> cython.void:
        """Where the values below k lie between their limits."""
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
    def _hung(self, value: cython.double) -> cython.double:
        """As ``_stretched`` between bounds, from the fractions; the ranks are then in ``moved``."""
        p: cython.Py_ssize_t
        k: cython.Py_ssize_t = self.k
        total: cython.double = self._log_likelihood(k, value)
        self.moved[k] = value
        for p in range(self.place[k] + 1, self.place[k] + self.hi[k] - self.lo[k] + 1):
            m: cython.Py_ssize_t = self.order[p]
            floor: cython.double = max(self.moved[self.lo[m] - 1], self.lower[m])
            ceiling: cython.double = min(self.moved[self.hi[m] + 1], self.upper[m])
            at: cython.double = floor + self.fraction[m] * max(ceiling - floor, 0.0)
            self.moved[m] = min(at, ceiling)
            total += self._log_likelihood(m, self.moved[m])
        return total

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _weigh(self, value: cython.double) -> cython.double:
        return self._hung(value) if self.bounded else self._stretched(value)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _is_inside(self, value: cython.double) -> cython.bint:
        """Whether a value is between its limits and probable enough for the slice."""
        return self.low < value < self.high and self._weigh(value) > self.level

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _step_out(self, start: cython.double, step: cython.double) -> cython.double:
        """The first of start, start + step, start + 2·step, … that is not in the slice.

        From a start far off, a slice of heavy data can be millions of steps long. Beyond the first
        few the end is found by doubling and halving: a slice of a concave log-density has no gaps.
        (With bounds it may have some, but a chain that has settled makes no such long way.)
        """
        inside: cython.double = start
        end: cython.double = start
        _: cython.int
        for _ in range(SINGLE_STEPS):
            if not self._is_inside(end):
                return end
            inside = end
            end += step
        count: cython.double = 1.0
        grows: cython.bint = True
        while count >= 1.0:
            end = _after(inside, step, count)
            if self._is_inside(end):
                inside = end
            else:
                grows = False
            count = count * 2.0 if grows else count / 2.0
        return _after(inside, step, 1.0)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _slice(self, k: cython.Py_ssize_t) -> cython.void:
        """Move v[k] with its subtree: stepping out, then shrinking."""
        i: cython.Py_ssize_t = self.lo[k]
        j: cython.Py_ssize_t = self.hi[k]
        now: cython.double = self.v[k]
        self.k, self.low, self.high = k, self.v[i - 1], self.v[j + 1]
        if self.bounded:
            self.low = max(self.low, self.lower[k])
            self.high = min(self.high, self.upper[k])
            self._note_fractions()
        if not self.low < now < self.high:
            return
        self.level = self._weigh(now) + math.log(self.stream.uniform())
        # The first bracket may depend on all but v[k]: about four standard errors of a frequency.
        neg: cython.double = self.sum_neg[j] - self.sum_neg[i - 1] + 1
        pos: cython.double = self.sum_pos[j] - self.sum_pos[i - 1] + 1
        width: cython.double = 4 * math.sqrt(neg * pos / (neg + pos)) / (neg + pos)
        left: cython.double = self.low
        right: cython.double = self.high
        if 0 < width < 0.5 * (self.high - self.low):
            left = now - width * self.stream.uniform()
            right = left + width
            left = max(self._step_out(left, -width), self.low)
            right = min(self._step_out(right, width), self.high)
        _: cython.int
        m: cython.Py_ssize_t
        for _ in range(TRIES):
            value: cython.double = left + self.stream.uniform() * (right - left)
            if self._is_inside(value):
                if self.bounded:
                    for m in range(i, j + 1):
                        self.v[m] = self.moved[m]
                else:
                    self._stretch(value)
                return
            if value < now:
                left = value
            else:
                right = value


# Importance sampling -----------------------------------------------------------------------------
# Isotonic maps drawn from the recursive prior between bounds, weighted by their likelihood.
#
# Allikivi and Kull (2019), algorithm 1 and sections 4.2 and 4.3. A map is drawn by choosing a rank
# uniformly, its value uniformly between the bounds and the neighbors that are already there, and
# then the same to the left and to the right.
#
# Map number s has its own random stream, so any map can be drawn again from its number alone: only
# log-likelihoods are kept, and memory does not grow with the number of maps times ranks.

BLOCKS = 16
"""Blocks of maps with a running sum each; fixed, so that threads do not change any sum's order."""

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class WeightedMaps(NamedTuple):
    """What is kept of many maps.

    Parameters
    ----------
    mean : float64 array of shape (n_ranks,)
        Their mean, weighted by likelihood.
    log_likelihood : float64 array of shape (n_samples,)
        Of each.
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
        It changes the time only.
    done : callable, default=None
        Called with the number of maps whenever a block of them is finished.
    """
    cuts = np.linspace(0, n_samples, BLOCKS + 1).astype(np.int64)
    log_likelihood = np.empty(n_samples)
    totals = np.zeros((BLOCKS, len(lower)))

    def run(block: int) -> float:
        first, last = int(cuts[block]), int(cuts[block + 1])
        drawer = _Drawer(lower, upper, seed)
        highest = drawer.weigh(n_neg, n_pos, first, log_likelihood[first:last], totals[block])
        if done is not None:
            done(last - first)
        return float(highest)

    with ThreadPoolExecutor(n_threads) as pool:
        highest = np.array(list(pool.map(run, range(BLOCKS))))
    best = highest.max()
    scale = np.exp(highest - best)
    weight = np.exp(log_likelihood - best).sum()
    mean = (totals * scale[:, None]).sum(axis=0) / weight
    return WeightedMaps(np.clip(mean, lower, upper), log_likelihood)


def draw_maps(lower: Floats, upper: Floats, samples: Integers, seed: int) -> Floats:
    """The maps of the given numbers again, as rows."""
    maps = np.empty((len(samples), len(lower)))
    drawer = _Drawer(lower, upper, seed)
    for row, sample in enumerate(samples):
        drawer.draw_into(int(sample), maps[row])
    return maps


@cython.final
@cython.cclass
class _Drawer:
    """Draws maps one after the other, with a stack of ranges and the values around them."""

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

    def draw_into(self, sample: cython.ulonglong, values: cython.double[::1]):
        """Map number ``sample``."""
        self._draw(RandomStream(self.seed, sample), values)

    def weigh(
        self, n_neg, n_pos, start: cython.ulonglong,
        log_likelihood: cython.double[::1], total: cython.double[::1],
    ):  # fmt: skip
        """Sum of the block's maps, each times exp(its log-likelihood − the highest); that one."""
        neg: cython.double[::1] = np.array(n_neg, dtype=float)
        pos: cython.double[::1] = np.array(n_pos, dtype=float)
        values: cython.double[::1] = np.empty(len(n_neg))
        highest: cython.double = -np.inf
        s: cython.Py_ssize_t
        stream: RandomStream = RandomStream(self.seed, start)
        with cython.nogil:
            for s in range(log_likelihood.shape[0]):
                stream.begin(self.seed, start + s)
                self._draw(stream, values)
                log_likelihood[s] = _log_likelihood(neg, pos, values)
                highest = _add(log_likelihood[s], highest, values, total)
        return highest

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _draw(self, stream: RandomStream, values: cython.double[::1]) -> cython.void:
        """One map of the prior (section 4.2), within the bounds (section 4.3)."""
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
    """Equation 3, for counts."""
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
def _add(
    own: cython.double,
    highest: cython.double,
    values: cython.double[::1],
    total: cython.double[::1],
) -> cython.double:
    """Add a map times exp(own − highest) to the total; returns the new highest."""
    k: cython.Py_ssize_t
    if own > highest:
        shrink: cython.double = math.exp(highest - own)
        for k in range(total.shape[0]):
            total[k] = total[k] * shrink + values[k]
        return own
    if math.isfinite(own):
        weight: cython.double = math.exp(own - highest)
        for k in range(total.shape[0]):
            total[k] += weight * values[k]
    return highest
