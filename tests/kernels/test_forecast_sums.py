"""Sums over forecasts, against NumPy."""

import math

import numpy as np
import pytest

from trueodds.kernels.forecast_sums import add_to_bins, sum_losses


def sum_log_loss(*arrays):
    return sum_losses(False, *arrays)


def sum_squared_error(*arrays):
    return sum_losses(True, *arrays)


@pytest.fixture
def forecasts():
    rng = np.random.default_rng(0)
    prob = np.concatenate([rng.random(500), np.arange(1, 20) / 20])
    return prob, (rng.random(519) < prob).astype(np.intp), rng.random(519)


def test_losses_are_weighted_sums(forecasts):
    prob, positive, weight = forecasts
    given = np.where(positive == 1, prob, 1 - prob)
    squares = (prob - positive) ** 2
    assert sum_log_loss(prob, positive) == pytest.approx(-np.log(given).sum(), rel=1e-13)
    assert sum_log_loss(prob, positive, weight) == pytest.approx(-weight @ np.log(given), rel=1e-13)
    assert sum_squared_error(prob, positive) == pytest.approx(squares.sum(), rel=1e-13)
    assert sum_squared_error(prob, positive, weight) == pytest.approx(weight @ squares, rel=1e-13)


def test_surprises_are_infinite_and_certainties_cost_nothing():
    prob = np.array([0.0, 1.0])
    assert sum_log_loss(prob, np.array([0, 1])) == 0
    assert sum_log_loss(prob, np.array([1, 1])) == math.inf
    assert sum_log_loss(prob, np.array([0, 0])) == math.inf
    assert sum_log_loss(prob, np.array([1, 1]), np.array([0.0, 1.0])) == 0
    # −ln(1 − p) of a small p keeps its digits.
    assert sum_log_loss(np.array([1e-12]), np.array([0])) == pytest.approx(1e-12, rel=1e-11)


@pytest.mark.parametrize("n_bins", [1, 2, 7, 10, 20])
@pytest.mark.parametrize("weighted", [False, True])
def test_bins_equal_a_search_in_the_edges(forecasts, n_bins, weighted):
    prob, positive, weight = forecasts
    prob = np.concatenate([prob[:-2], [0.0, 1.0]])
    edges = np.arange(1, n_bins) / n_bins
    index = np.searchsorted(edges, prob, side="right")
    w = weight if weighted else np.ones(len(prob))
    columns = (w, w * prob, w * positive, w * (positive - prob) ** 2)
    expected = [np.bincount(index, column, n_bins) for column in columns]
    for uniform in (True, False):
        sums = np.zeros((4, n_bins))
        add_to_bins(sums, edges, uniform, prob, positive, *([weight] if weighted else []))
        np.testing.assert_allclose(sums, expected, rtol=1e-13)
