"""Logistic, temperature and beta calibration: the conditions of an optimum, and known limits."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from trueodds.numerics.log_odds import LogOddsRows
from trueodds.numerics.logistic_regression import LogOddsFit, fit_finite

LN2 = np.log(2)
DESIGNS = ["temperature", "logistic", "beta", "beta_half"]
every_design = pytest.mark.parametrize("design", DESIGNS)


def sample(kind="rises", n=300, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(0, 2, n)
    eta = {
        "rises": 0.5 * z + 0.4,
        "falls": 0.3 - 0.5 * z,
        "rises below": np.where(z < 0, 0.9 * z, -0.3 * z),
        "rises above": np.where(z < 0, -0.3 * z, 0.9 * z),
    }[kind]
    weight = rng.integers(1, 4, n)
    n_pos = rng.binomial(weight, expit(eta)).astype(float)
    return LogOddsRows(z, weight - n_pos, n_pos)


def gradient(rows, a, b, c):
    """By a, b and c, per unit of weight; written with ln p and ln(1 − p) themselves."""
    first, second = log_expit(rows.z), -log_expit(-rows.z)
    residual = (rows.n_neg + rows.n_pos) * expit(a * first + b * second + c) - rows.n_pos
    return np.array([residual @ first, residual @ second, residual.sum()]) / rows.total


def free_gradient(rows, fit, design):
    """By the coefficients that the design leaves free, the constant last if there is one."""
    by_a, by_b, by_c = gradient(rows, fit.a, fit.b, fit.c)
    return {
        "temperature": [by_a + by_b],
        "logistic": [by_a + by_b, by_c],
        "beta": [by_a, by_b, by_c],
        "beta_half": [by_a + LN2 * by_c, by_b - LN2 * by_c],
    }[design]


def loss(rows, fit):
    eta = fit.at(rows.z)
    return (rows.n_neg @ np.logaddexp(0, eta) + rows.n_pos @ np.logaddexp(0, -eta)) / rows.total


@pytest.mark.parametrize(("a", "b"), [(0.7, 0.7), (0.7, 0.2), (0.0, 1.0)])
def test_fitted_log_odds_are_those_of_the_formula(a, b):
    fit = LogOddsFit(a, b, 0.3)
    p = np.array([0.01, 0.5, 0.9])
    z = np.log(p / (1 - p))
    expected = a * np.log(p) - b * np.log(1 - p) + 0.3
    np.testing.assert_allclose(fit.at(z), expected, rtol=1e-14)
    assert fit(float(z[2])) == pytest.approx(expected[2], rel=1e-14)
    assert fit(-1e5) == pytest.approx(-1e5 * a + 0.3)  # no overflow, no NaN


@every_design
@pytest.mark.parametrize("kind", ["rises", "falls", "rises below", "rises above"])
def test_the_gradient_vanishes_where_nothing_is_constrained(kind, design):
    rows = sample(kind)
    fit = fit_finite(rows, design, nonnegative=False)
    assert fit.converged
    assert not fit.separable
    assert not fit.eliminated
    assert np.abs(free_gradient(rows, fit, design)).max() < 1e-12


@every_design
@pytest.mark.parametrize("kind", ["rises", "falls", "rises below", "rises above"])
def test_the_conditions_of_karush_kuhn_and_tucker_hold_under_the_constraint(kind, design):
    rows = sample(kind)
    fit = fit_finite(rows, design, nonnegative=True)
    by = np.array(free_gradient(rows, fit, design))
    coef = np.array([fit.a, fit.b]) if design.startswith("beta") else np.array([fit.a])
    by_coef, by_constant = by[: len(coef)], by[len(coef) :]
    assert (coef >= 0).all()
    assert (by_coef > -1e-12).all()
    assert np.abs(by_coef[coef > 0]).max(initial=0) < 1e-12
    assert np.abs(by_constant).max(initial=0) < 1e-12
    free = fit_finite(rows, design, nonnegative=False)
    assert fit.eliminated == (min(free.a, free.b) < 0)


def test_each_of_the_two_coefficients_is_eliminated_in_some_sample():
    assert fit_finite(sample("rises below"), "beta", nonnegative=True).b == 0
    assert fit_finite(sample("rises above"), "beta", nonnegative=True).a == 0


@every_design
@pytest.mark.parametrize("kind", ["rises", "falls", "rises above"])
def test_the_optimum_is_that_of_a_general_solver(kind, design):
    rows = sample(kind)

    def unpack(theta):
        return {
            "temperature": lambda: (theta[0], theta[0], 0.0),
            "logistic": lambda: (theta[0], theta[0], theta[1]),
            "beta": lambda: tuple(theta),
            "beta_half": lambda: (theta[0], theta[1], LN2 * (theta[0] - theta[1])),
        }[design]()

    size = {"temperature": 1, "logistic": 2, "beta": 3, "beta_half": 2}[design]
    n_coef = 2 if design.startswith("beta") else 1

    def objective(theta):
        a, b, c = unpack(theta)
        eta = a * log_expit(rows.z) - b * log_expit(-rows.z) + c
        return -(rows.n_pos @ log_expit(eta) + rows.n_neg @ log_expit(-eta)) / rows.total

    bounds = [(0, None)] * n_coef + [(None, None)] * (size - n_coef)
    found = minimize(objective, np.ones(size), bounds=bounds, options={"ftol": 1e-14, "gtol": 1e-9})
    fit = fit_finite(rows, design, nonnegative=True)
    np.testing.assert_allclose((fit.a, fit.b, fit.c), unpack(found.x), atol=2e-4)
    assert loss(rows, fit) == pytest.approx(found.fun, abs=1e-9)
    assert loss(rows, fit) <= found.fun + 1e-13


@every_design
@pytest.mark.parametrize("nonnegative", [False, True])
def test_the_other_class_has_the_mirrored_fit(design, nonnegative):
    rows = sample("rises above")
    mirrored = LogOddsRows(-rows.z, rows.n_pos, rows.n_neg)
    fit = fit_finite(rows, design, nonnegative=nonnegative)
    other = fit_finite(mirrored, design, nonnegative=nonnegative)
    np.testing.assert_allclose((other.b, other.a, -other.c), (fit.a, fit.b, fit.c), atol=1e-10)


@every_design
def test_weights_are_repetitions_and_the_order_of_rows_does_not_matter(design):
    rows = sample()
    rng = np.random.default_rng(1)
    positives = np.repeat(np.arange(len(rows.z)), rows.n_pos.astype(int))
    negatives = np.repeat(np.arange(len(rows.z)), rows.n_neg.astype(int))
    which = np.concatenate([positives, negatives])
    label = np.arange(len(which)) < len(positives)
    order = rng.permutation(len(which))
    single = LogOddsRows(rows.z[which][order], 1.0 - label[order], label[order].astype(float))
    fit, same = (fit_finite(each, design, nonnegative=True) for each in (rows, single))
    np.testing.assert_allclose((same.a, same.b, same.c), (fit.a, fit.b, fit.c), atol=1e-11)


def test_a_line_through_two_frequencies_has_a_closed_form():
    rows = LogOddsRows(np.array([-2.0, 2.0]), np.array([9.0, 1.0]), np.array([1.0, 3.0]))
    fit = fit_finite(rows, "logistic", nonnegative=False)
    np.testing.assert_allclose(fit.at(rows.z), np.log([1 / 9, 3.0]), rtol=1e-12)


@every_design
def test_separated_classes_are_fitted_to_platts_targets(design):
    z = np.array([-3.0, -2.0, -0.5, 0.7, 1.0, 4.0])
    n_pos = np.array([0.0, 0, 0, 1, 1, 2])
    rows = LogOddsRows(z, (n_pos == 0).astype(float), n_pos)
    fit = fit_finite(rows, design, nonnegative=True)
    assert fit.separable
    positives = np.where(n_pos > 0, n_pos * 5 / 6, 1 / 5)  # 4 positives, 3 negatives
    smoothed = LogOddsRows(z, rows.n_neg + rows.n_pos - positives, positives)
    by = np.array(free_gradient(smoothed, fit, design))
    assert min(fit.a, fit.b) >= 0
    assert np.abs(by).max() < 1e-12 or fit.eliminated
    assert abs(fit.at(z)).max() < 20


@pytest.mark.parametrize(
    ("z", "labels", "anywhere", "at_zero"),
    [
        ([-1.0, 1.0, 2.0, 3.0], [0, 0, 1, 1], True, False),  # a threshold, but not at 0
        ([-2.0, -1.0, 1.0, 2.0], [1, 1, 0, 0], True, True),  # the wrong way round
        ([-2.0, 0.0, 0.0, 2.0], [0, 0, 1, 1], True, True),  # they touch at one score
        ([-2.0, 1.0, 0.5, 2.0], [0, 0, 1, 1], False, False),
        ([0.5, 0.5, 0.5, 0.5], [0, 0, 1, 1], False, False),  # one score parts nothing
        ([-2.0, 1.0, 0.5, 2.0], [1, 1, 1, 1], True, True),  # one class
        ([-2.0, 1.0, 0.5, 2.0], [0, 0, 0, 0], True, True),
    ],
)
def test_what_counts_as_separated(z, labels, anywhere, at_zero):
    n_pos = np.array(labels, dtype=float)
    rows = LogOddsRows(np.array(z), 1 - n_pos, n_pos)
    for design in DESIGNS:
        fit = fit_finite(rows, design, nonnegative=False)
        expected = at_zero if design in ("temperature", "beta_half") else anywhere
        assert fit.separable == expected
        assert np.isfinite(fit.at(rows.z)).all()


def test_log_odds_of_0_leave_the_temperature_alone():
    rows = LogOddsRows(np.zeros(3), np.array([1.0, 2.0, 3.0]), np.ones(3))
    fit = fit_finite(rows, "temperature", nonnegative=True)
    assert (fit.a, fit.b, fit.c) == (1, 1, 0)


@pytest.mark.parametrize(("design", "rate"), [("logistic", None), ("temperature", 0.5)])
def test_scores_that_fall_give_the_frequency_everywhere(design, rate):
    rows = sample("falls")
    fit = fit_finite(rows, design, nonnegative=True)
    assert fit.eliminated
    expected = rows.n_pos.sum() / rows.total if rate is None else rate
    np.testing.assert_allclose(expit(fit.at(rows.z)), expected, rtol=1e-14)


@pytest.mark.parametrize("size", [1e-8, 1e8])
def test_a_slope_is_as_much_larger_as_margins_are_smaller(size):
    rows = sample()
    scaled = LogOddsRows(size * rows.z, rows.n_neg, rows.n_pos)
    for design in ("temperature", "logistic"):
        fit, other = (fit_finite(each, design, nonnegative=True) for each in (rows, scaled))
        assert other.a * size == pytest.approx(fit.a, rel=1e-10)
        assert other.c == pytest.approx(fit.c, rel=1e-10)
