"""LogitBoost against its naive twin."""

import numpy as np
import pytest
from scipy.special import logit

from support.naive_tree import one_iteration, scores_of, softmax, step
from trueodds.kernels.tree import BoostedRows, Booster


def example(m, n=60, seed=0):
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


def sample_of(S, y, m, weight=None):
    n = len(y)
    sample = BoostedRows(S.shape[1], m, n + 3)
    weight = np.ones(n) if weight is None else weight
    rows = np.arange(n, dtype=np.int32)
    sample.take(np.ascontiguousarray(S.T), y.astype(np.int32), weight, rows)
    return sample


def no_model(S, m):
    return np.zeros((1 if m == 2 else m, S.shape[1] + 1))


def booster(S, m, most=200, slack=0.0):
    return Booster(np.eye(m), S.shape[1], len(S), max_iterations=most, patience=most, slack=slack)


def p_of(sample):
    return np.asarray(sample.p)[:, : sample.n]


def boosted(S, y, m, n_iterations, weight=None):
    coef, sample = no_model(S, m), sample_of(S, y, m, weight)
    sample.evaluate(coef)
    done = booster(S, m).boost(sample, n_iterations, coef)
    return done, coef, p_of(sample)


def all_classes(p):
    return np.stack([1 - p[0], p[0]], axis=1) if len(p) == 1 else p.T


@pytest.mark.parametrize("m", [2, 3, 4])
@pytest.mark.parametrize("n_iterations", [1, 7])
def test_probabilities_equal_those_of_the_naive_twin(m, n_iterations):
    S, y = example(m)
    done, _, p = boosted(S, y, m, n_iterations)
    assert done == n_iterations
    expected = softmax(scores_of(S, naive_models(S, y, m, n_iterations), m))
    np.testing.assert_allclose(all_classes(p), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("n", [255, 256, 257, 700])
def test_rows_beyond_a_block_count_like_others(m, n):
    S, y = example(m, n)
    _, _, p = boosted(S, y, m, 5)
    expected = softmax(scores_of(S, naive_models(S, y, m, 5), m))
    np.testing.assert_allclose(all_classes(p), expected, rtol=0, atol=1e-10)


def test_no_digits_are_lost_when_all_weight_gathers_far_from_a_columns_mean():
    S, y = example(3, n=80)
    S = np.vstack([S, np.tile([1e7, -1e7, -1e7], (80, 1))])
    y = np.append(y, np.zeros(80, int))
    _, _, p = boosted(S, y, 3, 9)
    expected = softmax(scores_of(S, naive_models(S, y, 3, 9), 3))
    np.testing.assert_allclose(all_classes(p), expected, rtol=0, atol=1e-8)


def test_boosting_ends_when_every_row_is_certain():
    y = np.array([0, 1, 2, 2])
    S = np.eye(3)[y]
    certain = 1000 * np.eye(3, 4)
    sample = sample_of(S, y, 3)
    sample.evaluate(certain)
    assert p_of(sample).T.tolist() == S.tolist()
    assert booster(S, 3).boost(sample, 5, certain.copy()) == 0
    sample.evaluate(0.7 * certain)  # 700: beyond any doubt, but not beyond the smallest number
    assert 0 < p_of(sample).min() < 1e-300


@pytest.mark.parametrize("m", [2, 3])
def test_the_coefficients_give_the_same_probabilities_again(m):
    S, y = example(m)
    _, coef, p = boosted(S, y, m, 5)
    sample = sample_of(S, y, m)
    sample.evaluate(coef)
    np.testing.assert_allclose(p_of(sample), p, rtol=1e-12)


def test_a_weight_of_two_is_two_rows():
    S, y = example(3)
    counts = np.random.default_rng(1).integers(1, 4, len(y))
    _, weighted, _ = boosted(S, y, 3, 4, counts.astype(float))
    _, repeated, _ = boosted(np.repeat(S, counts, axis=0), np.repeat(y, counts), 3, 4)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9)


def test_a_column_that_does_not_vary_is_not_used():
    S, y = example(3)
    S[:, 1] = 0.5
    _, coef, _ = boosted(S, y, 3, 4)
    assert (coef[:, 1] == 0).all()
    assert (coef[:, [0, 2]] != 0).any()


def test_errors_by_hand():
    y, weight = np.array([1, 0, 1]), np.array([1.0, 2.0, 0.5])
    sample = sample_of(logit([[0.8], [0.4], [0.5]]), y, 2, weight)
    sample.evaluate(np.array([[1.0, 0.0]]))
    assert sample.squared_error() == pytest.approx(0.04 + 2 * 0.16 + 0.5 * 0.25)
    assert sample.wrong_weight() == 0.5  # exactly one half is the first class
    p = np.array([[0.2, 0.3, 0.5], [0.5, 0.3, 0.2], [0.4, 0.4, 0.2]])
    sample = sample_of(np.log(p), np.array([2, 0, 1]), 3, weight)
    sample.evaluate(np.eye(3, 4))
    rows = [0.04 + 0.09 + 0.25, 0.25 + 0.09 + 0.04, 0.16 + 0.36 + 0.04]
    assert sample.squared_error() == pytest.approx(weight @ rows / 3)
    assert sample.wrong_weight() == 0.5  # the first of two equals wins


@pytest.mark.parametrize("m", [2, 3])
def test_as_many_iterations_as_have_the_least_error_in_the_folds(m):
    S, y = example(m, n=90, seed=4)
    most, folds = 12, np.arange(90) % 3
    errors = np.zeros(most + 1)
    for fold in range(3):
        inside = folds == fold
        models = naive_models(S[~inside], y[~inside], m, most)
        for k in range(most + 1):
            p = softmax(scores_of(S[inside], models[:k], m))
            errors[k] += np.sqrt(np.mean((p - np.eye(m)[y[inside]]) ** 2))
    test_weight = (folds == np.arange(3)[:, None]).astype(float)
    rows = (sample_of(S, y, m), no_model(S, m), test_weight)
    assert booster(S, m, most).choose_iterations(*rows) == errors.argmin()
    # With room for error, the first number that is close enough.
    slack = 0.06
    close = np.flatnonzero(errors <= errors.min() * (1 + slack))[0]
    assert close < errors.argmin()
    assert booster(S, m, most, slack).choose_iterations(*rows) == close
