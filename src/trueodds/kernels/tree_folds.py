"""Stratified folds, as the weight that each row has in the test part of each fold."""

from __future__ import annotations

import cython
import numpy as np

__all__ = ["TreeFolds"]


@cython.final
@cython.cclass
class TreeFolds:
    """Deals samples of up to ``capacity`` rows to folds.

    Parameters
    ----------
    decks : int64 array of shape (n_decks, n_folds)
        Each row is a permutation of the folds.
    weka : bool
        The authors' deterministic folds, which need no decks.
    whole_rows : bool
        Each row goes into one fold; otherwise a row of whole weight k counts as k rows, which may
        fall into several.

    Attributes
    ----------
    test_weight : array of shape (n_folds, capacity)
    order : int32 array of shape (capacity,)
        Rows in the order of the authors' folds: each is a block of it.
    """

    def __init__(self, decks, weka, whole_rows, capacity):
        self.decks, self.weka, self.whole_rows = decks, weka, whole_rows
        self.test_weight = np.empty((decks.shape[1], capacity))
        self.order, self.grouped = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
        self.weight_in, self.sequence = self.test_weight, self.order

    def deal(self, sample):
        """Fill ``test_weight`` of a sample's rows."""
        fold: cython.Py_ssize_t
        i: cython.Py_ssize_t
        for fold in range(self.decks.shape[1]):
            for i in range(sample.n):
                self.weight_in[fold, i] = 0.0
        if self.weka:
            self.deal_as_weka(sample)
        else:
            self.deal_decks(sample)

    def deal_as_weka(self, sample):
        """Positions s, s+k, s+2k, … of the grouped rows, cut into k consecutive blocks."""
        n: cython.Py_ssize_t = sample.n
        n_folds: cython.Py_ssize_t = self.decks.shape[1]
        fold: cython.Py_ssize_t
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        for i in range(n):
            self.grouped[i] = cython.cast(cython.int, i)
        # The authors' grouping by class, which swaps rows in place.
        i = 1
        while i < n:
            label: cython.int = sample.y[self.grouped[i - 1]]
            for j in range(i, n):
                row: cython.int = self.grouped[j]
                if sample.y[row] == label:
                    self.grouped[j], self.grouped[i] = self.grouped[i], row
                    i += 1
            i += 1
        j = 0
        for fold in range(n_folds):
            i = fold
            while i < n:
                self.sequence[j] = self.grouped[i]
                i, j = i + n_folds, j + 1
        j = 0
        for fold in range(n_folds):
            for i in range(j, j + n // n_folds + (1 if fold < n % n_folds else 0)):
                self.weight_in[fold, self.sequence[i]] = sample.weight[self.sequence[i]]
                j += 1

    def deal_decks(self, sample):
        """Deal the rows of one class after the other, in the order of the decks."""
        n_folds: cython.Py_ssize_t = self.decks.shape[1]
        dealt: cython.Py_ssize_t = 0
        label: cython.Py_ssize_t
        fold: cython.Py_ssize_t
        i: cython.Py_ssize_t
        for label in range(sample.n_classes):
            for i in range(sample.n):
                if sample.y[i] != label:
                    continue
                left_over: cython.Py_ssize_t = 1
                share: cython.double = sample.weight[i]
                if not self.whole_rows:
                    left_over = cython.cast(cython.Py_ssize_t, sample.weight[i])
                    share = 1.0
                    for fold in range(n_folds):
                        self.weight_in[fold, i] = left_over // n_folds
                    left_over %= n_folds
                for _ in range(left_over):
                    deck: cython.Py_ssize_t = (dealt // n_folds) % self.decks.shape[0]
                    self.weight_in[self.decks[deck, dealt % n_folds], i] += share
                    dealt += 1
