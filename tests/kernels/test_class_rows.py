"""Maps of several classes in one pass, against scipy."""

import numpy as np
import pytest
from scipy.special import softmax

from trueodds.kernels.maps import apply_softmax, safe_logit_floor


def applied(scores, weights, bias, *, is_probability=True, floor=-np.inf):
    out = np.full_like(scores, np.nan)
    apply_softmax(scores, out, is_probability, floor, np.atleast_2d(weights), bias)
    return out


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.dirichlet(np.ones(4), 50)


def test_a_vector_of_weights_is_the_diagonal_of_a_matrix(rows):
    weights, bias = np.array([0.5, 1.0, -2.0, 0.0]), np.array([0.1, -1.0, 0.0, 2.0])
    expected = softmax(np.log(rows) * weights + bias, axis=1)
    np.testing.assert_allclose(applied(rows, weights, bias), expected, rtol=1e-13)
    np.testing.assert_allclose(applied(rows, np.diag(weights), bias), expected, rtol=1e-13)
    logits = np.log(rows) + 7.0
    found = applied(logits, weights, bias, is_probability=False)
    np.testing.assert_allclose(found, softmax(logits * weights + bias, axis=1), rtol=1e-13)


def test_a_logit_of_minus_infinity_is_deep_but_does_not_overflow():
    assert safe_logit_floor(np.array([[3.0, -7.0]])) == -1e300
    assert safe_logit_floor(np.array([[0.5, -0.25]])) == -2e300
    assert safe_logit_floor(np.zeros((2, 2))) == -8e307
    found = applied(np.array([[0.0, 1.0]]), np.array([[1e-8, 0.0], [0.0, 1e-8]]), np.zeros(2))
    np.testing.assert_array_equal(found, [[0.0, 1.0]])


def test_a_matrix_multiplies_rows_of_logits(rows):
    weights = np.random.default_rng(1).normal(size=(4, 4))
    expected = softmax(np.log(rows) @ weights.T, axis=1)
    np.testing.assert_allclose(applied(rows, weights, np.zeros(4)), expected, rtol=1e-12)


def test_zeros_stand_at_the_floor_below_the_largest():
    rows = np.array([[0.0, 0.2, 0.8], [0.0, 0.0, 1.0]])
    raised = np.maximum(np.log(np.maximum(rows, 1e-300)), np.log(rows.max(1, keepdims=True)) - 3)
    found = applied(rows, np.full(3, 0.7), np.zeros(3), floor=-3.0)
    np.testing.assert_allclose(found, softmax(0.7 * raised, axis=1), rtol=1e-14)


def test_without_a_floor_a_zero_stays_zero_unless_its_weight_is_zero():
    found = applied(np.array([[0.0, 0.5, 0.5]]), np.array([1.0, 1.0, 1.0]), np.zeros(3))
    np.testing.assert_array_equal(found, [[0.0, 0.5, 0.5]])
    found = applied(np.array([[0.0, 1.0, 0.0]]), np.array([0.0, 1.0, 1.0]), np.zeros(3))
    np.testing.assert_allclose(found, [[0.5, 0.5, 0.0]])
    found = applied(np.array([[0.0, 0.5, 0.5]]), np.eye(3), np.zeros(3))
    np.testing.assert_array_equal(found, [[0.0, 0.5, 0.5]])
