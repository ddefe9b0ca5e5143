"""Histogram binning by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueodds import HistogramCalibrator
from trueodds.exceptions import InputError
from trueodds.numerics.binning import equal_mass_cuts


def test_bins_of_equal_mass_by_hand():
    scores = [0.1, 0.2, 0.3, 0.4, 0.6, 0.8]
    fitted = HistogramCalibrator(n_bins=3).fit(scores, [0, 1, 0, 0, 1, 1]).map_
    np.testing.assert_allclose(fitted.edges, [0.25, 0.5])
    np.testing.assert_allclose(fitted.values, [0.5, 0.0, 1.0])


def test_bins_of_equal_width_by_hand_with_an_empty_one_interpolated():
    scores = [0.1, 0.2, 0.3, 0.9]
    fitted = HistogramCalibrator(n_bins=4, strategy="uniform").fit(scores, [0, 1, 0, 1]).map_
    np.testing.assert_allclose(fitted.edges, [0.25, 0.5, 0.75])
    np.testing.assert_allclose(fitted.values, [0.5, 0.0, 0.5, 1.0])


def test_bins_of_equal_width_span_the_margins():
    fitted = HistogramCalibrator(n_bins=2, strategy="uniform", input="score")
    assert fitted.fit([-10.0, -9.0, 30.0], [0, 0, 1]).map_.edges.tolist() == [10.0]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=50), st.integers(1, 12))
def test_cuts_are_as_near_to_equal_mass_as_whole_rows_allow(weights, n_bins):
    weight = np.array(weights, dtype=float)
    cuts = equal_mass_cuts(weight, n_bins)
    assert len(cuts) <= n_bins - 1
    total = np.cumsum(weight)
    for k in range(1, n_bins):
        goal = total[-1] * k / n_bins
        nearest = np.abs(np.concatenate([[0], total]) - goal).min()
        chosen = [abs((total[c - 1] if c else 0) - goal) for c in [0, *cuts, len(weight)]]
        assert min(chosen) == pytest.approx(nearest, abs=1e-9)


def test_tied_scores_are_never_split():
    scores = np.array([0.5] * 90 + [0.7] * 10)
    fitted = HistogramCalibrator(n_bins=10).fit(scores, np.arange(100) % 2).map_
    assert len(fitted.values) == 2


@pytest.mark.parametrize("bad", [0, -1, 2.5, True, "10"])
def test_other_numbers_of_bins_are_refused(bad):
    with pytest.raises(InputError, match="n_bins must be an integer of at least 1"):
        HistogramCalibrator(n_bins=bad).fit([0.1, 0.9], [0, 1])


def test_misspelt_strategy_is_refused():
    with pytest.raises(InputError, match="strategy must be one of"):
        HistogramCalibrator(strategy="equal").fit([0.1, 0.9], [0, 1])
