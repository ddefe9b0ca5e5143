"""Moves of the tree in Markov chains on isotonic maps; see :mod:`trueodds.kernels.isotonic_mcmc`.

A tree over the ranks 1…n is the range lo[k]…hi[k] of ranks below each k, and k itself. v[0] = 0 and
v[n + 1] = 1 stand beside the values. Without bounds, lower is 0 and upper 1 everywhere.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from trueodds.kernels.random_stream import uniform

__all__ = ["LARGEST", "list_tree", "redraw", "rotate", "width_of"]

LARGEST = 80
"""Ranks of a subtree that is redrawn at once. Z, scaled, is above 1/(n!)², hence no underflow."""

TINY = 1e-300
"""Stands for a width that rounding made zero."""


@njit(error_model="numpy")
def width_of(lower, upper, v, i, j, k):  # type: ignore[no-untyped-def]
    """Of the interval from which rank k is drawn as the root of i…j."""
    return max(min(v[j + 1], upper[k]) - max(v[i - 1], lower[k]), TINY)


@njit(error_model="numpy")
def list_tree(lo, order, place):  # type: ignore[no-untyped-def]
    """Ranks with every subtree in a row after its root, and the place of each rank among them.

    That is the order of lo; those that share it are a line from an ancestor down to the left.
    """
    n = len(lo) - 2
    place[:] = 0
    for k in range(1, n + 1):
        place[lo[k]] += 1
    for i in range(1, n + 2):
        place[i] += place[i - 1]
    for k in range(1, n + 1):
        place[lo[k]] -= 1
        order[place[lo[k]]] = k
    for p in range(n):
        place[order[p]] = p


@njit(error_model="numpy")
def _root_sum(bounded, lower, upper, v, begin, i, j, rows, columns, enough):  # type: ignore[no-untyped-def]
    """Σ_k Z(i, k − 1)·Z(k + 1, j)/width up to ``enough``, and the k at which that is reached."""
    total, k = 0.0, i
    width = max(v[begin + j + 1] - v[begin + i - 1], TINY)
    while True:
        if bounded:
            width = width_of(lower, upper, v, begin + i, begin + j, begin + k)
        total += rows[i, k] * columns[j, k + 1] / width
        if k == j or total >= enough:
            return total, k
        k += 1


@njit(error_model="numpy")
def redraw(bounded, lower, upper, v, lo, hi, state, begin, end, rows, columns):  # type: ignore[no-untyped-def]
    """Draw the tree over the ranks begin…end from its law given the values.

    Every tree contains every rank once, so Z may be scaled by a factor per rank: the width that
    rank k has as a leaf. rows[i, k] is then that width times Z(i, k − 1), and columns[j, k] is
    Z(k, j), such that both factors of the sum lie in a row. Places are counted from ``begin``.
    """
    n = end - begin + 1
    for i in range(n):
        rows[i, i] = width_of(lower, upper, v, begin + i, begin + i, begin + i)
        columns[i, i + 1] = 1.0
    for length in range(1, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            if bounded:
                z = (
                    _root_sum(bounded, lower, upper, v, begin, i, j, rows, columns, np.inf)[0]
                    / length
                )
            else:  # all roots have the same width
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
                rows[i, j + 1] = rows[j + 1, j + 1] * z
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
        enough = uniform(state) * columns[j, i] * (j - i + 1)
        k = _root_sum(bounded, lower, upper, v, begin, i, j, rows, columns, enough)[1]
        lo[begin + k], hi[begin + k] = begin + i, begin + j


@njit(error_model="numpy")
def rotate(lower, upper, v, lo, hi, state, k):  # type: ignore[no-untyped-def]
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
    # The density has 1/now or 1/turned; all else is the same.
    now = (j - i + 1) * width_of(lower, upper, v, i, j, k)
    now *= width_of(lower, upper, v, begin, end, parent)
    turned = (last - first + 1) * width_of(lower, upper, v, first, last, parent)
    turned *= width_of(lower, upper, v, begin, end, k)
    if uniform(state) * (now + turned) < now:
        lo[k], hi[k] = begin, end
        lo[parent], hi[parent] = first, last
