"""What the trees of ``regression_tree`` answer to new rows."""

from __future__ import annotations

import cython
import numpy as np

__all__ = ["forest_sums"]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _answer(
    row: cython.const[cython.double][::1],
    node: cython.Py_ssize_t,
    nominal: cython.const[cython.schar][::1],
    attribute: cython.const[cython.int][::1],
    cut: cython.const[cython.double][::1],
    first: cython.const[cython.int][::1],
    n_children: cython.const[cython.int][::1],
    value: cython.const[cython.double][::1],
    share: cython.const[cython.double][::1],
    stump: cython.bint,
) -> cython.double:
    f: cython.Py_ssize_t
    while attribute[node] >= 0:
        f = attribute[node]
        x: cython.double = row[f]
        if x != x:
            if stump:
                node = first[node] + 2
                continue
            total: cython.double = 0.0
            child: cython.Py_ssize_t
            for child in range(first[node], first[node] + n_children[node]):
                if share[child] > 0.0:
                    total += share[child] * _answer(
                        row, child, nominal, attribute, cut, first, n_children, value, share, stump
                    )
            return total
        if nominal[f] and not stump:
            node = first[node] + cython.cast(cython.Py_ssize_t, x)
        elif nominal[f]:
            node = first[node] + (0 if x == cut[node] else 1)
        elif stump:
            node = first[node] + (0 if x <= cut[node] else 1)
        else:
            node = first[node] + (0 if x < cut[node] else 1)
    return value[node]


def forest_sums(
    X: cython.const[cython.double][:, ::1],
    nominal: cython.const[cython.schar][::1],
    roots: cython.const[cython.int][::1],
    column: cython.const[cython.int][::1],
    attribute: cython.const[cython.int][::1],
    cut: cython.const[cython.double][::1],
    first: cython.const[cython.int][::1],
    n_children: cython.const[cython.int][::1],
    value: cython.const[cython.double][::1],
    share: cython.const[cython.double][::1],
    n_columns: cython.int,
    stump: cython.bint,
):
    """Sums (n, n_columns) of the trees' answers to rows X (n, d); each tree has its column."""
    sums: cython.double[:, ::1] = np.zeros((X.shape[0], n_columns))
    i: cython.Py_ssize_t
    t: cython.Py_ssize_t
    with cython.nogil:
        for i in range(X.shape[0]):
            for t in range(roots.shape[0]):
                sums[i, column[t]] += _answer(
                    X[i], roots[t], nominal, attribute, cut, first, n_children, value, share, stump
                )
    return np.asarray(sums)
