"""The compiled calibration tree against its naive twin, on data full of ties."""

import numpy as np
import pytest

from naive_tree import NaiveTree
from trueodds import TreeCalibrator


def make(seed, m, constant=False):
    """Rounded attributes and a nominal one, so that cuts, gains and branches often tie."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(50, 110))
    X = np.column_stack(
        [
            rng.normal(size=n).round(1),
            rng.integers(0, 4, n),
            rng.integers(0, 3, n),
            rng.random(n),
        ]
    ).astype(float)
    S = rng.normal(size=(n, m)).round(2)
    if m == 2:
        S[:, 0] = -S[:, 1]
    if constant:
        S[X[:, 1] == 1] = 0.5  # some nodes have no column that varies
        S[:, 0] = -S[:, 1] if m == 2 else S[:, 0]
    logits = 1.5 * S + np.outer(X[:, 0], np.arange(m)) + 2.0 * (X[:, [2]] == np.arange(m))
    y = (logits + rng.gumbel(size=(n, m))).argmax(axis=1)
    if len(np.unique(y)) < m:
        y[:m] = np.arange(m)
    return X, S, y


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("m", [2, 3, 4])
def test_structure_and_probabilities_equal_the_naive_tree(seed, m):
    X, S, y = make(seed, m, constant=seed % 3 == 0)
    n_iterations = 1 + seed % 4
    naive = NaiveTree(X, [0, 0, 3, 0], S, y, m, n_iterations)
    fast = TreeCalibrator(cv="weka", input="logit", n_iterations=n_iterations, categorical=[2]).fit(
        S, y, features=X
    )
    assert fast.n_leaves_ == len([n for n in walk(naive.root) if n.is_leaf])
    np.testing.assert_allclose(
        fast.predict_proba(S, features=X), naive.predict(X, S), rtol=0, atol=1e-9
    )


def walk(node):
    yield node
    for child in () if node.is_leaf else node.children:
        yield from walk(child)


def prune(parent, attribute, error, bare=None, stop=np.inf):
    from trueodds.kernels.tree_prune import prune_sequence

    n = len(parent)
    is_leaf, permanent = np.zeros(n, bool), np.zeros(n, bool)
    bare = np.zeros(n, bool) if bare is None else np.array(bare)
    arrays = (np.array(parent), np.array(attribute), bare, np.array(error), np.arange(n) + 0.0)
    alphas, test_errors = prune_sequence(*arrays, 10.0, is_leaf, permanent, stop)
    return alphas, test_errors, is_leaf, permanent


def test_sibling_leaves_without_models_count_as_one():
    tree = ([-1, 0, 0, 0], [0, -1, -1, -1], [8.0, 1.0, 2.0, 1.0])
    np.testing.assert_allclose(prune(*tree)[0], [0, 4 / 10 / 2])
    np.testing.assert_allclose(prune(*tree, bare=[False, True, True, False])[0], [0, 4 / 10])
    np.testing.assert_allclose(prune(*tree, bare=[False, True, True, True])[0], [0, 1.0])


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
