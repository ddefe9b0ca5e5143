"""Natural cubic splines against scipy's, and their penalty against an integral."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.interpolate import CubicSpline

from trueodds.numerics.natural_spline import (
    KNOT_SHARES,
    NaturalSpline,
    harrell_knots,
    weighted_quantile,
)

KNOTS = np.array([-3.0, -1.0, -0.9, 0.5, 2.0, 7.0])
VALUES = np.array([0.3, -1.0, -0.7, 2.0, 1.0, 1.5])


def test_values_between_knots_equal_those_of_scipy():
    x = np.linspace(-3, 7, 401)
    expected = CubicSpline(KNOTS, VALUES, bc_type="natural")(x)
    np.testing.assert_allclose(NaturalSpline(KNOTS).basis(x) @ VALUES, expected, atol=1e-12)


def test_beyond_the_knots_it_is_the_line_that_touches_there():
    reference = CubicSpline(KNOTS, VALUES, bc_type="natural")
    found = NaturalSpline(KNOTS).basis(np.array([-5.0, 10.0])) @ VALUES
    slopes = reference(KNOTS[[0, -1]], 1)
    np.testing.assert_allclose(found, VALUES[[0, -1]] + slopes * [-2.0, 3.0])


def test_the_penalty_is_the_integral_of_the_squared_curvature():
    reference = CubicSpline(KNOTS, VALUES, bc_type="natural")
    # The curvature is linear between knots, so Simpson's rule is exact on each interval.
    a, b, m = KNOTS[:-1], KNOTS[1:], (KNOTS[:-1] + KNOTS[1:]) / 2
    squares = [reference(x, 2) ** 2 for x in (a, m, b)]
    expected = ((b - a) / 6 * (squares[0] + 4 * squares[1] + squares[2])).sum()
    np.testing.assert_allclose(VALUES @ NaturalSpline(KNOTS).penalty @ VALUES, expected)


def test_lines_are_not_penalized():
    spline = NaturalSpline(KNOTS)
    np.testing.assert_allclose(spline.penalty @ spline.lines, 0, atol=1e-9)


@pytest.mark.parametrize(("knots", "expected"), [([2.0], [5, 5, 5]), ([0.0, 1.0], [3, 5, 7])])
def test_one_knot_is_a_constant_and_two_are_a_line(knots, expected):
    spline = NaturalSpline(np.array(knots))
    values = np.array([5.0, 7.0])[: len(knots)] if len(knots) == 1 else np.array([5.0, 7.0])
    np.testing.assert_allclose(spline.basis(np.array([-1.0, 0.0, 1.0])) @ values, expected)
    assert not spline.penalty.any()


def test_linear_pieces_stay_within_the_tolerance_unless_they_would_be_too_many():
    spline = NaturalSpline(KNOTS)
    x = spline.linear_knots(VALUES, 1e-4, 10_000)
    assert set(KNOTS) <= set(x)
    fine = np.linspace(-3, 7, 5001)
    linear = np.interp(fine, x, spline.basis(x) @ VALUES)
    error = np.abs(linear - spline.basis(fine) @ VALUES).max()
    assert 1e-5 < error <= 1e-4
    assert len(spline.linear_knots(VALUES, 1e-12, 100)) <= 100


values = st.lists(
    st.tuples(st.floats(-5, 5, allow_subnormal=False), st.integers(1, 4)), min_size=1, max_size=20
)


@given(values, st.floats(0, 1))
def test_quantiles_of_weighted_rows_are_those_of_repeated_rows(rows, share):
    x = np.array([v for v, _ in rows])
    weight = np.array([w for _, w in rows])
    expected = np.quantile(np.repeat(x, weight), share)
    found = weighted_quantile(x, weight.astype(float), np.array([share]))[0]
    assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("n_knots", sorted(KNOT_SHARES))
def test_knots_stand_at_harrells_quantiles(n_knots):
    z = np.random.default_rng(0).normal(size=500)
    found = harrell_knots(z, np.ones(500), n_knots)
    np.testing.assert_allclose(found, np.quantile(z, KNOT_SHARES[n_knots]))


def test_few_rows_have_their_outer_knots_at_the_fifth_from_either_end():
    z = np.arange(60.0)
    found = harrell_knots(z, np.ones(60), 4)
    assert found[[0, -1]].tolist() == [4.0, 55.0]


def test_ties_leave_fewer_knots_but_never_less_than_the_ends():
    z = np.array([0.0] * 995 + [1.0, 2.0, 3.0, 4.0, 5.0])
    assert harrell_knots(z, np.ones(1000), 5).tolist() == [0.0, 5.0]
    z = np.array([0.0] * 97 + [1.0] * 3)
    assert harrell_knots(z, np.ones(100), 5).tolist() == [0.0, 1.0]
    assert harrell_knots(np.zeros(9), np.ones(9), 3).tolist() == [0.0]
