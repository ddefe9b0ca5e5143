"""The compiled calibration tree against its naive twin, on data full of ties."""

import numpy as np
import pytest

from support.naive_tree import NaiveTree
from trueodds import TreeCalibrator

pytestmark = pytest.mark.filterwarnings("ignore::trueodds.exceptions.WorseThanOneMapWarning")


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


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("m", [2, 3, 4])
def test_structure_and_probabilities_equal_the_naive_tree(seed, m):
    X, S, y = make(seed, m, constant=seed % 3 == 0)
    n_iterations = 1 + seed % 4
    naive = NaiveTree(X, [0, 0, 3, 0], S, y, m, n_iterations)
    fast = TreeCalibrator(cv="weka", scale="logit", n_iterations=n_iterations, categorical=[2]).fit(
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
