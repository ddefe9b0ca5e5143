"""Exact tests against enumeration, simulation and the binomial distribution."""

import itertools

import numpy as np
import pytest
from scipy import stats

from trueodds import ScoreTable
from trueodds.metrics import BinTests, calibration_test, evaluate_counts
from trueodds.metrics._exact_test import (
    _runs_of_bins,
    bin_tests,
    exact_test,
    sum_p_value,
)
from trueodds.numerics.standard_errors import wilson


def enumerated(prob, gain, observed):
    """Twice the smaller tail, summed over all labels that are possible."""
    below = above = 0.0
    for labels in itertools.product((0, 1), repeat=len(prob)):
        chance = np.prod(np.where(labels, prob, 1 - prob))
        total = np.dot(gain, labels)
        below += chance * (total <= observed)
        above += chance * (total >= observed)
    return min(1.0, 2 * min(below, above))


@pytest.mark.parametrize("seed", range(12))
def test_few_rows_are_tested_as_enumeration_does(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 13))
    prob = rng.random(n) ** rng.choice([1, 3, 6])
    prob[rng.random(n) < 0.1] = 1.0
    gain = rng.integers(-3, 4, n) if seed % 2 else np.ones(n, dtype=int)
    observed = gain @ (rng.random(n) < prob)
    for shifted in (observed - 1, observed, observed + 2):
        want = enumerated(prob, gain, shifted)
        found = sum_p_value(prob, np.ones(n), gain, shifted)
        assert found == pytest.approx(want, abs=1e-8), (n, shifted)


@pytest.mark.parametrize("hits", [0, 1, 7, 20])
def test_one_probability_gives_the_binomial_test(hits):
    cdf, sf = stats.binom.cdf(hits, 20, 0.3), stats.binom.sf(hits - 1, 20, 0.3)
    for prob, count in (([0.3], [20.0]), ([0.3] * 4, [5.0] * 4)):
        gain = np.ones(len(prob), dtype=int)
        found = sum_p_value(np.array(prob), np.array(count), gain, hits)
        assert found == pytest.approx(min(1, 2 * min(cdf, sf)), abs=2e-9)


@pytest.mark.parametrize(
    ("n", "p", "tolerance"), [(10**5, 1e-4, 1e-2), (10**6, 0.3, 1e-3), (4 * 10**7, 1e-6, 1e-2)]
)
def test_many_rows_are_tested_as_the_binomial_distribution_does(n, p, tolerance):
    # Many probabilities that hardly differ: too many for a Fourier transform.
    prob = p * (1 + 1e-9 * np.linspace(-1, 1, 4000))
    count, gain = np.full(4000, n / 4000), np.ones(4000, dtype=int)
    for z in (-4, -2, -0.5, 0, 1, 3, 6, 12):
        hits = max(0, round(n * p + z * np.sqrt(n * p)))
        tails = stats.binom.cdf(hits, n, p), stats.binom.sf(hits - 1, n, p)
        want = min(1, 2 * min(tails))
        assert sum_p_value(prob, count, gain, hits) == pytest.approx(want, rel=tolerance), z


@pytest.mark.slow
def test_unequal_probabilities_are_spread_less_than_a_binomial():
    # An AUC of 0.9 halves the variance: the binomial test of the mean sees nothing here.
    rng = np.random.default_rng(0)
    prob = rng.beta(0.5, 0.5, 6000)
    labels = rng.random((4000, 6000)) < prob
    hits = round(prob.sum() - 3.0 * np.sqrt((prob * (1 - prob)).sum()))
    seen = labels.sum(axis=1)
    simulated = np.mean(np.abs(seen - prob.sum()) >= prob.sum() - hits)
    found = sum_p_value(prob, np.ones(6000), np.ones(6000, dtype=int), hits)
    assert found == pytest.approx(0.0027, rel=0.05)
    assert abs(simulated - found) < 3 * np.sqrt(found / 4000)
    assert stats.binom.cdf(hits, 6000, prob.mean()) * 2 > 0.02


def test_the_test_of_the_slope_is_that_of_cox_in_whole_steps():
    """Its p-value is near that of the score test of the slope, by NumPy."""
    rng = np.random.default_rng(1)
    ratios = []
    for _ in range(20):
        z = rng.normal(-1, 1.2, 3000)
        p = 1 / (1 + np.exp(-z))
        y = rng.random(3000) < 1 / (1 + np.exp(0.3 - 0.85 * z))
        v = p * (1 - p)
        x = z - (v @ z) / v.sum()
        score = x @ (y - p) / np.sqrt(v @ x**2)
        found = exact_test(ScoreTable.from_arrays(p, y)).slope
        ratios.append(stats.norm.isf(found / 2) / abs(score))
    assert np.median(ratios) == pytest.approx(1, abs=0.06)


def test_a_table_of_counts_is_tested_as_its_rows():
    rng = np.random.default_rng(2)
    p = np.round(rng.beta(1, 3, 700), 2)
    y = rng.random(700) < p**1.2
    table = ScoreTable.from_arrays(p, y)
    rows = calibration_test(y, p, method="exact")
    found = evaluate_counts(table, n_resamples=20)
    assert rows.p_value == found.p_value == found.exact_test.p_value
    assert (rows.statistic, rows.expected) == (y.sum(), pytest.approx(p.sum()))
    assert found.mean_test.p_value == pytest.approx(
        sum_p_value(p, np.ones(700), np.ones(700, dtype=int), y.sum())
    )
    bins = 5 * found.exact_test.bins.p_value.min()
    parts = [found.exact_test.mean, found.exact_test.slope, bins]
    assert found.p_value == pytest.approx(min(1, 3 * min(parts)))
    assert (found.exact_test.n_tests, len(found.exact_test.bins.p_value)) == (3, 5)


