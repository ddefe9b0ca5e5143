"""Sums of powers of log-odds in narrow cells, by class, in one pass."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc import math

if cython.compiled:
    from cython.cimports.trueodds.kernels.elementary import log_in_place
else:
    from trueodds.kernels.elementary import log_in_place

__all__ = ["add_cell_moments"]

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
