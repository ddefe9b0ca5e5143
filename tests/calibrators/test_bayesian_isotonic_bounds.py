"""Bounds from the frequencies beside each instance."""

import numpy as np
import pytest

from support.naive_isotonic import FIXTURE_SETS, fixture_table, read_columns
from trueodds.calibrators._bayesian_isotonic.bounds import isotonic_bounds


@pytest.mark.parametrize("name", FIXTURE_SETS)
def test_bounds_equal_those_of_the_authors_program(name, fixtures):
    table = fixture_table(fixtures, name)
    expected = read_columns(fixtures, "bayesiso", f"{name}_converged_map.csv")
    lower, upper = isotonic_bounds(table.n_neg, table.n_pos, "authors")
    np.testing.assert_allclose(lower, expected["lower"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(upper, expected["upper"], rtol=0, atol=1e-12)


def test_the_papers_bounds_equal_a_direct_count():
    rng = np.random.default_rng(3)
    label = (rng.random(200) < np.linspace(0, 1, 200)).astype(float)
    size = 20
    lower, upper = np.empty(200), np.empty(200)
    for i in range(200):
        left, right = label[max(0, i + 1 - size) : i + 1], label[i : i + size]
        lower[i] = left.mean() - 1 / np.sqrt(len(left))
        upper[i] = right.mean() + 1 / np.sqrt(len(right))
    lower = np.clip([lower[i:].min() for i in range(200)], 0, 1)
    upper = np.clip([upper[: i + 1].max() for i in range(200)], 0, 1)
    found = isotonic_bounds(1 - label, label, "paper")
    np.testing.assert_allclose(found, [lower, upper], atol=1e-12)


@pytest.mark.parametrize("kind", ["paper", "authors"])
def test_bounds_never_cross_or_fall_even_if_scores_are_inverted(kind):
    rng = np.random.default_rng(0)
    for trial in range(50):
        n_neg, n_pos = rng.exponential(size=(2, 40)) * rng.integers(0, 3, (2, 40)) + 1e-3
        if trial % 2:
            n_neg, n_pos = np.sort(n_neg), np.sort(n_pos)[::-1]
        lower, upper = isotonic_bounds(n_neg, n_pos, kind)
        assert (lower <= upper).all()
        assert (np.diff(lower) >= 0).all()
        assert (np.diff(upper) >= 0).all()
