"""Sending rows down a tree, and the linear models of its nodes."""

from __future__ import annotations

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.trueodds.kernels.class_rows import softmax_row
    from cython.cimports.trueodds.kernels.map_rows import sigmoid
else:
    from trueodds.kernels.class_rows import softmax_row
    from trueodds.kernels.map_rows import sigmoid

__all__ = ["linear_probabilities", "route"]

FAR = cython.declare(cython.double, 1e308)
SMALL = cython.declare(cython.double, 2.0**-600)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _saturated(
    coef: cython.const[cython.double][::1], columns: cython.const[cython.double][::1]
) -> cython.double:
    """±10³⁰⁸ or 0, with the sign of a sum that is beyond float64."""
    n: cython.Py_ssize_t = columns.shape[0]
    f: cython.double = coef[n] * SMALL * SMALL
    a: cython.Py_ssize_t
    for a in range(n):
        f += (coef[a] * SMALL) * (columns[a] * SMALL)
    return FAR if f > 0.0 else (-FAR if f < 0.0 else 0.0)


def route(
    X: cython.const[cython.double][:, ::1],
    fill: cython.const[cython.double][::1],
    n_values: cython.const[cython.longlong][::1],
    attribute: cython.const[cython.longlong][::1],
    cut: cython.const[cython.double][::1],
    first: cython.const[cython.longlong][::1],
    children: cython.const[cython.longlong][::1],
):
    """The node at which each row of X (n, d) ends.

    NaN stands for missing and is filled. A code without a branch stops its row at the inner node.
    """
    node_of: cython.int[::1] = np.empty(X.shape[0], np.int32)
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(X.shape[0]):
            node: cython.Py_ssize_t = 0
            a: cython.Py_ssize_t = attribute[0]
            while a >= 0:
                value: cython.double = X[i, a]
                if value != value:
                    value = fill[a]
                if n_values[a] == 0:
                    node = children[first[node] + (0 if value <= cut[node] else 1)]
                elif 0 <= value < n_values[a]:
                    node = children[first[node] + cython.cast(cython.Py_ssize_t, value)]
                else:
                    break
                a = attribute[node]
            node_of[i] = cython.cast(cython.int, node)
    return np.asarray(node_of)


def linear_probabilities(
    columns: cython.const[cython.double][:, ::1],
    node_of: cython.const[cython.int][::1],
    coef: cython.const[cython.double][:, :, ::1],
):
    """Probabilities (n, K) of score columns (n, A) by the node's slopes and intercepts.

    One row of coefficients is the log-odds of a positive; several go through the softmax.
    """
    n_columns: cython.Py_ssize_t = columns.shape[1]
    n_models: cython.Py_ssize_t = coef.shape[1]
    p: cython.double[:, ::1] = np.empty((columns.shape[0], n_models))
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    a: cython.Py_ssize_t
    with cython.nogil:
        for i in range(columns.shape[0]):
            node: cython.Py_ssize_t = node_of[i]
            for k in range(n_models):
                f: cython.double = coef[node, k, n_columns]
                for a in range(n_columns):
                    f += coef[node, k, a] * columns[i, a]
                if not -FAR < f < FAR:
                    f = _saturated(coef[node, k], columns[i])
                p[i, k] = f
            if n_models == 1:
                p[i, 0] = sigmoid(p[i, 0])
            else:
                softmax_row(p, i)
    return np.asarray(p)
