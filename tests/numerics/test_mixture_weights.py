"""Weights of a mixture by maximum likelihood."""

import numpy as np
import pytest
from scipy.optimize import minimize

from trueodds.numerics.mixture_weights import mixture_weights


def test_members_that_were_right_in_turn_get_their_frequencies():
    p = np.eye(3)[[0, 0, 1, 2]]
    found = mixture_weights(p, np.array([1.0, 3.0, 2.0, 4.0]))
    np.testing.assert_allclose(found, [0.4, 0.2, 0.4], atol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_no_other_weights_are_more_likely(seed):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 0.7, (200, 4)) * rng.random(4)
    counts = rng.random(200)
    found = mixture_weights(p, counts)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1)

    def loss(w):
        return -counts @ np.log(p @ w)

    constraint = {"type": "eq", "fun": lambda w: w.sum() - 1}
    other = minimize(
        loss, np.full(4, 0.25), method="SLSQP", bounds=[(0, 1)] * 4, constraints=constraint
    )
    assert loss(found) <= other.fun + 1e-6
    slope = p.T @ (counts / (p @ found)) / counts.sum()
    assert (slope <= 1 + 1e-6).all()  # no member would gain by more weight
    np.testing.assert_allclose(slope[found > 0], 1, atol=1e-5)


def test_members_that_say_the_same_are_no_obstacle():
    p = np.repeat(np.array([[0.2], [0.7]]), 3, axis=1)
    assert mixture_weights(p, np.ones(2)).sum() == pytest.approx(1)


def test_a_member_that_says_impossible_of_something_seen_is_no_obstacle():
    found = mixture_weights(np.array([[0.0, 0.5], [1.0, 0.5]]), np.array([1.0, 1000.0]))
    assert 0.99 < found[0] < 1
