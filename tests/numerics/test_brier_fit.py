"""Least squares on the log-odds axis: a minimum, and never worse than maximum likelihood."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from trueodds.numerics.log_odds import LogOddsRows
from trueodds.numerics.logistic_regression import (
    fit_finite,
    fit_finite_brier,
    fit_log_odds,
    squared_error,
)
from trueodds.rows import Rows

from .test_finite_fit import sample

LN2 = np.log(2)
KINDS = ["rises", "falls", "rises below", "rises above"]
every_design = pytest.mark.parametrize("design", ["temperature", "logistic", "beta", "beta_half"])


def gradient(rows, fit, design):
    """Of the Brier score by what the design leaves free, the constant last if there is one."""
    first, second = log_expit(rows.z), -log_expit(-rows.z)
    p = expit(fit.a * first + fit.b * second + fit.c)
    terms = 2 * (rows.weight * p - rows.n_pos) * p * (1 - p) / rows.total
    by_a, by_b, by_c = terms @ first, terms @ second, terms.sum()
    return np.array(
        {
            "temperature": [by_a + by_b],
            "logistic": [by_a + by_b, by_c],
            "beta": [by_a, by_b, by_c],
            "beta_half": [by_a + LN2 * by_c, by_b - LN2 * by_c],
        }[design]
    )


def brier(rows, a, b, c):
    p = expit(a * log_expit(rows.z) - b * log_expit(-rows.z) + c)
    return (rows.n_neg @ p**2 + rows.n_pos @ (1 - p) ** 2) / rows.total


def test_the_squared_error_is_the_brier_score_but_for_the_variance_within_rows():
    rows = sample()
    designs = ("beta", "logistic")
    beta, logistic = (fit_finite(rows, design, nonnegative=False) for design in designs)
    gap = brier(rows, beta.a, beta.b, beta.c) - brier(rows, logistic.a, logistic.b, logistic.c)
    found = squared_error(rows, beta) - squared_error(rows, logistic)
    assert found == pytest.approx(gap, abs=1e-15)


@every_design
@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_vanishes_where_nothing_is_constrained(kind, design):
    rows = sample(kind)
    fit = fit_finite_brier(rows, design, nonnegative=False)
    assert fit.converged
    assert not fit.separable
    assert np.abs(gradient(rows, fit, design)).max() < 1e-12


@every_design
@pytest.mark.parametrize("kind", KINDS)
def test_the_conditions_of_karush_kuhn_and_tucker_hold_under_the_constraint(kind, design):
    rows = sample(kind)
    fit = fit_finite_brier(rows, design, nonnegative=True)
    coef = np.array([fit.a, fit.b]) if design.startswith("beta") else np.array([fit.a])
    by = gradient(rows, fit, design)
    by_coef, by_constant = by[: len(coef)], by[len(coef) :]
    assert (coef >= 0).all()
    assert (by_coef > -1e-12).all()
    assert np.abs(by_coef[coef > 0]).max(initial=0) < 1e-12
    if not (fit.a == fit.b == 0):  # a constant has the frequency, also the least squares' optimum
        assert np.abs(by_constant).max(initial=0) < 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_no_other_start_of_a_general_solver_finds_a_better_place(kind):
    rows = sample(kind)
    fit = fit_finite_brier(rows, "beta", nonnegative=True)
    rng = np.random.default_rng(1)
    bounds = [(0, 30), (0, 30), (-30, 30)]
    found = [
        minimize(lambda t: brier(rows, *t), rng.uniform([0, 0, -2], [3, 3, 2]), bounds=bounds).fun
        for _ in range(4)
    ]
    assert brier(rows, fit.a, fit.b, fit.c) <= min(found) + 1e-9


@pytest.mark.slow
@every_design
@pytest.mark.parametrize("n", [2, 3, 6, 12, 40, 200])
def test_the_brier_score_is_never_worse_than_that_of_maximum_likelihood(n, design):
    better = 0
    for seed in range(25):
        for kind in KINDS:
            rows = sample(kind, n, seed)
            for nonnegative in (False, True):
                likeliest = fit_finite(rows, design, nonnegative=nonnegative)
                if likeliest.separable:
                    continue
                fit = fit_finite_brier(rows, design, nonnegative=nonnegative)
                assert squared_error(rows, fit) <= squared_error(rows, likeliest)
                better += squared_error(rows, fit) < squared_error(rows, likeliest) - 1e-9
    assert better > 10 or n < 12


@pytest.mark.slow
def test_saturated_scores_and_smoothed_labels_are_never_worse_either():
    rng = np.random.default_rng(0)
    for seed in range(30):
        n = 30 + 10 * seed
        p = rng.beta(0.3, 0.3, n)
        p[rng.random(n) < 0.2] = 0.0
        p[rng.random(n) < 0.2] = 1.0
        y = (rng.random(n) < 0.15 + 0.7 * p).astype(np.int8)
        evidence = Rows(p, y, label_smoothing=None if seed % 2 else 0.1)
        errors = []
        for loss in ("brier", "log"):
            fit = fit_log_odds(
                evidence, scale="probability", design="beta", nonnegative=True, loss=loss
            )
            with np.errstate(divide="ignore"):
                z = np.log(p / (1 - p))
            low, high = evidence.targets
            target = np.where(y == 1, high, low)
            forecast = expit(fit.at(np.clip(z, fit.lower, fit.upper)))
            errors.append(np.mean((forecast - target) ** 2))
        assert errors[0] <= errors[1] + 1e-15


def test_saturated_scores_get_their_own_frequency():
    rng = np.random.default_rng(3)
    p = np.concatenate([rng.uniform(0.05, 0.95, 400), np.zeros(98), np.ones(98)])
    y = np.concatenate([rng.random(400) < p[:400], np.arange(98) < 1, np.arange(98) > 1])
    fit = fit_log_odds(Rows(p, y.astype(np.int8)), scale="probability", design="beta", loss="brier")
    ends = expit([fit(fit.lower), fit(fit.upper)])
    np.testing.assert_allclose(ends, [2 / 100, 97 / 100], atol=1e-9)


@every_design
def test_the_other_class_has_the_mirrored_fit_and_weights_are_repetitions(design):
    rows = sample("rises above")
    mirrored = LogOddsRows(-rows.z, rows.n_pos, rows.n_neg)
    which = np.repeat(np.arange(len(rows.z)), rows.weight.astype(int))
    first = np.concatenate([[0], np.cumsum(rows.weight.astype(int))[:-1]])
    label = (np.arange(len(which)) - first[which] < rows.n_pos[which]).astype(float)
    single = LogOddsRows(rows.z[which], 1 - label, label)
    fit, other, same = (
        fit_finite_brier(each, design, nonnegative=True) for each in (rows, mirrored, single)
    )
    np.testing.assert_allclose((other.b, other.a, -other.c), (fit.a, fit.b, fit.c), atol=1e-10)
    np.testing.assert_allclose((same.a, same.b, same.c), (fit.a, fit.b, fit.c), atol=1e-10)


def test_frequencies_that_the_curve_can_have_are_left_to_it():
    rows = LogOddsRows(np.array([-2.0, 2.0]), np.array([9.0, 1.0]), np.array([1.0, 3.0]))
    fit = fit_finite_brier(rows, "logistic", nonnegative=False)
    np.testing.assert_allclose(expit(fit.at(rows.z)), [0.1, 0.75], rtol=1e-12)


def test_a_slope_that_would_run_off_to_infinity_is_held_by_platts_targets():
    """All but one row are separated: the likelihood still has an optimum, squares have none."""
    z = np.concatenate([np.linspace(-3, -0.5, 20), np.linspace(0.5, 3, 20)])
    n_pos = (z > 0).astype(float)
    n_pos[12] = 1.0
    rows = LogOddsRows(z, 1 - n_pos, n_pos)
    likeliest = fit_finite(rows, "logistic", nonnegative=True)
    assert not likeliest.separable
    fit = fit_finite_brier(rows, "logistic", nonnegative=True)
    assert fit.separable
    assert likeliest.a < fit.a < 100
    assert squared_error(rows, fit) < squared_error(rows, likeliest)


def test_many_rows_are_compressed_without_changing_the_fit():
    rng = np.random.default_rng(0)
    p = rng.beta(0.6, 0.8, 70_000)
    y = (rng.random(70_000) < 0.1 + 0.7 * p).astype(np.int8)
    options = {"scale": "probability", "design": "beta", "nonnegative": True, "loss": "brier"}
    many = fit_log_odds(Rows(p, y), **options)
    z = np.log(p / (1 - p))
    direct = fit_finite_brier(LogOddsRows(z, 1.0 - y, y * 1.0), "beta", nonnegative=True)
    np.testing.assert_allclose((many.a, many.b, many.c), (direct.a, direct.b, direct.c), rtol=1e-7)
