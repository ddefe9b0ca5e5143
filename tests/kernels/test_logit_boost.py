"""LogitBoost against its naive twin."""

import numpy as np
import pytest

from naive_tree import one_iteration, scores_of, softmax, step
from trueodds.kernels.logit_boost import (
    boost,
    choose_iterations,
    probabilities,
    squared_error,
    wrong_weight,
)


def sample(m, n=60, seed=0):
    """Scores (n, m) and classes; with two classes the columns are mirror images."""
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(n, m)).round(2)
    if m == 2:
        S[:, 0] = -S[:, 1]
    return S, (1.5 * S + rng.gumbel(size=(n, m))).argmax(axis=1)


def naive_models(S, y, m, n_iterations):
    models, F = [], np.zeros((len(y), m))
    for _ in range(n_iterations):
        models.append(one_iteration(S, y, F, m))
        F = F + step(S, models[-1], m)
    return models


def boosted(S, y, m, n_iterations, weight=None):
    n_models = 1 if m == 2 else m
    coef = np.zeros((n_models, S.shape[1] + 1))
    F, p = np.empty((n_models, len(y))), np.empty((n_models, len(y)))
    columns = np.ascontiguousarray(S.T)
    probabilities(columns, coef, F, p)
    weight = np.ones(len(y)) if weight is None else weight
    done = boost(columns, y.astype(np.int32), weight, np.eye(m), n_iterations, coef, F, p)
    return done, coef, p


def all_classes(p):
    return np.stack([1 - p[0], p[0]], axis=1) if len(p) == 1 else p.T


@pytest.mark.parametrize("m", [2, 3, 4])
@pytest.mark.parametrize("n_iterations", [1, 7])
def test_probabilities_equal_those_of_the_naive_twin(m, n_iterations):
    S, y = sample(m)
    done, _, p = boosted(S, y, m, n_iterations)
    assert done == n_iterations
    expected = softmax(scores_of(S, naive_models(S, y, m, n_iterations), m))
    np.testing.assert_allclose(all_classes(p), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("m", [2, 3])
def test_the_coefficients_give_the_same_probabilities_again(m):
    S, y = sample(m)
    _, coef, p = boosted(S, y, m, 5)
    F, again = np.empty_like(p), np.empty_like(p)
    probabilities(np.ascontiguousarray(S.T), coef, F, again)
    np.testing.assert_allclose(again, p, rtol=1e-12)


def test_a_weight_of_two_is_two_rows():
    S, y = sample(3)
    counts = np.random.default_rng(1).integers(1, 4, len(y))
    _, weighted, _ = boosted(S, y, 3, 4, counts.astype(float))
    _, repeated, _ = boosted(np.repeat(S, counts, axis=0), np.repeat(y, counts), 3, 4)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9)


def test_a_column_that_does_not_vary_is_not_used():
    S, y = sample(3)
    S[:, 1] = 0.5
    _, coef, _ = boosted(S, y, 3, 4)
    assert (coef[:, 1] == 0).all()
    assert (coef[:, [0, 2]] != 0).any()


def test_errors_by_hand():
    y, weight = np.array([1, 0, 1], dtype=np.int32), np.array([1.0, 2.0, 0.5])
    p = np.array([[0.8, 0.4, 0.5]])
    assert squared_error(p, y, weight, 2) == pytest.approx(0.04 + 2 * 0.16 + 0.5 * 0.25)
    assert wrong_weight(p, y, weight) == 0.5  # exactly one half is the first class
    y = np.array([2, 0, 1], dtype=np.int32)
    p = np.array([[0.2, 0.5, 0.4], [0.3, 0.3, 0.4], [0.5, 0.2, 0.2]])
    rows = [0.04 + 0.09 + 0.25, 0.25 + 0.09 + 0.04, 0.16 + 0.36 + 0.04]
    assert squared_error(p, y, weight, 3) == pytest.approx(weight @ rows / 3)
    assert wrong_weight(p, y, weight) == 0.5  # the first of two equals wins


@pytest.mark.parametrize("m", [2, 3])
def test_as_many_iterations_as_have_the_least_error_in_the_folds(m):
    S, y = sample(m, n=90, seed=4)
    most, folds = 12, np.arange(90) % 3
    errors = np.zeros(most + 1)
    for fold in range(3):
        inside = folds == fold
        models = naive_models(S[~inside], y[~inside], m, most)
        for k in range(most + 1):
            p = softmax(scores_of(S[inside], models[:k], m))
            errors[k] += np.sqrt(np.mean((p - np.eye(m)[y[inside]]) ** 2))
    test_weight = (folds == np.arange(3)[:, None]).astype(float)
    start = np.zeros((1 if m == 2 else m, m + 1))
    rows = (np.ascontiguousarray(S.T), y.astype(np.int32), np.ones(90), np.eye(m), start)
    assert choose_iterations(*rows, test_weight, most, most, 0.0) == errors.argmin()
    # With room for error, the first number that is close enough.
    slack = 0.06
    close = np.flatnonzero(errors <= errors.min() * (1 + slack))[0]
    assert close < errors.argmin()
    assert choose_iterations(*rows, test_weight, most, most, slack) == close
