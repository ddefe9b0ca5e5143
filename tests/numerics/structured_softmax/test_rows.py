"""Scores of any scale become probabilities with one row for each class."""

import numpy as np
import pytest

from numerics.structured_rows import some_rows
from trueodds.numerics.structured_softmax.rows import class_probabilities, tops_of


def test_probabilities_are_divided_by_their_sum():
    found = class_probabilities(np.array([[0.2, 0.3, 0.501]]), "probability")
    np.testing.assert_allclose(found[:, 0], np.array([0.2, 0.3, 0.501]) / 1.001)


def test_logits_go_through_the_softmax_after_division_by_the_unit():
    logits = np.array([[0.0, 4.0], [8.0, 0.0]])
    found = class_probabilities(logits, "logit", unit=4.0)
    np.testing.assert_allclose(found[1], [1 / (1 + np.exp(-1)), 1 / (1 + np.exp(2))])


@pytest.mark.parametrize("unit", [1.0, 2.0**-1000, 2.0**900])
def test_margins_at_both_ends_of_float64_are_certain(unit):
    found = class_probabilities(np.array([[1e308, -1e308]]), "raw", unit)
    np.testing.assert_array_equal(found[:, 0], [1.0, 0.0])


def test_equal_scores_are_all_the_largest():
    found = tops_of(np.array([[0.4, 0.4, 0.2], [0.1, 0.2, 0.7]]))
    np.testing.assert_array_equal(found.T, [[True, True, False], [False, False, True]])


def test_weights_of_rows_and_classes_are_sums_of_counts():
    rows = some_rows(50, 3, weight=2.0)
    np.testing.assert_array_equal(rows.weight, np.full(50, 2.0))
    assert rows.class_weight.sum() == 100


def test_a_sample_does_not_depend_on_the_order_of_the_rows():
    rows = some_rows(1000, 3)
    order = np.random.default_rng(1).permutation(1000)
    other = type(rows)(rows.p[:, order], rows.top[:, order], rows.counts[:, order])
    np.testing.assert_array_equal(rows.sample(100).p, other.sample(100).p)
    assert rows.sample(100).p.shape[1] <= 100
    assert rows.sample(1000) is rows
