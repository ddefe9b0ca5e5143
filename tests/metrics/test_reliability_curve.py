from __future__ import annotations

import json

import numpy as np
import pytest
from generators import calibrated, labeled, overconfident
from sklearn.calibration import calibration_curve

from trueodds.exceptions import InputError
from trueodds.metrics import corp_decomposition, expected_calibration_error, reliability_curve


def test_uniform_bins_by_hand_with_empty_ones_left_out():
    y, p = [0, 1, 1, 1], [0.0, 0.1, 0.1, 1.0]
    curve = reliability_curve(y, p, strategy="uniform", n_bins=10, band=None)
    assert np.allclose(curve.prob_pred, [0.0, 0.1, 1.0])
    assert np.allclose(curve.prob_true, [0.0, 1.0, 1.0])
    assert np.array_equal(curve.weight, [1, 2, 1])
    assert np.array_equal(curve.filled, [0, 1, 9])
    assert curve.band_low is None
    assert curve.hist_weight.sum() == 4


def test_binned_curve_adds_up_to_the_calibration_error():
    p, y = labeled(overconfident, np.random.default_rng(0), 1000)
    w = np.random.default_rng(1).uniform(0, 2, 1000)
    for strategy in ("uniform", "quantile"):
        curve = reliability_curve(y, p, strategy=strategy, n_bins=8, band=None, sample_weight=w)
        gaps = np.abs(curve.prob_pred - curve.prob_true)
        error = expected_calibration_error(y, p, strategy=strategy, n_bins=8, sample_weight=w)
        assert np.average(gaps, weights=curve.weight) == pytest.approx(error)


def test_quantile_bins_are_at_most_thirty_and_never_part_ties():
    p, y = labeled(calibrated, np.random.default_rng(0), 3000)
    assert len(reliability_curve(y, p, band=None).prob_pred) == 30
    assert len(reliability_curve(y[:100], p[:100], band=None).prob_pred) == 5
    assert len(reliability_curve(y, p.round(1), band=None).prob_pred) <= 11


def test_corp_curve_by_hand():
    y, p = [0, 1, 0, 1], [0.2, 0.2, 0.6, 0.8]
    curve = reliability_curve(y, p, strategy="corp", band=None)
    assert np.allclose(curve.prob_pred, [0.2, 0.6, 0.8])
    assert np.allclose(curve.prob_true, [1 / 3, 1 / 3, 1])
    assert np.allclose(curve.weight, [1.5, 1.5, 1])


def test_corp_curve_is_the_fit_of_the_decomposition():
    p, y = labeled(overconfident, np.random.default_rng(0), 500)
    curve = reliability_curve(y, p, strategy="corp", band=None)
    fit = np.interp(p, curve.prob_pred, curve.prob_true)
    parts = corp_decomposition(y, p)
    after = np.mean((fit - y) ** 2)
    assert parts.score - parts.miscalibration == pytest.approx(after)


def test_smooth_curve_finds_the_true_curve():
    p, y = labeled(overconfident, np.random.default_rng(0), 200_000)
    curve = reliability_curve(y, p, strategy="smooth", band=None)
    x = curve.prob_pred
    inner = (x > 0.2) & (x < 0.8)
    z = np.log(x[inner] / (1 - x[inner]))
    assert np.abs(curve.prob_true[inner] - 1 / (1 + np.exp(-z / 2))).max() < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["uniform", "quantile", "corp", "smooth"])
