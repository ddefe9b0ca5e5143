"""Metrics against values computed by hand, and what they refuse."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

from trueodds import metrics
from trueodds.exceptions import InputError

CLASSIC = [
    metrics.accuracy,
    metrics.brier_score,
    metrics.debiased_calibration_error,
    metrics.expected_calibration_error,
    metrics.log_loss,
    metrics.maximum_calibration_error,
    metrics.root_mean_squared_error,
    metrics.smooth_calibration_error,
]


def test_a_confidence_of_one_falls_in_the_last_bin():
    # One bin: |0.975 − 0.5|. A phantom bin for 1.0 would give (0.05 + 1)/2 = 0.525.
    assert metrics.expected_calibration_error([1, 0], [0.95, 1.0]) == pytest.approx(0.475)
    # 0.0 in the first bin with 0.05: |0.025 − 0.5|.
    assert metrics.expected_calibration_error([1, 0], [0.05, 0.0]) == pytest.approx(0.475)


def test_a_probability_on_an_edge_belongs_to_the_bin_above():
    # Bins [0, ½) and [½, 1]: 0.5 goes with 0.9, so gaps are |0.1 − 0| and |0.7 − 0.5|.
    y, p = [0, 0, 1], [0.1, 0.5, 0.9]
    value = metrics.expected_calibration_error(y, p, n_bins=2)
    assert value == pytest.approx((0.1 + 2 * 0.2) / 3)
    # 0.3 is the float nearest to 3/10, and 1/49·49 rounds below 1: both are on their edges.
    assert metrics.maximum_calibration_error([0, 1], [0.3, 0.39]) == pytest.approx(0.155)
    one_by_49 = metrics.maximum_calibration_error([0, 1], [1 / 49, 1.5 / 49], n_bins=49)
    assert one_by_49 == pytest.approx(0.5 - 1.25 / 49)


def test_empty_bins_do_not_count():
    # Two of ten bins are filled: gaps 0.05 (weight 3) and 0.35 (weight 1).
    y, p = [0, 0, 0, 1], [0.05, 0.05, 0.05, 0.65]
    assert metrics.expected_calibration_error(y, p) == pytest.approx((3 * 0.05 + 0.35) / 4)
    equal = metrics.expected_calibration_error(y, p, weighting="equal")
    assert equal == pytest.approx((0.05 + 0.35) / 2)
    all_bins = metrics.expected_calibration_error(y, p, weighting="all_bins")
    assert all_bins == pytest.approx((0.05 + 0.35) / 10)  # unless they are asked for
    assert metrics.maximum_calibration_error(y, p) == pytest.approx(0.35)


def test_weights_by_hand():
    # Bin 0: mean p 0.05, frequency 1/4; bin 9: 0.95 and 1.
    y, p, w = [0, 1, 1], [0.05, 0.05, 0.95], [3.0, 1.0, 4.0]
    assert metrics.expected_calibration_error(y, p, sample_weight=w) == pytest.approx(
        (4 * 0.2 + 4 * 0.05) / 8
    )
    assert metrics.brier_score(y, p, sample_weight=w) == pytest.approx(
        (3 * 0.0025 + 0.9025 + 4 * 0.0025) / 8
    )
    assert metrics.log_loss(y, p, sample_weight=w) == pytest.approx(
        -(3 * math.log(0.95) + math.log(0.05) + 4 * math.log(0.95)) / 8
    )


def test_quantile_bins_by_hand():
    # Two bins of two rows each: gaps |0.15 − 0.5| and |0.85 − 0.5|.
    y, p = [0, 1, 0, 1], [0.1, 0.2, 0.8, 0.9]
    value = metrics.expected_calibration_error(y, p, n_bins=2, strategy="quantile")
    assert value == pytest.approx(0.35)
    # Ties are not parted: everything is one bin.
    tied = metrics.expected_calibration_error(y, [0.4] * 4, n_bins=4, strategy="quantile")
    assert tied == pytest.approx(0.1)


def test_three_ways_to_treat_three_classes():
    y = [0, 1, 2]
    p = [[0.6, 0.3, 0.1], [0.5, 0.25, 0.25], [0.0, 0.0, 1.0]]
    options = {"n_bins": 1}
    # Top label: confidences 0.6 (right), 0.5 (wrong), 1 (right).
    top = metrics.expected_calibration_error(y, p, multiclass="top_label", **options)
    assert top == pytest.approx(abs(2.1 / 3 - 2 / 3))
    # Columns: means 1.1/3, 0.55/3, 1.35/3 against 1/3 each.
    classwise = metrics.expected_calibration_error(y, p, multiclass="classwise", **options)
    assert classwise == pytest.approx((0.1 + 0.45 + 0.35) / 9)
    # All nine pairs in one bin: the sums agree.
    pooled = metrics.expected_calibration_error(y, p, multiclass="pooled", **options)
    assert pooled == pytest.approx(0.0, abs=1e-15)
    greatest = metrics.maximum_calibration_error(y, p, multiclass="classwise", **options)
    assert greatest == pytest.approx(0.45 / 3)


def test_root_mean_squared_error_is_equation_3_of_the_trees_paper():
    y, p = [0, 2], [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    assert metrics.root_mean_squared_error(y, p, classes=[0, 1, 2]) == pytest.approx(
        math.sqrt(0.5 / 6)
    )
    assert metrics.brier_score(y, p, classes=[0, 1, 2]) == pytest.approx(0.25)
    assert metrics.root_mean_squared_error([0, 1], [0.2, 0.6]) == pytest.approx(math.sqrt(0.1))


def test_debiased_error_equals_kumars_formula_where_scores_are_constant_in_bins():
    # ȳ = 3/4 at p = 0.5: 0.25² − (0.75·0.25)/3 = 0.
    y, p = [1, 1, 1, 0], [0.5] * 4
    assert metrics.debiased_calibration_error(y, p, squared=True) == pytest.approx(0.0, abs=1e-15)
    # A calibrated bin is negative, and its root is clipped to 0.
    y = [1, 1, 0, 0]
    square = metrics.debiased_calibration_error(y, p, squared=True)
    assert square == pytest.approx(-0.25 / 3)
    assert metrics.debiased_calibration_error(y, p) == 0.0
    # A bin of a single row says nothing.
    assert metrics.debiased_calibration_error([1], [0.2], squared=True) == 0.0


@pytest.mark.slow
def test_debiased_error_is_unbiased_where_the_plug_in_is_not():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.3, 0.5, (4000, 12))
    y = rng.random(p.shape) < p + 0.1
    # Two bins of six rows each; the squared error of either is 0.1².
    values = [
        metrics.debiased_calibration_error(a, b, n_bins=2, squared=True)
        for a, b in zip(y.astype(int), p, strict=True)
    ]
    assert np.mean(values) == pytest.approx(0.01, abs=4 * np.std(values) / math.sqrt(4000))


def test_log_loss_is_infinite_where_the_impossible_happened():
    assert metrics.log_loss([1, 0], [0.0, 0.5]) == math.inf
    assert metrics.log_loss([0, 1], [0.0, 1.0]) == 0.0
    assert math.copysign(1, metrics.log_loss([0, 1], [0.0, 1.0])) == 1
    assert metrics.log_loss([0], [1e-20]) == pytest.approx(1e-20, rel=1e-12)


def test_accuracy_takes_one_half_for_the_negative_class():
    assert metrics.accuracy([0, 1], [0.5, 0.5]) == 0.5
    assert metrics.accuracy(["a", "b"], [[0.5, 0.5], [0.5, 0.5]]) == 0.5


def test_corp_parts_by_hand():
    # Isotonic: 0.2 → ½ (two rows), 0.6 → 0, so the first three pool to 1/3; 0.8 → 1.
    parts = metrics.corp_decomposition([0, 1, 0, 1], [0.2, 0.2, 0.6, 0.8])
    after = (2 * (1 / 3) ** 2 + (2 / 3) ** 2) / 4
    assert parts.score == pytest.approx((0.04 + 0.64 + 0.36 + 0.04) / 4)
    assert parts.miscalibration == pytest.approx(parts.score - after)
    assert parts.discrimination == pytest.approx(0.25 - after)
    assert parts.uncertainty == pytest.approx(0.25)
    log = metrics.corp_decomposition([0, 1], [0.5, 0.5], loss="log")
    assert log.uncertainty == pytest.approx(math.log(2))
    assert log.miscalibration == pytest.approx(0.0, abs=1e-15)


def test_refinement_by_hand_and_within_bins():
    y, p = [0, 1, 0, 1], [0.2, 0.2, 0.8, 0.8]
    exact = metrics.calibration_refinement(y, p)
    assert exact.calibration_loss == pytest.approx(0.09)
    assert exact.refinement_loss == pytest.approx(0.25)
    assert exact.within_bins == 0.0
    # One bin of a perfect ranking: frequency ½ everywhere.
    one = metrics.calibration_refinement([0, 1], [0.1, 0.9], n_bins=1)
    assert one.score == pytest.approx(0.01)
    assert one.calibration_loss == pytest.approx(0.16)
    assert one.refinement_loss == pytest.approx(0.25)
    assert one.within_bins == pytest.approx(-0.4)


def test_ends_of_the_ranking_break_ties_on_average():
    y, p = [1, 0, 0, 0, 1, 1], [0.0, 0.0, 0.4, 0.5, 0.6, 1.0]
    ends = metrics.tail_calibration(y, p, fraction=1 / 6)
    assert (ends.low_prob, ends.low_rate) == (0.0, 0.5)
    assert (ends.high_prob, ends.high_rate) == (1.0, 1.0)
    assert ends.low_overconfidence == 0.5
    assert ends.high_overconfidence == 0.0


def test_smooth_error_of_one_point_is_its_residual():
    # A single residual keeps its sign when smoothed, so its mass is 0.3 at every bandwidth.
    assert metrics.smooth_calibration_error([0] * 5, [0.3] * 5) == pytest.approx(0.3)
    wide = metrics.smooth_calibration_error([0] * 5, [0.3] * 5, bandwidth=0.01)
    assert wide == pytest.approx(0.3)
    assert metrics.smooth_calibration_error([0, 1], [0.0, 1.0]) == 0.0


def test_smooth_error_refines_its_grid_for_tiny_errors():
    # 0.001 of residual at one point: the grid of 2048 cells could not resolve it.
    value = metrics.smooth_calibration_error([0] * 4, [0.001] * 4)
    assert value == pytest.approx(0.001, rel=1e-6)
    mixed = metrics.smooth_calibration_error([0] * 999 + [1], [0.002] * 1000)
    assert mixed == pytest.approx(0.001, rel=1e-6)


def test_the_charcoal_papers_synthetic_scores_have_an_error_of_9_percent():
    # Section 3: p uniform, logits above 0 divided by 5 before labels are drawn.
    rng = np.random.default_rng(0)
    p = rng.random(10**6)
    z = np.log(p / (1 - p))
    truth = 1 / (1 + np.exp(-np.where(z > 0, z / 5, z)))
    y = (rng.random(len(p)) < truth).astype(int)
    for weighting in ("mass", "equal"):
        value = metrics.expected_calibration_error(y, p, weighting=weighting)
        assert 100 * value == pytest.approx(9.18, abs=0.12)


@pytest.mark.parametrize("metric", CLASSIC)
def test_counts_equal_repetition_and_order_does_not_matter(metric):
    rng = np.random.default_rng(1)
    p = rng.random(60).round(2)
    y = (rng.random(60) < p).astype(int)
    w = rng.integers(0, 4, 60)
    counted = metric(y, p, counts=w)
    assert metric(np.repeat(y, w), np.repeat(p, w)) == pytest.approx(counted, rel=1e-12)
    order = rng.permutation(60)
    shuffled = metric(y[order], p[order], counts=w[order])
    assert shuffled == pytest.approx(counted, rel=1e-12)


@pytest.mark.parametrize("metric", CLASSIC)
def test_two_columns_text_labels_and_frames_give_the_same(metric):
    y, p = np.array([0, 1, 1, 0, 1]), np.array([0.1, 0.8, 0.3, 0.4, 1.0])
    plain = metric(y, p)
    names = np.array(["no", "yes"])[y]
    assert metric(names, np.stack([1 - p, p], axis=1)) == pytest.approx(plain, rel=1e-12)
    assert metric(pd.Series(names), pd.Series(p)) == plain
    assert metric(pl.Series(names), pl.Series(p)) == plain
    assert metric(y.astype(float), p, sample_weight=np.ones(5)) == pytest.approx(plain, rel=1e-12)


@pytest.mark.parametrize("metric", [*CLASSIC, metrics.corp_decomposition, metrics.tail_calibration])
def test_bad_input_is_refused_with_what_and_where(metric):
    with pytest.raises(InputError, match=r"y_prob must not contain NaN; found at index 1"):
        metric([0, 1], [0.5, math.nan])
    with pytest.raises(InputError, match=r"y_prob must lie in \[0, 1\]; got 1.5 at index 0"):
        metric([0, 1], [1.5, 0.5])
    with pytest.raises(InputError, match="differ in length: 3 and 2"):
        metric([0, 1, 1], [0.5, 0.5])
    with pytest.raises(InputError, match="sample_weight must not be negative"):
        metric([0, 1], [0.5, 0.5], sample_weight=[1, -1])
    with pytest.raises(InputError, match="y_true has 3 classes"):
        metric([0, 1, 2], [0.5, 0.5, 0.5])
    with pytest.raises(InputError, match="Pass classes="):
        metric(["b", "b"], [0.5, 0.5])


def test_one_class_alone_is_understood_if_it_is_0_or_1_or_named():
    assert metrics.brier_score([1, 1], [0.5, 1.0]) == 0.125
    assert metrics.brier_score([False, False], [0.5, 1.0]) == 0.625
    assert metrics.brier_score(["b", "b"], [0.5, 1.0], classes=["a", "b"]) == 0.125


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"n_bins": 0}, "n_bins must be an integer of at least 1"),
        ({"n_bins": 2.5}, "n_bins must be an integer"),
        ({"strategy": "equal"}, "strategy must be one of 'uniform', 'quantile'"),
        ({"weighting": "none"}, "weighting must be one of"),
        ({"multiclass": "top"}, "multiclass must be one of"),
    ],
)
def test_a_misspelled_option_is_refused(option, message):
    with pytest.raises(InputError, match=message):
        metrics.expected_calibration_error([0, 1], [0.5, 0.5], **option)


def test_other_options_are_checked():
    with pytest.raises(InputError, match="bandwidth must be None or a number of at least"):
        metrics.smooth_calibration_error([0, 1], [0.5, 0.5], bandwidth=0.0)
    with pytest.raises(InputError, match="fraction must be a number above 0 and at most"):
        metrics.tail_calibration([0, 1], [0.5, 0.5], fraction=0.7)
    with pytest.raises(InputError, match="must be of two classes; got 3 columns"):
        metrics.tail_calibration([0, 1, 2], np.eye(3))
    with pytest.raises(InputError, match="loss must be one of"):
        metrics.corp_decomposition([0, 1], [0.5, 0.5], loss="hinge")


def test_a_calibrated_constant_has_no_error_however_ties_are_binned():
    y, p = np.repeat([1, 0], [30, 70]), np.full(100, 0.3)
    options = {"strategy": "quantile", "n_bins": 10}
    for ties in ("whole", "share"):
        found = metrics.expected_calibration_error(y, p, ties=ties, **options)
        assert found == pytest.approx(0, abs=1e-12), ties


def test_shared_ties_give_each_bin_its_part_of_both_labels():
    # Three rows a bin; the tie of four at 0.5 fills the first bin by one row and makes the second.
    p, y = [0.1, 0.2, 0.5, 0.5, 0.5, 0.5], [0, 0, 1, 1, 0, 0]
    found = metrics.maximum_calibration_error(y, p, n_bins=2, strategy="quantile", ties="share")
    assert found == pytest.approx((0.1 + 0.2 + 0.5) / 3 - 0.5 / 3)


def test_ties_are_cut_in_bins_of_equal_mass_only():
    with pytest.raises(InputError, match=r"ties='share' needs bins of equal mass"):
        metrics.expected_calibration_error([0, 1], [0.2, 0.4], ties="share")
    with pytest.raises(InputError, match="ties must be one of"):
        metrics.expected_calibration_error([0, 1], [0.2, 0.4], strategy="quantile", ties="cut")
