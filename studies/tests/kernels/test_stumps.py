"""Boosted stumps against trees of depth 1 that scikit-learn grows on the same weights."""

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from trueodds_studies.kernels.learners import boost_stumps, stump_margins


def coded(X):
    values = [np.unique(column) for column in X.T]
    codes = [np.searchsorted(v, column) for v, column in zip(values, X.T, strict=True)]
    return values, np.array(codes, dtype=np.int32), np.array([len(v) for v in values])


def naive_margins(X, y, n_rounds):
    sign, weight = np.where(y == 1, 1, -1), np.full(len(y), 1 / len(y))
    margin = np.zeros(len(y))
    for _ in range(n_rounds):
        stump = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y, weight)
        vote = np.where(stump.predict(X) == 1, 1, -1)
        error = weight[vote != sign].sum()
        alpha = np.log((1 - error) / error) / 2
        weight *= np.exp(-alpha * vote * sign)
        weight /= weight.sum()
        margin += alpha * vote
    return margin


def margins(X, y, n_rounds, real=False):
    values, codes, sizes = coded(X)
    attribute, cut, left, right, alpha = boost_stumps(
        codes, sizes.astype(np.int32), y.astype(np.int8), n_rounds, real
    )
    threshold = np.array([values[f][c] for f, c in zip(attribute, cut, strict=True)])
    return stump_margins(X, attribute, threshold, left, right, alpha), alpha


def test_margins_equal_boosting_of_scikit_learns_trees():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)).astype(np.float32).astype(np.float64)
    y = (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=80) > 1).astype(int)
    found, alpha = margins(X, y, 25)
    assert len(alpha) == 25
    np.testing.assert_allclose(found, naive_margins(X, y, 25), atol=1e-9)


def test_a_stump_without_error_is_the_last_and_weighs_one():
    found, alpha = margins(np.array([[1.0], [2.0], [3.0]]), np.array([0, 0, 1]), 10)
    assert alpha.tolist() == [1.0]
    assert found.tolist() == [-1, -1, 1]


def test_no_stump_is_kept_if_none_beats_chance():
    _, alpha = margins(np.array([[1.0], [1.0], [2.0], [2.0]]), np.array([0, 1, 0, 1]), 10)
    assert len(alpha) == 0


def naive_real_margins(X, y, n_rounds):
    """SAMME.R of two classes, with the weights' own formula."""
    sign, weight = np.where(y == 1, 1, -1), np.full(len(y), 1 / len(y))
    margin = np.zeros(len(y))
    for _ in range(n_rounds):
        stump = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y, weight)
        share = np.maximum(stump.predict_proba(X), np.finfo(float).eps)
        vote = np.log(share[:, 1] / share[:, 0]) / 2
        weight *= np.exp(-vote * sign)
        weight /= weight.sum()
        margin += vote
    return margin


def test_real_votes_are_the_log_odds_of_the_leaves():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)).astype(np.float32).astype(np.float64)
    y = (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=80) > 1).astype(int)
    found, alpha = margins(X, y, 25, real=True)
    assert (alpha == 1).all()
    np.testing.assert_allclose(found, naive_real_margins(X, y, 25), atol=1e-8)
