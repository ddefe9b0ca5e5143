"""Attributes and scores as a tree sees them."""

import numpy as np
import pytest

from support.map_examples import small_tree
from trueodds.exceptions import InputError
from trueodds.maps import LogOddsMap
from trueodds.maps.features import FeatureSpace, score_columns

FAR = np.log(0.99999 / 0.00001)


def test_probabilities_of_0_and_1_count_as_the_authors_have_them_and_no_other_is_changed():
    found = score_columns(np.array([0.0, 1e-9, 0.25, 1 - 1e-9, 1.0]), "probability")
    expected = [-FAR, np.log(1e-9), np.log(1 / 3), np.log(1e9), FAR]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-7)


def test_infinite_log_odds_count_as_probabilities_of_0_and_1():
    found = score_columns(np.array([-np.inf, -800.0, 0.3, 800.0, np.inf]), "logit")
    np.testing.assert_allclose(found, [-FAR, -800, 0.3, 800, FAR], rtol=1e-12)


def test_margins_stay_what_they_are():
    margins = np.array([-np.inf, 0.0, 3.0])
    assert score_columns(margins, "raw") is margins


def test_a_split_may_be_on_any_of_many_attributes():
    """There may be more of them than nodes."""
    line = LogOddsMap(a=1.0, b=1.0, c=0.0)
    tree = small_tree(
        maps=(line, line, line), parent=[-1, 0, 0], attribute=[7, -1, -1], cut=[0.5, 0, 0],
        weight=[2.0, 1, 1], names=None, categories=(None,) * 9, fill=np.zeros(9),
    )  # fmt: skip
    rows = np.zeros((2, 9))
    rows[1, 7] = 1.0
    assert tree.nodes_of(rows).tolist() == [1, 2]


@pytest.mark.parametrize("attribute", [9, 12, 1_000_000])
def test_a_split_on_an_attribute_that_is_not_there_is_refused(attribute):
    line = LogOddsMap(a=1.0, b=1.0, c=0.0)
    with pytest.raises(InputError, match="features"):
        small_tree(
            maps=(line, line, line), parent=[-1, 0, 0], attribute=[attribute, -1, -1],
            cut=[0.5, 0, 0], weight=[2.0, 1, 1], names=None, categories=(None,) * 9,
            fill=np.zeros(9),
        )  # fmt: skip


def test_missing_values_are_filled_by_the_mean_or_the_most_frequent_of_the_rows_that_count():
    features = np.array([[1.0, "a"], [np.nan, "b"], [4.0, None], [100.0, "c"]], dtype=object)
    space, rows = FeatureSpace.learn(features, None, np.array([2.0, 3.0, 1.0, 0.0]))
    assert space.categories == (None, ("a", "b"))
    assert space.fill.tolist() == [2.0, 1.0]
    np.testing.assert_array_equal(rows[:3], [[1, 0], [np.nan, 1], [4, np.nan]])
    np.testing.assert_array_equal(space.filled(rows)[:3], [[1, 0], [2, 1], [4, 1]])
    assert space.n_values.tolist() == [0, 2]
    assert [space.name(k) for k in range(2)] == ["x0", "x1"]


def test_a_value_that_was_not_seen_is_neither_missing_nor_any_other():
    features = np.array([["a"], ["b"]], dtype=object)
    space, _ = FeatureSpace.learn(features, None, np.ones(2))
    found = space.encode(np.array([["b"], ["z"], [None], ["A"]], dtype=object))[:, 0]
    np.testing.assert_array_equal(found, [1, -1, np.nan, -1])
    numbers, _ = FeatureSpace.learn(np.array([[1.0], [3.0]]), [0], np.ones(2))
    np.testing.assert_array_equal(numbers.encode([[3.0], [2.0], [9.0]])[:, 0], [1, -1, -1])


def test_means_of_huge_values_do_not_overflow():
    space, _ = FeatureSpace.learn(np.array([[1.6e308], [1.7e308]]), None, np.ones(2))
    np.testing.assert_allclose(space.fill, [1.65e308])
