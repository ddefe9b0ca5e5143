"""Ensemble temperature scaling."""

import numpy as np
import pytest

from trueodds import EnsembleTemperatureCalibrator, TemperatureCalibrator
from trueodds.metrics import log_loss

# Made by probmetrics 1.3.0, in the environment of the benchmarks:
#   from probmetrics.calibrators.temperature_scaling import ETSCalibrator
#   c = ETSCalibrator(loss="ce"); c._fit_impl(*sample(seed, n, k)); print(c.t_, c.w_)
REFERENCE = [
    (0, 2000, 3, 2.96426156, [0.44537154, 0.39356311, 0.16106535]),
    (1, 3000, 5, 2.61809226, [0.50249162, 0.36279129, 0.13471709]),
    (2, 1500, 2, 3.19597613, [0.43451987, 0.40148915, 0.16399098]),
    (3, 4000, 10, 2.53675120, [0.53603999, 0.32545549, 0.13850452]),
]


def sample(seed, n, k):
    """Scores that are too sure, of labels a fifth of which are arbitrary."""
    rng = np.random.default_rng(seed)
    logits = 2 * rng.normal(size=(n, k))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = ((0.8 * p + 0.2 / k).cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return p**1.7 / (p**1.7).sum(axis=1, keepdims=True), y


@pytest.mark.parametrize(("seed", "n", "k", "temperature", "weights"), REFERENCE)
def test_the_fit_equals_that_of_the_reference(seed, n, k, temperature, weights):
    p, y = sample(seed, n, k)
    calibrator = EnsembleTemperatureCalibrator().fit(p, y)
    first = calibrator.map_.maps[0]
    inverse = first.a if k == 2 else first.weights[0]
    assert 1 / inverse == pytest.approx(temperature, rel=1e-6)
    np.testing.assert_allclose(calibrator.map_.weights, weights, atol=1e-6)


def test_it_fits_at_least_as_well_as_its_parts():
    p, y = sample(5, 1000, 4)
    mixed = EnsembleTemperatureCalibrator().fit(p, y).predict_proba(p)
    alone = TemperatureCalibrator().fit(p, y).predict_proba(p)
    uniform = np.full_like(p, 0.25)
    assert log_loss(y, mixed) <= min(log_loss(y, q) for q in (p, alone, uniform)) + 1e-9


def test_the_order_of_classes_stays():
    p, y = sample(6, 1000, 4)
    found = EnsembleTemperatureCalibrator().fit(p, y).predict_proba(p)
    np.testing.assert_array_equal(found.argsort(axis=1), p.argsort(axis=1))


def test_what_was_called_impossible_and_happened_does_not_stay_impossible():
    p, y = sample(7, 500, 3)
    p = np.where(p < 0.1, 0.0, p)
    p /= p.sum(axis=1, keepdims=True)
    assert (p[np.arange(500), y] == 0).any()
    calibrator = EnsembleTemperatureCalibrator().fit(p, y)
    assert np.isfinite(log_loss(y, calibrator.predict_proba(p)))
    assert calibrator.predict_proba(p).min() > 0


def test_labels_that_are_smoothed_raise_the_share_of_nothing():
    p, y = sample(8, 1000, 3)
    plain, smooth = (
        EnsembleTemperatureCalibrator(label_smoothing=s).fit(p, y).predict_proba(p).max()
        for s in (None, 0.3)
    )
    assert smooth < plain
