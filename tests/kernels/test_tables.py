"""Checks of rows, tables of scores, and sums in cells, against NumPy, a dictionary and all cuts."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import expit

from trueodds.kernels.tables import (
    add_cell_moments,
    count_in_cells,
    equal_mass_starts,
    first_row_with_wrong_sum,
    merge_classes,
    split_by_class,
)

scores = st.lists(st.sampled_from([-np.inf, -2.5, 0.0, 1.0, 1.5, 9.0, np.inf]), max_size=30)


def test_the_first_row_that_does_not_sum_to_one_is_named():
    rows = np.random.default_rng(0).dirichlet(np.ones(5), 20)
    assert first_row_with_wrong_sum(rows, 1.0, 0.05) == -1
    rows[7, 2] += 0.06
    rows[13] = np.nan
    assert first_row_with_wrong_sum(rows, 1.0, 0.05) == 7
    assert first_row_with_wrong_sum(rows, 1.0, 0.07) == 13


@given(scores, scores)
def test_every_score_is_counted_once_with_its_class(negatives, positives):
    score, n_neg, n_pos = merge_classes(np.sort(negatives), np.sort(positives))
    expected = sorted({*negatives, *positives})
    assert score.tolist() == expected
    assert n_neg.tolist() == [Counter(negatives)[s] for s in expected]
    assert n_pos.tolist() == [Counter(positives)[s] for s in expected]


@given(st.lists(st.tuples(st.floats(allow_nan=False), st.booleans()), max_size=40))
def test_parts_hold_the_scores_of_their_class(rows):
    score = np.array([s for s, _ in rows])
    positive = np.array([y for _, y in rows], dtype=np.intp)
    found = [sorted(part.tolist()) for part in split_by_class(score, positive)]
    assert found == [sorted(s for s, y in rows if y == label) for label in (0, 1)]


def test_neighboring_numbers_stay_apart():
    close = np.array([0.1, np.nextafter(0.1, 1)])
    score, n_neg, n_pos = merge_classes(close[:1], close[1:])
    np.testing.assert_array_equal(score, close)
    np.testing.assert_array_equal(n_neg, [1, 0])
    np.testing.assert_array_equal(n_pos, [0, 1])


def test_bins_begin_at_the_nearer_side_of_the_row_that_crosses_the_goal():
    # Goals at 10/3 and 20/3 of 10: the row from 1 to 5 ends nearer to the first than it begins,
    # that from 6 to 10 begins nearer to the second.
    assert equal_mass_starts(np.array([1.0, 4.0, 1.0, 4.0]), 3).tolist() == [0, 2, 3]
    assert equal_mass_starts(np.ones(10), 5).tolist() == [0, 2, 4, 6, 8]
    assert equal_mass_starts(np.ones(10), 4).tolist() == [0, 3, 5, 8]  # 2.5 and 7.5: the end


def test_a_heavy_row_leaves_fewer_bins():
    assert equal_mass_starts(np.array([1.0, 100.0, 1.0]), 4).tolist() == [0, 1, 2]
    assert equal_mass_starts(np.array([5.0]), 3).tolist() == [0]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=50), st.integers(1, 12))
def test_bins_are_as_near_to_equal_mass_as_whole_rows_allow(weights, n_bins):
    weight = np.array(weights, dtype=float)
    starts = equal_mass_starts(weight, n_bins)
    assert 1 <= len(starts) <= n_bins
    total = np.cumsum(weight)
    for k in range(1, n_bins):
        goal = total[-1] * k / n_bins
        nearest = np.abs(np.concatenate([[0], total]) - goal).min()
        chosen = [abs((total[c - 1] if c else 0) - goal) for c in [*starts, len(weight)]]
        assert min(chosen) == pytest.approx(nearest, abs=1e-9)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=30))
def test_very_many_bins_are_one_for_each_row(weights):
    assert len(equal_mass_starts(np.array(weights, dtype=float), 10**15)) == len(weights)


def scored(n=20_000):
    rng = np.random.default_rng(0)
    z = rng.normal(0, 6, n)
    return z, (rng.random(n) < expit(z)).astype(np.intp)


@pytest.mark.parametrize("is_probability", [True, False])
def test_nothing_is_lost_and_cells_are_narrow(is_probability):
    z, positive = scored()
    score = expit(z) if is_probability else z
    count, hits, total = count_in_cells(score, positive, is_probability, 6.0)
    assert count.sum() == len(score)
    assert hits.sum() == positive.sum()
    np.testing.assert_allclose(total.sum(), score.sum())
    assert count.min() > 0
    means = total / count
    assert (np.diff(means) > 0).all()
    # A score is never far from the mean of its cell, on the axis of log-odds.
    if is_probability:
        means, score = np.log(means / (1 - means)), z
    place = np.clip(np.searchsorted(means, score), 1, len(means) - 1)
    gap = np.minimum(np.abs(score - means[place]), np.abs(score - means[place - 1]))
    near = np.abs(score) < 12
    assert gap[near].max() < (0.02 if is_probability else 0.3)


@pytest.mark.parametrize("is_probability", [True, False])
def test_scores_of_different_size_have_cells_of_their_own(is_probability):
    """A cell beyond the last of its level would be one of the next, or of other memory."""
    every_other = (np.arange(64, 4096, 2) + 0.5) / 4096
    tail = np.concatenate([every_other * 64.0**-k for k in range(1, 7)])
    score = np.append(tail, 1 - tail[tail > 1e-9]) if is_probability else (0.5 / tail - 1)
    count, _, _ = count_in_cells(score, np.ones(len(score), np.intp), is_probability, 1.0)
    assert count.sum() == len(score)
    assert count.max() == 1  # no two of these are in one cell


def test_the_ends_have_a_place():
    score = np.array([0.0, 5e-324, 0.5, 1 - 2**-53, 1.0])
    count, hits, _ = count_in_cells(score, np.array([0, 0, 1, 1, 1]), True, 1.0)
    assert count.sum() == 5
    assert hits.sum() == 3
    count, _, _ = count_in_cells(np.array([-1e308, 0.0, 1e308]), np.zeros(3, np.intp), False, 1.0)
    assert count.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("n_rows", [1, 511, 2000])
def test_moments_are_the_sums_of_powers_in_each_cell(n_rows):
    rng = np.random.default_rng(n_rows)
    z = np.append(rng.normal(0, 40, n_rows - 1), 0.0)
    n_neg = rng.integers(0, 3, n_rows).astype(float)
    n_pos = rng.integers(0, 2, n_rows) * rng.random(n_rows)
    width = 0.07
    at = np.copysign(np.log1p(np.abs(z)), z) / width
    cell = np.floor(at).astype(int)
    first, n_cells = cell.min(), np.ptp(cell) + 1
    moments = np.ones((2, n_cells, 4))  # what was there stays
    add_cell_moments(moments, z, n_neg, n_pos, width, first)
    for label, weight in enumerate((n_neg, n_pos)):
        for power in range(4):
            sums = np.bincount(cell - first, weight * (at - np.floor(at)) ** power, n_cells)
            np.testing.assert_allclose(moments[label, :, power], 1 + sums, rtol=1e-11)


def test_what_rounding_puts_beyond_the_ends_is_in_the_first_or_last_cell():
    z = np.expm1(np.array([0.999, 1.25, 2.001]))
    moments = np.zeros((2, 2, 4))
    add_cell_moments(moments, z, np.zeros(3), np.ones(3), 0.5, 2)  # cells from 1 to 2
    np.testing.assert_allclose(moments[1, :, :2], [[2, -0.002 + 0.5], [1, 1.002]], rtol=1e-9)
    assert not moments[0].any()
