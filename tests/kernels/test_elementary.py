"""Exponentials and logarithms of many numbers, against 60 digits; sums, against exact ones."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import betaln, expit, ndtr

from trueodds.kernels.elementary import (
    add_column_moments,
    add_weighted_rows,
    exp_in_place,
    log_beta_into,
    log_in_place,
    log_odds_into,
    normal_cdf_in_place,
    sigmoid_and_softplus_into,
    sigmoid_in_place,
)

RNG = np.random.default_rng(0)


def in_place(function, numbers):
    found = np.array(numbers, dtype=float)
    function(found)
    return found


def units_off(found, numbers, exact):
    """How far results are from those of Decimal, in units in the last place."""
    with localcontext() as context:
        context.prec = 60
        return max(
            abs(Decimal(float(f)) - exact(Decimal(float(x)))) / Decimal(float(np.spacing(abs(f))))
            for f, x in zip(found, numbers, strict=True)
        )


@pytest.mark.parametrize("scale", [1e-8, 0.3, 5.0, 300.0])
def test_exponentials_are_right_to_one_unit_in_the_last_place(scale):
    x = np.clip(RNG.normal(0, scale, 500), -708, 708)
    assert units_off(in_place(exp_in_place, x), x, Decimal.exp) <= 1


@pytest.mark.parametrize("low", [5e-324, 1e-310, 1e-300, 1e-5, 0.6, 0.999])
def test_logarithms_are_right_to_one_unit_in_the_last_place(low):
    x = np.exp(RNG.uniform(np.log(low), -np.log(low) if low > 1e-305 else 0, 500))
    x = x[x != 1]
    assert units_off(in_place(log_in_place, x), x, Decimal.ln) <= 1


def test_ends_have_their_values():
    assert in_place(exp_in_place, [0.0, -0.0]).tolist() == [1.0, 1.0]
    assert in_place(log_in_place, [0.0, 1.0, np.inf]).tolist() == [-np.inf, 0.0, np.inf]


@given(st.floats(709, np.inf))
def test_exponents_beyond_the_limit_count_as_the_limit(x):
    np.testing.assert_allclose(in_place(exp_in_place, [x, -x]), np.exp([708.0, -708.0]), rtol=1e-15)


@given(st.lists(st.floats(0, np.inf), min_size=1, max_size=9))
def test_a_number_has_the_same_logarithm_wherever_it_stands(numbers):
    # Several are worked on at once, and what is left over one by one.
    assert in_place(log_in_place, numbers).tolist() == [
        in_place(log_in_place, [x])[0] for x in numbers
    ]


def test_logarithms_increase_over_neighbors():
    x = 0.5**0.5 * (1 + np.arange(-500, 500) * 2.0**-52)
    assert (np.diff(in_place(log_in_place, x)) >= 0).all()


@pytest.mark.parametrize("n", [1, 3, 4, 5, 8, 30])
def test_moments_of_columns_are_added(n):
    begin, columns = 2, RNG.normal(size=(2, 40))
    u, v, origins = RNG.random(40), RNG.normal(size=40), np.array([0.3, -5.0])
    sums = np.ones((3, 3))
    add_column_moments(columns, begin, u, v, n, origins, sums)
    for a in range(2):
        d = columns[a, begin : begin + n] - origins[a]
        exact = [math.fsum(u[:n] * d), math.fsum(u[:n] * d * d), math.fsum(v[:n] * d)]
        np.testing.assert_allclose(sums[a], 1 + np.array(exact), rtol=1e-13)
    exact = [1 + math.fsum(u[:n]), 1 + math.fsum(v[:n]), 1.0]
    np.testing.assert_allclose(sums[2], exact, rtol=1e-13)


@pytest.mark.parametrize("n", [1, 511, 513, 1500])
def test_log_odds_are_logarithms_of_exact_ratios(n):
    p = RNG.random(n)
    p[::7], p[::11] = 5e-324, 1 - 2.0**-53  # what is rare is worked out apart, block by block
    z = np.empty(n)
    log_odds_into(p, z)
    assert z.tolist() == in_place(log_in_place, p / (1 - p)).tolist()
    log_odds_into(np.array([0.0, 1.0]), z := np.empty(2))
    assert z.tolist() == [-np.inf, np.inf]


def test_sigmoids_are_right_and_never_0_or_1():
    z = np.append(RNG.normal(0, 9, 500), [-np.inf, -800, 800, np.inf])
    found = in_place(sigmoid_in_place, z)
    np.testing.assert_allclose(found[:500], 1 / (1 + np.exp(-z[:500])), rtol=1e-15)
    assert ((found > 0) & (found < 1)).all()


def test_the_normal_distribution_function_is_that_of_scipy():
    x = np.linspace(-8, 8, 99)
    np.testing.assert_allclose(in_place(normal_cdf_in_place, x), ndtr(x), rtol=0, atol=2e-16)


@pytest.mark.parametrize("first", [0, 3])
@pytest.mark.parametrize("count", [0, 1, 4, 7])
def test_weighted_rows_are_added_from_a_column_on(first, count):
    x, t, y = RNG.normal(size=(8, 11)), RNG.normal(size=8), RNG.normal(size=11)
    expected = y.copy()
    expected[first:] += t[:count] @ x[:count, first:]
    add_weighted_rows(x, first, t, count, y)
    np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-14)


def test_forecasts_and_softplus_keep_their_digits_at_both_ends():
    z = np.concatenate([RNG.normal(0, 5, 1000), [-700.0, -40.0, 0.0, 40.0, 700.0]])
    p, softplus = np.empty((2, len(z)))
    sigmoid_and_softplus_into(z, p, softplus)
    np.testing.assert_allclose(p, expit(z), rtol=1e-15)
    np.testing.assert_allclose(softplus, np.logaddexp(0, z), rtol=1e-15, atol=3e-16)


def test_log_betas_of_small_and_large_numbers():
    x, y = np.exp(RNG.uniform(-25, 15, (2, 3000)))
    found = np.empty(3000)
    log_beta_into(x, y, found, 3000)
    assert (abs(found - betaln(x, y)) <= 1e-12 + 1e-14 * (x + y)).all()
