"""Bins of scores: where edges lie, and that no score is parted from its equals."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from trueodds.numerics.binning import (
    BLOCK_ROWS,
    FEW_EDGES,
    bin_index,
    edges_between,
    equal_mass_edges,
)

FLOATS = st.floats(allow_nan=False)


@pytest.mark.parametrize("n_edges", [0, 1, FEW_EDGES, FEW_EDGES + 1])
def test_bins_are_those_of_a_binary_search(n_edges):
    rng = np.random.default_rng(0)
    edges = np.sort(rng.integers(0, 1000, n_edges) / 1000)
    scores = rng.integers(0, 1001, BLOCK_ROWS + 10) / 1000
    np.testing.assert_array_equal(
        bin_index(edges, scores), np.searchsorted(edges, scores, side="right")
    )


@given(FLOATS, FLOATS)
def test_an_edge_parts_its_neighbors(a, b):
    below, above = min(a, b), max(a, b)
    if below < above:
        edge = edges_between(np.array([below]), np.array([above]))[0]
        assert below < edge <= above


def test_an_edge_lies_halfway_and_does_not_overflow():
    below, above = np.array([0.25, 1e308, 1.0]), np.array([0.75, 1.5e308, np.nextafter(1, 2)])
    expected = [0.5, 1.25e308, np.nextafter(1, 2)]
    np.testing.assert_allclose(edges_between(below, above), expected, rtol=0)


def test_edges_of_equal_mass_by_hand():
    scores = np.array([0.9, 0.1, 0.4, 0.2, 0.6, 0.8])
    np.testing.assert_allclose(equal_mass_edges(scores, None, 3), [0.3, 0.7])
    np.testing.assert_allclose(equal_mass_edges(scores, np.ones(6), 3), [0.3, 0.7])
    np.testing.assert_allclose(equal_mass_edges(scores, np.array([4.0, 1, 1, 1, 1, 0]), 2), [0.7])


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(1, 8))
def test_weights_of_one_are_no_weights_and_equal_scores_share_a_bin(scores, n_bins):
    scores = np.array(scores) / 10
    edges = equal_mass_edges(scores, None, n_bins)
    assert len(edges) < n_bins or n_bins == 1
    assert (np.diff(edges) > 0).all()
    assert not np.isin(edges, scores).any()
    index = bin_index(edges, scores)
    assert len(np.unique(index)) == len(edges) + 1  # no bin is empty
    if len(np.unique(scores)) < len(scores):
        np.testing.assert_allclose(equal_mass_edges(scores, np.ones(len(scores)), n_bins), edges)
