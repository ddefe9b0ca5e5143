"""Isotonic regression against scipy's, and against its definition."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import isotonic_regression

from trueodds.kernels.isotonic import pool_adjacent_violators


def by_definition(n_pos, weight):
    """max over first ≤ i of min over last ≥ i of the mean of first…last, exactly."""
    n = len(weight)
    sums = np.concatenate([[0], np.cumsum(n_pos)]), np.concatenate([[0], np.cumsum(weight)])

    def mean(a, b):
        return Fraction(int(sums[0][b] - sums[0][a]), int(sums[1][b] - sums[1][a]))

    return [
        float(max(min(mean(a, b) for b in range(i + 1, n + 1)) for a in range(i + 1)))
        for i in range(n)
    ]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=25))
def test_whole_numbers_give_the_exact_fractions(counts):
    n_pos = np.array([float(pos) for pos, _ in counts])
    weight = n_pos + [max(neg, 1) for _, neg in counts]
    values, blocks = pool_adjacent_violators(n_pos, weight)
    assert values.tolist() == by_definition(n_pos, weight)
    # Blocks are as long as can be: neighbors differ.
    assert blocks[0] == 0
    assert blocks[-1] == len(counts)
    assert (np.diff(values[blocks[:-1]]) > 0).all()
    assert all((values[a:b] == values[a]).all() for a, b in itertools.pairwise(blocks))


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_any_weights_agree_with_scipy(scale):
    rng = np.random.default_rng(0)
    weight = scale * rng.random(5000)
    n_pos = weight * rng.random(5000)
    values, blocks = pool_adjacent_violators(n_pos, weight)
    solution = isotonic_regression(n_pos / weight, weights=weight / scale)
    np.testing.assert_allclose(values, solution.x, rtol=1e-12)
    np.testing.assert_array_equal(blocks, solution.blocks)
