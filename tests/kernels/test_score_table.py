"""Tables from two sorted classes, against a dictionary."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trueodds.kernels.score_table import merge_classes, part_by_class

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
