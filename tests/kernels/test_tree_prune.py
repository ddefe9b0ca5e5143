"""Pruning by cost and complexity, by hand."""

import numpy as np

from trueodds.kernels.tree import Nodes, Pruner, subtree_ends


def test_subtrees_end_where_the_next_one_begins():
    parent = np.array([-1, 0, 1, 1, 0, 4, 4])
    assert subtree_ends(parent).tolist() == [7, 4, 3, 4, 7, 6, 7]


def prune(parent, attribute, error, bare=None, stop=np.inf):
    n = len(parent)
    nothing = np.zeros(n)
    nodes = Nodes(
        parent=np.array(parent),
        attribute=np.array(attribute),
        cut=nothing,
        iterations=np.ones(n) if bare is None else 1 - np.array(bare),
        weight=nothing,
        error=np.array(error),
        test_error=np.arange(n) + 0.0,
        coef=nothing,
    )
    pruner = Pruner(nodes, 10.0)
    return *pruner.run(stop), pruner.is_leaf, pruner.permanent


def test_sibling_leaves_without_models_count_as_one():
    tree = ([-1, 0, 0, 0], [0, -1, -1, -1], [8.0, 1.0, 2.0, 1.0])
    np.testing.assert_allclose(prune(*tree)[0], [0, 4 / 10 / 2])
    np.testing.assert_allclose(prune(*tree, bare=[0, 1, 1, 0])[0], [0, 4 / 10])
    np.testing.assert_allclose(prune(*tree, bare=[0, 1, 1, 1])[0], [0, 1.0])


def test_the_weakest_link_goes_first_and_useless_subtrees_for_good():
    # Root 0 with inner nodes 1 (leaves 2, 3) and 4 (leaves 5, 6); node 4 gains nothing.
    parent, attribute = [-1, 0, 1, 1, 0, 4, 4], [0, 0, -1, -1, 0, -1, -1]
    error = [10.0, 3.0, 1.0, 1.5, 4.0, 3.0, 1.0]
    alphas, test_errors, is_leaf, permanent = prune(parent, attribute, error)
    assert permanent.tolist() == [False] * 4 + [True] + [False] * 2
    # The first alpha of the root would still count the leaves below node 4.
    np.testing.assert_allclose(alphas, [0, 0.05, 0.3])
    np.testing.assert_allclose(test_errors, [2 + 3 + 4, 1 + 4, 0])
    assert is_leaf[0]
    _, _, is_leaf, _ = prune(parent, attribute, error, stop=0.1)
    assert is_leaf.tolist()[:5] == [False, True, True, True, True]
