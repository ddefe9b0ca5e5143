"""Histogram binning by hand."""

import numpy as np
import pytest

from trueodds import HistogramCalibrator
from trueodds.exceptions import InputError


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
    fitted = HistogramCalibrator(n_bins=2, strategy="uniform", scale="raw")
    assert fitted.fit([-10.0, -9.0, 30.0], [0, 0, 1]).map_.edges.tolist() == [10.0]


def test_tied_scores_are_never_split():
    scores = np.array([0.5] * 90 + [0.7] * 10)
    fitted = HistogramCalibrator(n_bins=10).fit(scores, np.arange(100) % 2).map_
    assert len(fitted.values) == 2


@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
@pytest.mark.parametrize("label_smoothing", [None, "platt", 0.1])
def test_bins_hold_the_frequency_of_smoothed_labels(strategy, label_smoothing):
    rng = np.random.default_rng(3)
    scores, y = rng.random(200), rng.integers(0, 2, 200)
    weight = rng.integers(1, 4, 200)
    options = {"n_bins": 7, "strategy": strategy, "label_smoothing": label_smoothing}
    fitted = HistogramCalibrator(**options).fit(scores, y, counts=weight).map_
    n_neg, n_pos = weight[y == 0].sum(), weight[y == 1].sum()
    low, high = {
        None: (0.0, 1.0),
        "platt": (1 / (n_neg + 2), (n_pos + 1) / (n_pos + 2)),
        0.1: (0.05, 0.95),
    }[label_smoothing]
    place = np.searchsorted(fitted.edges, scores, side="right")
    targets = np.where(y == 1, high, low)
    expected = [np.average(targets[place == k], weights=weight[place == k]) for k in range(7)]
    np.testing.assert_allclose(fitted.values, expected, rtol=1e-12)


def test_more_bins_than_numbers_are_as_many_as_there_are_scores():
    for many in (10**6, 10**15):
        fitted = HistogramCalibrator(n_bins=many).fit([0.1, 0.2, 0.4], [0, 1, 1]).map_
        assert fitted.values.tolist() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize("bad", [0, -1, 2.5, True, "10"])
def test_other_numbers_of_bins_are_refused(bad):
    with pytest.raises(InputError, match="n_bins must be an integer of at least 1"):
        HistogramCalibrator(n_bins=bad).fit([0.1, 0.9], [0, 1])


def test_misspelled_strategy_is_refused():
    with pytest.raises(InputError, match="strategy must be one of"):
        HistogramCalibrator(strategy="equal").fit([0.1, 0.9], [0, 1])
