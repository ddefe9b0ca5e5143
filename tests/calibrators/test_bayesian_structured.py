"""Bayesian structured scaling."""

import time

import numpy as np
import pytest

from trueodds import BayesianStructuredCalibrator, MatrixCalibrator, TemperatureCalibrator
from trueodds.exceptions import MissingClassWarning
from trueodds.maps import AverageMap, IdentityMap
from trueodds.metrics import log_loss


def sample(n, k, seed=0, spread=2.0):
    rng = np.random.default_rng(seed)
    logits = spread * rng.normal(size=(n, k))
    p = np.exp(logits)
    p /= p.sum(axis=1, keepdims=True)
    return logits, p, (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)


def divergence(p, q):
    """What q loses against the truth p, in log-loss."""
    return float((p * np.log(p / q)).sum(axis=1).mean())


def test_calibrated_scores_are_changed_less_than_by_temperature_scaling():
    losses = []
    for seed in range(5):
        _, p, y = sample(1000, 5, seed)
        _, new, _ = sample(5000, 5, seed + 100)
        kinds = (BayesianStructuredCalibrator, TemperatureCalibrator)
        losses.append([divergence(new, kind().fit(p, y).predict_proba(new)) for kind in kinds])
    mine, temperature = np.mean(losses, axis=0)
    assert mine < 5e-4
    assert mine < temperature


def test_a_temperature_that_is_wrong_is_found():
    logits, _, y = sample(2000, 4)
    calibrator = BayesianStructuredCalibrator(scale="logit").fit(3 * logits, y)
    new, truth, _ = sample(5000, 4, seed=1)
    assert divergence(truth, calibrator.predict_proba(3 * new)) < 0.003


def test_classes_that_are_mixed_up_are_told_apart_with_fewer_rows_than_a_matrix_needs():
    mix = np.eye(5) + 0.7 * np.roll(np.eye(5), 1, axis=1)
    logits, _, y = sample(80, 5)
    new, truth, _ = sample(5000, 5, seed=1)
    losses = [
        divergence(truth, kind(scale="logit").fit(logits @ mix, y).predict_proba(new @ mix))
        for kind in (BayesianStructuredCalibrator, MatrixCalibrator, TemperatureCalibrator)
    ]
    assert losses[0] < losses[1]
    assert losses[0] < losses[2]


def test_exact_zeros_of_a_forest_cost_little():
    rng = np.random.default_rng(0)
    _, p, y = sample(400, 10)
    votes = np.array([rng.multinomial(20, row) for row in p]) / 20
    _, p_new, y_new = sample(4000, 10, seed=1)
    new = np.array([rng.multinomial(20, row) for row in p_new]) / 20
    calibrator = BayesianStructuredCalibrator().fit(votes, y)
    assert not any(isinstance(m, IdentityMap) for m in calibrator.map_.maps)
    found = log_loss(y_new, calibrator.predict_proba(new))
    assert found < log_loss(y_new, np.maximum(new, 0.01) / np.maximum(new, 0.01).sum(1)[:, None])
    assert calibrator.predict_proba(new).min() > 1e-9


def test_a_class_without_instances_keeps_a_small_probability():
    _, p, y = sample(300, 4)
    kept = y != 2
    with pytest.warns(MissingClassWarning, match=r"classes \[2\] have no rows"):
        calibrator = BayesianStructuredCalibrator(classes=range(4)).fit(p[kept], y[kept])
    found = calibrator.predict_proba(p)
    assert (found[:, 2] > 1e-9).all()
    assert 1e-4 < found[:, 2].mean() < p[:, 2].mean()


def test_a_count_is_so_many_rows():
    _, p, y = sample(200, 3)
    counts = np.random.default_rng(0).integers(1, 4, 200)
    by_counts = BayesianStructuredCalibrator().fit(p, y, counts=counts).predict_proba(p)
    by_rows = BayesianStructuredCalibrator().fit(np.repeat(p, counts, 0), np.repeat(y, counts))
    np.testing.assert_allclose(by_counts, by_rows.predict_proba(p), atol=1e-5)


def test_two_classes_work_from_one_column_or_two():
    rng = np.random.default_rng(0)
    p = rng.random(500)
    y = (rng.random(500) < p**2).astype(int)
    one = BayesianStructuredCalibrator().fit(p, y)
    two = BayesianStructuredCalibrator().fit(np.column_stack([1 - p, p]), y)
    np.testing.assert_allclose(one.predict_proba(p), two.predict_proba(p), atol=1e-9)
    assert isinstance(one.map_, AverageMap)
    truth = np.column_stack([1 - p**2, p**2])
    assert divergence(truth, one.predict_proba(p)) < 0.01


@pytest.mark.parametrize("size", [1e8, 1e100, 1e-8, 1e-100])
def test_margins_of_any_size_give_the_same_probabilities(size):
    logits, _, y = sample(300, 3)
    big = 2.0**40
    ordinary = BayesianStructuredCalibrator(scale="raw").fit(big * logits, y)
    power = 2.0 ** np.round(np.log2(size))
    other = BayesianStructuredCalibrator(scale="raw").fit(power * logits, y)
    np.testing.assert_allclose(
        other.predict_proba(power * logits), ordinary.predict_proba(big * logits), atol=1e-9
    )


def test_the_map_is_saved_and_applied_without_the_calibrator(tmp_path):
    _, p, y = sample(300, 3)
    calibrator = BayesianStructuredCalibrator().fit(p**2 / (p**2).sum(1)[:, None], y)
    calibrator.map_.save(tmp_path / "map.json")
    again = AverageMap.load(tmp_path / "map.json")
    np.testing.assert_array_equal(again(p), calibrator.predict_proba(p))


@pytest.mark.parametrize("k", [20, 40, 300])
def test_many_classes_are_better_calibrated_than_before(k):
    logits, p, y = sample(1500, k)
    y[:k] = np.arange(k)
    hot = np.exp(2 * logits)
    hot /= hot.sum(axis=1, keepdims=True)
    started = time.process_time()
    found = BayesianStructuredCalibrator().fit(hot, y).predict_proba(hot)
    assert time.process_time() - started < 20
    assert divergence(p, found) < 0.2 * divergence(p, hot)


def test_probabilities_too_small_for_a_floor_are_fitted():
    # Naive Bayes says 1e-310 of a class; half of that is below the least floor of a map.
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    p = np.full((60, 3), 1e-310)
    p[np.arange(60), y] = 1.0
    p[::7] = rng.dirichlet([1, 1, 1], len(p[::7]))
    forecasts = BayesianStructuredCalibrator().fit(p, y).predict_proba(p)
    assert np.isfinite(forecasts).all()
    assert (forecasts.argmax(axis=1) == y).mean() > 0.8
