"""Probabilities from coefficients."""

import numpy as np

from numerics.structured_rows import some_rows
from trueodds.numerics.structured_softmax.base import Base
from trueodds.numerics.structured_softmax.blocks import Coefficients
from trueodds.numerics.structured_softmax.predict import structured_probabilities

BASE = Base(1.0, 1e-6, 1e-6, np.full(3, 1 / 3))


def nothing(**changes):
    values = {"bias": np.zeros(3), "on_logs": np.zeros(3), "on_probabilities": np.zeros(0)}
    return Coefficients(**values | {"shared": np.zeros(4)} | changes)


def by_loop(rows, base, c):
    result = np.empty_like(rows.p)
    for n in range(rows.p.shape[1]):
        q = base.mixed(rows.p[:, [n]])[:, 0]
        entropy = -(q * np.log(q)).sum() / np.log(3)
        eta = np.empty(3)
        for k in range(3):
            eta[k] = np.log(q[k]) * (1 + c.shared[0] + c.shared[1] * (entropy - 0.3))
            eta[k] += c.shared[2] * np.sqrt(q[k]) + c.shared[3] * rows.top[k, n] + c.bias[k]
            eta[k] += sum(c.on_logs[k, j] * np.log(q[j]) for j in range(3))
            eta[k] += sum(c.on_probabilities[k, j] * q[j] for j in range(3))
        result[:, n] = np.exp(eta) / np.exp(eta).sum()
    return result


def test_the_vectorised_formula_is_that_of_a_loop():
    rng, rows = np.random.default_rng(0), some_rows(20, 3)
    c = Coefficients(rng.normal(size=3), *rng.normal(size=(2, 3, 3)), rng.normal(size=4))
    found = structured_probabilities(rows.p, rows.top, BASE, c)
    np.testing.assert_allclose(found, by_loop(rows, BASE, c), rtol=1e-12)


def test_without_coefficients_it_is_the_base():
    rows = some_rows(20, 3)
    found = structured_probabilities(rows.p, rows.top, BASE, nothing())
    np.testing.assert_allclose(found, BASE.mixed(rows.p), rtol=1e-12)


def test_a_diagonal_is_a_matrix_with_nothing_beside_it():
    rows, d = some_rows(20, 3), np.array([0.1, 0.5, -0.3])
    one = structured_probabilities(rows.p, rows.top, BASE, nothing(on_logs=d))
    other = structured_probabilities(rows.p, rows.top, BASE, nothing(on_logs=np.diag(d)))
    np.testing.assert_allclose(one, other, rtol=1e-12)
