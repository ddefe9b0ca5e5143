"""Arrays of scores: row sums checked, tables of distinct scores, and counts in narrow cells."""

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
    "first_row_with_wrong_sum",
    "merge_classes",
    "split_by_class",
]


def first_row_with_wrong_sum(
    rows: cython.const[cython.double][:, ::1], total: cython.double, tolerance: cython.double
):
    """Return the first row whose sum differs from ``total`` by more than the tolerance, or −1."""
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    n_found: cython.Py_ssize_t = -1
    with cython.nogil:
        for i in range(rows.shape[0]):
            difference: cython.double = total
            for k in range(rows.shape[1]):
                difference -= rows[i, k]
            if not abs(difference) <= tolerance:
                n_found = i
                break
    return n_found


# Tables of distinct scores -----------------------------------------------------------------------
# Two sorted classes merged, equal scores counted, rows cut into bins of equal weight.

# A goal in the middle of a row is nearer to its end, unless the row has no weight.
JUST_OVER_HALF = cython.declare(cython.double, 0.5 + 2.0**-20)


def split_by_class(
    score: cython.const[cython.double][::1], positive: cython.const[cython.Py_ssize_t][::1]
):
    """Return the scores of negatives and of positives."""
    n: cython.Py_ssize_t = score.shape[0]
    split_scores = np.empty(n)
    # Negatives from the front, positives from the back: one write for a row of either class.
    out: cython.double[::1] = split_scores
    i: cython.Py_ssize_t
    front: cython.Py_ssize_t = 0
    back: cython.Py_ssize_t = n - 1
    with cython.nogil:
        for i in range(n):
            out[front + positive[i] * (back - front)] = score[i]
            back -= positive[i]
            front += 1 - positive[i]
    return split_scores[:front], split_scores[front:]


