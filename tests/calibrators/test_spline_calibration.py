"""From evidence to the knots of a spline."""

import numpy as np
import pytest

from trueodds.calibrators import _spline
from trueodds.calibrators._spline import _finite_rows, _increasing, _knots, fit_spline
from trueodds.numerics.log_odds import log_odds
from trueodds.rows import Rows

OPTIONS = {"n_knots": 20, "strength": None, "prior_weight": 20.0, "monotone": False}


def evidence(n=500, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.beta(0.6, 0.6, n)
    return Rows(scores, rng.random(n) < scores**2)


def test_compressed_rows_give_the_curve_of_the_rows(monkeypatch):
    some = evidence(5000)
    quick = fit_spline(some, scale="probability", **OPTIONS | {"strength": 1.0})
    monkeypatch.setattr(_spline, "COMPRESS_SCORES_FROM", np.inf)
    exact = fit_spline(some, scale="probability", **OPTIONS | {"strength": 1.0})
    grid = np.linspace(-6, 6, 100)
    np.testing.assert_allclose(
        np.interp(grid, quick.x, quick.y), np.interp(grid, exact.x, exact.y), atol=1e-2
    )


def test_saturated_scores_stand_a_tenth_of_the_range_beyond_the_others():
    z = np.array([np.inf, -2.0, 3.0, -np.inf])
    rows = _finite_rows(Rows(z, np.array([True, False, True, False])), "logit")
    np.testing.assert_allclose(rows.z, [-2.5, -2.0, 3.0, 3.5])
    np.testing.assert_array_equal(rows.n_pos, [0, 0, 1, 1])


def test_knots_are_quantiles_and_never_too_close():
    u = np.sort(np.concatenate([np.linspace(0, 1e-7, 50), np.linspace(0.2, 1, 50)]))
    knots = _knots(u, np.ones(100), 10)
    assert (knots[0], knots[-1]) == (0, 1)
    assert np.diff(knots).min() > 1e-4
    even = _knots(np.linspace(0, 1, 10_001), np.ones(10_001), 5)
    np.testing.assert_allclose(even, [0, 0.25, 0.5, 0.75, 1], atol=1e-3)


def test_a_curve_that_falls_is_levelled_by_the_weight_of_the_data():
    x, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([-0.5, 0.5, 0.0, 1.0])
    u, weight = np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 300.0, 100.0, 1.0])
    found = _increasing(x, y, u, weight)
    assert (np.diff(found) >= 0).all()
    np.testing.assert_allclose(found[[0, 3]], [-0.5, 1.0])
    np.testing.assert_allclose(found[1:3], 0.37, atol=0.01)


@pytest.mark.parametrize("size", [1e-300, 1e-8, 1e8, 1e298])
def test_margins_of_any_size_give_the_same_values(size):
    some = evidence()
    z = log_odds(some.scores, "probability")
    options = OPTIONS | {"prior_weight": 0.0}
    ordinary = fit_spline(Rows(z, some.codes), scale="raw", **options)
    other = fit_spline(Rows(size * z, some.codes), scale="raw", **options)
    np.testing.assert_allclose(
        np.interp(z, other.x / size, other.y), np.interp(z, ordinary.x, ordinary.y), atol=1e-6
    )
