"""Merges of the near-isotonic path, by hand and against exact fractions."""

import numpy as np
import pytest

from support.naive_isotonic import naive_path
from trueodds.kernels.isotonic import near_isotonic_merges


def merges(n_pos, weight):
    return near_isotonic_merges(np.array(n_pos, dtype=float), np.array(weight, dtype=float))


def test_two_rows_that_fall_meet_where_their_lines_cross():
    # 1 − λ/2 and λ/1.
    found = merges([2, 0], [2, 1])
    assert found.violates.tolist() == [False, True, False]
    assert found.lambdas == pytest.approx([2 / 3])
    assert (found.start[0], found.boundary[0], found.stop[0]) == (0, 1, 2)
    assert (found.n_pos[0], found.weight[0]) == (2, 3)


def test_rows_that_rise_never_meet():
    found = merges([0, 1, 3], [2, 2, 3])
    assert len(found.boundary) == 0
    assert not found.violates.any()


def test_equal_neighbors_are_one_from_the_beginning():
    found = merges([1, 2, 4], [2, 4, 5])
    assert found.lambdas.tolist() == [0]
    assert (found.start[0], found.stop[0]) == (0, 2)


@pytest.mark.parametrize("n", [40, 600])  # in one round, and in several
def test_times_and_bins_equal_exact_fractions(n):
    rng = np.random.default_rng(n)
    weight = rng.integers(1, 4, n).astype(float)
    n_pos = rng.binomial(weight.astype(int), 0.5).astype(float)
    found = near_isotonic_merges(n_pos, weight)
    models = naive_path(n_pos, weight - n_pos)
    times = np.unique(found.lambdas[found.lambdas > 0])
    np.testing.assert_array_equal(times, [float(lam) for lam, _ in models[1:]])
    assert (np.diff(found.lambdas) >= 0).all()
    for start, stop, positives, mass in zip(
        found.start, found.stop, found.n_pos, found.weight, strict=True
    ):
        assert positives == n_pos[start:stop].sum()
        assert mass == weight[start:stop].sum()
    assert n - len(found.boundary) == len(set(models[-1][1]))
