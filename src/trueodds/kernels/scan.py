"""What is looked for in scores before they are used, in one pass."""

from __future__ import annotations

import cython

__all__ = ["extremes", "first_row_off", "has_zeros_and_ones_only"]

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


def has_zeros_and_ones_only(labels: cython.const[cython.Py_ssize_t][::1]) -> bool:
    """Whether labels are 0 and 1, both of them present."""
    ones: cython.Py_ssize_t = 0
    zeros: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(labels.shape[0]):
            ones |= labels[i]
            zeros |= labels[i] ^ 1
    # Any other number has a bit in both that neither 0 nor 1 has.
    return ones == 1 and zeros == 1
