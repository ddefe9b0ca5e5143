"""Tables from two sorted classes, against a dictionary; rows cut evenly, against all cuts."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueodds.kernels.score_table import equal_mass_starts, merge_classes, part_by_class

scores = st.lists(st.sampled_from([-np.inf, -2.5, 0.0, 1.0, 1.5, 9.0, np.inf]), max_size=30)


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
    parts = part_by_class(score, positive)
    for label, part in enumerate(parts):
        assert sorted(part.tolist()) == sorted(s for s, y in rows if y == label)


def test_neighbouring_numbers_stay_apart():
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
