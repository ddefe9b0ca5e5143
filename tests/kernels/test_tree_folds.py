"""Stratified folds: the authors' deterministic ones, and those dealt from shuffled decks."""

import numpy as np
import pytest

from support.naive_tree import weka_test_rows
from trueodds.kernels.tree import BoostedRows, TreeFolds


def decks_of(n_rows, n_folds=5):
    rng = np.random.default_rng(0)
    return rng.permuted(np.tile(np.arange(n_folds), (n_rows // n_folds + 1, 1)), axis=1)


def deal(y, weight, decks, weka=False, whole_rows=False):
    n = len(y)
    sample = BoostedRows(1, y.max() + 1, n)
    sample.take(np.zeros((1, n)), y.astype(np.int32), weight, np.arange(n, dtype=np.int32))
    folds = TreeFolds(decks, weka, whole_rows, n)
    folds.assign(sample)
    return folds


@pytest.mark.parametrize("n", [5, 23, 60])
def test_the_authors_folds_equal_those_of_the_naive_twin(n):
    rng = np.random.default_rng(n)
    y, weight = rng.integers(0, 3, n), rng.random(n)
    folds = deal(y, weight, decks_of(n), weka=True)
    expected = weka_test_rows(y)
    np.testing.assert_array_equal(folds.order, np.concatenate(expected))
    for fold, rows in enumerate(expected):
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
