"""What the models are made of.

Step functions against the sum over all binnings, one by one.
"""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import betaln, expit, log_expit

from trueodds.numerics.smooth_curve.cells import LogOddsCells
from trueodds.numerics.smooth_curve.models import (
    EXPECTED_BOUNDARIES,
    Curve,
    fit_steps,
    squash,
    temperature,
)


@pytest.fixture
def cells():
    rng = np.random.default_rng(0)
    z = np.sort(rng.normal(0, 3, 400))
    n_pos = (rng.random(400) < expit(z / 2)).astype(float)
    return LogOddsCells(z, 1 - n_pos, n_pos)


def test_squashing_is_odd_nearly_the_identity_in_the_middle_and_slow_outside():
    z = np.array([-700.0, -0.1, 0.0, 0.1, 700.0])
    np.testing.assert_allclose(squash(z), -squash(-z))
    assert squash(np.array([0.1]))[0] == pytest.approx(0.1, rel=0.02)
    assert squash(np.array([700.0]))[0] < 17


def test_the_temperature_is_the_most_probable(cells):
    spread = cells.mean_and_deviation(cells.z)[1]

    def loss(t):
        eta = np.exp(t) * cells.z
        likelihood = cells.n_pos @ log_expit(eta) + cells.n_neg @ log_expit(-eta)
        return -likelihood + ((t - np.log(2.5 / spread)) / 0.8) ** 2 / 2

    best = minimize_scalar(loss, bounds=(-4, 4), method="bounded", options={"xatol": 1e-9})
    assert np.log(temperature(cells.z, cells)) == pytest.approx(best.x, abs=1e-4)


def test_features_have_mean_0_and_deviation_1_and_are_constant_beyond_the_cells(cells):
    curve = Curve(cells)
    features = curve.features(cells.z)
    np.testing.assert_allclose(
        np.average(features[:, 1:], axis=0, weights=cells.weight), 0, atol=1e-9
    )
    np.testing.assert_allclose(features[:, 1:].std(axis=0), 1)
    ends = curve.features(np.array([-1e5, cells.z[0], cells.z[-1], 1e5]))
    np.testing.assert_array_equal(ends[0], ends[1])
    np.testing.assert_array_equal(ends[2], ends[3])


@pytest.mark.parametrize("length", [0.4, 1.2])
def test_waves_have_the_covariance_of_the_process(cells, length):
    curve = Curve(cells)
    waves = curve.waves(cells.z, length)
    v = cells.quantile
    exact = np.exp(-(((v[:, None] - v) / length) ** 2) / 2)
    np.testing.assert_allclose(waves @ waves.T, exact, atol=0.05)


def test_centers_are_the_scores_their_temperature_and_the_base_rate(cells):
    curve = Curve(cells)
    z = np.array([-20.0, -1.0, 2.0])
    np.testing.assert_allclose(curve.center("unchanged", z)[1:], z[1:])
    assert curve.center("unchanged", z)[0] == max(-8.0, cells.z[0])
    hot = curve.center("temperature", z)
    assert hot[2] / hot[1] == pytest.approx(-2)
    rate = (cells.n_pos.sum() + 0.5) / (cells.total + 1)
    np.testing.assert_allclose(expit(curve.center("base_rate", z)), rate)


def test_literal_scores_of_0_and_1_are_trusted_and_apart_from_the_curve():
    cells = LogOddsCells(np.array([-3.0, 0.0, 2.0]), np.ones(3), np.ones(3), (True, False))
    curve = Curve(cells)
    z = np.array([-9.0, -3.0, -2.9, 2.0])
    np.testing.assert_array_equal(curve.jumps(z), [[1], [1], [0], [0]])
    np.testing.assert_array_equal(curve.center("literal", z), [-8, -8, -2.9, 2])
    np.testing.assert_array_equal(curve.center("unchanged", z), [-3, -3, -2.9, 2])
    assert Curve(LogOddsCells(cells.z, cells.n_neg, cells.n_pos)).jumps(z).shape == (4, 0)


def small_cells():
    z = np.arange(12.0)
    n_neg = np.array([5, 4, 6, 5, 3, 1, 0, 1, 0, 0, 1, 0.0])
    n_pos = np.array([0, 1, 0, 0, 1, 4, 6, 5, 4, 7, 3, 4.0])
    return LogOddsCells(z, n_neg, n_pos)


def every_binning(cells, prior):
    """The log-probability of each binning together with the data."""
    n, share = len(cells), EXPECTED_BOUNDARIES / len(cells)
    for k in range(n):
        for inner in combinations(range(1, n), k):
            starts = np.array([0, *inner])
            neg, pos = np.add.reduceat(cells.n_neg, starts), np.add.reduceat(cells.n_pos, starts)
            likelihood = betaln(pos + prior[1], neg + prior[0]) - betaln(prior[1], prior[0])
            boundaries = k * np.log(share) + (n - 1 - k) * np.log1p(-share)
            yield inner, likelihood.sum() + boundaries


def test_the_evidence_is_the_sum_over_all_binnings():
    cells = small_cells()
    steps = fit_steps(cells)
    terms = np.array([value for _, value in every_binning(cells, steps.prior)])
    assert steps.log_evidence[0] == pytest.approx(np.logaddexp.reduce(terms), abs=1e-9)


def test_drawn_binnings_have_their_posterior_frequencies():
    cells = small_cells()
    steps = fit_steps(cells)
    expected = np.zeros(len(cells))
    for inner, value in every_binning(cells, steps.prior):
        expected[list(inner)] += np.exp(value - steps.log_evidence[0])
    drawn = np.zeros(len(cells))
    for starts in steps.binnings:
        drawn[starts[1:-1]] += 1 / len(steps.binnings)
    np.testing.assert_allclose(drawn, expected, atol=4 * 0.5 / np.sqrt(len(steps.binnings)))


def test_members_jump_where_the_evidence_does():
    n = np.full(40, 1000.0)
    n_pos = np.where(np.arange(40) < 25, 100.0, 900.0)
    cells = LogOddsCells(np.linspace(-4, 4, 40), n - n_pos, n_pos)
    members = fit_steps(cells).members(cells.z, np.array([0.5]))
    assert sum(member.weight for member in members) == pytest.approx(0.5)
    for member in members:
        p = 1 / (1 + np.exp(-member.mean))
        np.testing.assert_allclose(p, n_pos / n, atol=0.02)
        assert np.median(member.deviation) < 0.05
