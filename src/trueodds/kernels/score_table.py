"""Tables of distinct scores: two sorted classes merged, equal scores added up, rows cut evenly."""

from __future__ import annotations

import cython
import numpy as np

__all__ = ["equal_mass_starts", "merge_classes", "part_by_class"]

# A goal in the middle of a row counts as nearer to its end, unless the row weighs nothing.
JUST_OVER_HALF = cython.declare(cython.double, 0.5 + 2.0**-20)


def part_by_class(
    score: cython.const[cython.double][::1], positive: cython.const[cython.Py_ssize_t][::1]
):
    """The scores of negatives and of positives."""
    n: cython.Py_ssize_t = score.shape[0]
    parted = np.empty(n)
    # Negatives from the front, positives from the back: one write a row, whatever its class.
    place: cython.double[::1] = parted
    i: cython.Py_ssize_t
    front: cython.Py_ssize_t = 0
    back: cython.Py_ssize_t = n - 1
    with cython.nogil:
        for i in range(n):
            place[front + positive[i] * (back - front)] = score[i]
            back -= positive[i]
            front += 1 - positive[i]
    return parted[:front], parted[front:]


def merge_classes(neg: cython.const[cython.double][::1], pos: cython.const[cython.double][::1]):
    """Distinct scores in increasing order, and how many of either class are at each.

    Both must be sorted.
    """
    m: cython.Py_ssize_t = neg.shape[0]
    n: cython.Py_ssize_t = pos.shape[0]
    columns = np.empty((3, m + n))
    score: cython.double[::1] = columns[0]
    n_neg: cython.double[::1] = columns[1]
    n_pos: cython.double[::1] = columns[2]
    i: cython.Py_ssize_t = 0
    j: cython.Py_ssize_t = 0
    row: cython.Py_ssize_t = -1
    is_pos: cython.bint
    with cython.nogil:
        # Which class is next cannot be foreseen, so nothing here branches on it.
        while i < m or j < n:
            is_pos = i == m or (j < n and pos[j] < neg[i])
            s: cython.double = pos[j] if is_pos else neg[i]
            if row < 0 or s > score[row]:
                row += 1
                score[row] = s
                n_neg[row] = 1 - is_pos
                n_pos[row] = is_pos
            else:
                n_neg[row] += 1 - is_pos
                n_pos[row] += is_pos
            j += is_pos
            i += 1 - is_pos
    return columns[0, : row + 1], columns[1, : row + 1], columns[2, : row + 1]


def equal_mass_starts(weight: cython.const[cython.double][::1], n_bins: cython.Py_ssize_t):
    """The first row of each of ``n_bins`` bins that weigh about the same.

    A row is never split: a bin begins at whichever side of the row that holds its goal is nearer
    to it. Bins that would be empty because one row is heavy are left out.
    """
    n: cython.Py_ssize_t = weight.shape[0]
    starts = np.zeros(min(n_bins, n), np.intp)
    first: cython.Py_ssize_t[::1] = starts
    i: cython.Py_ssize_t
    found: cython.Py_ssize_t = 1
    k: cython.Py_ssize_t = 1
    total: cython.double = 0.0
    reached: cython.double = 0.0
    middle: cython.double
    with cython.nogil:
        for i in range(n):
            total += weight[i]
        for i in range(n):
            reached += weight[i]
            middle = reached - JUST_OVER_HALF * weight[i]
            while k < n_bins and total * k / n_bins <= middle:
                if i > first[found - 1]:
                    first[found] = i
                    found += 1
                # Past the goals that this row holds too; there may be very many.
                k = max(k + 1, cython.cast(cython.Py_ssize_t, n_bins * (middle / total)) - 1)
    return starts[:found]
