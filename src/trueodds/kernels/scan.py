"""The least and the greatest of many numbers, in one pass."""

from __future__ import annotations

import cython

__all__ = ["extremes"]

NAN = cython.declare(cython.double, float("nan"))


def extremes(values: cython.const[cython.double][::1]):
    """The least and the greatest; NaN both if any is NaN. There must be one number at least.

    Four of each are kept side by side, because one would wait for the comparison before it.
    """
    n: cython.Py_ssize_t = values.shape[0]
    i: cython.Py_ssize_t = 0
    x: cython.double = values[0]
    low0 = low1 = low2 = low3 = high0 = high1 = high2 = high3 = x
    sane: cython.bint = True
    with cython.nogil:
        while i + 3 < n:
            low0, high0 = min(values[i], low0), max(values[i], high0)
            low1, high1 = min(values[i + 1], low1), max(values[i + 1], high1)
            low2, high2 = min(values[i + 2], low2), max(values[i + 2], high2)
            low3, high3 = min(values[i + 3], low3), max(values[i + 3], high3)
            sane &= (values[i] == values[i]) & (values[i + 1] == values[i + 1])
            sane &= (values[i + 2] == values[i + 2]) & (values[i + 3] == values[i + 3])
            i += 4
        while i < n:
            low0, high0 = min(values[i], low0), max(values[i], high0)
            sane &= values[i] == values[i]
            i += 1
    if not sane:
        return NAN, NAN
    return min(low0, low1, low2, low3), max(high0, high1, high2, high3)
