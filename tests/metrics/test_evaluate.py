"""A table of counts says what its rows say, in a time that does not depend on how many they are."""

import json

import numpy as np
import pytest

from trueodds import ScoreTable, metrics
from trueodds.exceptions import FewEventsWarning, InputError

FUNCTIONS = {
    "log_loss": metrics.log_loss,
    "brier_score": metrics.brier_score,
    "roc_auc": metrics.c_statistic,
    "expected_calibration_error": metrics.expected_calibration_error,
    "debiased_calibration_error": metrics.debiased_calibration_error,
    "maximum_calibration_error": metrics.maximum_calibration_error,
}


def sample(n, seed=0, decimals=None):
    """Overconfident log-odds; with decimals, many rows of equal score."""
    rng = np.random.default_rng(seed)
    z = rng.normal(-1, 2.5, n)
    p = 1 / (1 + np.exp(-z))
    if decimals is not None:
        p = np.round(p, decimals).clip(10.0**-decimals, 1 - 10.0**-decimals)
    y = rng.random(n) < 1 / (1 + np.exp(0.3 - 0.7 * z))
    return y.astype(int), p


@pytest.mark.parametrize("decimals", [1, 2, None])
@pytest.mark.parametrize("n", [60, 9000])
def test_point_values_are_those_of_the_rows(n, decimals):
    y, p = sample(n, decimals=decimals)
    found = metrics.evaluate_counts(ScoreTable.from_arrays(p, y), n_resamples=20)
    assert set(found.metrics) == set(FUNCTIONS)
    for name, function in FUNCTIONS.items():
        assert found.metrics[name].estimate == pytest.approx(function(y, p), rel=1e-12, abs=1e-12)
    assert found.n == n
    assert found.prevalence == pytest.approx(y.mean())
    assert found.mean_score == pytest.approx(p.mean())
    test = metrics.calibration_test(y, p)
    assert found.test.statistic == pytest.approx(test.statistic, rel=1e-9)
    assert found.test.p_value == pytest.approx(test.p_value, rel=1e-7)


@pytest.mark.parametrize("n_bins", [3, 25])
def test_the_number_of_bins_is_the_users(n_bins):
    y, p = sample(3000)
    found = metrics.evaluate_counts(ScoreTable.from_arrays(p, y), n_bins=n_bins, n_resamples=20)
    for name in ("expected_calibration_error", "maximum_calibration_error"):
        wanted = FUNCTIONS[name](y, p, n_bins=n_bins)
        assert found.metrics[name].estimate == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("decimals", [2, None])
def test_intervals_are_those_of_the_rows_to_the_last_bit(decimals):
    y, p = sample(5000, decimals=decimals)
    found = metrics.evaluate_counts(ScoreTable.from_arrays(p, y), level=0.8)
    for name, function in FUNCTIONS.items():
        if name in ("expected_calibration_error", "maximum_calibration_error"):
            assert np.isnan([found.metrics[name].low, found.metrics[name].high]).all()
            continue
        rows = metrics.confidence_interval(function, y, p, level=0.8)
        assert found.metrics[name].to_dict() == rows.to_dict()


@pytest.mark.slow
def test_means_are_covered_as_often_as_promised():
    covered = 0
    rng = np.random.default_rng(0)
    z = rng.normal(-1, 2.5, 10**6)
    p = 1 / (1 + np.exp(-z))
    q = 1 / (1 + np.exp(0.3 - 0.7 * z))
    truth = float((q * (1 - p) ** 2 + (1 - q) * p**2).mean())
    for seed in range(60):
        y, p = sample(400, seed=seed, decimals=3)
        found = metrics.evaluate_counts(
            ScoreTable.from_arrays(p, y), level=0.8, n_resamples=100, random_state=seed
        ).metrics["brier_score"]
        covered += found.low <= truth <= found.high
    assert 38 <= covered <= 58  # 48 ± 3 standard deviations


