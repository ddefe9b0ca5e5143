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
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from trueodds.kernels._random_stream import begin_stream, uniform

__all__ = ["Chain"]

LARGEST = 80
"""Ranks of a subtree that is redrawn at once. Z, scaled, is above 1/(n!)², hence no underflow."""

TINY = 1e-300
"""Stands for a width that rounding made zero."""

TRIES = 200
"""A slice is left as it is after so many; a bracket has then shrunk below any rounding."""

Floats = npt.NDArray[np.float64]


class Chain:
    """One chain, which begins with a draw from the prior.

    Parameters
    ----------
    n_neg, n_pos : array of shape (n_ranks,)
    seed, index : int
        Chains of different indices have independent random streams.
    """

    def __init__(self, n_neg: Floats, n_pos: Floats, *, seed: int, index: int) -> None:
        ranks = len(n_neg)
        self._n_ranks = ranks
        self._data = tuple(
            np.append(0.0, column) for column in (n_neg, np.cumsum(n_neg), n_pos, np.cumsum(n_pos))
        )
        # Ranks are 1…n in the kernel, between values of 0 and 1 that never change.
        self._state = (
            np.append(np.zeros(ranks + 1), 1.0),
            *(np.zeros(ranks + 2, dtype=np.int64) for _ in range(2)),
            np.zeros(1, dtype=np.uint64),
        )
        side = min(ranks, LARGEST) + 2
        self._work = (*(np.empty((side, side)) for _ in range(2)), np.empty(side))
        kernel: Any = _begin
        kernel(*self._state, np.uint64(seed), index)

    def run(self, n_draws: int, thin: int = 1) -> Floats:
        """Go on for ``n_draws · thin`` sweeps and return every ``thin``-th map, as rows."""
        draws = np.empty((n_draws, self._n_ranks))
        kernel: Any = _sweep
        kernel(*self._data, *self._state, *self._work, thin, draws)
        return draws


@njit(
    "void(float64[::1], int64[::1], int64[::1], uint64[::1], uint64, int64)",
    cache=True,
    error_model="numpy",
)
def _begin(v, lo, hi, state, seed, index):  # type: ignore[no-untyped-def]
    """Draw tree and values from the prior."""
    begin_stream(state, seed, index)
    n = len(v) - 2
    for k in range(1, n + 1):
        lo[k] = 0  # not yet in the tree
    i = 1
    while i <= n:
        if lo[i] > 0:
            i += 1
            continue
        # The first range without a root: it ends before the next rank that is in the tree.
        j = i
        while j < n and lo[j + 1] == 0:
            j += 1
        k = i + int(uniform(state) * (j - i + 1))
        lo[k], hi[k] = i, j
        v[k] = v[i - 1] + uniform(state) * (v[j + 1] - v[i - 1])


@njit(error_model="numpy")
def _log_likelihood(n_neg, n_pos, v, i, j, k, low, high, value):  # type: ignore[no-untyped-def]
    """Of the ranks i…j if v[k] were ``value`` and carried them along, between low and high."""
    total = 0.0
    stretch = (value - low) / (v[k] - low)
    for m in range(i, k):
        moved = min(low + (v[m] - low) * stretch, value)
        if n_pos[m] > 0:
            total += n_pos[m] * np.log(moved)
        if n_neg[m] > 0:
            total += n_neg[m] * np.log(1 - moved)
    if n_pos[k] > 0:
        total += n_pos[k] * np.log(value)
    if n_neg[k] > 0:
        total += n_neg[k] * np.log(1 - value)
    stretch = (high - value) / (high - v[k])
    for m in range(k + 1, j + 1):
        moved = max(high - (high - v[m]) * stretch, value)
        if n_pos[m] > 0:
            total += n_pos[m] * np.log(moved)
        if n_neg[m] > 0:
            total += n_neg[m] * np.log(1 - moved)
    return total


@njit(error_model="numpy")
def _slice(n_neg, sum_neg, n_pos, sum_pos, v, lo, hi, state, k):  # type: ignore[no-untyped-def]
    """Move v[k] with its subtree: stepping out, then shrinking."""
    i, j = lo[k], hi[k]
    low, high, now = v[i - 1], v[j + 1], v[k]
    if not low < now < high:
        return
    level = _log_likelihood(n_neg, n_pos, v, i, j, k, low, high, now) + np.log(uniform(state))
    # The first bracket may depend on all but v[k]: about four standard errors of a frequency.
    neg, pos = sum_neg[j] - sum_neg[i - 1] + 1, sum_pos[j] - sum_pos[i - 1] + 1
    width = 4 * np.sqrt(neg * pos / (neg + pos)) / (neg + pos)
    left, right = low, high
    if width < 0.5 * (high - low):
        left = now - width * uniform(state)
        right = left + width
        while left > low and _log_likelihood(n_neg, n_pos, v, i, j, k, low, high, left) > level:
            left -= width
        while right < high and _log_likelihood(n_neg, n_pos, v, i, j, k, low, high, right) > level:
            right += width
        left, right = max(left, low), min(right, high)
    for _ in range(TRIES):
        value = left + uniform(state) * (right - left)
        if (
            low < value < high
            and _log_likelihood(n_neg, n_pos, v, i, j, k, low, high, value) > level
        ):
            stretch = (value - low) / (now - low)
            for m in range(i, k):
                v[m] = min(low + (v[m] - low) * stretch, value)
            stretch = (high - value) / (high - now)
            for m in range(k + 1, j + 1):
                v[m] = max(high - (high - v[m]) * stretch, value)
            v[k] = value
            return
        if value < now:
            left = value
        else:
            right = value


