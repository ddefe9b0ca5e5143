"""Cells keep the evidence, and stand where their ranks do."""

import numpy as np
import pytest
from scipy.special import ndtri

from trueodds.numerics.smooth_curve.cells import (
    SATURATED_LOG_ODDS,
    LogOddsCells,
    cells_of,
    clip_saturated,
)


def test_few_distinct_scores_stay_as_they_are():
    z = np.linspace(-2, 2, 300)
    cells = cells_of(z, np.ones(300), np.zeros(300), 200)
    np.testing.assert_array_equal(cells.z, z)


def test_many_scores_are_pooled_in_equal_steps_of_their_normal_quantile():
    rng = np.random.default_rng(0)
    z = np.sort(rng.normal(size=20_000))
    n_pos = (rng.random(20_000) < 0.3).astype(float)
    cells = cells_of(z, 1 - n_pos, n_pos, 200)
    assert len(cells) <= 200
    assert cells.n_pos.sum() == n_pos.sum()
    assert cells.total == 20_000
    assert (cells.z * cells.weight).sum() == pytest.approx(z.sum())
    # The scores are normal themselves, so cells stand at equal distances; tails have gaps.
    middle = np.abs(cells.z) < 2
    np.testing.assert_allclose(np.diff(cells.z[middle]), np.ptp(z) / 200, rtol=0.3)


def test_the_quantile_is_that_of_the_middle_rank_and_weights_are_repetitions():
    cells = LogOddsCells(
        np.array([0.0, 1.0, 5.0]), np.array([1.0, 0.0, 2.0]), np.array([0.0, 1.0, 0.0])
    )
    np.testing.assert_allclose(cells.quantile, ndtri([0.125, 0.375, 0.75]), atol=1e-12)


def test_infinite_log_odds_stand_at_the_farthest_place_and_are_pooled_with_it():
    z = np.array([-np.inf, -800.0, 0.0, np.inf])
    cells = cells_of(z, np.ones(4), np.ones(4), 200)
    np.testing.assert_array_equal(cells.z, [-SATURATED_LOG_ODDS, 0.0, SATURATED_LOG_ODDS])
    np.testing.assert_array_equal(cells.n_pos, [2, 1, 1])


def test_tiny_weights_have_quantiles_too():
    cells = LogOddsCells(np.array([0.0, 1.0]), np.array([1e-9, 0.0]), np.array([0.0, 1e-9]))
    assert np.isfinite(cells.quantile).all()
    assert cells.quantile[0] < cells.quantile[1]


def test_scores_of_0_and_1_stand_ln_2_beyond_the_farthest_other_on_both_sides():
    z, saturated = clip_saturated(np.array([-np.inf, -2.0, 0.5, 1.0, 900.0]))
    np.testing.assert_allclose(np.exp(z), np.exp([-2, -2, 0.5, 1, 2]) * [0.5, 1, 1, 1, 2])
    assert saturated == (True, True)


def test_one_saturated_end_is_found_and_without_others_nothing_is_moved():
    assert clip_saturated(np.array([-np.inf, 0.0, 1.0]))[1] == (True, False)
    assert clip_saturated(np.array([-1.0, 0.0, 1.0]))[1] == (False, False)
    z, saturated = clip_saturated(np.array([-np.inf, np.inf]))
    assert z.tolist() == [-np.inf, np.inf]
    assert saturated == (False, False)


def test_saturated_scores_are_never_pooled_with_others():
    rng = np.random.default_rng(0)
    z = np.sort(rng.normal(size=5000))
    z[0], z[-1] = z[1] - 0.01, z[-2] + 0.01
    cells = cells_of(z, np.ones(5000), np.zeros(5000), 200, (True, True))
    assert cells.weight[[0, -1]].tolist() == [1, 1]
    assert cells.z[[0, -1]].tolist() == z[[0, -1]].tolist()
    assert cells.total == 5000
