"""The tree of a Markov chain on isotonic maps; see :mod:`trueodds.kernels.isotonic_mcmc`.

A tree over the ranks 1…n is the range lo[k]…hi[k] of ranks below each k, and k itself. v[0] = 0 and
v[n + 1] = 1 stand beside the values. Without bounds, lower is 0 and upper 1 everywhere.
"""

from __future__ import annotations

import cython
import numpy as np

__all__ = ["LARGEST", "SearchTree"]

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

    def draw(self):
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

    def width(self, i, j, k):
        """Of the interval from which rank k is drawn as the root of i…j."""
        ceiling: cython.double = min(self.v[j + 1], self.upper[k])
        floor: cython.double = max(self.v[i - 1], self.lower[k])
        return max(ceiling - floor, TINY)

    def list_ranks(self):
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

    def weigh_roots(self, begin, i, j):
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

    def weigh_roots_of_one_width(self, begin, i, j):
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

    def pick_root(self, begin, i, j, enough):
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

    def redraw(self, begin, end):
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

    def rotate(self, k):
        """Perhaps turn the edge above rank k round, with the odds of the two trees.

        Every tree has n − 1 edges, and turning one round twice restores the tree.
        """
        i: cython.Py_ssize_t = self.lo[k]
        j: cython.Py_ssize_t = self.hi[k]
        before: cython.Py_ssize_t = i - 1
        after: cython.Py_ssize_t = j + 1
        if before < 1 and after > self.n:
            return  # the root
        # Both neighbours of the range are above k; its parent is the lower of the two.
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
