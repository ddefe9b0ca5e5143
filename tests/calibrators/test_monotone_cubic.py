"""The increasing cubic beside scipy's, and points that leave no room between them."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.interpolate import PchipInterpolator

from trueodds.calibrators._smooth_isotonic import monotone_cubic

STEPS = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=12)


@given(STEPS, STEPS, st.sampled_from([1e-3, 1e-5]))
def test_lines_are_within_the_tolerance_of_scipys_curve(widths, rises, tolerance):
    n = min(len(widths), len(rises)) + 1
    x = np.append(0.0, np.cumsum(widths))[:n]
    y = np.append(0.0, np.cumsum(rises))[:n]
    y /= y[-1]
    knots, values = monotone_cubic(x, y, tolerance)
    places = np.linspace(x[0], x[-1], 2001)
    lines = np.interp(places, knots, values)
    reference = PchipInterpolator(x, y)(places)
    np.testing.assert_allclose(lines, reference, rtol=0, atol=1.001 * tolerance)


def test_knots_are_no_more_than_the_tolerance_asks_for():
    x = np.linspace(0, 1, 6)
    y = x**2
    knots, values = monotone_cubic(x, y, 1e-5)
    middle = (knots[1:] + knots[:-1]) / 2
    missed = np.abs(PchipInterpolator(x, y)(middle) - (values[1:] + values[:-1]) / 2)
    assert missed.max() > 0.3e-5
    assert len(knots) < 250


def test_the_points_are_among_the_knots():
    x, y = np.array([-1.0, 0.1, 0.3, 2.0]), np.array([0.0, 0.2, 0.9, 1.0])
    knots, values = monotone_cubic(x, y, 1e-6)
    places = np.searchsorted(knots, x)
    np.testing.assert_array_equal(knots[places], x)
    np.testing.assert_array_equal(values[places], y)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_up_to_two_points_are_left_as_they_are(n):
    x, y = np.arange(n, dtype=float), np.linspace(0, 1, n)
    for found, given_ in zip(monotone_cubic(x, y, 1e-5), (x, y), strict=True):
        np.testing.assert_array_equal(found, given_)


@pytest.mark.parametrize(
    "x",
    [
        [0.0, 5e-324, 1e-323, 1e-300, 0.5, np.nextafter(0.5, 1), 1.0],
        [-(2.0**1020), -1.0, 0.0, 1e-320, 1e-5, 1.0, 2.0**1020],
        np.nextafter(1.0, 0.0) - np.arange(7)[::-1] * 2.0**-53,
    ],
)
@pytest.mark.parametrize(
    "y", [np.linspace(0, 1, 7), [0.0, 5e-324, 1e-300, 0.5, 0.9, 1 - 2**-53, 1]]
)
def test_points_at_the_limits_of_float64_give_an_increasing_curve_through_them(x, y):
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    with np.errstate(all="raise", under="ignore"):
        knots, values = monotone_cubic(x, y, 1e-5)
    assert (np.diff(knots) > 0).all()
    assert (np.diff(values) >= 0).all()
    assert np.isfinite(values).all()
    np.testing.assert_array_equal(values[np.searchsorted(knots, x)], y)