def test_neighboring_scores_in_cells_change_nothing_that_matters():
    rng = np.random.default_rng(3)
    p = rng.beta(0.3, 3, 20_000)
    y = rng.random(20_000) < 0.93 * p
    found = exact_test(ScoreTable.from_arrays(p, y))
    exact = sum_p_value(p, np.ones(20_000), np.ones(20_000, dtype=int), y.sum())
    assert found.mean == pytest.approx(exact, rel=0.01)


def test_what_is_impossible_and_happened_is_proof():
    for y, p in (([0, 0, 1], [0.0, 0.5, 0.0]), ([0, 1, 1], [1.0, 0.5, 0.5])):
        assert calibration_test(y, p, method="exact").p_value == 0
        weighted = calibration_test(y, p, method="exact", sample_weight=[0.5, 2, 1])
        assert weighted.p_value == 0
    certain = ScoreTable([0.0, 1.0], [5, 0], [0, 5])
    assert exact_test(certain).p_value == 1
    assert exact_test(certain).slope is None


def test_importance_weights_give_the_normal_test_by_hand():
    rng = np.random.default_rng(4)
    p, w = rng.random(150), rng.uniform(0.2, 5, 150)
    y = rng.random(150) < p
    z = w @ (y - p) / np.sqrt(w**2 @ (p * (1 - p)))
    found = exact_test(ScoreTable.from_arrays(p, y, w))
    assert found.mean == pytest.approx(2 * stats.norm.sf(abs(z)))
    same = calibration_test(y, p, method="exact", sample_weight=w)
    assert same.p_value == pytest.approx(min(1, 2 * min(found.mean, found.slope)))
    tenfold = calibration_test(y, p, method="exact", sample_weight=10 * w)
    assert tenfold.p_value == pytest.approx(same.p_value)


def test_the_least_p_value_is_that_of_the_most_extreme_labels():
    prob = np.array([0.1, 0.3, 0.6, 0.65, 0.9])
    extreme = []
    for labels in itertools.product((0, 1), repeat=5):
        table = ScoreTable.from_codes(prob, np.array(labels, dtype=bool))
        extreme.append(exact_test(table).p_value)
    assert exact_test(table).least == pytest.approx(min(extreme))


def test_bins_hold_every_row_once_and_keep_ties_together():
    table = ScoreTable([0.1, 0.2, 0.9], [50, 1, 0], [0, 0, 49])
    bins = bin_tests(table, 4)
    assert bins.weight.sum() == 100
    assert (bins.low[0], bins.high[-1]) == (0, 1)
    assert (bins.weight > 0).all()


def test_wilson_is_what_the_textbook_gives():
    low, high = wilson(np.array([0.2]), np.array([50.0]), 0.95)
    expected = stats.binomtest(10, 50).proportion_ci(0.95, method="wilson")
    assert (low[0], high[0]) == pytest.approx((expected.low, expected.high))


def gaps(mean_prob, frequency, weight=None):
    n = len(mean_prob)
    weight = np.full(n, 10.0) if weight is None else np.asarray(weight, dtype=float)
    edges = np.linspace(0, 1, n + 1)
    return BinTests(
        low=edges[:-1],
        high=edges[1:],
        mean_prob=np.asarray(mean_prob),
        frequency=np.asarray(frequency),
        weight=weight,
        p_value=np.ones(n),
    )


def regions(mean_prob, frequency, proven, weight=None):
    return _runs_of_bins(gaps(mean_prob, frequency, weight), np.asarray(proven, dtype=bool))


def test_a_run_of_bins_is_cut_to_those_that_are_proven_and_what_lies_between():
    found = regions(
        [0.2, 0.3, 0.4, 0.5, 0.6], [0.1, 0.1, 0.3, 0.4, 0.5], [0, 1, 0, 1, 0], [1, 2, 3, 4, 10]
    )
    assert len(found) == 1
    assert found[0].too_high
    assert (found[0].low, found[0].high) == pytest.approx((0.2, 0.8))
    assert found[0].share == pytest.approx(9 / 20)
    assert found[0].predicted == pytest.approx((2 * 0.3 + 3 * 0.4 + 4 * 0.5) / 9)
    assert found[0].observed == pytest.approx((2 * 0.1 + 3 * 0.3 + 4 * 0.4) / 9)


def test_runs_that_are_off_the_other_way_are_told_apart():
    found = regions([0.1, 0.2, 0.7, 0.8], [0.2, 0.3, 0.5, 0.6], [1, 1, 0, 1])
    assert [part.too_high for part in found] == [False, True]
    assert [(part.low, part.high) for part in found] == [(0.0, 0.5), (0.75, 1.0)]


def test_bins_that_are_right_and_runs_without_proof_are_no_region():
    assert regions([0.1, 0.5, 0.9], [0.1, 0.5, 0.9], [1, 1, 1]) == []
    assert regions([0.1, 0.5], [0.2, 0.6], [0, 0]) == []
    assert len(regions([0.1, 0.5, 0.7], [0.2, 0.5, 0.8], [1, 1, 1])) == 2
