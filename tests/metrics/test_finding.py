"""Findings in words: the size is right, and what is small is called so."""

from types import SimpleNamespace

import numpy as np
import pytest

from trueodds import ScoreTable, metrics
from trueodds.metrics._finding import _places, class_finding, finding


def table(truth, said, n=20_000):
    """Rows at two scores whose frequencies are known exactly."""
    truth, n = np.asarray(truth), n // len(truth)
    return ScoreTable(said, np.round(n * (1 - truth)), np.round(n * truth))


@pytest.mark.parametrize(
    ("truth", "said", "words"),
    [
        (
            [0.2, 0.4],
            [0.24, 0.48],
            "Not calibrated. The model predicts 7,200 positives; 6,000 occurred (20% too many).",
        ),
        (
            [0.2, 0.4],
            [0.1, 0.3],
            "Not calibrated. The model predicts 4,000 positives; 6,000 occurred (33% too few).",
        ),
        (
            [0.001, 0.002],
            [0.004, 0.006],
            "Not calibrated. The model predicts 100 positives; 30 occurred (3.3 times too many).",
        ),
        (
            [0.3, 0.7],
            [0.1, 0.9],
            "Not calibrated. When it predicts 10%, 30% are positive; when it predicts 90%, 70% are",
        ),
        ([0.3, 0.7], [0.3, 0.7], "No miscalibration beyond chance was found (p = 1)."),
    ],
)
def test_what_is_off_is_said_with_its_size(truth, said, words):
    assert metrics.evaluate_counts(table(truth, said)).finding().startswith(words)


def test_what_is_significant_but_small_is_called_so():
    found = metrics.evaluate_counts(table([0.3, 0.7], [0.304, 0.704], n=2_000_000))
    assert found.finding().startswith(
        "Not calibrated, but the error is small. The model predicts 1,008,000 positives; 1,000,000"
    )
    assert found.finding(tolerance=0.005).startswith("Not calibrated. The model predicts")


def test_several_classes_are_overconfident_or_underconfident():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([0.5, 0.5, 0.5], 4000)
    truth = np.sqrt(p) / np.sqrt(p).sum(axis=1, keepdims=True)
    y = (truth.cumsum(axis=1) > rng.random((4000, 1))).argmax(axis=1)
    said = metrics.evaluate_classes(y, p).finding()
    assert said.startswith(
        "Not calibrated. The model is overconfident: its mean confidence is 70%, its accuracy "
    )
    said = metrics.evaluate_classes(y, truth**0.5 / (truth**0.5).sum(axis=1, keepdims=True))
    assert "underconfident" in said.finding()


class Found:
    """As much of an evaluation as its words need."""

    def __init__(self, expected, happened, n=1000.0, error=0.0, p=0.001, mean_p=0.001, curve=None):
        self.p_value, self.n, self.n_independent = p, n, None
        self.mean_score, self.prevalence = expected / n, happened / n
        self.mean_test = SimpleNamespace(p_value=mean_p)
        self.exact_test = SimpleNamespace(n_tests=3)
        self.curve = curve or points([0.5], [0.5])
        self.metrics = {"debiased_calibration_error": SimpleNamespace(estimate=error, high=0.021)}


def points(said, seen, weight=None):
    said, seen = np.asarray(said, dtype=float), np.asarray(seen, dtype=float)
    weight = np.full(len(said), 100.0) if weight is None else np.asarray(weight, dtype=float)
    return SimpleNamespace(prob_pred=said, prob_true=seen, weight=weight)


@pytest.mark.parametrize(
    ("expected", "happened", "words"),
    [
        (100, 0, "The model predicts 100 positives; none occurred (p"),
        (200, 100, "The model predicts 200 positives; 100 occurred (2 times too many)"),
        (199, 100, "The model predicts 199 positives; 100 occurred (99% too many)"),
        (100, 100, "The model predicts 100 positives; 100 occurred (0% too many)"),
        (99, 100, "The model predicts 99 positives; 100 occurred (1% too few)"),
        (10, 20, "The model predicts 10 positives; 20 occurred (50% too few)"),
        (9.96, 4, "The model predicts 10.0 positives; 4 occurred (2.5 times too many)"),
    ],
)
def test_numbers_that_are_off_by_hand(expected, happened, words):
    assert finding(Found(expected, happened, error=0.5)).startswith(f"Not calibrated. {words}")


