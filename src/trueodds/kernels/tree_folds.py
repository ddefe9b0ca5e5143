"""Stratified folds, as the weight that each row has in the test part of each fold."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["spread_folds", "weka_folds"]


@njit(cache=True)
def _group_by_class(y):  # type: ignore[no-untyped-def]
    """The authors' deterministic grouping by class, which swaps rows in place."""
    n = len(y)
    order = np.arange(n)
    i = 1
    while i < n:
        label = y[order[i - 1]]
        for j in range(i, n):
            if y[order[j]] == label:
                order[i], order[j] = order[j], order[i]
                i += 1
        i += 1
    return order


@njit(cache=True)
def weka_folds(y, weight, n_folds):  # type: ignore[no-untyped-def]
    """Positions s, s+k, s+2k, … of the grouped rows, cut into k consecutive blocks.

    Returns the test weights (k, n) and the rows in their new order; fold f is a block of it.
    """
    n = len(y)
    grouped = _group_by_class(y)
    order = np.empty(n, np.int32)
    position = 0
    for start in range(n_folds):
        for i in range(start, n, n_folds):
            order[position] = grouped[i]
            position += 1
    test_weight = np.zeros((n_folds, n))
    begin = 0
    for fold in range(n_folds):
        size = n // n_folds + (1 if fold < n % n_folds else 0)
        for i in range(begin, begin + size):
            test_weight[fold, order[i]] = weight[order[i]]
        begin += size
    return test_weight, order


@njit(cache=True)
def spread_folds(y, weight, n_classes, decks, whole_rows):  # type: ignore[no-untyped-def]
    """Deal the rows of one class after the other to the folds, in the order of ``decks``.

    Each row of ``decks`` is a permutation of the folds. A row of whole weight k counts as k rows,
    which may fall into several folds; with ``whole_rows`` each row goes into one fold.
    """
    n, n_folds = len(y), decks.shape[1]
    test_weight = np.zeros((n_folds, n))
    dealt = 0
    for label in range(n_classes):
        for i in range(n):
            if y[i] != label:
                continue
            left_over, share = 1, weight[i]
            if not whole_rows:
                each = int(weight[i]) // n_folds
                left_over, share = int(weight[i]) - each * n_folds, 1.0
                for fold in range(n_folds):
                    test_weight[fold, i] = each
            for _ in range(left_over):
                deck = (dealt // n_folds) % len(decks)
                test_weight[decks[deck, dealt % n_folds], i] += share
                dealt += 1
    return test_weight
