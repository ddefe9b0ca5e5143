"""Thresholds with a promise: against brute force, and against many samples of known populations."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import beta, binom

from trueodds.decisions import guaranteed_threshold, guaranteed_thresholds
from trueodds.decisions._guarantees import GRID
from trueodds.exceptions import InputError


def fixed_p_value(wrong, counted, limit):
    return binom.cdf(wrong, counted, limit) if counted else 1.0


def anytime_p_value(wrong, counted, limit):
    """1/E, where E bets on a rate that is uniform between 0 and the limit, row after row."""
    if not counted:
        return 1.0
    capital = 0.0
    for u in (np.arange(256) + 0.5) / 256:
        rate = u * limit
        factors = [rate / limit] * wrong + [(1 - rate) / (1 - limit)] * (counted - wrong)
        capital += math.prod(factors) / 256
    return 1 / capital


def naive_rate(y, p, limit, risk, doubt, p_value=fixed_p_value, extra_start=None):
    """Each threshold of the grid by counting rows; the walk as the definition has it."""

    @cache  # of the number of rows that reach the threshold
    def p_of(n_acted):
        act = np.zeros(len(p), dtype=bool)
        act[np.argsort(-p, kind="stable")[:n_acted]] = True
        wrong, counted = {
            "errors": (np.sum(act & (y == 0)), np.sum(act)),
            "misses": (np.sum(~act & (y == 1)), np.sum(y == 1)),
            "false_alarms": (np.sum(act & (y == 0)), np.sum(y == 0)),
        }[risk]
        return p_value(int(wrong), int(counted), limit)

    received = dict.fromkeys(GRID.tolist(), 0.0)
    order = GRID if risk == "misses" else GRID[::-1]
    if risk == "errors":
        for shift, share in [(0, 1 / 2), *((z, 1 / 16) for z in (-2, -1, -0.5, 0.5, 1, 2, 4, 8))]:
            odds = (1 - limit) / limit * np.exp(shift)
            start = max(t for t in GRID.tolist() if t <= odds / (1 + odds))
            received[start] += share * (1 if extra_start is None else 0.5)
        if extra_start is not None:
            received[extra_start] += 0.5
    else:
        received[order[0]] = 1.0
    found, level = math.inf, 0.0
    for t in order.tolist():
        level += received[t] * doubt
        if level > 0 and p_of(int(np.sum(p >= t))) <= level:
            found = t
        else:
            level = 0.0
    return found


scores = st.sampled_from([0.0, 0.02, 0.1, 0.3, 0.5, 0.77, 0.9, 0.95, 0.999, 1.0])
row = st.tuples(scores, st.integers(0, 99))


@pytest.mark.parametrize("risk", ["errors", "misses", "false_alarms"])
@settings(max_examples=40)
@given(rows=st.lists(row, min_size=3, max_size=60), limit=st.sampled_from([0.1, 0.25, 0.5, 0.8]))
def test_the_threshold_is_that_of_brute_force(risk, rows, limit):
    p = np.array([score for score, _ in rows])
    y = np.array([luck < 100 * score for score, luck in rows]).astype(int)
    for anytime, p_value in ((False, fixed_p_value), (True, anytime_p_value)):
        found = guaranteed_threshold(
            y, p, at_most=limit, risk=risk, confidence=0.75, classes=[0, 1], anytime=anytime
        )
        assert found.threshold == naive_rate(y, p, limit, risk, 0.25, p_value), anytime


def test_the_bound_is_that_of_clopper_and_pearson():
    rng = np.random.default_rng(0)
    p = rng.beta(4, 1, 1500)
    y = (rng.random(1500) < p).astype(int)
    for risk in ("errors", "misses", "false_alarms"):
        found = guaranteed_threshold(y, p, at_most=0.15, risk=risk, confidence=0.95)
        # The two highest starts of errors fail on these rows, and the two lowest are not reached.
        level = 0.05 * (12 / 16 if risk == "errors" else 1)
        exact = beta.ppf(1 - level, found.n_wrong + 1, found.n_counted - found.n_wrong)
        assert found.bound == pytest.approx(exact, rel=1e-9), risk
        assert found.bound <= 0.15
        assert found.estimate == found.n_wrong / found.n_counted
        assert found.n_acted == np.sum(p >= found.threshold)


def finite_population(name):
    """Scores and labels of which samples are drawn: its rates are the true ones."""
    rng = np.random.default_rng(7)
    n = 40_000
    if name == "calibrated":
        p = rng.beta(4, 1, n)
        return p, rng.random(n) < p
    if name == "overconfident":
        z = rng.normal(1.2, 1.2, n)
        return 1 / (1 + np.exp(-2 * z)), rng.random(n) < 1 / (1 + np.exp(-z))
    if name == "votes":
        p = rng.integers(0, 11, n) / 10
        return p, rng.random(n) < 0.15 + 0.75 * p
    if name == "useless":  # every threshold is just beyond the limit
        return rng.random(n), rng.random(n) < 0.745
    # The highest scores are wrong more often than those below them.
    p = rng.random(n)
    return p, rng.random(n) < np.where(p > 0.9, 0.7, np.where(p > 0.5, 0.93, 0.4))


def true_risk(p, y, t, risk):
    act = p >= t
    if risk == "errors":
        return 1 - y[act].mean()
    return (~act)[y].mean() if risk == "misses" else act[~y].mean()


@pytest.mark.parametrize("name", ["calibrated", "overconfident", "votes", "useless", "not ranked"])
@pytest.mark.parametrize("risk", ["errors", "misses", "false_alarms", "cost"])
def test_the_promise_is_broken_no_more_often_than_it_says(name, risk):
    p, y = finite_population(name)
    rng = np.random.default_rng(11)
    samples, broken, reached = 300, 0, 0
    for _ in range(samples):
        rows = rng.integers(0, len(p), 400)
        if risk == "cost":
            limit = 0.5 * (1 - y.mean()) + 0.1
            found = guaranteed_threshold(y[rows], p[rows], at_most=limit, risk="cost", cost_fp=2)
        else:
            limit = 0.25
            found = guaranteed_threshold(y[rows], p[rows], at_most=limit, risk=risk)
        if found.is_reachable:
            reached += 1
            act = p >= found.threshold
            cost = 2 * np.mean(act & ~y) + np.mean(~act & y)
            risk_there = cost if risk == "cost" else true_risk(p, y, found.threshold, risk)
            broken += risk_there > limit
    assert broken / samples <= 0.1 + 2 * np.sqrt(0.1 * 0.9 / samples)
    if risk == "misses":
        assert reached == samples


def test_more_rows_let_one_act_on_more():
    rng = np.random.default_rng(3)
    p = rng.beta(4, 1, 100_000)
    y = rng.random(100_000) < p
    few, many = (guaranteed_threshold(y[:n], p[:n], at_most=0.1) for n in (300, 100_000))
    best = np.mean(p >= min(t for t in GRID if np.mean(1 - p[p >= t]) <= 0.1))
    assert few.share_acted < 0.8 * best
    assert 0.95 * best < many.share_acted < best


def test_the_lowest_limit_is_the_lowest_of_many():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        p = rng.beta(3, 1, 80)
        y = rng.random(80) < p**1.5
        found = guaranteed_threshold(y, p, at_most=0.01)
        tried = [
            limit
            for limit in np.linspace(0.1, 0.5, 41)
            if guaranteed_threshold(y, p, at_most=limit).is_reachable
        ]
        assert found.lowest_limit <= min(tried)
        again = guaranteed_threshold(y, p, at_most=found.lowest_limit)
        assert again.threshold == found.lowest_threshold
        assert found.lowest_acted == again.n_acted == (p >= found.lowest_threshold).sum()
        share = f"{found.lowest_acted} of 80 rows reach"
        assert f"at least {again.threshold:g}, which {share}" in str(found)


def test_what_cannot_be_promised_is_not():
    rng = np.random.default_rng(0)
    p = rng.random(200)
    y = rng.random(200) < p
    found = guaranteed_threshold(y, p, at_most=0.001)
    assert not found.is_reachable
    assert found.to_dict()["threshold"] is None
    assert not (p >= found.threshold).any()  # acts on nothing, as the guides' code expects
    assert found.n_acted == found.share_acted == 0
    assert str(found).startswith("Not reachable: these 200 rows do not support a limit of 0.1% on")
    least = found.lowest_limit
    assert guaranteed_threshold(y, p, at_most=least).is_reachable
    assert not guaranteed_threshold(y, p, at_most=0.999 * least).is_reachable


def test_what_is_not_reachable_comes_with_what_would_help():
    y, p = np.repeat([0, 1], [2, 48]), np.full(50, 0.95)
    few = guaranteed_threshold(y, p, at_most=0.08)
    assert not few.is_reachable
    assert f"About {few.rows_needed:,} rows like these would support it" in str(few)
    assert few.rows_needed > 50
    for times in range(2, 60):  # copies of the same rows: enough from that number on
        found = guaranteed_threshold(y, p, at_most=0.08, counts=np.full(50, times))
        assert found.is_reachable == (50 * times >= few.rows_needed), times
    rng = np.random.default_rng(1)
    # The score's ceiling: no threshold that 20 rows reach is right often enough.
    flat = 0.7 + 0.2 * rng.random(20_000)
    right = (rng.random(20_000) < 0.8).astype(int)
    found = guaranteed_threshold(right, flat, at_most=0.02)
    assert found.rows_needed is None
    order = np.argsort(-flat)
    rates = np.cumsum(1 - right[order]) / np.arange(1, 20_001)
    places = [np.sum(flat >= t) for t in GRID.tolist()]
    assert found.best_rate == pytest.approx(min(rates[n - 1] for n in places if n >= 20))
    reached = [n for n in places if n >= 20]
    wrong = [round(rates[n - 1] * n) for n in reached]
    low = min(beta.ppf(0.1, k, n - k + 1) for k, n in zip(wrong, reached, strict=True))
    assert found.best_rate_low == pytest.approx(low)
    assert low > 0.02
    assert "More labels will not help" in str(found)
    assert "confirm it on others" in str(found)


@pytest.mark.parametrize("risk", ["misses", "false_alarms"])
def test_rows_needed_by_formula(risk):
    """With no wrong row at the safe end, n positives or negatives prove it if (1 − α)ⁿ ≤ δ."""
    y, p = np.repeat([0, 1], [30, 20]), np.repeat([0.2, 0.8], [30, 20])
    found = guaranteed_threshold(y, p, at_most=0.02, risk=risk)
    counted = 20 if risk == "misses" else 30
    needed = 50 / counted * math.log(0.1) / math.log(0.98)
    assert found.rows_needed == pytest.approx(needed, abs=1.5)


def test_next_to_false_alarms_stands_how_many_of_those_acted_on_are_wrong():
    rng = np.random.default_rng(4)
    p = rng.beta(0.2, 20, 20_000)
    y = rng.random(20_000) < p
    found = guaranteed_threshold(y, p, at_most=0.05, risk="false_alarms")
    acted = p >= found.threshold
    assert found.share_wrong == pytest.approx(1 - y[acted].mean())
    assert found.share_wrong > 0.7
    assert f"Of the rows acted on, {100 * found.share_wrong:.0f}% are negatives here." in str(found)


def test_groups_that_are_all_too_small_have_the_threshold_of_all_together():
    rng = np.random.default_rng(5)
    p, group = rng.beta(6, 1, 300), np.repeat(np.arange(20).astype(str), 15)
    y = rng.random(300) < p
    found = guaranteed_thresholds(y, p, groups=group, at_most=0.2)
    assert not any(one.is_reachable for one in found.values())
    pooled = guaranteed_threshold(y, p, at_most=0.2)
    assert {one.pooled_threshold for one in found.values()} == {pooled.threshold}
    assert f"All groups together support it at {pooled.threshold:g}" in str(found["3"])


def test_too_few_positives_promise_nothing_about_misses():
    y = np.repeat([0, 1], [100, 21])
    p = np.linspace(0, 1, 121)
    assert not guaranteed_threshold(y, p, at_most=0.1, risk="misses").is_reachable  # .9^21 > .1
    y = np.repeat([0, 1], [100, 22])
    p = np.linspace(0, 1, 122)
    found = guaranteed_threshold(y, p, at_most=0.1, risk="misses")
    assert found.n_acted == 22


def test_counts_are_rows():
    rng = np.random.default_rng(5)
    p = rng.choice([0.2, 0.6, 0.9, 0.97], 40)
    y, counts = rng.random(40) < p, rng.integers(0, 30, 40)
    repeated = guaranteed_threshold(np.repeat(y, counts), np.repeat(p, counts), at_most=0.2)
    assert guaranteed_threshold(y, p, counts=counts, at_most=0.2) == repeated
    assert repeated.n_rows == counts.sum()


def test_several_classes_answer_with_the_most_probable_one():
    rng = np.random.default_rng(2)
    p = rng.dirichlet([1, 0.5, 0.2], 3000)
    labels = np.array(["a", "b", "c"])
    y = labels[(rng.random(3000)[:, None] > np.cumsum(p, axis=1)).sum(axis=1)]
    right = labels[p.argmax(axis=1)] == y
    found = guaranteed_threshold(y, p, at_most=0.1)
    assert found == guaranteed_threshold(right, p.max(axis=1), at_most=0.1)
    with pytest.raises(InputError, match="with 3 classes, risk must be 'errors'; got 'misses'"):
        guaranteed_threshold(y, p, at_most=0.1, risk="misses")


def naive_most_promising(y, p, n_rows, limit, level):
    """The highest threshold at which n rows like these pass most often (to 0.001)."""

    @cache
    def power_of(n_acted):
        n = round(n_rows * n_acted / len(p))
        wrong = np.sum(y[np.argsort(-p, kind="stable")[:n_acted]] == 0)
        passing = [k for k in range(n + 1) if binom.cdf(k, n, limit) <= level]
        return binom.cdf(max(passing), n, (wrong + 0.5) / (n_acted + 1)) if passing and n else 0.0

    power = {t: power_of(int(np.sum(p >= t))) for t in GRID.tolist()}
    best = max(power.values())
    return max(t for t in power if power[t] >= best - 1e-3)


def test_groups_share_the_doubt_and_where_to_begin():
    """One group is worse than the others, so that its rows would begin elsewhere than theirs."""
    rng = np.random.default_rng(1)
    p, group = rng.beta(4, 1, 240).round(2), rng.choice([3, 1, 2], 240, p=[0.2, 0.3, 0.5])
    y = (rng.random(240) < np.where(group == 3, p**3, p)).astype(int)
    found = guaranteed_thresholds(y, p, groups=group, at_most=0.3, confidence=0.7)
    assert list(found) == [1, 2, 3]
    for name, one in found.items():
        own = group == name
        start = naive_most_promising(y[~own], p[~own], own.sum(), 0.3, 0.05)
        expected = naive_rate(y[own], p[own], 0.3, "errors", 0.1, extra_start=start)
        assert one.threshold == expected
        assert one.confidence == pytest.approx(0.9)
    for risk in ("misses", "false_alarms"):
        found = guaranteed_thresholds(y, p, groups=group, at_most=0.3, risk=risk, confidence=0.7)
        for name, one in found.items():
            own = group == name
            expected = naive_rate(y[own], p[own], 0.3, risk, 0.1)
            assert one.threshold == expected


def test_groups_take_counts():
    rng = np.random.default_rng(6)
    p, group = rng.choice([0.2, 0.6, 0.9, 0.97], 60), rng.choice(["a", "b"], 60)
    y, counts = rng.random(60) < p, rng.integers(0, 30, 60)
    assert guaranteed_thresholds(y, p, groups=group, at_most=0.2, counts=counts) == (
        guaranteed_thresholds(
            *(np.repeat(column, counts) for column in (y, p)),
            groups=np.repeat(group, counts),
            at_most=0.2,
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize(("name", "risk"), [("useless", "errors"), ("overconfident", "misses")])
def test_an_anytime_promise_holds_at_every_look(name, risk):
    """The rows grow, with a threshold at each look; one wrong threshold breaks the promise."""
    p, y = finite_population(name)
    limit, samples, rng = 0.25, 60, np.random.default_rng(2)
    broken = {True: 0, False: 0}
    for _ in range(samples):
        rows = rng.integers(0, len(p), 1200)
        for anytime in broken:
            returned = {
                guaranteed_threshold(
                    y[rows[:n]], p[rows[:n]], at_most=limit, risk=risk, anytime=anytime
                ).threshold
                for n in range(100, 1201, 100)
            } - {math.inf}
            broken[anytime] += any(true_risk(p, y, t, risk) > limit for t in returned)
    assert broken[True] <= 0.1 * samples + 2 * np.sqrt(0.1 * 0.9 * samples)
    assert broken[False] > broken[True] + 5  # the other guarantee is for one look


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"at_most": 0.0}, "at_most must be a number above 0 and at most 1; got 0.0"),
        ({"at_most": 1.5}, "at_most must be a number above 0 and at most 1; got 1.5"),
        ({"at_most": 0.1, "confidence": 0.4}, "confidence must be a number of at least 0.5"),
        ({"at_most": 0.1, "risk": "recall"}, "risk must be one of 'errors', 'misses'"),
        ({"at_most": 0.1, "risk": "cost", "cost_fp": 0}, "a wrong decision must cost more"),
        ({"at_most": 3, "risk": "cost", "cost_fp": 2}, "above 0 and at most 2; got 3"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        guaranteed_threshold([0, 1, 1], [0.2, 0.7, 0.9], **options)
