"""Counting scores in cells without sorting them."""

import numpy as np
import pytest
from scipy.special import expit

from trueodds.kernels.score_cells import count_in_cells


def sample(n=20_000):
    rng = np.random.default_rng(0)
    z = rng.normal(0, 6, n)
    return z, (rng.random(n) < expit(z)).astype(np.intp)


@pytest.mark.parametrize("is_probability", [True, False])
def test_nothing_is_lost_and_cells_are_narrow(is_probability):
    z, positive = sample()
    score = expit(z) if is_probability else z
    count, hits, total = count_in_cells(score, positive, is_probability, 6.0)
    assert count.sum() == len(score)
    assert hits.sum() == positive.sum()
    np.testing.assert_allclose(total.sum(), score.sum())
    # A score is never far from the mean of its cell, on the axis of log-odds.
    means = np.sort(total[count > 0] / count[count > 0])
    if is_probability:
        means, score = np.log(means / (1 - means)), z
    place = np.clip(np.searchsorted(means, score), 1, len(means) - 1)
    gap = np.minimum(np.abs(score - means[place]), np.abs(score - means[place - 1]))
    near = np.abs(score) < 12
    assert gap[near].max() < (0.02 if is_probability else 0.3)


def test_the_ends_have_a_place():
    score = np.array([0.0, 5e-324, 0.5, 1 - 2**-53, 1.0])
    count, hits, _ = count_in_cells(score, np.array([0, 0, 1, 1, 1]), True, 1.0)
    assert count.sum() == 5
    assert hits.sum() == 3
    count, _, _ = count_in_cells(np.array([-1e308, 0.0, 1e308]), np.zeros(3, np.intp), False, 1.0)
    assert sorted(count[count > 0]) == [1.0, 1.0, 1.0]


def test_every_tail_has_a_cell_of_its_own_level():
    """Tails that are just below a power of 1/64 once shared cells with much smaller ones, and the
    last of them lay outside the table."""
    tails = 0.99 * 64.0 ** -np.arange(1, 7)
    near = 0.06 * 64.0 ** -np.arange(1, 7)
    score = np.concatenate([tails, near, 1 - tails, 1 - near])
    count, _, _ = count_in_cells(score, np.zeros(len(score), np.intp), True, 1.0)
    assert count.sum() == len(score)
    assert count.max() == 1