def test_counts_are_rows():
    """Ten times the counts are ten times the rows, not ten times the weight of each."""
    y, p = sample(2000, decimals=2)
    once = ScoreTable.from_arrays(p, y)
    tenfold = ScoreTable(once.score, 10 * once.n_neg, 10 * once.n_pos)
    few = metrics.evaluate_counts(once, n_resamples=400)
    many = metrics.evaluate_counts(tenfold, n_resamples=400)
    for name in ("log_loss", "brier_score", "roc_auc"):
        ratio = few.metrics[name].standard_error / many.metrics[name].standard_error
        assert ratio == pytest.approx(np.sqrt(10), rel=0.2)
    assert many.test.statistic == pytest.approx(np.sqrt(10) * few.test.statistic)


def test_the_curve_is_that_of_the_rows():
    y, p = sample(4000, decimals=3)
    found = metrics.evaluate_counts(ScoreTable.from_arrays(p, y), n_resamples=500).curve
    wanted = metrics.reliability_curve(y, p, random_state=1)
    for name in ("prob_pred", "prob_true", "weight", "edges", "filled", "hist_weight"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), atol=1e-12)
    np.testing.assert_allclose(found.band_low, wanted.band_low, atol=0.02)
    np.testing.assert_allclose(found.band_high, wanted.band_high, atol=0.02)
    assert found.n_rows == 4000


def test_the_impossible_makes_the_loss_infinite_and_certain():
    table = ScoreTable([0.0, 0.4, 1.0], [50, 10, 0], [1, 10, 50])
    found = metrics.evaluate_counts(table)
    assert np.isposinf([found.metrics["log_loss"].low, found.metrics["log_loss"].estimate]).all()
    assert 0 < found.metrics["brier_score"].low < found.metrics["brier_score"].high < 0.2
    assert found.to_dict()["metrics"]["log_loss"]["estimate"] is None


def test_scores_of_0_and_1_that_are_right_cost_nothing():
    found = metrics.evaluate_counts(ScoreTable([0.0, 0.5, 1.0], [50, 10, 0], [0, 10, 50]))
    assert found.metrics["log_loss"].estimate == pytest.approx(20 * np.log(2) / 120)
    assert found.metrics["log_loss"].high < 1


def test_one_class_has_no_auc():
    with pytest.warns(FewEventsWarning, match="0 are with the event"):
        found = metrics.evaluate_counts(ScoreTable([0.1, 0.2], [10, 5], [0, 0]))
    assert np.isnan(found.metrics["roc_auc"].estimate)
    assert found.metrics["brier_score"].estimate == pytest.approx((10 * 0.01 + 5 * 0.04) / 15)


def test_it_is_plain_json_and_the_same_every_time():
    table = ScoreTable.from_arrays(*sample(500)[::-1])
    first = json.dumps(metrics.evaluate_counts(table).to_dict(), allow_nan=False)
    assert first == json.dumps(metrics.evaluate_counts(table).to_dict(), allow_nan=False)
    assert set(json.loads(first)) == {
        "n",
        "prevalence",
        "mean_score",
        "n_independent",
        "metrics",
        "test",
        "curve",
        "exact_test",
        "mean_test",
        "slope_test",
        "p_value",
    }


def test_log_odds_are_refused():
    with pytest.raises(InputError, match=r"probabilities in \[0, 1\]; they reach from -2 to 3"):
        metrics.evaluate_counts(ScoreTable([-2.0, 3.0], [1, 1], [1, 1]))


def test_arrays_are_refused():
    with pytest.raises(InputError, match="needs a ScoreTable; got ndarray"):
        metrics.evaluate_counts(np.zeros(3))


def test_weights_that_sum_to_one_are_refused():
    with pytest.raises(InputError, match=r"at least 2 rows; the table has 1\b"):
        metrics.evaluate_counts(ScoreTable([0.2, 0.6], [0.5, 0], [0, 0.5]))
