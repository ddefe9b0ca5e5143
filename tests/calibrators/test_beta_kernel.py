"""The sums of the beta kernel: binned as well as row by row."""

import numpy as np
from scipy.stats import beta

from trueodds.calibrators._kernel import BetaKernel, _two_points


def test_log_odds_are_those_of_the_two_sums_of_densities():
    rng = np.random.default_rng(0)
    p, n_neg, n_pos = rng.random(100), rng.random(100), rng.random(100)
    s = np.array([0.01, 0.3, 0.9])
    density = beta.pdf(s[:, None], p / 0.05 + 1, (1 - p) / 0.05 + 1)
    expected = np.log(density @ n_pos) - np.log(density @ n_neg)
    kernel = BetaKernel(p, n_neg, n_pos, 0.05)
    np.testing.assert_allclose(kernel.log_odds(np.log(s / (1 - s))), expected, rtol=1e-9)


def test_two_points_share_four_moments_with_the_rows_of_their_cell():
    rng = np.random.default_rng(1)
    p, weight = rng.beta(0.3, 0.6, 20_000), rng.random(20_000)
    points, shares = _two_points(p, weight)
    assert len(points) <= 512
    assert (shares > 0).all()
    for k in range(4):
        np.testing.assert_allclose(shares @ points**k, weight @ p**k, rtol=1e-10)
    wave = np.cos(50 * p) @ weight / weight.sum()
    np.testing.assert_allclose(np.cos(50 * points) @ shares / shares.sum(), wave, atol=1e-6)


def test_equal_scores_are_one_point():
    points, shares = _two_points(np.full(3000, 0.25), np.ones(3000))
    np.testing.assert_allclose(points, 0.25, atol=1e-12)
    np.testing.assert_allclose(shares.sum(), 3000)


def test_knots_are_close_where_the_curve_bends():
    rng = np.random.default_rng(2)
    p = rng.random(200)
    y = (rng.random(200) < p).astype(float)
    x, value = BetaKernel(p, 1 - y, y, 0.05).curve()
    assert (np.diff(x) > 0).all()
    middle = (x[1:] + x[:-1]) / 2
    exact = 1 / (1 + np.exp(-BetaKernel(p, 1 - y, y, 0.05).log_odds(middle)))
    linear = 1 / (1 + np.exp(-(value[1:] + value[:-1]) / 2))
    np.testing.assert_allclose(linear, exact, atol=1e-6)
    assert np.diff(x).max() > 4 * np.diff(x).min()
