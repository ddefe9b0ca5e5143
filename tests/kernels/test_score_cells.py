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
    assert count.min() > 0
    means = total / count
    assert (np.diff(means) > 0).all()
    # A score is never far from the mean of its cell, on the axis of log-odds.
    if is_probability:
        means, score = np.log(means / (1 - means)), z
    place = np.clip(np.searchsorted(means, score), 1, len(means) - 1)
    gap = np.minimum(np.abs(score - means[place]), np.abs(score - means[place - 1]))
    near = np.abs(score) < 12
    assert gap[near].max() < (0.02 if is_probability else 0.3)


@pytest.mark.parametrize("is_probability", [True, False])
def test_scores_of_different_size_have_cells_of_their_own(is_probability):
    """A cell beyond the last of its level would be one of the next, or of other memory."""
    every_other = (np.arange(64, 4096, 2) + 0.5) / 4096
    tail = np.concatenate([every_other * 64.0**-k for k in range(1, 7)])
    score = np.append(tail, 1 - tail[tail > 1e-9]) if is_probability else (0.5 / tail - 1)
    count, _, _ = count_in_cells(score, np.ones(len(score), np.intp), is_probability, 1.0)
    assert count.sum() == len(score)
    assert count.max() == 1  # no two of these are in one cell


def test_the_ends_have_a_place():
    score = np.array([0.0, 5e-324, 0.5, 1 - 2**-53, 1.0])
    count, hits, _ = count_in_cells(score, np.array([0, 0, 1, 1, 1]), True, 1.0)
    assert count.sum() == 5
    assert hits.sum() == 3
    count, _, _ = count_in_cells(np.array([-1e308, 0.0, 1e308]), np.zeros(3, np.intp), False, 1.0)
    assert count.tolist() == [1.0, 1.0, 1.0]
