"""Stratified folds: those of a dealer, and those dealt from shuffled decks."""

import numpy as np
import pytest

from trueodds.kernels.tree import BoostedRows, TreeFolds


def decks_of(n_rows, n_folds=5):
    rng = np.random.default_rng(0)
    return rng.permuted(np.tile(np.arange(n_folds), (n_rows // n_folds + 1, 1)), axis=1)


def deal(y, weight, decks, dealer=None, whole_rows=False):
    n = len(y)
    sample = BoostedRows(1, y.max() + 1, n)
    sample.take(np.zeros((1, n)), y.astype(np.int32), weight, np.arange(n, dtype=np.int32))
    folds = TreeFolds(decks, dealer, whole_rows, n)
    folds.assign(sample)
    return folds


@pytest.mark.parametrize("n", [5, 23, 60])
def test_the_folds_of_a_dealer_are_blocks_of_its_order(n):
    rng = np.random.default_rng(n)
    y, weight, order = rng.integers(0, 3, n), rng.random(n), rng.permutation(n).astype(np.int32)

    def dealer(labels):
        np.testing.assert_array_equal(labels, y)
        return order

    folds = deal(y, weight, decks_of(n), dealer)
    np.testing.assert_array_equal(folds.order, order)
    for fold, rows in enumerate(np.array_split(order, 5)):
        assert np.flatnonzero(folds.test_weight[fold]).tolist() == sorted(rows.tolist())
        np.testing.assert_array_equal(folds.test_weight[fold, rows], weight[rows])


def test_every_class_is_dealt_evenly_and_every_row_once():
    y = np.repeat([0, 1, 2], [50, 17, 4])
    parts = deal(y, np.ones(71), decks_of(71)).test_weight
    np.testing.assert_array_equal(parts.sum(axis=0), np.ones(71))
    for label in range(3):
        assert np.ptp(parts[:, y == label].sum(axis=1)) <= 1
    assert np.ptp(parts.sum(axis=1)) <= 1


def test_a_weight_of_k_is_dealt_as_k_rows():
    y, weight = np.array([0, 1, 0]), np.array([7.0, 3.0, 2.0])
    parts = deal(y, weight, decks_of(12)).test_weight
    np.testing.assert_array_equal(parts.sum(axis=0), weight)
    assert np.ptp(parts.sum(axis=1)) <= 1
    assert parts[:, 0].min() == 1
    assert parts[:, 0].max() == 2


def test_whole_rows_stay_in_one_fold():
    y, weight = np.array([0, 1, 0, 1, 1]), np.array([0.5, 2.5, 7.0, 1.0, 0.1])
    parts = deal(y, weight, decks_of(5), whole_rows=True).test_weight
    assert ((parts > 0).sum(axis=0) == 1).all()
    np.testing.assert_array_equal(parts.sum(axis=0), weight)
