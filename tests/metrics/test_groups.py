"""One test of groups: its false alarms, its power, and what it does with small groups."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest

from trueodds import ScoreTable
from trueodds.exceptions import InputError
from trueodds.metrics import (
    GroupCounts,
    calibration_test,
    evaluate_counts,
    evaluate_groups,
    group_test,
    worst_group_error,
)
from trueodds.metrics._groups import _testable, judge_groups


def counts(value, share, n=1000, seed=0):
    """A group in which events happen ``share`` times as often as the probabilities say."""
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return GroupCounts("g", value, n, ScoreTable.from_arrays(p, rng.random(n) < share * p))


def test_groups_that_are_off_come_first_and_false_alarms_are_corrected():
    groups = [counts(f"g{k}", 0.5 if k == 7 else 1.0, seed=k) for k in range(10)]
    found = evaluate_groups(iter(groups))
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    entries = found["groups"]
    assert [entry["value"] for entry in entries if entry["flagged"]] == ["g7"]
    assert entries[0]["value"] == "g7"
    by_p = sorted(entries, key=lambda entry: entry["p_value"])
    for place, entry in enumerate(by_p[:2]):  # Holm: times the hypotheses that are left
        assert entry["p_adjusted"] == pytest.approx(min(1, (10 - place) * entry["p_value"]))


def test_a_group_is_measured_as_its_table_is():
    group = counts("a", 0.8)
    entry = evaluate_groups([group])["groups"][0]
    alone = evaluate_counts(group.table, n_resamples=20)
    assert entry["p_value"] == entry["p_adjusted"] == alone.p_value
    for name, metric in alone.metrics.items():
        assert entry[name] == pytest.approx(metric.estimate), name
    assert (entry["column"], entry["rows"]) == ("g", 1000)
    assert entry["gap"] == pytest.approx(alone.mean_score - alone.prevalence)


def test_no_groups():
    assert evaluate_groups([])["groups"] == []


def test_groups_of_rows_and_of_counts_are_judged_alike():
    rng = np.random.default_rng(0)
    p = np.round(rng.beta(1, 3, 2000), 2)
    group = rng.choice(["a", "b", "c"], 2000, p=[0.9, 0.09, 0.01])
    y = rng.random(2000) < np.where(group == "b", np.minimum(2 * p, 1), p)
    from_rows = group_test(y, p, {"g": group})
    tables = [
        GroupCounts("g", v, int((group == v).sum()), ScoreTable.from_arrays(p[own], y[own]))
        for v in "abc"
        for own in [group == v]
    ]
    from_counts = evaluate_groups(tables)["groups"]
    assert [g.to_dict() for g in from_rows] == [
        {key: entry[key] for key in from_rows[0].to_dict()} for entry in from_counts
    ]
    for found in from_rows:
        own = group == found.value
        alone = calibration_test(y[own], p[own], method="exact")
        assert found.p_value == alone.p_value
    assert [g.value for g in from_rows if g.flagged] == ["b"]


def test_groups_of_one_class_and_of_one_row_are_listed():
    p = np.array([0.5] * 60 + [0.5] + [0.4] * 100)
    y = np.array([0] * 60 + [1] + [0, 1] * 50)
    group = np.array(["all negative"] * 60 + ["one row"] + ["fair"] * 100)
    found = {g.value: g for g in group_test(y, p, group)}
    assert found["all negative"].flagged
    assert found["one row"].too_small
    assert found["one row"].p_adjusted is None
    assert not found["fair"].flagged


def test_small_groups_cost_the_others_nothing():
    # 40 rows at 0.5 with 28 positives: p = 0.017 alone. 30 groups of 3 rows could never be found.
    p = np.full(40 + 90, 0.5)
    y = np.concatenate([np.arange(40) < 30, np.arange(90) % 2 == 0])
    group = np.concatenate([np.zeros(40, int), 1 + np.arange(90) // 3]).astype(str)
    found = {g.value: g for g in group_test(y, p, group)}
    assert sum(g.too_small for g in found.values()) == 30
    assert found["0"].p_adjusted == found["0"].p_value < 0.05
    assert found["0"].flagged


def test_what_had_probability_0_is_proof_in_a_group_of_any_size():
    found = group_test([1, 0, 1, 0], [0.0, 0.5, 0.5, 0.5], ["a", "b", "b", "b"])
    assert (found[0].value, found[0].flagged, found[0].p_value) == ("a", True, 0.0)


def test_the_set_that_could_be_flagged_is_tarones():
    least = np.array([0.001, 0.02, 0.03, 0.04, 0.9])
    # With k = 1 four could be flagged, with k = 2 two (0.001, 0.02 ≤ 0.025).
    assert _testable(least, 0.05).tolist() == [True, True, False, False, False]
    assert _testable(np.zeros(3), 0.05).all()
    assert not _testable(np.ones(3), 0.05).any()


def alarm(rng, sizes, draw, weight=False):
    """Whether any of calibrated groups is flagged."""
    group = np.repeat(np.arange(len(sizes)), sizes).astype(str)
    p = draw(rng, len(group))
    y = rng.random(len(group)) < p
    return any(g.flagged for g in group_test(y, p, group))


def saturated(rng, n):
    return rng.choice([0.8, 0.9, 0.95, 0.99], n)


def rare(rng, n):
    return np.round(rng.beta(0.2, 20, n), 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "draw", "runs"),
    [
        ([5, 8, 12, 15] * 3 + [9, 11], saturated, 250),
        ([5] * 20 + [200] * 2, rare, 150),
        ([500] * 6, rare, 60),
    ],
)
def test_calibrated_groups_are_flagged_in_at_most_one_run_of_twenty(sizes, draw, runs):
    rng = np.random.default_rng(7)
    alarms = sum(alarm(rng, sizes, draw) for _ in range(runs))
    assert alarms <= 0.05 * runs + 2 * np.sqrt(0.05 * 0.95 * runs)


def binomial_test_of_bins(p, y):
    """A test that holds as well: binomial tests of the whole and of up to five bins."""
    from scipy.stats import binom

    order = np.argsort(p)
    n_bins = min(len(p) // 100, 5)
    parts = [order, *(np.array_split(order, n_bins) if n_bins > 1 else [])]
    tests = []
    for part in parts:
        n, mean, hits = len(part), p[part].mean(), y[part].sum()
        tests.append(2 * min(binom.cdf(hits, n, mean), binom.sf(hits - 1, n, mean)))
    return min(1, len(tests) * min(tests))


@pytest.mark.parametrize("departure", ["slope", "shift"])
def test_its_power_is_at_least_that_of_binomial_tests_of_bins(departure):
    rng = np.random.default_rng(8)
    found = other = 0
    for _ in range(60):
        z = rng.normal(-1, 1.5, 500)
        truth = 0.72 * z if departure == "slope" else z - 0.35
        p, y = 1 / (1 + np.exp(-z)), rng.random(500) < 1 / (1 + np.exp(-truth))
        found += group_test(y, p, np.zeros(500, int))[0].flagged
        other += binomial_test_of_bins(p, y) < 0.05
    assert found >= other
    assert found > 30


def test_numbers_of_many_values_are_bands_and_several_columns_are_corrected_together():
    rng = np.random.default_rng(9)
    p = rng.random(3000)
    age = rng.integers(20, 80, 3000).astype(float)
    age[:30] = np.nan
    y = rng.random(3000) < np.where(age > 70, 0.6 * p, p)
    found = group_test(y, p, {"age": age, "site": rng.choice(["x", "y"], 3000)})
    assert {(g.column, g.value) for g in found if g.column == "site"} == {
        ("site", "x"),
        ("site", "y"),
    }
    assert sum(g.column == "age" for g in found) == 6
    assert found[0].value.endswith("and above")
    assert all(a.p_adjusted >= a.p_value for a in found)


def test_several_classes_are_judged_by_the_most_probable_one():
    rng = np.random.default_rng(10)
    prob = rng.dirichlet([1, 1, 1], 1500)
    y = (prob.cumsum(axis=1) > rng.random((1500, 1))).argmax(axis=1)
    group = np.arange(1500) % 2
    y[group == 1] = 0
    found = group_test(y, prob, group)
    assert [g.value for g in found if g.flagged] == ["1"]


def test_a_column_of_another_length_is_refused():
    with pytest.raises(InputError, match=r"groups\['g'\] must have shape \(2,\); got \(3,\)"):
        group_test([0, 1], [0.2, 0.5], {"g": ["a", "b", "c"]})
    with pytest.raises(InputError, match=r"probabilities in \[0, 1\]; they reach from -1 to 2"):
        judge_groups([GroupCounts("g", "a", 2, ScoreTable([-1.0, 2.0], [1, 1], [0, 0]))])


def test_false_alarms_of_all_labels_of_a_small_sample_are_enumerated():
    """Two groups of five rows: the chance of a flag, summed over all labels."""
    p = np.array([0.05, 0.1, 0.2, 0.1, 0.05, 0.95, 0.9, 0.9, 0.99, 0.8])
    group = ["a"] * 5 + ["b"] * 5
    flagged = {}
    for own, labels in itertools.product(
        (slice(0, 5), slice(5, 10)), itertools.product((0, 1), repeat=5)
    ):
        flagged[own.start, labels] = calibration_test(
            labels, p[own], method="exact", classes=[0, 1]
        )
    chance = 0.0
    for a, b in itertools.product(itertools.product((0, 1), repeat=5), repeat=2):
        smallest = min(flagged[0, a].p_value, flagged[5, b].p_value)
        if 2 * smallest < 0.05:
            y = np.array([*a, *b])
            chance += np.prod(np.where(y, p, 1 - p))
    assert chance <= 0.05
    assert any(g.flagged for g in group_test([1, 1, 1, 1, 1, 1, 1, 1, 1, 1], p, group))


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT])
def test_every_kind_of_missing_value_is_one_group(missing):
    groups = np.array([np.float64(2.0), missing] * 20, dtype=object)
    found = group_test(np.arange(40) % 2, np.linspace(0.1, 0.9, 40), groups)
    assert sorted(test.value for test in found) == ["(missing)", "2"]


def rates_of(*groups, n=4000):
    """Rows of groups that are predicted and observed at these rates, exactly."""
    p = np.repeat([predicted for predicted, _ in groups], n)
    y = np.concatenate([np.arange(n) < round(observed * n) for _, observed in groups])
    return y, p, np.repeat([f"g{k}" for k in range(len(groups))], n)


def test_a_ratio_of_six_at_a_small_rate_is_worse_than_a_gap_at_a_large_one():
    y, p, group = rates_of((0.0019, 0.0116), (0.114, 0.081), (0.3, 0.3))
    found = group_test(y, p, group)
    assert [g.value for g in found] == ["g0", "g1", "g2"]
    assert [g.flagged for g in found] == [True, True, False]
    assert abs(found[0].gap) < abs(found[1].gap)
    summary = worst_group_error(y, p, group)
    assert summary.worst.value == "g0"
    assert summary.largest.value == "g1"
    assert "Worst group: group = g0, 4,000 rows with 0.19% predicted and 1.1" in str(summary)
    assert "6.1 times as many positives" in str(summary)
    assert "largest gap of 3 groups, in group = g1, is between" in str(summary)


@pytest.mark.parametrize("rates", [[(0.02, 0.06), (0.5, 0.6)], [(0.98, 0.94), (0.6, 0.5)]])
def test_the_order_does_not_depend_on_which_class_is_positive(rates):
    y, p, group = rates_of(*rates)
    assert [g.value for g in group_test(y, p, group)] == ["g0", "g1"]
    swapped = group_test(1 - y, 1 - p, group)
    assert [g.value for g in swapped] == ["g0", "g1"]
    assert swapped[0].worst.odds_at_least == pytest.approx(
        group_test(y, p, group)[0].worst.odds_at_least
    )


def test_evidence_counts_and_not_the_estimate():
    """A small group with a larger ratio by chance is not worse than a large one."""
    y, p, group = rates_of((0.05, 0.10), n=20_000)
    few = np.arange(60) < 9
    y, p = np.append(y, few), np.append(p, np.full(60, 0.05))
    group = np.append(group, np.full(60, "few"))
    found = {g.value: g for g in group_test(y, p, group)}
    assert found["few"].flagged
    assert found["few"].whole.ratio > found["g0"].whole.ratio
    assert next(iter(found)) == "g0"


def test_a_group_whose_means_agree_is_off_in_a_range():
    rng = np.random.default_rng(3)
    p = np.concatenate([rng.uniform(0.01, 0.05, 3000), rng.uniform(0.15, 0.2, 3000)])
    truth = np.where(p < 0.1, 2 * p, p - np.mean(p[:3000]))
    y = rng.random(6000) < truth
    found = group_test(y, p, np.zeros(6000, int))[0]
    assert found.flagged
    assert found.whole.odds_at_least == 1.0
    low, high = found.worst.between
    own = (p >= low) & (p < high)
    assert high < 0.1
    assert found.worst.predicted == pytest.approx(p[own].mean(), rel=1e-6)
    assert found.worst.observed == pytest.approx(y[own].mean(), rel=1e-6)
    assert 1.5 < found.worst.ratio < 2.6


@pytest.mark.slow
def test_the_intervals_of_all_groups_hold_together():
    """Ratios, whole and in the range that was chosen, against known rates; 90% or more hold."""
    rng = np.random.default_rng(11)
    shift = np.array([0.0, 0.5, -0.5, 1.0, 0.0, -1.0])
    group = np.repeat(np.arange(6), [60, 200, 300, 500, 1000, 2000])
    p = rng.beta(1, 12, len(group))
    truth = 1 / (1 + np.exp(-np.log(p / (1 - p)) - shift[group]))
    whole = ranges = 0
    for _ in range(300):
        found = group_test(rng.random(len(p)) < truth, p, group)
        held, held_there = [], []
        for one in found:
            own = group == int(one.value)
            held.append(one.whole.low <= truth[own].mean() <= one.whole.high)
            low, high = one.worst.between or (0.0, 1.1)
            there = own & (p >= low) & (p < high)
            held_there.append(one.worst.low <= truth[there].mean() <= one.worst.high)
        whole += all(held)
        ranges += all(held_there)
    assert whole >= 0.9 * 300
    assert ranges >= 0.9 * 300
