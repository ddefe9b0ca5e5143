"""Bounds of a rising probability that hold together."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import beta

from trueodds.numerics.monotone_band import lower_bounds, upper_bounds


def naive_lower(n_pos, weight, level):
    """Clopper and Pearson's bound of every run, and the largest of those that have ended."""
    m = len(weight)
    delta = (1 - level) / (m * (m + 1))
    bounds, best = [], 0.0
    for k in range(m):
        for j in range(k + 1):
            x, n = n_pos[j : k + 1].sum(), weight[j : k + 1].sum()
            if x > 0:
                best = max(best, beta.ppf(delta, x, n - x + 1))
        bounds.append(best)
    return np.array(bounds)


@given(
    cells=st.lists(st.tuples(st.integers(1, 40), st.floats(0, 1)), min_size=1, max_size=12),
    level=st.sampled_from([0.5, 0.9, 0.999]),
)
@settings(deadline=None, max_examples=60)
def test_bounds_are_the_envelope_of_all_runs(cells, level):
    weight = np.array([n for n, _ in cells], dtype=float)
    n_pos = np.array([round(n * p) for n, p in cells], dtype=float)
    np.testing.assert_allclose(
        lower_bounds(n_pos, weight, level), naive_lower(n_pos, weight, level), atol=1e-12
    )


def test_the_upper_bounds_are_the_lower_ones_of_the_other_class():
    rng = np.random.default_rng(0)
    weight = np.full(30, 50.0)
    n_pos = rng.binomial(50, np.linspace(0.1, 0.9, 30)).astype(float)
    expected = 1 - naive_lower((weight - n_pos)[::-1], weight[::-1], 0.9)[::-1]
    np.testing.assert_allclose(upper_bounds(n_pos, weight, 0.9), expected, atol=1e-12)


def test_one_cell_has_the_interval_of_a_binomial_share():
    bounds = [f(np.array([7.0]), np.array([20.0]), 0.9)[0] for f in (lower_bounds, upper_bounds)]
    np.testing.assert_allclose(bounds, [beta.ppf(0.05, 7, 14), beta.ppf(0.95, 8, 13)])


@pytest.mark.parametrize("n_pos", [0.0, 5.0])
def test_a_certain_cell_is_bounded_on_one_side(n_pos):
    low = lower_bounds(np.array([n_pos]), np.array([5.0]), 0.9)[0]
    high = upper_bounds(np.array([n_pos]), np.array([5.0]), 0.9)[0]
    assert (low == 0) == (n_pos == 0)
    assert (high == 1) == (n_pos == 5)
