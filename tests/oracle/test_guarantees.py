"""Thresholds with a promise: against brute force, and against many samples of known populations."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom

from trueodds.decisions import guaranteed_threshold, guaranteed_thresholds
from trueodds.decisions._guarantees import GRID
from trueodds.exceptions import InputError


def naive_rate(y, p, limit, risk, doubt):
    """Each threshold of the grid by counting rows; the walk as the definition has it."""

    @cache  # of the number of rows that reach the threshold
    def passes(n_acted):
        act = np.zeros(len(p), dtype=bool)
        act[np.argsort(-p, kind="stable")[:n_acted]] = True
        wrong, counted = {
            "errors": (np.sum(act & (y == 0)), np.sum(act)),
            "misses": (np.sum(~act & (y == 1)), np.sum(y == 1)),
            "false_alarms": (np.sum(act & (y == 0)), np.sum(y == 0)),
        }[risk]
        return counted > 0 and binom.cdf(wrong, counted, limit) <= doubt

    @cache
    def predicted_power(n):
        if n == 0:
            return 0.0
        k = binom.ppf(doubt, n, limit)
        k -= binom.cdf(k, n, limit) > doubt
        return binom.cdf(k, n, np.mean(1 - np.sort(p)[::-1][:n])) if k >= 0 else 0.0

    if risk == "misses":
        order = GRID
    elif risk == "false_alarms":
        order = GRID[::-1]
    else:
        power = np.array([predicted_power(int(np.sum(p >= t))) for t in GRID])
        start = max(i for i in range(len(GRID)) if power[i] >= power.max() - 1e-3)
        order = GRID[: start + 1][::-1]
    found = None
    for t in order:
        if not passes(int(np.sum(p >= t))):
            break
        found = t
    return found


scores = st.sampled_from([0.0, 0.02, 0.1, 0.3, 0.5, 0.77, 0.9, 0.95, 0.999, 1.0])
row = st.tuples(scores, st.integers(0, 99))


@pytest.mark.parametrize("risk", ["errors", "misses", "false_alarms"])
@settings(max_examples=40)
@given(rows=st.lists(row, min_size=3, max_size=60), limit=st.sampled_from([0.1, 0.25, 0.5, 0.8]))
def test_the_threshold_is_that_of_brute_force(risk, rows, limit):
    p = np.array([score for score, _ in rows])
    y = np.array([luck < 100 * score for score, luck in rows]).astype(int)
    found = guaranteed_threshold(y, p, at_most=limit, risk=risk, confidence=0.75, classes=[0, 1])
    assert found.threshold == naive_rate(y, p, limit, risk, 0.25)


def test_the_bound_is_that_of_clopper_and_pearson():
    rng = np.random.default_rng(0)
    p = rng.beta(4, 1, 1500)
    y = (rng.random(1500) < p).astype(int)
    for risk in ("errors", "misses", "false_alarms"):
        found = guaranteed_threshold(y, p, at_most=0.15, risk=risk, confidence=0.95)
        exact = beta.ppf(0.95, found.n_wrong + 1, found.n_counted - found.n_wrong)
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
        if found.threshold is not None:
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


def test_what_cannot_be_promised_is_not():
    rng = np.random.default_rng(0)
    p = rng.random(200)
    y = rng.random(200) < p
    found = guaranteed_threshold(y, p, at_most=0.001)
    assert found.threshold is None
    assert not found.is_reachable
    assert found.n_acted == found.share_acted == 0
    assert str(found).startswith("Not reachable: these 200 rows do not support a limit of 0.1% on")
    least = found.lowest_limit
    assert guaranteed_threshold(y, p, at_most=least).is_reachable
    assert not guaranteed_threshold(y, p, at_most=0.999 * least).is_reachable


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


def test_groups_share_the_doubt():
    rng = np.random.default_rng(0)
    p, group = rng.beta(4, 1, 3000), rng.choice([3, 1, 2], 3000)
    y = rng.random(3000) < p
    found = guaranteed_thresholds(y, p, groups=group, at_most=0.15, confidence=0.85)
    assert list(found) == [1, 2, 3]
    for name, one in found.items():
        own = group == name
        alone = guaranteed_threshold(y[own], p[own], at_most=0.15, confidence=0.95)
        assert one.threshold == alone.threshold
        assert one.confidence == pytest.approx(0.95)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"at_most": 0.0}, "at_most must be a number above 0 and at most 1; got 0.0"),
        ({"at_most": 1.5}, "at_most must be a number above 0 and at most 1; got 1.5"),
        ({"at_most": 0.1, "confidence": 0.5}, "confidence must be a number of at least 0.75"),
        ({"at_most": 0.1, "risk": "recall"}, "risk must be one of 'errors', 'misses'"),
        ({"at_most": 0.1, "risk": "cost", "cost_fp": 0}, "a wrong decision must cost more"),
        ({"at_most": 3, "risk": "cost", "cost_fp": 2}, "above 0 and at most 2; got 3"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        guaranteed_threshold([0, 1, 1], [0.2, 0.7, 0.9], **options)
