"""What the trees of ``regression_tree`` answer to new rows."""

from __future__ import annotations

import cython
import numpy as np

__all__ = ["RegressionForest"]


@cython.final
@cython.cclass
class RegressionForest:
    """Trees one after another, as arrays of their nodes; attribute −1 is a leaf.

    Parameters
    ----------
    nominal : int8 array of shape (d,)
    roots, column : int32 arrays of shape (n_trees,)
        Where each tree begins, and to which sum it adds.
    attribute, first, n_children : int32 arrays of shape (n_nodes,)
    cut, value, share : arrays of shape (n_nodes,)
        See ``GrownTree``; the cut is a number, or the value of a nominal stump.
    stump : bool
    """

    def __init__(
        self, nominal, roots, column, attribute, cut, first, n_children, value, share, stump
    ):
        self.nominal, self.roots, self.column, self.stump = nominal, roots, column, stump
        self.attribute, self.first, self.n_children = attribute, first, n_children
        self.cut, self.value, self.share = cut, value, share

    def sums(self, X):
        """Sums (n, n_columns) of the trees' answers to rows X (n, d)."""
        rows: cython.const[cython.double][:, ::1] = X
        found = np.zeros((rows.shape[0], 1 + np.max(self.column)))
        total: cython.double[:, ::1] = found
        i: cython.Py_ssize_t
        t: cython.Py_ssize_t
        for i in range(rows.shape[0]):
            for t in range(self.roots.shape[0]):
                total[i, self.column[t]] += self.answer(rows[i], self.roots[t])
        return found

    def answer(self, row, node):
        """What the tree below a node says."""
        f: cython.Py_ssize_t
        child: cython.Py_ssize_t
        branch: cython.Py_ssize_t
        while self.attribute[node] >= 0:
            f = self.attribute[node]
            x: cython.double = row[f]
            child = self.first[node]
            if x != x and not self.stump:
                total: cython.double = 0.0
                for branch in range(child, child + self.n_children[node]):
                    if self.share[branch] > 0.0:
                        total += self.share[branch] * self.answer(row, branch)
                return total
            if x != x:
                child += 2
            elif self.nominal[f] and self.stump:
                child += x != self.cut[node]
            elif self.nominal[f]:
                child += cython.cast(cython.Py_ssize_t, x)
            elif self.stump:
                child += x > self.cut[node]
            else:
                child += x >= self.cut[node]
            node = child
        return self.value[node]
