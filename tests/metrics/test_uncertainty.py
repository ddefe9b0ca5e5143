from __future__ import annotations

import math
from inspect import signature

import numpy as np
import pytest
from generators import calibrated, charcoal, labeled, overconfident, rare
from hypothesis import assume, given
from metric_samples import binary
from scipy import stats
from sklearn.metrics import roc_auc_score

from support import naive_metrics as naive
from support.property_runs import many_examples
from trueodds import metrics
from trueodds.exceptions import (
    BiasedMetricWarning,
    FewEventsWarning,
    InputError,
    UndefinedReplicatesWarning,
)
from trueodds.metrics import calibration_test, compare_metric, confidence_interval


@pytest.fixture
def sample():
    return labeled(overconfident, np.random.default_rng(0), 400)


def test_percentile_interval_of_a_mean_is_near_the_normal_one(sample):
    p, y = sample
    losses = (p - y) ** 2
    interval = confidence_interval(
        metrics.brier_score, y, p, level=0.9, method="percentile", n_resamples=4000, random_state=0
    )
    error = losses.std() / math.sqrt(len(y))
    assert interval.estimate == pytest.approx(losses.mean())
    assert interval.standard_error == pytest.approx(error, rel=0.05)
    assert interval.low == pytest.approx(losses.mean() - 1.645 * error, abs=0.1 * error)
    assert interval.high == pytest.approx(losses.mean() + 1.645 * error, abs=0.15 * error)


def test_bca_agrees_with_scipy_on_skewed_losses():
    p = np.random.default_rng(0).beta(0.3, 3, 40)
    losses = p**2  # all labels are 0; the skewness is 3
    options = {"level": 0.9, "method": "bca", "n_resamples": 6000, "random_state": 0}
    with pytest.warns(FewEventsWarning, match="0 are with the event"):
        ours = confidence_interval(metrics.brier_score, np.zeros(40), p, **options)
    seed = "rng" if "rng" in signature(stats.bootstrap).parameters else "random_state"
    theirs = stats.bootstrap(
        (losses,), np.mean, confidence_level=0.9, n_resamples=6000, method="BCa", **{seed: 1}
    )
    width = ours.high - ours.low
    assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=0.05 * width)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=0.05 * width)


def test_the_result_depends_on_the_seed_alone(sample):
    p, y = sample
    options = {"n_resamples": 50, "method": "percentile"}
    once = confidence_interval(metrics.log_loss, y, p, random_state=3, **options)
    again = confidence_interval(metrics.log_loss, y, p, random_state=3, n_jobs=2, **options)
    other = confidence_interval(metrics.log_loss, y, p, random_state=4, **options)
    assert np.array_equal(once.replicates, again.replicates)
    assert len(once.replicates) == 50
    assert not np.array_equal(once.replicates, other.replicates)
    for state in (np.random.default_rng(1), np.random.RandomState(1)):
        confidence_interval(metrics.log_loss, y, p, random_state=state, **options)


def test_clusters_are_drawn_together():
    # Ten copies of each row say no more than one: the error is that of the clusters.
    rng = np.random.default_rng(0)
    p, y = labeled(overconfident, rng, 100)
    group = np.repeat(np.arange(100), 10)
    options = {"n_resamples": 1000, "random_state": 0, "method": "percentile"}
    single = confidence_interval(metrics.brier_score, y, p, **options)
    naive_interval = confidence_interval(
        metrics.brier_score, np.repeat(y, 10), np.repeat(p, 10), **options
    )
    clustered = confidence_interval(
        metrics.brier_score, np.repeat(y, 10), np.repeat(p, 10), clusters=group, **options
    )
    assert np.allclose(clustered.replicates, single.replicates)
    assert naive_interval.standard_error < 0.5 * clustered.standard_error


def test_weights_and_clusters_of_rows_without_weight_are_left_out(sample):
    p, y = sample
    w = np.ones(len(y))
    w[::2] = 0
    group = np.arange(len(y)) // 4
    options = {"n_resamples": 50, "random_state": 0}
    weighted = confidence_interval(
        metrics.brier_score, y, p, sample_weight=w, clusters=group, **options
    )
    dropped = confidence_interval(
        metrics.brier_score, y[1::2], p[1::2], clusters=group[1::2], **options
    )
    assert np.allclose(weighted.replicates, dropped.replicates)


