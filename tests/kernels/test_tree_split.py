"""The split of a node against its naive twin."""

import numpy as np
import pytest

from kernels.tree_data import NOMINAL, grow_data, tree_sample
from naive_tree import choose_split
from trueodds.kernels.tree_split import best_split, entropy_table


def split(X, S, y, m, rows=None, weight=None):
    data = grow_data(X, S, y, m)
    rows = np.arange(len(y), dtype=np.int32) if rows is None else rows
    order = np.array([a[np.isin(a, rows)] for a in data.sorted_rows], dtype=np.int32)
    values = np.take_along_axis(data.attributes, order.astype(np.intp), axis=1)
    unit = weight is None
    weight = np.ones(len(y)) if unit else weight
    counts = np.bincount(y[rows], weight[rows], m)
    return best_split(data, order, values, rows, weight, unit, counts, counts.sum(), 1e-5)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("m", [2, 3])
def test_attribute_and_cut_equal_those_of_the_naive_twin(seed, m):
    X, S, y = tree_sample(seed, m)
    for rows in (np.arange(80), np.flatnonzero(X[:, 0] > 0.3)):
        attribute, cut = split(X, S, y, m, rows.astype(np.int32))
        expected = choose_split(X[rows], NOMINAL, y[rows], m, 80)
        if expected is None:
            assert attribute == -1
        else:
            assert attribute == expected[0]
            assert cut == (expected[1] or 0.0)


def test_the_best_cut_by_hand():
    X = np.column_stack([np.arange(12.0), np.zeros(12), np.zeros(12)])
    y = (np.arange(12) >= 5).astype(int)
    assert split(X, np.zeros((12, 2)), y, 2) == (0, 4.5)


def test_attributes_that_do_not_vary_give_no_split():
    y = np.arange(12) % 2
    assert split(np.zeros((12, 3)), np.zeros((12, 2)), y, 2) == (-1, 0.0)


def test_weights_count_as_rows():
    X, S, y = tree_sample(1, 3)
    counts = np.random.default_rng(0).integers(1, 3, 80)
    table = entropy_table(counts.sum(), True)
    assert len(table) == counts.sum() + 1
    twice = np.repeat(np.arange(80), counts)
    repeated = split(X[twice], S[twice], y[twice], 3)
    data = grow_data(X, S, y, 3)._replace(table=table)
    values = np.take_along_axis(data.attributes, data.sorted_rows.astype(np.intp), axis=1)
    rows, weight = np.arange(80, dtype=np.int32), counts.astype(float)
    mass = np.bincount(y, weight, 3)
    found = best_split(data, data.sorted_rows, values, rows, weight, False, mass, mass.sum(), 1e-5)
    assert found == repeated


def test_the_table_holds_k_log_k_or_nothing():
    np.testing.assert_allclose(entropy_table(4, True), [0, 0, 2, 3 * np.log2(3), 8])
    assert len(entropy_table(4.5, False)) == 1
    assert len(entropy_table(1e9, True)) == 1