def test_the_number_is_told_only_if_its_own_test_says_so():
    off = Found(120, 100, error=0.3, mean_p=0.05 / 3)
    assert finding(off) == (
        "Not calibrated. No score range is clearly off; the typical error is 30% (p = 0.001)."
    )
    assert "120 positives; 100 occurred" in finding(Found(120, 100, error=0.3, mean_p=0.016))
    assert (
        finding(Found(120, 100, p=0.05)) == "No miscalibration beyond chance was found (p = 0.05)."
    )


def test_an_error_that_is_cut_off_at_0_has_its_upper_bound():
    assert "the typical error is less than 2.1% (p" in finding(Found(120, 100, mean_p=0.9))
    found = SimpleNamespace(
        p_value=0.001,
        mean_confidence=0.8,
        n=100,
        metrics={
            "accuracy": SimpleNamespace(estimate=0.8),
            "debiased_calibration_error": SimpleNamespace(estimate=0.0, high=0.013),
        },
    )
    assert "but the typical error is less than 1.3% (p" in class_finding(found)


def test_small_means_both_in_number_and_in_error():
    spread = np.sqrt(0.25)
    for happened, error, small in (
        (500, 0.02 * spread, True),
        (500, 0.0201 * spread, False),
        (490, 0.0, False),
        (500.0, 0.0, True),
    ):
        found = finding(Found(500, happened, error=error, mean_p=0.9))
        assert found.startswith("Not calibrated, but the error is small.") == small, (
            happened,
            error,
        )
    assert finding(Found(510, 500, mean_p=0.9)).startswith("Not calibrated, but the error")


def test_places_are_the_worst_below_and_above_the_middle():
    curve = points([0.1, 0.3, 0.5, 0.7, 0.9], [0.3, 0.35, 0.5, 0.45, 0.8])
    assert _places(curve) == [
        "When it predicts 10%, 30% are positive; when it predicts 70%, 45% are positive"
    ]
    low = points([0.1, 0.3, 0.5, 0.7, 0.9], [0.3, 0.3, 0.5, 0.7, 0.9])
    assert _places(low) == ["When it predicts 10%, 30% are positive"]
    assert _places(points([0.2, 0.8], [0.2, 0.8])) == []


def test_a_place_is_named_from_three_standard_errors_on():
    def curve(z):
        return points([0.5] * 5, [0.5 + z * 0.05] * 4 + [0.5])

    assert _places(curve(2.99)) == []
    assert _places(curve(3.01)) == ["When it predicts 50%, 65% are positive"]


def test_rows_are_parted_by_their_weight():
    # The first of three points has half of the rows: it is in the second part, not in the first.
    curve = points([0.1, 0.4, 0.9], [0.5, 0.4, 0.9], [500, 250, 250])
    assert _places(curve) == ["When it predicts 10%, 50% are positive"]
    # Two points in one fifth are told together: (10·0.1 + 10·0.3)/20.
    mixed = points(
        [0.1, 0.3, 0.5, 0.6, 0.7, 0.8], [0.9, 0.9, 0.5, 0.6, 0.7, 0.8], [10, 10, 20, 20, 20, 20]
    )
    assert _places(mixed) == ["When it predicts 20%, 90% are positive"]


