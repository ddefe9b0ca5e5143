"""Findings in words: the size is right, and what is small is called so."""

import numpy as np
import pytest

from trueodds import ScoreTable, metrics


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
