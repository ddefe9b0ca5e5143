"""Markov chains on isotonic maps under the recursive prior of Allikivi and Kull (2019).

A draw of the prior (section 4.2) is a random binary search tree T over the ranks together with a
value v[k] per rank, uniform between the values l and u of the nearest ranks above it in the tree:

    p(T, v) = Π_k 1/size_k · 1/(u_k − l_k),

where size_k is the number of ranks in the subtree of k. The chain has (T, v) as its state and the
posterior p(T, v)·Π v^n_pos·(1 − v)^n_neg as its law. It needs no bounds. A sweep has two kinds of
moves, and each leaves that law invariant.

1. *Values.* In terms of the fractions (v − l)/(u − l) the prior is uniform and independent. Moving
   one fraction carries the subtree along: what is left of k is stretched between l and v[k], what
   is right of it between v[k] and u. All these values are affine in the fraction, so its
   log-density is concave; it is slice-sampled (Neal 2003).
2. *Tree.* Given v, a subtree over the ranks i…j is redrawn exactly. With v[i − 1] and v[j + 1]
   around it, the sum over all its trees obeys

       Z(i, j) = 1/(j − i + 1) · 1/(v[j + 1] − v[i − 1]) · Σ_k Z(i, k − 1)·Z(k + 1, j),

   from which the root, and then the roots below it, are drawn. O(n³), which for a few dozen ranks
   is less than the slices take. Trees too large for that are changed by rotations of single edges
   and by redrawing their smaller subtrees.

A tree is kept as the range lo[k]…hi[k] of ranks below each k.

*Bounds.* The paper's maps between bounds (section 4.3) are draws of the same tree with v[k] uniform
between max(l, lower[k]) and min(u, upper[k]). The same two moves sample their posterior, with these
widths in place of u − l. What hangs on a moved value is then no longer affine in it, and is found
from its fractions down the tree; in the sum over trees, the width depends on the root k.
"""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc import math

from trueodds.kernels.isotonic_tree import LARGEST

if cython.compiled:
    from cython.cimports.trueodds.kernels.isotonic_tree import SearchTree
    from cython.cimports.trueodds.kernels.random_stream import RandomStream
else:
    from trueodds.kernels.isotonic_tree import SearchTree
    from trueodds.kernels.random_stream import RandomStream

__all__ = ["Chain"]

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