def test_consistency_bands_hold_calibrated_curves_as_often_as_promised(strategy):
    """Reduced: 60 repetitions; benchmarks/coverage/interval_coverage.py has 1000."""
    rng = np.random.default_rng(1)
    inside = []
    for seed in range(60):
        p, y = labeled(calibrated, rng, 1500)
        curve = reliability_curve(y, p, strategy=strategy, n_resamples=100, random_state=seed)
        value = np.interp(curve.band_x, curve.prob_pred, curve.prob_true)
        inside.append(np.mean((value >= curve.band_low) & (value <= curve.band_high)))
    assert 0.84 <= np.mean(inside) <= 0.96


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["uniform", "quantile", "corp", "smooth"])
def test_bands_with_unit_weights_agree_with_bands_without(strategy):
    # Different code: labels of single rows are drawn, instead of numbers of positives in cells.
    p, y = labeled(overconfident, np.random.default_rng(0), 600)
    for kind in ("consistency", "confidence"):
        options = {"strategy": strategy, "band": kind, "n_resamples": 1000, "random_state": 0}
        plain = reliability_curve(y, p, **options)
        weighted = reliability_curve(y, p, sample_weight=np.ones(600), **options)
        for end in ("band_low", "band_high"):
            gap = np.abs(getattr(plain, end) - getattr(weighted, end))
            assert gap.mean() < 0.015
    assert np.mean((plain.band_low + plain.band_high) / 2 - plain.band_x) != pytest.approx(0)


def test_cells_of_many_distinct_scores_give_the_band_of_single_rows():
    p, y = labeled(calibrated, np.random.default_rng(0), 20_000)  # more than the cells
    options = {"strategy": "uniform", "n_resamples": 300, "random_state": 0}
    plain = reliability_curve(y, p, **options)
    exact = reliability_curve(y, p, sample_weight=np.ones(20_000), **options)
    width = plain.band_high - plain.band_low
    assert np.allclose(width, exact.band_high - exact.band_low, rtol=0.25)
    share = plain.weight
    error = 2 * 1.645 * np.sqrt(plain.prob_pred * (1 - plain.prob_pred) / share)
    assert np.allclose(width, error, rtol=0.25)


def test_several_classes():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 300)
    y = np.array(["a", "b", "c"])[(rng.random((300, 1)) >= p.cumsum(axis=1)).sum(axis=1)]
    top = reliability_curve(y, p, band=None)
    assert top.event == "most probable class"
    assert top.prob_pred.min() > 1 / 3
    pooled = reliability_curve(y, p, band=None, multiclass="pooled")
    assert (pooled.event, pooled.n_rows) == ("every class", 900)
    one = reliability_curve(y, p, band=None, pos_label="b", strategy="uniform", n_bins=1)
    assert one.event == "class b"
    assert one.prob_pred[0] == pytest.approx(p[:, 1].mean())
    assert one.prob_true[0] == pytest.approx(np.mean(y == "b"))
    with pytest.raises(InputError, match="pos_label 'z' is not one of"):
        reliability_curve(y, p, pos_label="z")


def test_one_column_of_probabilities_is_that_of_the_named_class():
    y, p = np.array(["ham", "spam", "spam", "ham"]), np.array([0.9, 0.3, 0.2, 0.6])
    curve = reliability_curve(y, p, band=None, n_bins=2, pos_label="ham")
    theirs = calibration_curve(y, p, n_bins=2, strategy="quantile", pos_label="ham")
    np.testing.assert_allclose(curve.prob_true, theirs[0])
    np.testing.assert_allclose(curve.prob_pred, theirs[1])
    column = reliability_curve(y, p[:, None], band=None, n_bins=2, pos_label="ham")
    np.testing.assert_array_equal(column.prob_pred, curve.prob_pred)


def test_of_two_columns_the_one_of_the_named_class_is_taken():
    y, p = [0, 1, 1, 0], np.array([0.1, 0.3, 0.8, 0.6])
    both = np.stack([1 - p, p], axis=1)
    positive = reliability_curve(y, both, band=None, n_bins=2)
    negative = reliability_curve(y, both, band=None, n_bins=2, pos_label=0)
    np.testing.assert_allclose(negative.prob_pred, 1 - positive.prob_pred[::-1])
    np.testing.assert_allclose(negative.prob_true, 1 - positive.prob_true[::-1])


def test_a_curve_is_plain_json():
    curve = reliability_curve([0, 1], [0.2, 0.8], name="tiny", random_state=0)
    assert json.loads(json.dumps(curve.to_dict()))["name"] == "tiny"


def test_options_are_checked():
    for option in ({"strategy": "equal"}, {"band": "both"}, {"multiclass": "classwise"}):
        with pytest.raises(InputError, match=f"{next(iter(option))} must be one of"):
            reliability_curve([0, 1], [0.2, 0.8], **option)