@pytest.mark.parametrize(
    ("confidence", "right", "words"),
    [
        (
            0.9,
            0.8,
            "Not calibrated. The model is overconfident: its mean confidence is 90%, "
            "its accuracy 80% (p = 0.001).",
        ),
        (
            0.7,
            0.8,
            "Not calibrated. The model is underconfident: its mean confidence is 70%",
        ),
        (0.82, 0.8, "Not calibrated, but the error is small. The model is overconfident"),
        (0.8201, 0.8, "Not calibrated. The model is overconfident"),
        (
            0.8,
            0.8,
            "Not calibrated, but the error is small. Mean confidence equals accuracy (80%), "
            "but the typical error is 1% (p = 0.001).",
        ),
    ],
)
def test_several_classes_by_hand(confidence, right, words):
    found = SimpleNamespace(
        p_value=0.001,
        mean_confidence=confidence,
        n=100,
        metrics={
            "accuracy": SimpleNamespace(estimate=right),
            "debiased_calibration_error": SimpleNamespace(estimate=0.01, high=0.02),
        },
    )
    assert class_finding(found, tolerance=0.02 + 1e-12).startswith(words)
    found.p_value = 0.05
    assert class_finding(found) == "No miscalibration beyond chance was found (p = 0.05)."
    found.n = 99
    assert class_finding(found) == (
        "No miscalibration beyond chance was found (p = 0.05); "
        "99 rows can reveal only large errors."
    )


def test_a_large_error_is_not_small_although_confidence_equals_accuracy():
    p = np.array([[0.5, 0.3, 0.2], [0.9, 0.05, 0.05]] * 1000)
    y = np.where(np.arange(2000) % 2 == 0, 0, np.where(np.arange(2000) % 5 < 2, 0, 1))
    said = metrics.evaluate_classes(y, p, classes=[0, 1, 2]).finding()
    assert said.startswith("Not calibrated. Mean confidence equals accuracy (70%), but the typical")


def group(value, flagged, predicted=0.67, observed=0.57, p=1e-6, event="positive", between=None):
    worst = {"predicted": predicted, "observed": observed, "low": 0.0, "high": 1.0, "level": 0.9}
    return {
        "worst": {**worst, "between": between},
        "event": event,
        "column": "Region",
        "value": value,
        "flagged": flagged,
        "predicted": predicted,
        "observed": observed,
        "p_value": p,
        "p_adjusted": p,
    }


def test_the_worst_group_is_named_when_it_is_the_finding():
    groups = [group("Ost", True), *(group(f"g{k}", False) for k in range(5))]
    assert finding(Found(500, 500, p=0.11), groups=groups) == (
        "Not calibrated in 1 of 6 groups. In Region = Ost, the model predicts 67% on average; "
        "57% are positive (1.3 times as many negatives as predicted, 90% CI 0–3; adjusted "
        "p < 0.0001). All rows together show no miscalibration (p = 0.11)."
    )
    both = finding(Found(200, 100, error=0.3), groups=[group("Ost", True, observed=0.0), *groups])
    assert both.endswith(
        "(p = 0.001). 2 of 7 groups are not calibrated. In the worst, Region = Ost, the model "
        "predicts 67% on average; none are positive (0 times as many positives as predicted, "
        "90% CI 0–1.49; adjusted p < 0.0001)."
    )
    none = [group("Ost", False)]
    assert finding(Found(500, 500, p=0.4), groups=none) == finding(Found(500, 500, p=0.4))


def test_a_group_of_several_classes_is_right_or_wrong_and_not_positive():
    found = SimpleNamespace(p_value=0.5, n=1000)
    assert class_finding(found, groups=[group("south", True, 0.57, 0.39, event="right")]) == (
        "Not calibrated in 1 of 1 group. In Region = south, the model predicts 57% on average; 39% "
        "are right (0.68 times as many right as predicted, 90% CI 0–1.75; adjusted p < 0.0001). "
        "All rows together show no miscalibration (p = 0.5)."
    )


def test_a_group_whose_means_agree_is_described_where_it_is_off():
    off = group("Gruppe 0", True, 0.02, 0.06, between=[0.0, 0.04])
    assert "In Region = Gruppe 0, when the model predicts 2%, 6% are positive (3 times as" in (
        finding(Found(500, 500, p=0.11), groups=[off])
    )


def test_a_single_group_adds_nothing_to_all_rows():
    off = Found(200, 100, error=0.3)
    assert finding(off, groups=[group("all", True)]) == finding(off)
