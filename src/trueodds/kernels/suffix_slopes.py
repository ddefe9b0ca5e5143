"""The flattest line from each point of a cumulative sum diagram to those after it."""

from __future__ import annotations

import cython
import numpy as np

__all__ = ["flattest_slopes"]


def flattest_slopes(
    n_pos: cython.const[cython.double][::1], weight: cython.const[cython.double][::1]
):
    """Min over j > i of (1 + Σ n_pos)/(1 + Σ weight), the sums over rows i … j − 1, for every i.

    That is the lowest frequency of any run that begins with row i, with one positive added to it.
    Going backwards, the lower convex hull of the points (Σ weight, Σ n_pos) after i is kept as a
    stack; slopes from one point below its line to the corners of a hull first fall and then rise,
    so the flattest is found by bisection. Cost: O(n log n).
    """
    n: cython.Py_ssize_t = n_pos.shape[0]
    result = np.empty(n)
    slope: cython.double[::1] = result
    # Sums from the end backwards: x and y of a point are what lies after it, so they fall with i.
    x: cython.double[::1] = np.empty(n + 1)
    y: cython.double[::1] = np.empty(n + 1)
    corner: cython.Py_ssize_t[::1] = np.empty(n + 1, np.intp)
    i: cython.Py_ssize_t
    top: cython.Py_ssize_t = 0
    low: cython.Py_ssize_t
    high: cython.Py_ssize_t
    middle: cython.Py_ssize_t
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    x[n] = 0.0
    y[n] = 0.0
    corner[0] = n
    with cython.nogil:
        for i in range(n - 1, -1, -1):
            x[i] = x[i + 1] + weight[i]
            y[i] = y[i + 1] + n_pos[i]
            # The corner after which the hull is no flatter than the line from i to it; the
            # stack's top is the leftmost corner.
            low = 0
            high = top
            while low < high:
                middle = (low + high + 1) // 2
                a = corner[middle]
                b = corner[middle - 1]
                if (y[a] - y[b]) / (x[a] - x[b]) >= (y[i] - y[a] + 1) / (x[i] - x[a] + 1):
                    low = middle
                else:
                    high = middle - 1
            a = corner[low]
            slope[i] = (y[i] - y[a] + 1) / (x[i] - x[a] + 1)
            # Point i joins the hull; corners above the line from it to the next are none.
            while top > 0:
                a = corner[top]
                b = corner[top - 1]
                if (y[i] - y[a]) / (x[i] - x[a]) >= (y[a] - y[b]) / (x[a] - x[b]):
                    top -= 1
                else:
                    break
            top += 1
            corner[top] = i
    return result
