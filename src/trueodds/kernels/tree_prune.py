"""Cost-complexity pruning (Breiman et al., 1984) of a tree numbered in pre-order.

A node's subtree is the range [node, end[node]), its first child is node + 1, and the next child
begins where the one before ends, so no lists of children are kept.
"""

from __future__ import annotations

import cython
import numpy as np

__all__ = ["Pruner", "subtree_ends"]

ROUNDING = cython.declare(cython.double, 1e-12)
"""Errors that differ by less than this share are equal."""

LAST = cython.declare(cython.double, 1.0)
"""The alpha of a node whose leaves count as one: above all others, as errors are at most 1."""

FEW = cython.declare(cython.Py_ssize_t, 200)
"""So many nodes are sorted by insertion."""

INFINITY = cython.declare(cython.double, float("inf"))


def subtree_ends(parent: cython.const[cython.longlong][::1]):
    """Where each node's subtree ends."""
    n: cython.Py_ssize_t = parent.shape[0]
    result = np.arange(1, n + 1, dtype=np.int64)
    end: cython.longlong[::1] = result
    node: cython.Py_ssize_t
    for node in range(n - 1, 0, -1):
        end[parent[node]] = max(end[parent[node]], end[node])
    return result


@cython.final
@cython.cclass
class Pruner:
    """Prunes a grown tree, and prunes it again, after its useless subtrees have gone.

    Parameters
    ----------
    nodes : Nodes
    total : float
        Weight of the training rows.

    Attributes
    ----------
    is_leaf : bool array of shape (n_nodes,)
        As the last tree has it.
    permanent : bool array of shape (n_nodes,)
        Nodes that collapsed at once and for good.
    """

    is_leaf = cython.declare(object, visibility="readonly")
    permanent = cython.declare(object, visibility="readonly")
    n: cython.Py_ssize_t
    total: cython.double
    parent: cython.const[cython.longlong][::1]
    attribute: cython.const[cython.longlong][::1]
    end: cython.const[cython.longlong][::1]
    error: cython.const[cython.double][::1]
    test_error: cython.const[cython.double][::1]
    bare: cython.const[cython.uchar][::1]
    leaf: cython.uchar[::1]
    gone: cython.uchar[::1]
    hidden: cython.uchar[::1]
    stale: cython.uchar[::1]
    below: cython.double[::1]
    leaves: cython.longlong[::1]
    touched: cython.longlong[::1]
    collapsed: cython.longlong[::1]
    tournament: cython.double[::1]
    size: cython.Py_ssize_t

    def __init__(self, nodes, total):
        n = len(nodes.parent)
        self.n, self.total, self.end = n, total, subtree_ends(nodes.parent)
        self.parent, self.attribute = nodes.parent, nodes.attribute
        self.error, self.test_error = nodes.error, nodes.test_error
        self.bare = (nodes.done == 0).view(np.uint8)
        self.is_leaf, self.permanent = np.zeros((2, n), dtype=bool)
        self.leaf, self.gone = self.is_leaf.view(np.uint8), self.permanent.view(np.uint8)
        self.hidden, self.stale = np.empty((2, n), dtype=np.uint8)
        self.leaves, self.touched, self.collapsed = np.empty((3, n), dtype=np.int64)
        self.below = np.empty(n)
        self.size = 1 << (n - 1).bit_length()
        self.tournament = np.empty(2 * self.size)

    def run(self, stop: cython.double):
        """Collapse the inner node of least alpha, again and again while it is at most ``stop``.

        alpha = (error as a leaf − error of the subtree)/(total·(leaves − 1)). A node whose subtree
        is no better than itself collapses at once.

        Returns the alphas (0 first) and the test error after each collapse.
        """
        alphas: cython.double[::1] = np.zeros(self.n + 1)
        test_errors: cython.double[::1] = np.zeros(self.n + 1)
        steps: cython.Py_ssize_t
        with cython.nogil:
            steps = self._run(stop, alphas, test_errors)
        return np.array(alphas[: steps + 1]), np.array(test_errors[: steps + 1])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _run(
        self, stop: cython.double, alphas: cython.double[::1], test_errors: cython.double[::1]
    ) -> cython.Py_ssize_t:
        i: cython.Py_ssize_t
        node: cython.Py_ssize_t
        alpha: cython.double
        steps: cython.Py_ssize_t = 0
        current: cython.double = self._start()
        n_touched: cython.Py_ssize_t = self.n
        while True:
            for i in range(n_touched - 1, -1, -1):
                if not self.hidden[self.touched[i]]:
                    self._summarise(self.touched[i])
            n_collapsed: cython.Py_ssize_t = 0
            for i in range(n_touched):
                node = self.touched[i]
                self.stale[node] = False
                if self.hidden[node] or self.leaf[node]:
                    continue
                saved: cython.double = self.error[node] - self.below[node]
                if saved <= ROUNDING * self.error[node]:
                    self.gone[node] = True
                    current += self._collapse(node)
                    self.collapsed[n_collapsed] = node
                    n_collapsed += 1
                else:
                    alpha = LAST
                    if self.leaves[node] > 1:
                        alpha = saved / self.total / (self.leaves[node] - 1)
                    self._set(node, alpha)
            if steps == 0:
                test_errors[0] = current
            alpha = self.tournament[1]
            if alpha > stop or alpha == INFINITY:
                return steps
            node = self._first_least()
            current += self._collapse(node)
            steps += 1
            alphas[steps], test_errors[steps] = alpha, current
            # What collapsed in this round becomes known to the nodes above in the next one.
            self.collapsed[n_collapsed] = node
            n_touched = 0
            for i in range(n_collapsed + 1):
                node = self.collapsed[i]
                while node >= 0 and not self.stale[node]:
                    self.stale[node] = True
                    self.touched[n_touched] = node
                    n_touched += 1
                    node = self.parent[node]
            self._sort_touched(n_touched)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _start(self) -> cython.double:
        """Restore all but the useless subtrees; returns the test error."""
        i: cython.Py_ssize_t
        node: cython.Py_ssize_t
        for i in range(2 * self.size):
            self.tournament[i] = INFINITY
        for node in range(self.n):
            self.hidden[node], self.stale[node], self.touched[node] = False, True, node
        current: cython.double = 0.0
        for node in range(self.n):
            self.leaf[node] = self.attribute[node] < 0 or self.gone[node]
            if not self.hidden[node] and self.leaf[node]:
                current += self.test_error[node]
                for i in range(node + 1, self.end[node]):
                    self.hidden[i] = True
        return current

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _set(self, node: cython.Py_ssize_t, alpha: cython.double) -> cython.void:
        place: cython.Py_ssize_t = self.size + node
        self.tournament[place] = alpha
        while place > 1:
            place //= 2
            self.tournament[place] = min(self.tournament[2 * place], self.tournament[2 * place + 1])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _first_least(self) -> cython.Py_ssize_t:
        place: cython.Py_ssize_t = 1
        while place < self.size:
            place *= 2
            if self.tournament[place] > self.tournament[place + 1]:
                place += 1
        return place - self.size

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _summarise(self, node: cython.Py_ssize_t) -> cython.void:
        """Error and number of leaves below a node; sibling leaves without a model count as one."""
        if self.leaf[node]:
            self.below[node], self.leaves[node] = self.error[node], 1
            return
        total: cython.double = 0.0
        n_leaves: cython.longlong = 0
        n_bare: cython.longlong = 0
        child: cython.Py_ssize_t = node + 1
        while child < self.end[node]:
            total += self.below[child]
            n_leaves += self.leaves[child]
            if self.leaf[child] and self.bare[child]:
                n_bare += 1
            child = self.end[child]
        if n_bare > 1:
            n_leaves -= n_bare - 1
        self.below[node], self.leaves[node] = total, n_leaves

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _collapse(self, node: cython.Py_ssize_t) -> cython.double:
        """Make a node a leaf, hide what is below it; returns the change of test error."""
        change: cython.double = self.test_error[node]
        inner: cython.Py_ssize_t
        self.leaf[node] = True
        self._set(node, INFINITY)
        for inner in range(node + 1, self.end[node]):
            if not self.hidden[inner]:
                if self.leaf[inner]:
                    change -= self.test_error[inner]
                else:
                    self._set(inner, INFINITY)
                self.hidden[inner] = True
        return change

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _sort_touched(self, n: cython.Py_ssize_t) -> cython.void:
        """Sort the first n touched nodes, which are those that are stale."""
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        node: cython.Py_ssize_t
        if n > FEW:  # many chains of ancestors: read the marks off in order
            j = 0
            for node in range(self.n):
                if self.stale[node]:
                    self.touched[j] = node
                    j += 1
            return
        for i in range(1, n):
            node = self.touched[i]
            j = i
            while j > 0 and self.touched[j - 1] > node:
                self.touched[j] = self.touched[j - 1]
                j -= 1
            self.touched[j] = node