def merge_classes(neg: cython.const[cython.double][::1], pos: cython.const[cython.double][::1]):
    """Return the distinct scores in increasing order, and the count of either class at each.

    Both arrays must be sorted.
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
        # The class of the next score is unpredictable, so the code does not branch on it.
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
    """Return the first row of each of ``n_bins`` bins of about equal weight.

    A row is never split. A bin begins at the end of the row that is nearer to its goal, k/n_bins of
    the total weight. Bins that would be empty because one row is heavy are left out.
    """
    n: cython.Py_ssize_t = weight.shape[0]
    starts = np.zeros(min(n_bins, n), np.intp)
    first: cython.Py_ssize_t[::1] = starts
    i: cython.Py_ssize_t
    n_found: cython.Py_ssize_t = 1
    k: cython.Py_ssize_t = 1
    total: cython.double = 0.0
    cumulative: cython.double = 0.0
    row_middle: cython.double
    with cython.nogil:
        for i in range(n):
            total += weight[i]
        for i in range(n):
            cumulative += weight[i]
            row_middle = cumulative - JUST_OVER_HALF * weight[i]
            while k < n_bins and total * k / n_bins <= row_middle:
                if i > first[n_found - 1]:
                    first[n_found] = i
                    n_found += 1
                # Skip the other goals in this row; there may be very many.
                k = max(k + 1, cython.cast(cython.Py_ssize_t, n_bins * (row_middle / total)) - 1)
    return starts[:n_found]


# Counts in cells ---------------------------------------------------------------------------------
# Millions of scores counted in one pass, without sorting.

CELLS_PER_UNIT = cython.declare(cython.int, 4096)
LEVELS = cython.declare(cython.int, 7)
LEVEL_SIZE = cython.declare(cython.int, 4096)  # a tail that was multiplied is below 1


def count_in_cells(
    score: cython.const[cython.double][::1],
    positive: cython.const[cython.Py_ssize_t][::1],
    is_probability: cython.bint,
    unit: cython.double,
):
    """Return the number of rows, of positives, and the sum of the scores, in each non-empty cell.

    Cells are in the order of their scores. The tail of a probability is min(p, 1 − p), and that of
    another score z is 0.5/(1 + |z|/unit). Cells have a width of 1/4096. A tail below 1/64 is first
    multiplied by 64, once or more, so no cell is wider than 1/64 of its tail. Scores are finite.
    """
    n: cython.Py_ssize_t = score.shape[0]
    # The three sums of a cell are in one cache line.
    cells: cython.double[:, ::1] = np.zeros((2 * LEVELS * LEVEL_SIZE, 4))
    used = np.empty((3, min(n, 2 * LEVELS * LEVEL_SIZE)))
    used_view: cython.double[:, ::1] = used
    n_used: cython.Py_ssize_t = 0
    k: cython.int
    i: cython.Py_ssize_t
    cell: cython.Py_ssize_t
    level: cython.int
    side: cython.int
    s: cython.double
    complement: cython.double
    tail: cython.double
    with cython.nogil:
        for i in range(n):
            s = score[i]
            if is_probability:
                complement = 1.0 - s
                side = s > complement
                tail = min(complement, s)
            else:
                side = s > 0.0
                tail = 0.5 / (1.0 + (s if side else -s) / unit)
            level = 0
            while tail < 0.015625 and level < LEVELS - 1:
                tail = tail * 64.0
                level += 1
            cell = (side * LEVELS + level) * LEVEL_SIZE + cython.cast(
                cython.Py_ssize_t, tail * CELLS_PER_UNIT
            )
            cells[cell, 0] += 1.0
            cells[cell, 1] += positive[i]
            cells[cell, 2] += s
        # Low scores begin with the smallest tails, in the last level; high scores end with them.
        for side in range(2):
            for k in range(LEVELS * LEVEL_SIZE):
                if side:
                    cell = (
                        LEVELS * LEVEL_SIZE
                        + k // LEVEL_SIZE * LEVEL_SIZE
                        + (LEVEL_SIZE - 1 - k % LEVEL_SIZE)
                    )
                else:
                    cell = (LEVELS - 1 - k // LEVEL_SIZE) * LEVEL_SIZE + k % LEVEL_SIZE
                if cells[cell, 0] > 0.0:
                    for level in range(3):
                        used_view[level, n_used] = cells[cell, level]
                    n_used += 1
    return used[0, :n_used], used[1, :n_used], used[2, :n_used]


# Moments in cells --------------------------------------------------------------------------------
# Power sums of log-odds, by class, in one pass.

CACHE_BLOCK = cython.declare(cython.Py_ssize_t, 512)  # rows that fit into the first-level cache


def add_cell_moments(
    moments: cython.double[:, :, ::1],
    z: cython.const[cython.double][::1],
    n_neg: cython.const[cython.double][::1],
    n_pos: cython.const[cython.double][::1],
    width: cython.double,
    first: cython.Py_ssize_t,
) -> None:
    """Add Σ n·uᵏ, k = 0 … 3, of either class to ``moments`` of shape (2, n_cells, 4).

    Cells have equal ``width`` on the axis sign(z)·ln(1 + |z|); u in [0, 1] is the position of a row
    in its cell. The first cell is number ``first``. A row that rounding puts beyond the ends is in
    the first or last cell. All z must be finite.
    """
    begin: cython.Py_ssize_t
    i: cython.Py_ssize_t
    position: cython.double
    last: cython.Py_ssize_t = moments.shape[1] - 1
    log_size: cython.double[::1] = np.empty(min(CACHE_BLOCK, z.shape[0]))
    with cython.nogil:
        begin = 0
        while begin < z.shape[0]:
            rows: cython.Py_ssize_t = min(CACHE_BLOCK, z.shape[0] - begin)
            for i in range(rows):
                log_size[i] = abs(z[begin + i]) + 1.0
            log_in_place(log_size[:rows])
            for i in range(rows):
                position = (log_size[i] if z[begin + i] >= 0.0 else -log_size[i]) / width
                cell: cython.Py_ssize_t = (
                    cython.cast(cython.Py_ssize_t, math.floor(position)) - first
                )
                cell = min(max(cell, 0), last)
                u: cython.double = position - (first + cell)
                if n_neg[begin + i] > 0.0:
                    _add_powers(moments, 0, cell, n_neg[begin + i], u)
                if n_pos[begin + i] > 0.0:
                    _add_powers(moments, 1, cell, n_pos[begin + i], u)
            begin += CACHE_BLOCK


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
