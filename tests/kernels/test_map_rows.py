"""Maps of one score in one pass, against formulas in NumPy and scipy."""

import numpy as np
import pytest
from scipy.special import expit, log_expit, logit

from trueodds.kernels.maps import (
    apply_charcoal_grill,
    apply_log_odds,
    apply_log_odds_curve,
    apply_piecewise_linear,
    apply_steps,
)

INF = np.inf
PROBABILITIES = np.concatenate(
    [[0.0, 5e-324, 1e-300, 1e-16, 1 - 2**-53, 1.0], np.linspace(0.001, 0.999, 200)]
)
LOG_ODDS = np.concatenate([[-INF, -1e300, -800, 0.0, 800, 1e300, INF], np.linspace(-9, 9, 99)])


def applied(kernel, scores, *arguments):
    out = np.full(len(scores), np.nan)
    kernel(scores, out, *arguments)
    return out


def applied_log_odds(scores, *arguments):
    return applied(apply_log_odds, scores, np.full(len(scores), np.nan), *arguments)


@pytest.mark.parametrize(("a", "c"), [(1.0, 0.0), (0.3, -2.0), (-1.5, 0.5)])
@pytest.mark.parametrize(("lower", "upper"), [(-INF, INF), (-3.0, 2.0)])
def test_one_slope_is_logistic_in_the_log_odds(a, c, lower, upper):
    for scores, z in ((PROBABILITIES, logit(PROBABILITIES)), (LOG_ODDS, LOG_ODDS)):
        found = applied_log_odds(scores, scores is PROBABILITIES, a, a, c, lower, upper)
        np.testing.assert_allclose(
            found, expit(a * np.clip(z, lower, upper) + c), rtol=1e-13, atol=1e-300
        )
        assert ((found > 0) & (found < 1)).all()


@pytest.mark.parametrize(("a", "b", "c"), [(1.0, 2.0, 0.3), (0.0, 0.7, 0.0), (2.0, 0.0, -1.0)])
@pytest.mark.parametrize(("lower", "upper"), [(-INF, INF), (-3.0, 2.0)])
def test_two_slopes_are_beta_calibration(a, b, c, lower, upper):
    for scores, z in ((PROBABILITIES, logit(PROBABILITIES)), (LOG_ODDS, LOG_ODDS)):
        found = applied_log_odds(scores, scores is PROBABILITIES, a, b, c, lower, upper)
        inside = np.clip(z, lower, upper)
        # A slope of 0 leaves its feature out, even if that is infinite.
        eta = np.full(len(z), c)
        eta += a * log_expit(inside) if a else 0.0
        eta -= b * log_expit(-inside) if b else 0.0
        np.testing.assert_allclose(found, expit(eta), rtol=1e-12, atol=1e-300)
        assert ((found > 0) & (found < 1)).all()


def test_small_rests_keep_their_digits():
    # ln(1 − p) of small p is −p − p²/2, which a plain logarithm of 1 − p would lose.
    p = np.array([1e-12, 1e-9])
    found = applied_log_odds(p, True, 0.0, 1e9, 0.0, -INF, INF)
    np.testing.assert_allclose(found, expit(1e9 * (p + p**2 / 2)), rtol=1e-14)


@pytest.mark.parametrize("n_edges", [0, 1, 2, 3, 4, 7, 8, 33, 1000])
def test_steps_equal_a_search_in_the_edges(n_edges):
    rng = np.random.default_rng(n_edges)
    edges, values = np.sort(rng.normal(size=n_edges)), rng.random(n_edges + 1)
    scores = np.concatenate([rng.normal(size=300), edges, [-INF, INF]])
    out = np.empty(len(scores))
    apply_steps(edges, values, scores, out)
    np.testing.assert_array_equal(out, values[np.searchsorted(edges, scores, side="right")])


