"""Rows of several classes: metrics with intervals and a test, as each says by itself."""

import json

import numpy as np
import pytest

from trueodds import ScoreTable, metrics


def sample(n=400, seed=0, power=1.0):
    """Probabilities of three classes; with a power above 1, less sure than they should be."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([1, 1, 1], n)
    truth = p**power / (p**power).sum(axis=1, keepdims=True)
    y = [rng.choice(["cat", "dog", "fox"], p=row) for row in truth]
    return np.array(y), p


@pytest.mark.parametrize("weighted", [False, True])
def test_every_number_is_that_of_its_own_function(weighted):
    y, p = sample()
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float) if weighted else None
    found = metrics.evaluate_classes(y, 3 * p, sample_weight=weight)
    assert found.n == 400
    assert {"log_loss", "brier_score"} < found.metrics.keys()
    for name, interval in found.metrics.items():
        function = getattr(metrics, name)
        assert interval.estimate == pytest.approx(function(y, p, sample_weight=weight), abs=1e-12)
        assert interval.low < interval.estimate < interval.high or "expected" in name
    alone = metrics.calibration_test(y, p, sample_weight=weight)
    assert found.test.statistic == pytest.approx(alone.statistic)
    assert found.p_value == pytest.approx(alone.p_value)


def test_intervals_are_those_of_each_function():
    y, p = sample(600, power=1.5)
    found = metrics.evaluate_classes(y, p)
    for name in ("log_loss", "brier_score", "accuracy", "debiased_calibration_error"):
        alone = metrics.confidence_interval(getattr(metrics, name), y, p)
        for key in ("estimate", "low", "high", "standard_error"):
            assert getattr(found.metrics[name], key) == pytest.approx(getattr(alone, key))


def test_an_impossible_class_that_happened_has_an_infinite_loss_and_a_finite_brier_score():
    y, p = sample()
    p = np.where(np.arange(400)[:, None] == 7, np.array(["cat", "dog", "fox"]) == y[8], p)
    y[7] = next(name for name in ("cat", "dog", "fox") if name != y[8])
    found = metrics.evaluate_classes(y, p).metrics
    assert found["log_loss"].estimate == np.inf
    assert found["brier_score"].low < found["brier_score"].high < 1


def test_what_is_off_is_found():
    assert metrics.evaluate_classes(*sample(2000)).p_value > 0.05
    assert metrics.evaluate_classes(*sample(2000, power=3.0)).p_value < 1e-6


def test_it_is_plain_json():
    document = metrics.evaluate_classes(*sample()).to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert set(document) == {"metrics", "n", "mean_confidence", "test", "p_value"}


def test_a_table_of_counts_has_a_test_of_its_mean():
    found = metrics.evaluate_counts(ScoreTable([0.5], [800], [1200]))
    assert found.test.p_value == 1.0  # which Spiegelhalter's test cannot see
    assert found.mean_test.statistic == 1200
    assert found.mean_test.expected == 1000
    assert found.mean_test.p_value < 1e-10
    assert found.p_value == found.mean_test.p_value  # one score: no slope, no bins
