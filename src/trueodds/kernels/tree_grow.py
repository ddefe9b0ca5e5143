"""Growing a calibration tree: one pass over presorted attributes for each node."""

from __future__ import annotations

from typing import NamedTuple

import cython
import numpy as np
import numpy.typing as npt

if cython.compiled:
    from cython.cimports.trueodds.kernels.logit_boost import BoostedRows, Booster
    from cython.cimports.trueodds.kernels.tree_folds import TreeFolds
    from cython.cimports.trueodds.kernels.tree_split import Splitter
else:
    from trueodds.kernels.logit_boost import BoostedRows, Booster
    from trueodds.kernels.tree_folds import TreeFolds
    from trueodds.kernels.tree_split import Splitter

__all__ = ["GrowRules", "Nodes", "TreeGrower"]

LEAST_TO_SPLIT = cython.declare(cython.double, 4.0)
EMPTY_ERROR = cython.declare(cython.double, 1e-6)
"""What the authors' program takes as the error of a branch without rows."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class GrowRules(NamedTuple):
    """How trees are grown; ``n_iterations`` of 0 asks for cross-validation at every node."""

    n_iterations: int
    max_iterations: int
    patience: int
    slack: float
    weka: bool
    whole_rows: bool
    min_samples: float
    max_depth: int
    min_gap: float
    count_errors: bool


class Nodes(NamedTuple):
    """Nodes in pre-order; ``attribute`` is −1 for a leaf, ``done`` the iterations of the node."""

    parent: Ints
    attribute: Ints
    cut: Floats
    done: Ints
    mass: Floats
    error: Floats
    test_error: Floats
    coef: Floats


@cython.final
@cython.cclass
class TreeGrower:
    """Grows the trees of one fit.

    Parameters
    ----------
    attributes : array of shape (n_attributes, n)
    n_values : int64 array of shape (n_attributes,)
        0 for a numeric attribute, otherwise the number of codes of a nominal one.
    scores : array of shape (n_columns, n)
    y : int32 array of shape (n,)
    weight : array of shape (n,)
    targets : array of shape (n_classes, n_classes)
        ``targets[i, j]`` is what class j is taken for in a row of class i.
    decks : int64 array of shape (n_decks, n_folds)
        Each row is a permutation of the folds.
    rules : GrowRules

    Attributes
    ----------
    n_iterations : int
        Of every node, or 0 to choose them at each.
    """

    n_iterations = cython.declare(cython.Py_ssize_t, visibility="readonly")
    min_samples: cython.double
    max_depth: cython.Py_ssize_t
    count_errors: cython.bint
    n_folds: cython.Py_ssize_t
    scores: cython.const[cython.double][:, ::1]
    y: cython.const[cython.int][::1]
    weight: cython.const[cython.double][::1]
    train_weight: cython.const[cython.double][::1]
    test_weight: cython.const[cython.double][::1]
    sample: BoostedRows
    booster: Booster
    folds: TreeFolds
    splitter: Splitter
    # The columns of Nodes.
    n_nodes: cython.Py_ssize_t
    parent: cython.longlong[::1]
    attribute: cython.longlong[::1]
    cut: cython.double[::1]
    done: cython.longlong[::1]
    mass: cython.double[::1]
    error: cython.double[::1]
    test_error: cython.double[::1]
    coef: cython.double[:, :, ::1]
    # Nodes that wait: parent, segment of the training rows, segment of the test rows, depth.
    waiting: cython.Py_ssize_t
    widest: cython.Py_ssize_t
    stack: cython.longlong[:, ::1]

    def __init__(self, attributes, n_values, scores, y, weight, targets, decks, rules):
        n_columns, n = scores.shape
        n_classes = len(targets)
        self.scores, self.y, self.weight = scores, y, weight
        self.n_folds, self.n_iterations = decks.shape[1], rules.n_iterations
        self.min_samples, self.max_depth = rules.min_samples, rules.max_depth
        self.count_errors = rules.count_errors
        self.sample = BoostedRows(n_columns, n_classes, n)
        search = {"most": rules.max_iterations, "patience": rules.patience, "slack": rules.slack}
        self.booster = Booster(targets, n_columns, n, **search)
        self.folds = TreeFolds(decks, rules.weka, rules.whole_rows, n)
        self.splitter = Splitter(attributes, n_values, y, weight, n_classes, rules.min_gap)
        room, self.widest = 64, max(2, *n_values)
        self.parent, self.attribute, self.done = np.empty((3, room), np.int64)
        self.cut, self.mass, self.error, self.test_error = np.empty((4, room))
        self.coef = np.empty((room, 1 if n_classes == 2 else n_classes, n_columns + 1))
        self.stack = np.empty((room + self.widest, 6), np.int64)

    def deal_folds(self):
        """Deal all rows: their weights in the test part of each fold, and rows in folds' order."""
        sequence = np.arange(self.y.shape[0], dtype=np.int32)
        self.sample.take(self.scores, self.y, self.weight, sequence)
        self.folds.deal(self.sample)
        if self.folds.weka:
            sequence = self.folds.order.copy()
        return self.folds.test_weight.copy(), sequence

    def choose_iterations(self):
        """Choose ``n_iterations`` on all rows, once for all nodes."""
        rows: cython.int[::1] = np.arange(self.y.shape[0], dtype=np.int32)
        self.coef[0, :, :] = 0.0
        with cython.nogil:
            self.sample.take(self.scores, self.y, self.weight, rows)
            # All rows together may allow fewer iterations than the folds did.
            self.n_iterations = self._boost(self.coef[0])

    def grow(
        self,
        weight: cython.const[cython.double][::1],
        test_weight: cython.const[cython.double][::1],
        sequence: cython.const[cython.int][::1],
    ):
        """Grow a tree on the rows of positive ``weight``; measure it on those of ``test_weight``.

        ``sequence`` is the order of the rows, on which the folds of nodes depend.
        """
        self.train_weight, self.test_weight = weight, test_weight
        self.splitter.begin(weight, test_weight, sequence)
        self.n_nodes = self.waiting = 0
        self._wait(-1, 0, self.splitter.n_train, 0, self.splitter.n_test, 0)
        while self.waiting > 0:
            self._make_room()
            with cython.nogil:
                self._grow_node()
        end = self.n_nodes
        return Nodes(
            np.array(self.parent[:end]),
            np.array(self.attribute[:end]),
            np.array(self.cut[:end]),
            np.array(self.done[:end]),
            np.array(self.mass[:end]),
            np.array(self.error[:end]),
            np.array(self.test_error[:end]),
            np.array(self.coef[:end]),
        )

    @cython.cfunc
    def _make_room(self):
        """For one more node, and its children."""
        if self.waiting + self.widest > self.stack.shape[0]:
            self.stack = _longer(self.stack)
        if self.n_nodes == self.parent.shape[0]:
            self.parent, self.attribute = _longer(self.parent), _longer(self.attribute)
            self.done, self.cut, self.mass = (
                _longer(self.done),
                _longer(self.cut),
                _longer(self.mass),
            )
            self.error, self.test_error = _longer(self.error), _longer(self.test_error)
            self.coef = _longer(self.coef)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _wait(
        self, parent: cython.Py_ssize_t, begin: cython.Py_ssize_t, end: cython.Py_ssize_t,
        test_begin: cython.Py_ssize_t, test_end: cython.Py_ssize_t, depth: cython.Py_ssize_t,
    ) -> cython.void:  # fmt: skip
        top: cython.Py_ssize_t = self.waiting
        self.stack[top, 0], self.stack[top, 1], self.stack[top, 2] = parent, begin, end
        self.stack[top, 3], self.stack[top, 4], self.stack[top, 5] = test_begin, test_end, depth
        self.waiting += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _grow_node(self) -> cython.void:
        """Take a node from those that wait; its children will wait."""
        self.waiting -= 1
        top: cython.Py_ssize_t = self.waiting
        parent: cython.Py_ssize_t = self.stack[top, 0]
        begin: cython.Py_ssize_t = self.stack[top, 1]
        end: cython.Py_ssize_t = self.stack[top, 2]
        test_begin: cython.Py_ssize_t = self.stack[top, 3]
        test_end: cython.Py_ssize_t = self.stack[top, 4]
        depth: cython.Py_ssize_t = self.stack[top, 5]
        node: cython.Py_ssize_t = self.n_nodes
        self.n_nodes += 1
        self.parent[node], self.attribute[node], self.cut[node] = parent, -1, 0.0
        if parent < 0:
            self.coef[node, :, :] = 0.0
        else:
            self.coef[node, :, :] = self.coef[parent]

        self.splitter.count(begin, end)
        total: cython.double = self.splitter.total
        self.mass[node] = total
        self.done[node], self.error[node], self.test_error[node] = 0, EMPTY_ERROR, 0.0
        if end > begin:
            self.sample.take(self.scores, self.y, self.train_weight, self.splitter.rows[begin:end])
            if total >= self.n_folds:
                self.done[node] = self._boost(self.coef[node])
            self.error[node] = self._error(self.coef[node])
        if test_end > test_begin:
            self.sample.take(
                self.scores, self.y, self.test_weight, self.splitter.test_rows[test_begin:test_end]
            )
            self.test_error[node] = self._error(self.coef[node])

        if (
            total < self.min_samples
            or total < LEAST_TO_SPLIT
            or total - self.splitter.largest < EMPTY_ERROR
            or depth >= self.max_depth
        ):
            return
        a: cython.Py_ssize_t = self.splitter.choose(begin, end)
        if a < 0:
            return
        self.splitter.split(a, begin, end, test_begin, test_end)
        self.attribute[node], self.cut[node] = a, self.splitter.cut
        b: cython.Py_ssize_t
        for b in range(self.splitter.n_branches - 1, -1, -1):
            self._wait(
                node,
                begin + self.splitter.offsets[b],
                begin + self.splitter.offsets[b + 1],
                test_begin + self.splitter.test_offsets[b],
                test_begin + self.splitter.test_offsets[b + 1],
                depth + 1,
            )

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _boost(self, coef: cython.double[:, ::1]) -> cython.Py_ssize_t:
        """Boost the model on the sample; returns the number of iterations."""
        wanted: cython.Py_ssize_t = self.n_iterations
        if wanted == 0:
            self.folds.deal(self.sample)
            wanted = self.booster.choose_iterations(self.sample, coef, self.folds.weight_in)
        self.sample.evaluate(coef)
        return self.booster.boost(self.sample, wanted, coef)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _error(self, coef: cython.double[:, ::1]) -> cython.double:
        """Error of the model on the sample."""
        self.sample.evaluate(coef)
        if self.count_errors:
            return self.sample.wrong_weight()
        return self.sample.squared_error()


def _longer(array):
    return np.concatenate([array, np.empty_like(array)])
