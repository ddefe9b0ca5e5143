"""Sums in bins against loops over the rows."""

import numpy as np
import pytest

from trueodds.basics.threads import BLOCK
from trueodds.numerics.reliability_bins import (
    BinSums,
    bin_sums,
    uniform_bin_index,
    uniform_edges,
)


@pytest.mark.parametrize("n_bins", [1, 3, 10, 49, 100])
def test_a_probability_on_an_edge_belongs_to_the_bin_above(n_bins):
    edges = uniform_edges(n_bins)
    beside = [np.nextafter(edges, 0), edges, np.nextafter(edges, 1)]
    prob = np.concatenate([[0.0, 1.0, np.nextafter(1, 0)], *beside])
    expected = np.searchsorted(edges, prob, side="right")
    np.testing.assert_array_equal(uniform_bin_index(prob, n_bins), expected)


def test_edges_are_the_floats_nearest_to_the_fractions():
    assert uniform_edges(10).tolist() == [k / 10 for k in range(1, 10)]


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_are_those_of_a_loop_over_the_rows(uniform, weighted):
    rng = np.random.default_rng(0)
    n = BLOCK + 500  # more than are added up at once
    prob, positive = rng.random(n), rng.random(n) < 0.3
    weight = rng.random(n) if weighted else None
    edges = uniform_edges(7)
    found = bin_sums(prob, positive, weight, edges, uniform=uniform, spread=True)
    index = np.searchsorted(edges, prob, side="right")
    w = np.ones(n) if weight is None else weight
    for b in range(7):
        own = index == b
        assert found.weight[b] == pytest.approx(w[own].sum())
        assert found.prob[b] == pytest.approx(w[own] @ prob[own])
        assert found.positive[b] == pytest.approx(w[own] @ positive[own])
        assert found.spread[b] == pytest.approx(w[own] @ (positive[own] - prob[own]) ** 2)


def test_the_gap_is_mean_probability_less_frequency_in_filled_bins():
    sums = BinSums(np.array([2.0, 0.0, 4.0]), np.array([0.5, 0.0, 3.0]), np.array([1.0, 0.0, 2.0]))
    filled = sums.filled()
    assert filled.gap.tolist() == [-0.25, 0.25]
    assert filled.filled() is filled


def test_the_spread_is_there_only_if_asked_for():
    found = bin_sums(np.array([0.2]), np.array([True]), None, uniform_edges(2))
    assert found.spread is None
    assert BinSums(np.zeros(1), np.zeros(1), np.zeros(1), np.ones(1)).filled().spread.size == 0
