"""Rows of scores: their sums checked, tables of distinct scores, and counts in narrow cells."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc import math

if cython.compiled:
    from cython.cimports.trueodds.kernels.elementary import log_in_place
else:
    from trueodds.kernels.elementary import log_in_place

__all__ = [
    "add_cell_moments",
    "count_in_cells",
    "equal_mass_starts",
    "first_row_off",
    "merge_classes",
    "part_by_class",
]


def first_row_off(
    rows: cython.const[cython.double][:, ::1], total: cython.double, tolerance: cython.double
):
    """The first row whose sum is further from ``total`` than the tolerance; −1 if none is."""
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    found: cython.Py_ssize_t = -1
    with cython.nogil:
        for i in range(rows.shape[0]):
            left: cython.double = total
            for k in range(rows.shape[1]):
                left -= rows[i, k]
            if not abs(left) <= tolerance:
                found = i
                break
    return found


# Tables of distinct scores -----------------------------------------------------------------------
# Two sorted classes merged, equal scores added up, rows cut evenly.

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


# Counts in cells ---------------------------------------------------------------------------------
# Millions of scores counted in one pass and without sorting.

FINENESS = cython.declare(cython.int, 4096)
LEVELS = cython.declare(cython.int, 7)
SIZE = cython.declare(cython.int, 4096)  # of a level: a tail that was multiplied is below 1


def count_in_cells(
    score: cython.const[cython.double][::1],
    positive: cython.const[cython.Py_ssize_t][::1],
    is_probability: cython.bint,
    unit: cython.double,
):
    """The number of rows, the number of positives, and the sum of the scores, in each cell used.

    Cells are in the order of their scores.
    The tail is p or 1 − p, whichever is less; of log-odds or margins z it is ½/(1 + |z|/unit).
    Cells are 1/4096 wide. A tail below 1/64 is first multiplied by 64, once or more, so a cell is
    nowhere wider than a 64th of the tail itself. Scores must be finite.
    """
    n: cython.Py_ssize_t = score.shape[0]
    # What belongs together stands in one line of the cache.
    cells: cython.double[:, ::1] = np.zeros((2 * LEVELS * SIZE, 4))
    used = np.empty((3, min(n, 2 * LEVELS * SIZE)))
    found: cython.double[:, ::1] = used
    n_used: cython.Py_ssize_t = 0
    k: cython.int
    i: cython.Py_ssize_t
    cell: cython.Py_ssize_t
    level: cython.int
    side: cython.int
    s: cython.double
    rest: cython.double
    tail: cython.double
    with cython.nogil:
        for i in range(n):
            s = score[i]
            if is_probability:
                rest = 1.0 - s
                side = s > rest
                tail = min(rest, s)
            else:
                side = s > 0.0
                tail = 0.5 / (1.0 + (s if side else -s) / unit)
            level = 0
            while tail < 0.015625 and level < LEVELS - 1:
                tail = tail * 64.0
                level += 1
            cell = (side * LEVELS + level) * SIZE + cython.cast(cython.Py_ssize_t, tail * FINENESS)
            cells[cell, 0] += 1.0
            cells[cell, 1] += positive[i]
            cells[cell, 2] += s
        # Low scores: from the smallest tails, of the last level, on; high ones the other way round.
        for side in range(2):
            for k in range(LEVELS * SIZE):
                if side:
                    cell = LEVELS * SIZE + k // SIZE * SIZE + (SIZE - 1 - k % SIZE)
                else:
                    cell = (LEVELS - 1 - k // SIZE) * SIZE + k % SIZE
                if cells[cell, 0] > 0.0:
                    for level in range(3):
                        found[level, n_used] = cells[cell, level]
                    n_used += 1
    return used[0, :n_used], used[1, :n_used], used[2, :n_used]


# Moments in cells --------------------------------------------------------------------------------
# Sums of powers of log-odds, by class, in one pass.

FEW = cython.declare(cython.Py_ssize_t, 512)  # rows that stay in the nearest cache


def add_cell_moments(
    moments: cython.double[:, :, ::1],
    z: cython.const[cython.double][::1],
    n_neg: cython.const[cython.double][::1],
    n_pos: cython.const[cython.double][::1],
    width: cython.double,
    first: cython.Py_ssize_t,
) -> None:
    """Add Σ n·uᵏ, k = 0 … 3, of either class to ``moments`` of shape (2, n_cells, 4).

    Cells are of equal ``width`` on the axis sign(z)·ln(1 + |z|), and u is where in its cell, from 0
    to 1, a row lies. The first cell is number ``first``; what rounding puts beyond the ends is in
    the first or last. All z are finite.
    """
    begin: cython.Py_ssize_t
    i: cython.Py_ssize_t
    at: cython.double
    last: cython.Py_ssize_t = moments.shape[1] - 1
    size: cython.double[::1] = np.empty(min(FEW, z.shape[0]))
    with cython.nogil:
        begin = 0
        while begin < z.shape[0]:
            rows: cython.Py_ssize_t = min(FEW, z.shape[0] - begin)
            for i in range(rows):
                size[i] = abs(z[begin + i]) + 1.0
            log_in_place(size[:rows])
            for i in range(rows):
                at = (size[i] if z[begin + i] >= 0.0 else -size[i]) / width
                cell: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, math.floor(at)) - first
                cell = min(max(cell, 0), last)
                u: cython.double = at - (first + cell)
                if n_neg[begin + i] > 0.0:
                    _add_powers(moments, 0, cell, n_neg[begin + i], u)
                if n_pos[begin + i] > 0.0:
                    _add_powers(moments, 1, cell, n_pos[begin + i], u)
            begin += FEW


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_powers(
    moments: cython.double[:, :, ::1], label: cython.int, cell: cython.Py_ssize_t,
    weight: cython.double, u: cython.double,
) -> cython.void:  # fmt: skip
    moments[label, cell, 0] += weight
    weight *= u
    moments[label, cell, 1] += weight
    weight *= u
    moments[label, cell, 2] += weight
    weight *= u
    moments[label, cell, 3] += weight
