from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from trueodds.numerics.glm import fit_logistic_model, log_likelihood


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    design = np.column_stack([np.ones(200), rng.normal(size=(200, 2))])
    hit = (rng.random(200) < 1 / (1 + np.exp(-design @ [0.3, 1.0, -0.5]))).astype(float)
    return design, hit, rng.integers(1, 4, 200).astype(float), rng.normal(size=200)


def test_the_optimum_is_that_of_a_general_optimizer(rows):
    design, hit, weight, offset = rows
    found = fit_logistic_model(design, hit, weight, offset)

    def loss(coef):
        return -log_likelihood(offset + design @ coef, hit, weight)

    best = minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-7})
    assert found.converged
    np.testing.assert_allclose(found.coef, best.x, atol=1e-5)
    assert found.log_likelihood == pytest.approx(-best.fun, abs=1e-8)


def test_the_covariance_is_the_inverse_of_the_information(rows):
    design, hit, _, _ = rows
    found = fit_logistic_model(design, hit, np.ones(200))
    p = 1 / (1 + np.exp(-design @ found.coef))
    expected = np.linalg.inv((design * (p * (1 - p))[:, None]).T @ design)
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-8)
    twice = fit_logistic_model(design, hit, np.full(200, 2.0))
    np.testing.assert_allclose(twice.covariance, expected, rtol=1e-8)  # a row is one observation


def test_a_row_may_stand_for_several(rows):
    design, hit, _, _ = rows
    few = np.round(design, 0)
    cells, index = np.unique(few, axis=0, return_inverse=True)
    mass = np.bincount(index).astype(float)
    share = np.bincount(index, hit) / mass
    of_rows = fit_logistic_model(few, hit, np.ones(200))
    of_cells = fit_logistic_model(cells, share, mass, squares=mass)
    np.testing.assert_allclose(of_cells.coef, of_rows.coef, atol=1e-9)
    np.testing.assert_allclose(of_cells.covariance, of_rows.covariance, rtol=1e-7)


def test_separated_rows_have_no_optimum():
    design = np.column_stack([np.ones(4), [-2.0, -1.0, 1.0, 2.0]])
    assert not fit_logistic_model(design, np.array([0, 0, 1, 1.0]), np.ones(4)).converged


def test_columns_that_repeat_each_other_are_no_obstacle(rows):
    design, hit, weight, _ = rows
    double = np.column_stack([design, design[:, 1]])
    found = fit_logistic_model(double, hit, weight)
    expected = fit_logistic_model(design, hit, weight)
    np.testing.assert_allclose(double @ found.coef, design @ expected.coef, atol=1e-8)


def test_infinite_log_odds_that_were_right_count_nothing():
    eta, hit = np.array([-np.inf, np.inf, 0.0]), np.array([0.0, 1.0, 1.0])
    assert log_likelihood(eta, hit, np.ones(3)) == pytest.approx(-np.log(2))
    assert log_likelihood(-eta, hit, np.ones(3)) == -np.inf


def test_weights_and_offsets_of_any_size_have_the_same_optimum_without_a_warning(rows):
    design, hit, weight, offset = rows
    expected = fit_logistic_model(design, hit, weight, offset)
    for factor in (2.0**600, 2.0**-600):
        found = fit_logistic_model(design, hit, weight * factor, offset)
        np.testing.assert_array_equal(found.coef, expected.coef)
        np.testing.assert_array_equal(found.covariance, expected.covariance)
    # Of two equal rows one happened, so the intercept undoes their log-odds.
    for z in (-690.0, -300.0, 200.0, 650.0):
        both = fit_logistic_model(np.ones((2, 1)), np.array([0.0, 1.0]), np.ones(2), np.full(2, z))
        assert both.coef[0] == pytest.approx(-z)
