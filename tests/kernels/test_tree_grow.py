"""A tree before pruning against its naive twin."""

import numpy as np
import pytest

from kernels.tree_data import NOMINAL, grower, tree_sample
from support.naive_tree import NaiveTree, scores_of, softmax
from trueodds.kernels.tree import GrowRules

RULES = GrowRules(
    n_iterations=3,
    max_iterations=200,
    patience=51,
    slack=0.0,
    dealer=None,
    whole_rows=False,
    min_samples=15.0,
    max_depth=1000,
    min_gap=1e-5,
    count_errors=False,
)


def grown(X, S, y, m, rules=RULES, weight=None, test_weight=None):
    n = len(y)
    weight = np.ones(n) if weight is None else weight
    test_weight = np.zeros(n) if test_weight is None else test_weight
    sequence = np.arange(n, dtype=np.int32)
    return grower(X, S, y, m, rules).grow(weight, test_weight, sequence)


def naive_grown(X, S, y, m):
    tree = NaiveTree.__new__(NaiveTree)  # without pruning
    tree.n_values, tree.m, tree.n_iterations, tree.X_all, tree.n_all = NOMINAL, m, 3, X, len(y)
    return tree.grow(X, S, y, [])


def in_pre_order(node):
    yield node
    for child in node.children:
        yield from in_pre_order(child)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("m", [2, 3])
def test_every_node_equals_that_of_the_naive_twin(seed, m):
    X, S, y = tree_sample(seed, m)
    nodes, expected = grown(X, S, y, m), list(in_pre_order(naive_grown(X, S, y, m)))
    assert len(expected) > 1
    assert nodes.attribute.tolist() == [node.attribute for node in expected]
    assert nodes.weight.tolist() == [node.n for node in expected]
    assert nodes.iterations.tolist() == [node.done for node in expected]
    cuts = [node.cut or 0.0 for node in expected]
    np.testing.assert_array_equal(np.where(nodes.attribute < 0, 0.0, nodes.cut), cuts)
    np.testing.assert_allclose(nodes.error, [node.error for node in expected], rtol=1e-9)


def test_children_come_after_their_parent_and_share_its_rows():
    X, S, y = tree_sample(0, 3)
    nodes = grown(X, S, y, 3)
    assert nodes.parent[0] == -1
    assert (nodes.parent[1:] < np.arange(1, len(nodes.parent))).all()
    below = np.bincount(nodes.parent[1:], nodes.weight[1:], len(nodes.parent))
    inner = nodes.attribute >= 0
    np.testing.assert_array_equal(below[inner], nodes.weight[inner])


def test_the_root_alone_is_left_where_depth_or_rows_do_not_allow_a_split():
    X, S, y = tree_sample(0, 3)
    assert len(grown(X, S, y, 3, RULES._replace(max_depth=0)).parent) == 1
    assert len(grown(X, S, y, 3, RULES._replace(min_samples=1000.0)).parent) == 1


def test_rows_kept_for_the_test_are_measured_and_not_learnt_from():
    X, S, y = tree_sample(2, 2)
    test = (np.arange(80) % 4 == 0).astype(float)
    nodes = grown(X, S, y, 2, RULES._replace(max_depth=0), 1 - test, test)
    kept, left = test == 0, test == 1
    node = naive_grown(X[kept], S[kept], y[kept], 2)
    p = softmax(scores_of(S[left], node.models, 2))
    assert nodes.weight[0] == 60
    assert nodes.test_error[0] == pytest.approx(np.sum((p[:, 1] - y[left]) ** 2))
    counted = RULES._replace(max_depth=0, count_errors=True)
    wrong = grown(X, S, y, 2, counted, 1 - test, test).test_error[0]
    assert wrong == np.sum(p.argmax(axis=1) != y[left])