def test_any_metric_and_its_options_can_be_passed(sample):
    p, y = sample
    names = np.array(["no", "yes"])[y]
    auc = confidence_interval(roc_auc_score, names, p, n_resamples=50, random_state=0)
    assert auc.low < roc_auc_score(y, p) == auc.estimate < auc.high
    rough = confidence_interval(
        metrics.debiased_calibration_error, y, p, n_bins=3, n_resamples=50, random_state=0
    )
    assert rough.estimate == pytest.approx(metrics.debiased_calibration_error(y, p, n_bins=3))
    with pytest.warns(FewEventsWarning):
        only_a = confidence_interval(
            metrics.brier_score, ["a"] * 9, np.arange(9) / 9, classes=["a", "b"]
        )
    assert only_a.estimate == pytest.approx(np.mean((np.arange(9) / 9) ** 2))


def test_debiased_error_has_an_interval_of_squares_with_roots(sample):
    p, y = sample
    root = confidence_interval(metrics.debiased_calibration_error, y, p)
    square = confidence_interval(metrics.debiased_calibration_error, y, p, squared=True)
    assert root.method == square.method == "squares"
    assert root.estimate == pytest.approx(metrics.debiased_calibration_error(y, p))
    assert root.high == pytest.approx(math.sqrt(square.high))
    assert root.low == pytest.approx(math.sqrt(square.low))
    drawn = confidence_interval(
        metrics.debiased_calibration_error, y, p, squared=True, method="centered", random_state=0
    )
    assert square.high - square.low == pytest.approx(drawn.high - drawn.low, rel=0.25)
    moved = drawn.replicates - drawn.replicates.mean() + drawn.estimate
    assert (drawn.low, drawn.high) == pytest.approx(tuple(np.quantile(moved, [0.05, 0.95])))


@pytest.mark.parametrize(
    "metric",
    [
        metrics.expected_calibration_error,
        metrics.maximum_calibration_error,
        metrics.smooth_calibration_error,
    ],
)
@pytest.mark.parametrize("method", ["auto", "bca", "percentile"])
def test_errors_that_chance_adds_to_have_no_interval(sample, metric, method):
    p, y = sample
    with pytest.raises(InputError, match="Use debiased_calibration_error, whose interval holds"):
        confidence_interval(metric, y, p, method=method)
    with pytest.raises(InputError, match="Use debiased_calibration_error, whose interval holds"):
        compare_metric(metric, y, p, p, method=method)


def test_an_unknown_metric_that_chance_adds_to_is_warned_of():
    def ece(y, p, counts=None):
        return metrics.expected_calibration_error(y, p, counts=counts)

    rng = np.random.default_rng(0)
    p = rng.random(1000)
    y = rng.random(1000) < p
    with pytest.warns(BiasedMetricWarning, match="Chance adds to this metric"):
        confidence_interval(ece, y, p, n_resamples=100, random_state=0)


def test_an_interval_of_the_debiased_error_contains_a_true_error_of_zero():
    held = 0
    for seed in range(60):
        p, y = labeled(calibrated, np.random.default_rng(seed), 400)
        held += confidence_interval(metrics.debiased_calibration_error, y, p).low == 0
    assert held >= 52  # 57 expected: at 0 only one end can miss


def test_undefined_replicates_are_left_out_with_a_warning():
    y = np.array([1, 1] + [0] * 30)
    p = np.linspace(1, 0, 32)
    few = pytest.warns(FewEventsWarning, match="2 are with the event")
    with few, pytest.warns(UndefinedReplicatesWarning, match="no finite value in"):
        interval = confidence_interval(
            roc_auc_score, y, p, method="percentile", n_resamples=200, random_state=0
        )
    assert len(interval.replicates) < 200


