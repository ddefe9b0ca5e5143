"""The weighted mean of maps."""

import numpy as np
import pytest

from trueodds import maps
from trueodds.exceptions import InputError, MapFormatError

HALF = maps.StepMap(edges=[], values=[0.5])
COOL = maps.LogOddsMap(a=0.5, b=0.5, c=0.0)
SAME = maps.IdentityMap()
THREE = maps.SoftmaxMap(weights=[0.5, 0.5, 0.5], bias=[0.0, 0.0, 0.0])
PAIR = maps.SoftmaxMap(weights=[0.5, 0.5], bias=[0.0, 0.0])


def average(*members, weights=None, **options):
    even = np.full(len(members), 1 / max(len(members), 1))
    return maps.AverageMap(maps=members, weights=even if weights is None else weights, **options)


def test_probabilities_of_two_classes_are_averaged():
    scores = np.array([0.0, 0.3, 1.0])
    found = average(SAME, COOL, HALF, weights=[0.5, 0.3, 0.2])(scores)
    np.testing.assert_allclose(found, 0.5 * scores + 0.3 * COOL(scores) + 0.1)


def test_two_columns_give_both_probabilities():
    found = average(SAME, HALF)([[0.8, 0.2], [0.0, 1.0]])
    np.testing.assert_allclose(found, [[0.65, 0.35], [0.25, 0.75]])


def test_probabilities_of_several_classes_are_averaged():
    scores = np.array([[0.7, 0.2, 0.1], [0.0, 0.0, 1.0]])
    found = average(THREE, SAME, weights=[0.25, 0.75])(scores)
    np.testing.assert_allclose(found, 0.25 * THREE(scores) + 0.75 * scores)
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_it_takes_one_score_with_two_classes_only():
    assert average(SAME, COOL).takes_one_score
    assert not average(SAME, THREE).takes_one_score
    assert average(SAME, THREE).n_classes == 3


@pytest.mark.parametrize(
    ("members", "weights", "message"),
    [
        ((), [], "one or more maps"),
        ((SAME, average(SAME)), [0.5, 0.5], "none an average or a tree"),
        ((SAME, maps.IdentityMap(scale="logit")), [0.5, 0.5], "same scale"),
        ((COOL, THREE), [0.5, 0.5], "equally many classes"),
        ((COOL, PAIR), [0.5, 0.5], "score alone"),
        ((SAME, COOL), [1.0], "one for each map"),
        ((SAME, COOL), [1.5, -0.5], "must not be negative"),
        ((SAME, COOL), [0.5, 0.6], "sum must be 1"),
        ((SAME, COOL), [0.5, np.nan], "NaN"),
        ((SAME, "x"), [0.5, 0.5], "one or more maps"),
    ],
)
def test_impossible_averages_are_refused(members, weights, message):
    with pytest.raises(InputError, match=message):
        average(*members, weights=weights)


def test_a_document_that_nests_averages_is_refused_before_it_is_read():
    document = average(SAME, COOL).to_dict()
    inner = document
    for _ in range(3000):  # deeper than Python's own stack
        inner = {**document, "parameters": {"maps": [inner], "weights": [1.0]}}
    with pytest.raises(MapFormatError, match="cannot hold another"):
        maps.CalibrationMap.from_dict(inner)


def test_scores_that_are_no_rows_of_as_many_classes_are_refused():
    with pytest.raises(InputError, match="3"):
        average(SAME, THREE)([[0.5, 0.5]])
