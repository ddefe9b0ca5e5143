"""Every metric against its slow twin, to 1e-12."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from metric_samples import binary, several, whole_weight

from support import naive_metrics as naive
from support.property_runs import many_examples
from trueodds import metrics

strategies = st.sampled_from(["uniform", "quantile"])
bins = st.sampled_from([1, 2, 3, 7, 10, 15, 49])
MULTICLASS = ("top_label", "classwise", "pooled")


def close(actual, expected):
    return actual == pytest.approx(expected, rel=1e-12, abs=1e-12)


def weights(w, weighted):
    """Whole numbers as counts, others as importances."""
    if not weighted:
        return {}
    return {"counts" if np.array_equal(w, np.round(w)) else "sample_weight": w}


@pytest.mark.slow
@many_examples
@given(binary(), bins, st.sampled_from(["mass", "equal", "all_bins"]))
def test_expected_error_in_uniform_bins(sample, n_bins, weighting):
    p, y, w, weighted = sample
    actual = metrics.expected_calibration_error(
        y, p, n_bins=n_bins, weighting=weighting, **weights(w, weighted)
    )
    assert close(actual, naive.expected(p, y, w, n_bins, "uniform", weighting))


@pytest.mark.slow
@many_examples
@given(binary(whole_weight), bins, st.sampled_from(["mass", "equal"]))
def test_expected_error_in_quantile_bins(sample, n_bins, weighting):
    p, y, w, weighted = sample
    actual = metrics.expected_calibration_error(
        y, p, n_bins=n_bins, weighting=weighting, strategy="quantile", **weights(w, weighted)
    )
    assert close(actual, naive.expected(p, y, w, n_bins, "quantile", weighting))


@pytest.mark.slow
@many_examples
@given(several(whole_weight), bins, strategies, st.sampled_from(MULTICLASS))
def test_expected_and_maximum_error_of_several_classes(sample, n_bins, strategy, multiclass):
    p, y, w, weighted = sample
    parts = naive.views(p, y, w, multiclass)
    options = {
        "n_bins": n_bins,
        "strategy": strategy,
        "multiclass": multiclass,
        "classes": [0, 1, 2],
        **weights(w, weighted),
    }
    expected = [naive.expected(*part, n_bins, strategy, "mass") for part in parts]
    assert close(metrics.expected_calibration_error(y, p, **options), np.mean(expected))
    greatest = max(naive.maximum(*part, n_bins, strategy) for part in parts)
    assert close(metrics.maximum_calibration_error(y, p, **options), greatest)


@pytest.mark.slow
@many_examples
@given(binary(whole_weight), bins, strategies)
def test_maximum_error(sample, n_bins, strategy):
    p, y, w, weighted = sample
    actual = metrics.maximum_calibration_error(
        y, p, n_bins=n_bins, strategy=strategy, **weights(w, weighted)
    )
    assert close(actual, naive.maximum(p, y, w, n_bins, strategy))


@pytest.mark.slow
@many_examples
@given(binary(whole_weight), bins, strategies)
def test_debiased_error(sample, n_bins, strategy):
    p, y, w, weighted = sample
    options = {"n_bins": n_bins, "strategy": strategy, **weights(w, weighted)}
    square = naive.debiased_square(p, y, w, n_bins, strategy)
    assert close(metrics.debiased_calibration_error(y, p, squared=True, **options), square)
    root = metrics.debiased_calibration_error(y, p, **options)
    assert root**2 == pytest.approx(max(square, 0.0), abs=1e-12)


@pytest.mark.slow
@many_examples
@given(binary(), st.sampled_from(["brier", "log"]))
def test_corp_decomposition(sample, loss):
    p, y, w, weighted = sample
    parts = metrics.corp_decomposition(y, p, loss=loss, **weights(w, weighted))
    expected = naive.corp(loss, p, y, w)
    actual = (parts.score, parts.miscalibration, parts.discrimination, parts.uncertainty)
    assert all(close(a, e) for a, e in zip(actual, expected, strict=True))


@pytest.mark.slow
@many_examples
@given(binary(), st.sampled_from(["brier", "log"]), bins, strategies)
def test_calibration_and_refinement_loss(sample, loss, n_bins, strategy):
    p, y, w, weighted = sample
    parts = metrics.calibration_refinement(y, p, loss=loss, **weights(w, weighted))
    score, refinement = naive.refinement(loss, p, y, w)
    assert close(parts.score, score)
    assert close(parts.refinement_loss, refinement)
    assert close(parts.calibration_loss, score - refinement)
    binned = metrics.calibration_refinement(
        y, p, loss=loss, n_bins=n_bins, strategy=strategy, **weights(w, weighted)
    )
    parts_of_bins = (binned.calibration_loss, binned.refinement_loss, binned.within_bins)
    assert math.isinf(binned.calibration_loss) or close(sum(parts_of_bins), binned.score)


@pytest.mark.slow
@many_examples
@given(several())
def test_losses_of_several_classes(sample):
    p, y, w, weighted = sample
    options = {"classes": [0, 1, 2], **weights(w, weighted)}
    assert close(metrics.log_loss(y, p, **options), naive.log_loss(p, y, w))
    brier = naive.brier(p, y, w)
    assert close(metrics.brier_score(y, p, **options), brier)
    assert close(metrics.root_mean_squared_error(y, p, **options) ** 2, brier / 3)
    assert close(metrics.accuracy(y, p, **options), naive.accuracy(p, y, w))


@pytest.mark.slow
@many_examples
@given(binary())
def test_losses_of_two_classes(sample):
    p, y, w, weighted = sample
    options = weights(w, weighted)
    rows = [[1 - v, v] for v in p]
    # 1 − p rounds, so a tiny p of the negative class is compared with log1p directly.
    log_loss = math.fsum(
        v * (naive.binary_loss("log", 1, q) if label else -_log1p(-q))
        for q, label, v in zip(p, y, w, strict=True)
        if v > 0
    ) / math.fsum(w)
    assert close(metrics.log_loss(y, p, **options), log_loss)
    assert close(metrics.brier_score(y, p, **options), naive.brier(rows, y, w) / 2)
    assert close(metrics.accuracy(y, p, **options), naive.accuracy(rows, y, w))


def _log1p(x):
    return math.log1p(x) if x > -1 else -math.inf


@pytest.mark.slow
@many_examples
@given(binary(), st.sampled_from([0.025, 0.1, 0.25, 0.5]))
def test_confidence_at_the_ends(sample, fraction):
    p, y, w, weighted = sample
    ends = metrics.tail_calibration(y, p, fraction=fraction, **weights(w, weighted))
    low, high = (naive.end(p, y, w, fraction, top) for top in (False, True))
    assert close((ends.low_prob, ends.low_rate), low)
    assert close((ends.high_prob, ends.high_rate), high)


@pytest.mark.slow
@many_examples
@given(binary(max_size=6), st.floats(0.04, 0.6))
def test_smooth_error_at_a_given_bandwidth(sample, sigma):
    p, y, w, weighted = sample
    actual = metrics.smooth_calibration_error(y, p, bandwidth=sigma, **weights(w, weighted))
    assert close(actual, naive.smooth_error(p, y, w, sigma, 2048))


@pytest.mark.slow
@many_examples
@given(binary(max_size=6))
def test_smooth_error_is_the_bandwidth_that_equals_it(sample):
    p, y, w, weighted = sample
    sigma = metrics.smooth_calibration_error(y, p, **weights(w, weighted))
    assume(0.025 < sigma < 0.9)
    assert close(naive.smooth_error(p, y, w, sigma, 2048), sigma)
    without_grid = naive.smooth_error(p, y, w, sigma, 2048, on_grid=False)
    assert without_grid == pytest.approx(sigma, rel=1e-4)