def test_what_cannot_be_resampled_is_refused(sample):
    p, y = sample
    with pytest.raises(InputError, match="the metric is inf on this sample"):
        confidence_interval(metrics.log_loss, [1, 0] * 10, [0.0, 0.5] * 10)
    with pytest.raises(InputError, match="at least 2 rows"):
        confidence_interval(metrics.brier_score, [1], [0.5])
    with pytest.raises(InputError, match="level must be a number strictly between"):
        confidence_interval(metrics.brier_score, y, p, level=95)
    with pytest.raises(InputError, match="method must be one of"):
        confidence_interval(metrics.brier_score, y, p, method="normal")
    with pytest.raises(InputError, match="n_resamples must be an integer of at least 20"):
        confidence_interval(roc_auc_score, y, p, n_resamples=5)
    with pytest.raises(InputError, match=r"clusters must have shape \(400,\)"):
        confidence_interval(metrics.brier_score, y, p, clusters=[1, 2])
    with pytest.raises(InputError, match="random_state must be"):
        confidence_interval(roc_auc_score, y, p, random_state="seed")


def test_progress_is_shown_when_asked_for_only(sample, capfd):
    p, y = sample
    options = {"method": "percentile", "n_resamples": 20}
    confidence_interval(metrics.brier_score, y, p, **options)
    assert capfd.readouterr().err == ""
    confidence_interval(metrics.brier_score, y, p, **options, progress=True)
    assert "bootstrap" in capfd.readouterr().err


def test_paired_comparison_sees_what_separate_intervals_do_not():
    rng = np.random.default_rng(0)
    p, y = labeled(calibrated, rng, 500)
    worse = p + np.where(p < 0.5, 0.08, -0.08)
    result = compare_metric(metrics.brier_score, y, worse, p, random_state=0)
    assert result.difference == pytest.approx(
        metrics.brier_score(y, worse) - metrics.brier_score(y, p)
    )
    assert result.low > 0
    assert result.p_value < 0.05
    single = confidence_interval(metrics.brier_score, y, p, random_state=0)
    assert single.low < result.estimate_a < single.high
    swapped = compare_metric(metrics.brier_score, y, p, worse, random_state=0, method="percentile")
    assert swapped.high < 0


@pytest.mark.slow
def test_p_value_is_the_level_at_which_the_interval_touches_zero():
    rng = np.random.default_rng(2)
    p, y = labeled(calibrated, rng, 300)
    other = np.clip(p + rng.normal(0, 0.1, 300), 0, 1)

    def ece(y, p, counts=None):  # biased, so that the correction matters
        return metrics.expected_calibration_error(y, p, counts=counts)

    for method, metric in (
        ("percentile", metrics.brier_score),
        ("bca", metrics.brier_score),
        ("bca", ece),
        ("centered", metrics.brier_score),
    ):
        options = {"n_resamples": 1000, "random_state": 0, "method": method}
        result = compare_metric(metric, y, other, p, **options)
        assert 0.002 < result.p_value < 0.95
        at = compare_metric(metric, y, other, p, level=1 - result.p_value, **options)
        nearest = min(abs(at.low), abs(at.high))
        assert nearest < 0.03 * (at.high - at.low)


@pytest.mark.slow
def test_p_values_of_equal_models_are_uniform():
    rng = np.random.default_rng(5)
    small = 0
    for _ in range(80):
        p, y = labeled(calibrated, rng, 150)
        noise = rng.normal(0, 0.15, (2, 150))
        a, b = np.clip(p + noise, 0.01, 0.99)
        options = {"n_resamples": 150, "random_state": rng, "method": "percentile"}
        small += compare_metric(metrics.brier_score, y, a, b, **options).p_value < 0.1
    assert 1 <= small <= 18  # binomial(80, 0.1), beyond 1 in 1000 at either end


@pytest.mark.slow
@many_examples
@given(binary())
def test_spiegelhalter_agrees_with_the_slow_formula(data):
    p, y, w, weighted = data
    variance = sum(v * v * (1 - 2 * q) ** 2 * q * (1 - q) for q, v in zip(p, w, strict=True))
    assume(variance > 1e-6)
    result = calibration_test(y, p, sample_weight=w if weighted else None)
    assert result.statistic == pytest.approx(naive.spiegelhalter(p, y, w), rel=1e-9, abs=1e-9)


def test_spiegelhalter_by_hand():
    # z = (0.8·0.6 − 0.2·0.6)/√(2·0.36·0.16): one of two at p = 0.2 happened.
    result = calibration_test([1, 0], [0.2, 0.2])
    assert result.statistic == pytest.approx(0.36 / math.sqrt(0.1152))
    assert result.p_value == pytest.approx(2 * stats.norm.sf(result.statistic))
    assert calibration_test([1, 0], [0.5, 0.5]).p_value == 1.0
    assert calibration_test([1, 0], [1.0, 0.0]).p_value == 1.0
    assert calibration_test([0, 0], [1.0, 0.0]).p_value == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spiegelhalter", "ece", "mce", "rms"])
