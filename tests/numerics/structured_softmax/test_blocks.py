"""The linear predictor, its gradient and its Hessian."""

import numpy as np
import pytest

from numerics.structured_rows import slope_by_differences, some_rows
from trueodds.numerics.structured_softmax.base import Base
from trueodds.numerics.structured_softmax.blocks import Block, layout_for, make_design
from trueodds.numerics.structured_softmax.newton import log_softmax_columns
from trueodds.numerics.structured_softmax.predict import structured_probabilities

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
    monkeypatch.setattr("trueodds.numerics.structured_softmax.blocks.CHUNK", chunk)
    rows, design, theta = design_and_theta(layout)

    def probabilities(theta):
        return np.exp(log_softmax_columns(design.offset + design.predictor(theta)))

    def slope(theta):
        return -design.gradient(rows.counts - rows.weight * probabilities(theta))

    expected = slope_by_differences(slope, theta)
    found = design.hessian(probabilities(theta), rows.weight)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


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
