"""Labels as targets between 0 and 1, by hand."""

import numpy as np
import pytest

from trueodds.numerics.label_targets import (
    binary_targets,
    class_targets,
    platt_targets,
    smooth_counts,
)


def test_platts_targets_are_those_of_his_paper():
    assert platt_targets(8, 3) == (1 / 10, 4 / 5)
    assert binary_targets(8, 3, "platt") == (1 / 10, 4 / 5)


@pytest.mark.parametrize(("smoothing", "low"), [(None, 0.0), (0.0, 0.0), (0.2, 0.1), (1.0, 0.5)])
def test_a_share_moves_both_labels_towards_the_middle(smoothing, low):
    assert binary_targets(8, 3, smoothing) == (low, 1 - low)


def test_smoothed_counts_keep_the_weight_of_a_row():
    n_neg, n_pos = np.array([4.0, 0.0, 1.0]), np.array([0.0, 10.0, 1.0])
    neg, pos = smooth_counts(n_neg, n_pos, 0.1, 0.8)
    assert pos == pytest.approx([0.4, 8.0, 0.9])
    assert neg + pos == pytest.approx(n_neg + n_pos)


def test_labels_of_0_and_1_leave_the_very_same_arrays():
    n_neg, n_pos = np.ones(2), np.ones(2)
    neg, pos = smooth_counts(n_neg, n_pos, 0.0, 1.0)
    assert neg is n_neg
    assert pos is n_pos


def test_targets_of_several_classes_by_hand():
    counts = np.array([8.0, 3.0, 0.0])
    expected = [[0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]]
    np.testing.assert_allclose(class_targets(counts, "platt"), expected)
    np.testing.assert_allclose(class_targets(counts, 0.3)[0], [0.8, 0.1, 0.1])
    np.testing.assert_array_equal(class_targets(counts, None), np.eye(3))


def test_two_classes_agree_with_the_binary_case():
    for smoothing in ("platt", 0.3, None):
        low, high = binary_targets(8, 3, smoothing)
        found = class_targets(np.array([8.0, 3.0]), smoothing)
        np.testing.assert_allclose(found[:, 1], [low, high])