@njit(error_model="numpy")
def _redraw(v, lo, hi, state, begin, end, rows, columns, gap):  # type: ignore[no-untyped-def]
    """Draw the tree over the ranks begin…end from its law given the values.

    Every tree contains every rank once, so Z may be scaled by a factor per rank: the width that
    rank k has as a leaf. rows[i, k] is then that width times Z(i, k − 1), and columns[j, k] is
    Z(k, j), such that both factors of the sum lie in a row. Places are counted from ``begin``.
    """
    n = end - begin + 1
    for i in range(n):
        gap[i] = max(v[begin + i + 1] - v[begin + i - 1], TINY)
        rows[i, i] = gap[i]
        columns[i, i + 1] = 1.0
    for length in range(1, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            first, second = 0.0, 0.0
            k = i
            while k < j:
                first += rows[i, k] * columns[j, k + 1]
                second += rows[i, k + 1] * columns[j, k + 2]
                k += 2
            if k == j:
                first += rows[i, j] * columns[j, j + 1]
            width = max(v[begin + j + 1] - v[begin + i - 1], TINY)
            z = (first + second) / (width * length)
            columns[j, i] = z
            if j + 1 < n:
                rows[i, j + 1] = gap[j + 1] * z
    for k in range(begin, end + 1):
        lo[k] = 0
    i = 0
    while i < n:
        if lo[begin + i] > 0:
            i += 1
            continue
        j = i
        while j + 1 < n and lo[begin + j + 1] == 0:
            j += 1
        width = max(v[begin + j + 1] - v[begin + i - 1], TINY)
        left = uniform(state) * columns[j, i] * width * (j - i + 1)
        k = i
        while k < j:
            left -= rows[i, k] * columns[j, k + 1]
            if left <= 0:
                break
            k += 1
        lo[begin + k], hi[begin + k] = begin + i, begin + j


@njit(error_model="numpy")
def _rotate(v, lo, hi, state, k):  # type: ignore[no-untyped-def]
    """Perhaps turn the edge above rank k round, with the odds of the two trees.

    Every tree has n − 1 edges, and turning one round twice restores the tree.
    """
    n = len(v) - 2
    i, j = lo[k], hi[k]
    before, after = i - 1, j + 1
    if before < 1 and after > n:
        return  # the root
    # Both neighbours of the range are above k; its parent is the lower of the two.
    parent = after
    if after > n or (before >= 1 and hi[before] - lo[before] < hi[after] - lo[after]):
        parent = before
    begin, end = lo[parent], hi[parent]
    first, last = (k + 1, end) if k < parent else (begin, k - 1)  # the parent's range if turned
    now = (j - i + 1) * max(v[j + 1] - v[i - 1], TINY)
    turned = (last - first + 1) * max(v[last + 1] - v[first - 1], TINY)
    # The density has 1/now or 1/turned; all else is the same.
    if uniform(state) * (now + turned) < now:
        lo[k], hi[k] = begin, end
        lo[parent], hi[parent] = first, last


@njit(
    "void(float64[::1], float64[::1], float64[::1], float64[::1],"
    "float64[::1], int64[::1], int64[::1], uint64[::1],"
    "float64[:, ::1], float64[:, ::1], float64[::1], int64, float64[:, ::1])",
    cache=True,
    nogil=True,
    error_model="numpy",
)
def _sweep(  # type: ignore[no-untyped-def]
    n_neg, sum_neg, n_pos, sum_pos, v, lo, hi, state, rows, columns, gap, thin, draws
):
    """Sweeps; the values after every ``thin``-th fill a row of ``draws``."""
    n = len(v) - 2
    for row in range(len(draws)):
        for _ in range(thin):
            if n <= LARGEST:
                _redraw(v, lo, hi, state, 1, n, rows, columns, gap)
            else:
                for _turn in range(n):
                    _rotate(v, lo, hi, state, 1 + int(uniform(state) * n))
                for _tree in range(n // 8):
                    # The root of a range is chosen as often whatever the tree inside is.
                    k = 1 + int(uniform(state) * n)
                    if 2 <= hi[k] - lo[k] < LARGEST:
                        _redraw(v, lo, hi, state, lo[k], hi[k], rows, columns, gap)
            for k in range(1, n + 1):
                _slice(n_neg, sum_neg, n_pos, sum_pos, v, lo, hi, state, k)
        for k in range(n):
            draws[row, k] = v[k + 1]
