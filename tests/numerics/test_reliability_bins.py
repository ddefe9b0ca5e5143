"""Sums in bins against loops over the rows."""

import numpy as np
import pytest

from trueodds.basics.threads import BLOCK_ROWS
from trueodds.inputs import Weights
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
    n = BLOCK_ROWS + 500  # more than are added up at once
    prob, positive = rng.random(n), rng.random(n) < 0.3
    weight = rng.random(n) if weighted else None
    edges = uniform_edges(7)
    given = None if weight is None else Weights(weight)
    found = bin_sums(prob, positive, given, edges, uniform=uniform, spread=True)
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


def test_errors_of_many_samples_are_those_of_loops_over_samples_and_bins():
    rng = np.random.default_rng(4)
    weight = rng.integers(0, 4, (6, 5)) * rng.choice([0.5, 1.0, 3.0], (6, 5))
    weight[:, 0] += 2.0  # no sample is empty
    prob, positive = weight * rng.random((6, 5)), weight * rng.random((6, 5))
    spread = (prob - positive) ** 2 / np.maximum(weight, 1e-300) + weight * rng.random((6, 5))
    sums = BinSums(weight, prob, positive, spread)
    for i in range(6):
        gaps, masses, debiased = [], [], []
        for w, p, y, s in zip(weight[i], prob[i], positive[i], spread[i], strict=True):
            if w == 0:
                continue
            gaps.append(abs(p / w - y / w))
            masses.append(w)
            if w > 1:
                debiased.append((w, (p / w - y / w) ** 2 - (s - (p - y) ** 2 / w) / (w - 1) / w))
        assert sums.expected_error()[i] == pytest.approx(np.average(gaps, weights=masses))
        assert sums.unweighted_error()[i] == pytest.approx(np.mean(gaps))
        assert sums.maximum_error()[i] == pytest.approx(max(gaps))
        square = np.average(np.square(gaps), weights=masses)
        assert sums.root_mean_square_error()[i] == pytest.approx(np.sqrt(square))
        share = [w for w, _ in debiased]
        wanted = np.average([value for _, value in debiased], weights=share)
        assert sums.debiased_square()[i] == pytest.approx(wanted)
        alone = BinSums(weight[i], prob[i], positive[i], spread[i])
        assert alone.debiased_square() == pytest.approx(sums.debiased_square()[i])


def test_merged_bins_have_the_sums_of_their_parts():
    sums = BinSums(*np.arange(40.0).reshape(4, 2, 5)).merged(np.array([0, 1, 4]))
    assert sums.weight.tolist() == [[0.0, 6.0, 4.0], [5.0, 21.0, 9.0]]
    assert sums.spread.tolist() == [[30.0, 96.0, 34.0], [35.0, 111.0, 39.0]]
