"""Millions of scores counted in narrow cells, in one pass and without sorting."""

from __future__ import annotations

import cython
import numpy as np

__all__ = ["count_in_cells"]

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
