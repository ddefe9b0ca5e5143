from __future__ import annotations

import numpy as np
import pytest

from support import naive_validation as naive
from trueodds.numerics.local_regression import LocalRegression


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    x = np.sort(rng.beta(0.6, 1.5, 120))
    return x, rng.random(120)


@pytest.mark.parametrize("span", [0.2, 0.75])
def test_values_are_those_of_one_least_squares_fit_for_each_place(points, span):
    x, y = points
    at = np.linspace(0, 1, 37)
    found = LocalRegression(x, np.ones(120), span=span).fit(y, at).value
    inside = slice(3, 30)  # beyond the points a parabola is nearly free
    np.testing.assert_allclose(
        found[inside], naive.loess(x, y, at, span, powers=(3, 3))[inside], atol=1e-8
    )


def test_a_parabola_is_kept_and_so_is_its_slope(points):
    x, _ = points
    fit = LocalRegression(x, np.ones(120)).fit(3 * x**2 - x, np.array([0.1, 0.4]))
    np.testing.assert_allclose(fit.value, [3 * 0.01 - 0.1, 3 * 0.16 - 0.4], atol=1e-10)
    np.testing.assert_allclose(fit.slope, [6 * 0.1 - 1, 6 * 0.4 - 1], atol=1e-9)


def test_weights_are_repetitions(points):
    x, y = points
    weight = np.random.default_rng(1).integers(1, 4, 120)
    at = np.array([0.05, 0.2, 0.6])
    plain = LocalRegression(np.repeat(x, weight), np.ones(weight.sum()))
    weighted = LocalRegression(x, weight.astype(float))
    np.testing.assert_array_equal(weighted.bandwidth(at), plain.bandwidth(at))
    expected = plain.fit(np.repeat(y, weight), at).value
    np.testing.assert_allclose(weighted.fit(y, at).value, expected, atol=1e-10)


def test_the_bandwidth_is_the_distance_to_the_last_neighbor(points):
    x, _ = points
    at = np.array([0.0, 0.3, 1.0])
    found = LocalRegression(x, np.ones(120), span=0.5).bandwidth(at)
    expected = [np.sort(np.abs(x - place))[59] for place in at]
    np.testing.assert_array_equal(found, expected)


def test_the_variance_is_that_of_the_linear_operator(points):
    x, _ = points
    local = LocalRegression(x, np.ones(120))
    at = np.array([0.1, 0.5])
    noise = np.linspace(0.1, 0.3, 120)
    operator = np.stack([local.fit(row, at).value for row in np.eye(120)], axis=1)
    np.testing.assert_allclose(local.fit(x, at, noise).variance, operator**2 @ noise)


def test_ties_and_few_points_have_finite_answers():
    same = LocalRegression(np.full(6, 0.4), np.ones(6))
    assert same.fit(np.array([0, 0, 0, 1, 1, 1.0]), np.array([0.4])).value == pytest.approx(0.5)
    two = LocalRegression(np.array([0.2, 0.2, 0.8, 0.8]), np.ones(4), span=1.0)
    found = two.fit(np.array([0, 1, 1, 1.0]), np.array([0.2, 0.8])).value
    np.testing.assert_allclose(found, [0.5, 1.0], atol=1e-9)


def test_another_kernel_weighs_otherwise(points):
    x, y = points
    at = np.array([0.3])
    local = LocalRegression(x, np.ones(120), kernel="epanechnikov", degree=0)
    u = (x - 0.3) / local.bandwidth(at)[0]
    weight = np.maximum(1 - u**2, 0)
    assert local.fit(y, at).value[0] == pytest.approx(weight @ y / weight.sum())
