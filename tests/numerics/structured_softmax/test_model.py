"""The linear predictor, its gradient and its Hessian.

What all classes share.

Probabilities from coefficients.
"""

import numpy as np
import pytest

from numerics.structured_rows import slope_by_differences, some_rows
from trueodds.numerics.structured_softmax.base import Base
from trueodds.numerics.structured_softmax.model import (
    Block,
    Coefficients,
    layout_for,
    make_design,
    relative_entropy,
    shared_features,
    structured_probabilities,
)
from trueodds.numerics.structured_softmax.pool import log_softmax_columns

LAYOUTS = ["full", "logs", "diagonal", "shared"]
every_layout = pytest.mark.parametrize("layout", LAYOUTS)
BASE = Base(0.8, 1e-4, 0.02, np.array([0.2, 0.3, 0.5]))


def design_and_theta(layout, k=3):
    rows = some_rows(120, k, weight=1.5)
    design = make_design(rows, BASE, layout)
    theta = 0.3 * np.random.default_rng(0).normal(size=len(design.blocks))
    return rows, design, theta


def log_likelihood(rows, design, theta):
    return float(np.vdot(rows.counts, log_softmax_columns(design.offset + design.predictor(theta))))


@pytest.mark.parametrize(
    ("layout", "size"),
    [("full", 4 + 3 + 9 + 9), ("logs", 4 + 3 + 9), ("diagonal", 4 + 6), ("shared", 4)],
)
def test_layouts_have_as_many_parameters_as_blocks_say(layout, size):
    _, design, _ = design_and_theta(layout)
    assert len(design.blocks) == size
    assert (design.blocks == Block.SHARED).sum() == 4


@every_layout
def test_the_gradient_is_the_derivative_of_the_likelihood(layout):
    rows, design, theta = design_and_theta(layout)
    p = np.exp(log_softmax_columns(design.offset + design.predictor(theta)))
    expected = slope_by_differences(lambda t: log_likelihood(rows, design, t), theta)
    found = design.gradient(rows.counts - rows.weight * p)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@every_layout
@pytest.mark.parametrize("chunk", [1 << 19, 300])
def test_the_hessian_is_the_derivative_of_the_gradient(layout, chunk, monkeypatch):
    monkeypatch.setattr("trueodds.numerics.structured_softmax.model.CHUNK_VALUES", chunk)
    rows, design, theta = design_and_theta(layout)

    def probabilities(theta):
        return np.exp(log_softmax_columns(design.offset + design.predictor(theta)))

    def slope(theta):
        return -design.gradient(rows.counts - rows.weight * probabilities(theta))

    expected = slope_by_differences(slope, theta)
    found = design.hessian(probabilities(theta), rows.weight)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("layout", ["full", "logs"])
def test_products_of_pairs_give_the_hessian_of_one_class_at_a_time(layout):
    rows, design, theta = design_and_theta(layout)
    p = np.exp(log_softmax_columns(design.offset + design.predictor(theta)))
    both = np.zeros((2, len(theta), len(theta)))
    design._add_chunk(both[0], p, rows.weight, slice(None))
    design._add_full_chunk(both[1], p, rows.weight, slice(None))
    np.testing.assert_allclose(both[1], both[0], rtol=1e-11, atol=1e-10 * np.abs(both[0]).max())


@every_layout
def test_coefficients_of_the_logarithms_themselves_predict_the_same(layout):
    rows, design, theta = design_and_theta(layout)
    expected = np.exp(log_softmax_columns(design.offset + design.predictor(theta)))
    found = structured_probabilities(rows.p, rows.top, BASE, design.coefficients(theta))
    np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_columns_have_mean_0_and_deviation_1_by_weight():
    rows, design, _ = design_and_theta("full")
    z = design.columns[1:4]
    assert np.average(z, axis=1, weights=rows.weight).mean() == pytest.approx(0, abs=1e-12)
    assert np.average(z**2, axis=1, weights=rows.weight).mean() == pytest.approx(1)


def test_more_classes_have_fewer_blocks():
    assert [layout_for(k) for k in (2, 16, 17, 32, 33, 256, 257, 5000)] == [
        "full", "full", "logs", "logs", "diagonal", "diagonal", "shared", "shared",
    ]  # fmt: skip


@pytest.fixture
def q():
    return np.array([[0.25, 0.97, 1 / 3], [0.25, 0.02, 1 / 3], [0.5, 0.01, 1 / 3]])


def test_entropy_is_one_if_uniform_and_small_if_decided(q):
    entropy = relative_entropy(q, np.log(q))
    assert entropy[2] == pytest.approx(1)
    assert entropy[1] < 0.2
    assert entropy[0] == pytest.approx(1.5 * np.log(2) / np.log(3))


def test_the_four_features_are_those_of_the_formula(q):
    logs, top = np.log(q), q == q.max(axis=0)
    found = shared_features(q, logs, top, unit=2.0)
    centered = (logs - logs.mean(axis=0)) / 2
    np.testing.assert_allclose(found[0], centered)
    np.testing.assert_allclose(found[1], centered * (relative_entropy(q, logs) - 0.3))
    np.testing.assert_allclose(found[2], np.sqrt(q))
    np.testing.assert_array_equal(found[3], top)


PLAIN_BASE = Base(1.0, 1e-6, 1e-6, np.full(3, 1 / 3))


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
    found = structured_probabilities(rows.p, rows.top, PLAIN_BASE, c)
    np.testing.assert_allclose(found, by_loop(rows, PLAIN_BASE, c), rtol=1e-12)


def test_without_coefficients_it_is_the_base():
    rows = some_rows(20, 3)
    found = structured_probabilities(rows.p, rows.top, PLAIN_BASE, nothing())
    np.testing.assert_allclose(found, PLAIN_BASE.mixed(rows.p), rtol=1e-12)


def test_a_diagonal_is_a_matrix_with_nothing_beside_it():
    rows, d = some_rows(20, 3), np.array([0.1, 0.5, -0.3])
    one = structured_probabilities(rows.p, rows.top, PLAIN_BASE, nothing(on_logs=d))
    other = structured_probabilities(rows.p, rows.top, PLAIN_BASE, nothing(on_logs=np.diag(d)))
    np.testing.assert_allclose(one, other, rtol=1e-12)
