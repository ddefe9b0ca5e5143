"""Isotonic regression by pooling adjacent violators."""

from __future__ import annotations

import cython
import numpy as np

__all__ = ["pool_adjacent"]


def pool_adjacent(
    n_pos: cython.const[cython.double][::1], weight: cython.const[cython.double][::1]
):
    """The non-decreasing frequencies of highest likelihood.

    Returns the value of each row, and where the blocks of one value begin; the number of rows ends
    the last. Sums of a block are kept, not its mean, so whole numbers give exact fractions.
    """
    n: cython.Py_ssize_t = n_pos.shape[0]
    fitted = np.empty(n)
    starts = np.empty(n + 1, np.intp)
    value: cython.double[::1] = fitted
    begin: cython.Py_ssize_t[::1] = starts
    total: cython.double[::1] = np.empty(n)
    mass: cython.double[::1] = np.empty(n)
    mean: cython.double[::1] = np.empty(n)
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    last: cython.Py_ssize_t = -1
    with cython.nogil:
        for i in range(n):
            s: cython.double = n_pos[i]
            w: cython.double = weight[i]
            first: cython.Py_ssize_t = i
            while last >= 0 and mean[last] >= s / w:
                s += total[last]
                w += mass[last]
                first = begin[last]
                last -= 1
            last += 1
            total[last] = s
            mass[last] = w
            mean[last] = s / w
            begin[last] = first
        begin[last + 1] = n
        for k in range(last + 1):
            for i in range(begin[k], begin[k + 1]):
                value[i] = mean[k]
    return fitted, starts[: last + 2]
