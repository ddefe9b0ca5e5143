"""A mixture of curves: its mean, quantiles and draws agree."""

import numpy as np
import pytest
from scipy.special import expit, ndtri

from trueodds.numerics.smooth_curve.posterior import CurveMember, CurvePosterior


def member(weight, mean, features, factor=None):
    unit = features if factor is None else features @ np.linalg.inv(factor)
    return CurveMember(weight, np.array(mean), np.linalg.norm(unit, axis=1), features, factor)


def mixture():
    rng = np.random.default_rng(0)
    factor = np.array([[2.0, 1.0], [0.0, 0.5]])
    members = (
        member(0.3, [-3.0, 0.0, 2.0], rng.normal(0, 0.3, (3, 4))),
        member(0.7, [-1.0, 0.5, 1.0], rng.normal(0, 0.5, (3, 2)), factor),
    )
    return CurvePosterior(np.array([-1.0, 0.0, 1.0]), np.ones(3), members)


def test_the_mean_and_the_quantiles_are_those_of_many_draws():
    posterior = mixture()
    draws = posterior.draw(40_000, np.random.default_rng(1))
    np.testing.assert_allclose(expit(posterior.log_odds()), expit(draws).mean(axis=0), atol=0.005)
    for share in (0.05, 0.5, 0.95):
        below = (draws < posterior.quantile(share)).mean(axis=0)
        np.testing.assert_allclose(below, share, atol=0.01)


def test_one_member_has_the_quantiles_of_the_normal_law():
    one = member(1.0, [1.0], np.array([[3.0, 4.0]]))
    posterior = CurvePosterior(np.zeros(1), np.ones(1), (one,))
    assert posterior.quantile(0.9)[0] == pytest.approx(1 + 5 * ndtri(0.9), abs=1e-9)


def test_certain_forecasts_keep_their_digits():
    one = member(1.0, [-100.0, 100.0], np.zeros((2, 1)))
    posterior = CurvePosterior(np.array([0.0, 1.0]), np.ones(2), (one,))
    np.testing.assert_allclose(posterior.log_odds(), [-100, 100], rtol=1e-12)