def test_calibrated_samples_are_rejected_as_often_as_promised(method):
    rng = np.random.default_rng(0)
    n_reps = 250
    rejected = 0
    for seed in range(n_reps):
        p, y = labeled(calibrated, rng, 300)
        test = calibration_test(y, p, method=method, n_resamples=199, random_state=seed)
        rejected += test.p_value <= 0.05
    # benchmarks/coverage/interval_coverage.py has 3.5 to 6.5 %; these are 3 binomial deviations.
    assert 0.012 <= rejected / n_reps <= 0.092


def test_miscalibrated_samples_are_rejected():
    p, y = labeled(overconfident, np.random.default_rng(0), 500)
    for method in ("spiegelhalter", "ece", "mce", "rms", metrics.smooth_calibration_error):
        test = calibration_test(y, p, method=method, n_resamples=99, random_state=0)
        assert test.p_value <= 0.02
        assert test.statistic > test.expected


def test_a_metric_of_several_classes_survives_draws_without_some_of_them():
    rng = np.random.default_rng(0)
    p = np.tile([0.45, 0.45, 0.1], (12, 1))
    y = np.array([0, 1, 2] * 4)
    options = {"n_resamples": 60, "random_state": rng}
    test = calibration_test(y, p, method=metrics.expected_calibration_error, **options)
    assert 0 < test.p_value <= 1


@pytest.mark.parametrize("multiclass", ["top_label", "classwise", "pooled"])
def test_several_classes_and_weights_in_the_resampling_test(multiclass):
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 2, 3], 400)
    y = (rng.random((400, 1)) >= np.cumsum(p, axis=1)).sum(axis=1)
    options = {"multiclass": multiclass, "n_resamples": 99, "random_state": 0, "method": "ece"}
    good = calibration_test(y, p, sample_weight=rng.uniform(0.5, 2, 400), **options)
    assert good.p_value > 0.05
    assert good.expected > 0
    sharp = p**3 / (p**3).sum(axis=1, keepdims=True)
    assert calibration_test(y, sharp, **options).p_value <= 0.02
    assert calibration_test(y, sharp).statistic > 3
    assert abs(calibration_test(y, p).statistic) < 3


@pytest.mark.slow
@pytest.mark.parametrize("generator", [charcoal, overconfident, rare])
@pytest.mark.parametrize("metric", ["brier", "debiased"])
def test_intervals_cover(generator, metric):
    """Reduced: 100 repetitions; benchmarks/coverage/interval_coverage.py has 1000."""
    rng = np.random.default_rng(1)
    p, truth = generator(rng, 10**6)
    if metric == "brier":
        function, options = metrics.brier_score, {}
        true_value = np.mean((p - truth) ** 2 + truth * (1 - truth))
    else:
        function, options = metrics.debiased_calibration_error, {"strategy": "uniform"}
        bins = np.minimum((p * 15).astype(int), 14)
        gap = np.bincount(bins, p - truth, 15) / len(p)
        share = np.bincount(bins, minlength=15) / len(p)
        true_value = math.sqrt(np.sum(gap**2 / np.maximum(share, 1e-9)))
    covered = 0
    for seed in range(100):
        p, y = labeled(generator, rng, 800)
        interval = confidence_interval(
            function, y, p, level=0.9, n_resamples=100, random_state=seed, **options
        )
        covered += interval.low <= true_value <= interval.high
    assert 0.81 <= covered / 100 <= 0.98


@pytest.mark.filterwarnings("ignore::trueodds.exceptions.FewEventsWarning")
def test_a_brier_score_is_at_most_1_for_two_classes_and_2_for_several():
    found = confidence_interval(metrics.brier_score, [0, 1, 1], [0.2, 0.7, 0.4])
    assert (found.low, found.high) == (0, 1)
    prob = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.9, 0.05, 0.05]]
    assert confidence_interval(metrics.brier_score, [0, 1, 2], prob).high <= 2
