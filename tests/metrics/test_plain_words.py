"""Findings in words: the size is right, and what is small is called so."""

from types import SimpleNamespace

import numpy as np
import pytest

from trueodds import ScoreTable, metrics
from trueodds.metrics._plain_words import _places, class_finding, finding


def table(truth, said, n=20_000):
    """Rows at two scores whose frequencies are known exactly."""
    truth, n = np.asarray(truth), n // len(truth)
    return ScoreTable(said, np.round(n * (1 - truth)), np.round(n * truth))


@pytest.mark.parametrize(
    ("truth", "said", "words"),
    [
        ([0.2, 0.4], [0.24, 0.48], "It promises 20 % too many: 7,200 expected, 6,000 happened."),
        ([0.2, 0.4], [0.1, 0.3], "It promises 33 % too few: 4,000 expected, 6,000 happened."),
        ([0.001, 0.002], [0.004, 0.006], "It promises 3.3 times as many as happened: 100 expected"),
        (
            [0.3, 0.7],
            [0.1, 0.9],
            "Where it says 10 %, 30 % happen; where it says 90 %, 70 % happen",
        ),
        ([0.3, 0.7], [0.3, 0.7], "No miscalibration beyond chance was found (p = 1)."),
    ],
)
def test_what_is_off_is_said_with_its_size(truth, said, words):
    assert metrics.evaluate_table(table(truth, said)).finding().startswith(words)


def test_what_is_significant_but_small_is_called_so():
    found = metrics.evaluate_table(table([0.3, 0.7], [0.304, 0.704], n=2_000_000))
    assert found.finding().startswith("Significant but small: it promises 0.8 % too many")
    assert found.finding(tolerance=0.005).startswith("It promises")


def test_several_classes_are_too_sure_or_not_sure_enough():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([0.5, 0.5, 0.5], 4000)
    truth = np.sqrt(p) / np.sqrt(p).sum(axis=1, keepdims=True)
    y = (truth.cumsum(axis=1) > rng.random((4000, 1))).argmax(axis=1)
    said = metrics.evaluate_classes(y, p).finding()
    assert said.startswith("It is too sure of itself: its first choice has 70 % on average, and is")
    said = metrics.evaluate_classes(y, truth**0.5 / (truth**0.5).sum(axis=1, keepdims=True))
    assert "not sure enough" in said.finding()


class Found:
    """As much of an evaluation as its words need."""

    def __init__(self, expected, happened, n=1000.0, error=0.0, p=0.001, mean_p=0.001, curve=None):
        self.p_value, self.n = p, n
        self.mean_score, self.prevalence = expected / n, happened / n
        self.mean_test = SimpleNamespace(p_value=mean_p)
        self.tests = (self.mean_test,) * 3
        self.curve = curve or points([0.5], [0.5])
        self.metrics = {"debiased_calibration_error": SimpleNamespace(estimate=error)}


def points(said, seen, weight=None):
    said, seen = np.asarray(said, dtype=float), np.asarray(seen, dtype=float)
    weight = np.full(len(said), 100.0) if weight is None else np.asarray(weight, dtype=float)
    return SimpleNamespace(prob_pred=said, prob_true=seen, weight=weight)


@pytest.mark.parametrize(
    ("expected", "happened", "words"),
    [
        (100, 0, "It promises what never happened: 100 expected, none happened"),
        (200, 100, "It promises 2 times as many as happened: 200 expected, 100 happened"),
        (199, 100, "It promises 99 % too many: 199 expected, 100 happened"),
        (100, 100, "It promises 0 % too many: 100 expected, 100 happened"),
        (99, 100, "It promises 1 % too few: 99 expected, 100 happened"),
        (10, 20, "It promises 50 % too few: 10 expected, 20 happened"),
        (9.96, 4, "It promises 2.5 times as many as happened: 10.0 expected, 4.0 happened"),
    ],
)
def test_numbers_that_are_off_by_hand(expected, happened, words):
    assert finding(Found(expected, happened, error=0.5)).startswith(words)


def test_the_number_is_told_only_if_its_own_test_says_so():
    off = Found(120, 100, error=0.3, mean_p=0.05 / 3)
    assert finding(off) == (
        "It is off by more than chance, though not clearly in any one place: typically by 30 % "
        "(p = 0.001)."
    )
    assert finding(Found(120, 100, error=0.3, mean_p=0.016)).startswith("It promises 20 % too many")
    assert (
        finding(Found(120, 100, p=0.05)) == "No miscalibration beyond chance was found (p = 0.05)."
    )


def test_small_means_both_in_number_and_in_error():
    spread = np.sqrt(0.25)
    for happened, error, small in (
        (500, 0.02 * spread, True),
        (500, 0.0201 * spread, False),
        (490, 0.0, False),
        (500.0, 0.0, True),
    ):
        found = finding(Found(500, happened, error=error, mean_p=0.9))
        assert found.startswith("Significant but small: it is off") == small, (happened, error)
    assert finding(Found(510, 500, mean_p=0.9)).startswith("Significant but small")


def test_places_are_the_worst_below_and_above_the_middle():
    curve = points([0.1, 0.3, 0.5, 0.7, 0.9], [0.3, 0.35, 0.5, 0.45, 0.8])
    assert _places(curve) == ["Where it says 10 %, 30 % happen; where it says 70 %, 45 % happen"]
    low = points([0.1, 0.3, 0.5, 0.7, 0.9], [0.3, 0.3, 0.5, 0.7, 0.9])
    assert _places(low) == ["Where it says 10 %, 30 % happen"]
    assert _places(points([0.2, 0.8], [0.2, 0.8])) == []


def test_a_place_is_named_from_three_standard_errors_on():
    def curve(z):
        return points([0.5] * 5, [0.5 + z * 0.05] * 4 + [0.5])

    assert _places(curve(2.99)) == []
    assert _places(curve(3.01)) == ["Where it says 50 %, 65 % happen"]


def test_rows_are_parted_by_their_weight():
    # The first of three points has half of the rows: it is in the second part, not in the first.
    curve = points([0.1, 0.4, 0.9], [0.5, 0.4, 0.9], [500, 250, 250])
    assert _places(curve) == ["Where it says 10 %, 50 % happen"]
    # Two points in one fifth are told together: (10·0.1 + 10·0.3)/20.
    mixed = points(
        [0.1, 0.3, 0.5, 0.6, 0.7, 0.8], [0.9, 0.9, 0.5, 0.6, 0.7, 0.8], [10, 10, 20, 20, 20, 20]
    )
    assert _places(mixed) == ["Where it says 20 %, 90 % happen"]


@pytest.mark.parametrize(
    ("confidence", "right", "words"),
    [
        (
            0.9,
            0.8,
            "It is too sure of itself: its first choice has 90 % on average, and is right in 80 %",
        ),
        (0.7, 0.8, "It is not sure enough: its first choice has 70 %"),
        (0.82, 0.8, "Significant but small: it is too sure of itself"),
        (0.8201, 0.8, "It is too sure"),
        (0.8, 0.8, "Significant but small: it is not sure enough"),
    ],
)
def test_several_classes_by_hand(confidence, right, words):
    found = SimpleNamespace(
        p_value=0.001,
        mean_confidence=confidence,
        metrics={"accuracy": SimpleNamespace(estimate=right)},
    )
    assert class_finding(found, tolerance=0.02 + 1e-12).startswith(words)
    found.p_value = 0.05
    assert class_finding(found) == "No miscalibration beyond chance was found (p = 0.05)."
