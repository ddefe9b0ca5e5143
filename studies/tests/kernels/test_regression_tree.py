"""Least-squares trees against slow twins that try every split and sum up its errors."""

from itertools import pairwise

import numpy as np
import pytest
from regression_data import grown, sample


def mean(z, w):
    return np.average(z, weights=w) if w.sum() > 0 else 0.0


def error(z, w):
    return float((w * (z - mean(z, w)) ** 2).sum())


def candidates(x, nominal):
    """Masks of the rows on the first side, without missing ones."""
    values = np.unique(x[~np.isnan(x)])
    if nominal:
        return [x == value for value in values]
    return [x < (a + b) / 2 for a, b in pairwise(values)]


def naive_stump(X, z, w, n_values):
    """What each row gets, of the stump with the least error: two sides and a third if missing."""
    best, answer = np.inf, None
    for f in range(X.shape[1]):
        missing = np.isnan(X[:, f])
        for side in candidates(X[:, f], n_values[f] > 0):
            parts = [side, ~side & ~missing, missing]
            total = sum(error(z[part], w[part]) for part in parts)
            if total < best - 1e-12:
                best = total
                answer = np.select(parts, [mean(z[part], w[part]) for part in parts])
    return answer


def naive_split(X, z, w, n_values):
    """The branches (shares of each row) of the best split, and what it gains."""
    best, found = 0.0, None
    for f in range(X.shape[1]):
        x = X[:, f]
        known = ~np.isnan(x)
        if not known.any():
            continue
        if n_values[f]:
            options = [[(x == value) * 1.0 for value in range(n_values[f])]]
        else:
            options = [[side * 1.0, (known & ~side) * 1.0] for side in candidates(x, False)]
        # The cut is the best of the known rows; only then the missing ones are shared out.
        options.sort(key=lambda branches: sum(error(z, w * b) for b in branches if (w * b).any()))
        for branches in options[:1]:
            shares = np.array([(w * b).sum() for b in branches])
            shares /= shares.sum()
            whole = [b + share * ~known for b, share in zip(branches, shares, strict=True)]
            gain = error(z, w) - sum(error(z, w * b) for b in whole if (w * b).any())
            if gain > best + 1e-12:
                best, found = gain, whole
    return found, best


def naive_tree(X, z, w, n_values, depth, least):
    value = mean(z, w)
    if depth == 0 or error(z, w) / w.sum() < 1e-3 * least:
        return np.full(len(z), value)
    branches, gain = naive_split(X, z, w, n_values)
    if branches is None or gain <= 1e-6:
        return np.full(len(z), value)
    answer = np.zeros(len(z))
    for branch in branches:
        below = (
            naive_tree(X, z, w * branch, n_values, depth - 1, least) if (w * branch).any() else 0
        )
        answer += branch * below
    return answer


@pytest.mark.parametrize("seed", range(8))
def test_a_stump_has_the_least_error_of_all_splits(seed):
    X, z, w, n_values = sample(seed)
    np.testing.assert_allclose(
        grown(X, z, w, n_values, 1).fitted, naive_stump(X, z, w, n_values), atol=1e-9
    )


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_a_tree_splits_every_level_best_and_shares_out_missing_rows(seed, missing):
    X, z, w, n_values = sample(seed, missing=missing)
    expected = naive_tree(X, z, w, n_values, 3, error(z, w) / w.sum())
    np.testing.assert_allclose(grown(X, z, w, n_values, 3).fitted, expected, atol=1e-9)


def test_without_anything_to_split_the_answer_is_the_mean():
    X, z, w = np.full((5, 1), np.nan), np.arange(5.0), np.ones(5)
    for depth in (1, 3):
        assert grown(X, z, w, np.array([0], np.int32), depth).fitted == pytest.approx(np.full(5, 2))


def test_a_node_with_little_of_the_variance_is_not_split():
    x = np.array([0.0, 0, 1, 1])[:, None]
    z = np.array([0.0, 0.01, 5, 5.01])
    second = np.array([0.0, 1, 0, 1])[:, None]
    tree = grown(np.hstack([x, second]), z, np.ones(4), np.array([0, 0], np.int32), 3)
    assert tree.fitted == pytest.approx([0.005, 0.005, 5.005, 5.005])
