"""The split of a node against its naive twin."""

import numpy as np
import pytest

from kernels.tree_data import NOMINAL, tree_sample
from support.naive_tree import choose_split
from trueodds.kernels.tree import Splitter, entropy_table


def split(X, y, m, weight=None, rows=slice(None)):
    """Attribute and cut of the root of a tree of some of the rows."""
    weight = np.ones(len(y)) if weight is None else weight
    attributes, n_values = np.ascontiguousarray(X.T), np.array(NOMINAL)
    splitter = Splitter(attributes, n_values, y.astype(np.int32), weight, m, 1e-5)
    kept = np.zeros(len(y))
    kept[rows] = weight[rows]
    splitter.begin(kept, np.zeros(len(y)), np.arange(len(y), dtype=np.int32))
    splitter.count(0, splitter.n_train)
    attribute = splitter.choose(0, splitter.n_train)
    return attribute, splitter.cut if attribute >= 0 else None


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("m", [2, 3])
def test_attribute_and_cut_equal_those_of_the_naive_twin(seed, m):
    X, _, y = tree_sample(seed, m)
    for rows in (np.arange(80), np.flatnonzero(X[:, 0] > 0.3)):
        attribute, cut = split(X, y, m, rows=rows)
        expected = choose_split(X[rows], NOMINAL, y[rows], m, 80)
        if expected is None:
            assert attribute == -1
        else:
            assert attribute == expected[0]
            assert cut == (expected[1] or 0.0)


def test_the_best_cut_by_hand():
    X = np.column_stack([np.arange(12.0), np.zeros(12), np.zeros(12)])
    y = (np.arange(12) >= 5).astype(int)
    assert split(X, y, 2) == (0, 4.5)


def test_attributes_that_do_not_vary_give_no_split():
    assert split(np.zeros((12, 3)), np.arange(12) % 2, 2) == (-1, None)


def test_weights_count_as_rows():
    X, _, y = tree_sample(1, 3)
    counts = np.random.default_rng(0).integers(1, 3, 80)
    repeated = split(np.repeat(X, counts, axis=0), np.repeat(y, counts), 3)
    assert repeated[0] >= 0
    assert split(X, y, 3, counts.astype(float)) == repeated


def test_the_table_holds_k_log_k_or_nothing():
    np.testing.assert_allclose(entropy_table(np.array([1.0, 3])), [0, 0, 2, 3 * np.log2(3), 8])
    assert len(entropy_table(np.array([4, 0.5]))) == 1
    assert len(entropy_table(np.array([1e9]))) == 1