@pytest.mark.parametrize("n_knots", [1, 2, 3, 50])
def test_lines_between_finite_knots_equal_numpys(n_knots):
    rng = np.random.default_rng(n_knots)
    x, y = np.sort(rng.normal(size=n_knots)), rng.random(n_knots)
    scores = np.concatenate([rng.normal(size=300), x, [-INF, INF]])
    out = np.empty(len(scores))
    apply_piecewise_linear(x, y, scores, out)
    np.testing.assert_array_equal(out, np.interp(scores, x, y))


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        ([-INF, 0.0, 1.0, INF], [0.1, 0.2, 0.2, 0.3, 0.4, 0.4, 0.5]),
        ([-INF, INF], [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.2]),
        ([-INF], [0.1] * 7),
        ([INF], [0.1] * 7),
    ],
)
def test_infinite_knots_are_points(x, expected):
    y = np.array([0.1, 0.2, 0.4, 0.5])[: len(x)]
    scores = np.array([-INF, -5.0, 0.0, 0.5, 1.0, 5.0, INF])
    out = np.empty(7)
    apply_piecewise_linear(np.array(x), y, scores, out)
    np.testing.assert_allclose(out, expected, rtol=1e-15)


@pytest.mark.parametrize("n_coals", [1, 2, 5])
def test_the_grill_is_a_softmax_of_squared_distances(n_coals):
    rng = np.random.default_rng(n_coals)
    means, temperatures = rng.normal(size=n_coals), rng.uniform(0.5, 3, n_coals)
    widths = rng.uniform(0.3, 2, n_coals)
    z = np.clip(logit(PROBABILITIES), -50, 50)
    weights = -(((z - means[:, None]) / widths[:, None]) ** 2) / 2
    weights = np.exp(weights - weights.max(axis=0))
    field = temperatures @ weights / weights.sum(axis=0)
    arguments = (True, means, temperatures, widths, 0.2, -50.0, 50.0)
    found = applied(apply_charcoal_grill, PROBABILITIES, *arguments)
    np.testing.assert_allclose(found, expit(z / field + 0.2), rtol=1e-12)


@pytest.mark.parametrize("n_knots", [1, 2, 3, 50])
def test_curves_of_log_odds_equal_numpys_interpolation(n_knots):
    rng = np.random.default_rng(n_knots)
    x, y = np.sort(rng.normal(size=n_knots)), rng.normal(0, 5, n_knots)
    for scores, z in ((PROBABILITIES, logit(PROBABILITIES)), (LOG_ODDS, LOG_ODDS)):
        out = np.empty(len(scores))
        apply_log_odds_curve(x, y, scores, out, scores is PROBABILITIES)
        np.testing.assert_allclose(out, expit(np.interp(z, x, y)), rtol=1e-11)


@pytest.mark.parametrize(
    "x",
    [
        np.concatenate([[-700.0], 0.3 + 1e-9 * np.arange(300), [700.0]]),  # one cell has nearly all
        np.array([0.0, 5e-324]),  # so near that cells cannot part them
        np.array([-1.7e308, 0.0, 1.7e308]),  # so far that their distance is no float64
        np.linspace(-8, 8, 1001),
    ],
)
@pytest.mark.parametrize("n_rows", [1, 7, 3000])
def test_a_score_finds_its_knots_wherever_these_are(x, n_rows):
    rng = np.random.default_rng(0)
    y = rng.normal(0, 3, len(x))
    near = rng.choice(x, n_rows)
    scores = np.where(rng.random(n_rows) < 0.5, near, near + rng.normal(0, 1e-8, n_rows))
    out = np.empty(n_rows)
    apply_log_odds_curve(x, y, scores, out, False)
    k = np.searchsorted(x, scores, side="right") - 1
    here = np.clip(k, 0, len(x) - 2)
    with np.errstate(all="ignore"):
        line = y[here] + (scores - x[here]) / (x[here + 1] - x[here]) * (y[here + 1] - y[here])
    expected = np.where(k < 0, y[0], np.where(k == len(x) - 1, y[-1], line))
    np.testing.assert_allclose(out, expit(expected), rtol=1e-11)


def test_the_grill_is_the_same_in_every_block_of_rows():
    means, temperatures, widths = np.array([-1.0, 0.5]), np.array([0.7, 2.0]), np.array([0.4, 1.0])
    z = np.tile([-3e200, -2.0, 0.0, 1.5, 1e160], 300)
    arguments = (False, means, temperatures, widths, 0.1, -INF, INF)
    found = applied(apply_charcoal_grill, z, *arguments)
    assert (found.reshape(300, 5) == found[:5]).all()
    # So far out that squares overflow, the nearest coal is alone: in widths, the second.
    assert found[4] == pytest.approx(1.0)
    assert found[0] == pytest.approx(0.0, abs=1e-300)
