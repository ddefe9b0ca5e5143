from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st

from support.property_runs import many_examples
from trueodds import AutoCalibrator, all_calibrators, maps
from trueodds.decisions import (
    adjust_map_prior,
    adjust_prior,
    best_decision,
    cost_curve,
    estimate_prior,
    expected_cost,
    guaranteed_threshold,
    guaranteed_thresholds,
    net_benefit,
    optimal_threshold,
    realized_cost,
    undersampling_correction,
)
from trueodds.decisions._costs import costs_by_ratio
from trueodds.exceptions import ConvergenceWarning, InputError, TrueoddsWarning
from trueodds.inputs import Weights

rate = st.floats(0.01, 0.99)


def test_threshold_by_hand():
    assert optimal_threshold(1, 1) == 0.5
    assert optimal_threshold(1, 9) == 0.1
    # A letter costs 1, an answer brings 10: tp = 1 − 10, fp = 1.
    assert optimal_threshold(1, 0, cost_tp=-9, cost_tn=0) == pytest.approx(0.1)


@pytest.mark.parametrize("costs", [(0, 1), (1, 0), (-1, 2), (np.nan, 1)])
def test_costs_that_need_no_probability_are_refused(costs):
    with pytest.raises(
        InputError, match=r"a wrong decision must cost more|cost_fp must be a number"
    ):
        optimal_threshold(*costs)


@many_examples
@given(st.floats(0.1, 50), st.floats(0.1, 50), st.lists(rate, min_size=1, max_size=20))
def test_best_decision_is_the_threshold_rule(cost_fp, cost_fn, prob):
    threshold = optimal_threshold(cost_fp, cost_fn)
    far = [p for p in prob if abs(p - threshold) > 1e-9] or [0.999999]
    decision = best_decision(far, [[0, cost_fp], [cost_fn, 0]])
    assert decision.tolist() == [int(p >= threshold) for p in far]


def test_a_probability_at_the_threshold_gives_one_decision_everywhere():
    for cost_fp, cost_fn in itertools.product(range(1, 41), repeat=2):
        threshold = optimal_threshold(cost_fp, cost_fn)
        below, above = np.nextafter(threshold, [0, 1])
        written = float(f"{cost_fp / (cost_fp + cost_fn):.15g}")  # 0.6, not 0.6000000000000001
        p = np.array([below, threshold, above, written])
        costs = [[0, cost_fp], [cost_fn, 0]]
        acts = p >= threshold
        assert (best_decision(p, costs) == acts).all()
        assert (best_decision(np.column_stack([1 - p, p]), costs)[1:3] == 1).all()
        for one, act in zip(p, acts, strict=True):
            y, same = [1, 1, 1, 0], [one] * 4
            by_hand = cost_fp / 4 if act else 3 * cost_fn / 4
            assert realized_cost(y, same, costs) == by_hand
            curve = cost_curve(y, same, cost_fp=cost_fp, cost_fn=cost_fn)
            assert curve.theoretical_cost == by_hand


def test_costs_are_read_like_a_threshold_for_the_smaller_label_too():
    y, pair = ["a", "a", "a", "b"], [[0.6, 0.4]] * 4
    curve = cost_curve(y, pair, cost_fp=3, cost_fn=2, pos_label="a")
    assert curve.theoretical_threshold == 0.6
    turned = [[0.4, 0.6]] * 4
    cost = realized_cost(y, turned, [[0, 3], [2, 0]], classes=["b", "a"])
    assert curve.theoretical_cost == cost == 3 / 4


def test_the_message_on_wrong_costs_states_them():
    with pytest.raises(InputError, match="cost_fp − cost_tn = -2 and cost_fn − cost_tp = 5"):
        optimal_threshold(1, 5, cost_tn=3)


def test_decisions_of_three_classes_and_more_decisions_than_classes():
    prob = [[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]
    costs = [[0, 1, 10, 2], [1, 0, 10, 2], [10, 10, 0, 2]]
    # Row 0: 0.3 + 2 = 2.3, 0.5 + 2 = 2.5, 8, 2. Row 1: 8.1, 8.1, 2, 2: the last of equals.
    assert np.allclose(expected_cost(prob, costs), [[2.3, 2.5, 8, 2], [8.1, 8.1, 2, 2]])
    assert best_decision(prob, costs).tolist() == [3, 3]
    assert realized_cost(["a", "c"], prob, costs, classes=["a", "b", "c"]) == 2.0


def test_realized_cost_by_hand():
    costs = [[0, 1], [9, 0]]
    value = realized_cost([0, 1, 1], [0.3, 0.05, 0.8], costs, sample_weight=[1, 2, 1])
    assert value == pytest.approx((1 + 2 * 9) / 4)
    assert realized_cost([1, 1], [0.3, 0.05], costs) == 4.5
    with pytest.raises(InputError, match="Pass classes="):
        realized_cost(["b", "b"], [0.3, 0.05], costs)
    with pytest.raises(InputError, match="one row for each of 2 classes; got 3"):
        expected_cost([0.5], np.ones((3, 3)))
    with pytest.raises(InputError, match="differ in length"):
        realized_cost([0, 1], [0.3], costs)


@pytest.mark.slow
@many_examples
@given(
    st.lists(st.tuples(st.sampled_from([0, 0.1, 0.25, 0.5, 1]), st.integers(0, 1)), min_size=2),
    # The best threshold of the second is 0.25 exactly, where there are rows.
    st.sampled_from([((0.5, 2.0), (7.0, -1.0)), ((0.0, 1.0), (3.0, 0.0))]),
)
def test_cost_curve_is_the_cost_of_each_threshold(rows, costs):
    p, y = (np.array(column) for column in zip(*rows, strict=True))
    if y.min() == y.max():
        y[0] = 1 - y[0]
    costs = np.array(costs)
    curve = cost_curve(y, p, cost_matrix=costs)
    for threshold, cost in zip(curve.threshold, curve.cost, strict=True):
        assert cost == pytest.approx(np.mean(costs[y, (p >= threshold).astype(int)]))
    at = np.mean(costs[y, (p >= curve.theoretical_threshold).astype(int)])
    assert curve.theoretical_cost == pytest.approx(at)
    assert curve.empirical_cost == curve.cost.min()
    assert curve.empirical_cost <= curve.theoretical_cost + 1e-12


def test_a_cost_curve_of_the_smaller_label_takes_its_own_column():
    y, p = np.array([0, 1, 1, 0]), np.array([0.1, 0.3, 0.8, 0.6])
    both = np.stack([1 - p, p], axis=1)
    of_two = cost_curve(y, both, cost_fp=1, cost_fn=3, pos_label=0)
    of_one = cost_curve(y, 1 - p, cost_fp=1, cost_fn=3, pos_label=0)
    np.testing.assert_array_equal(of_two.threshold, of_one.threshold)
    np.testing.assert_array_equal(of_two.cost, of_one.cost)
    column = cost_curve(y, (1 - p)[:, None], cost_fp=1, cost_fn=3, pos_label=0)
    np.testing.assert_array_equal(column.cost, of_one.cost)
    greater = cost_curve(y, both, cost_fp=1, cost_fn=3, pos_label=1)
    np.testing.assert_array_equal(greater.cost, cost_curve(y, p, cost_fp=1, cost_fn=3).cost)


def test_cost_curve_checks_its_costs():
    for options, message in (
        ({}, "pass cost_fp and cost_fn"),
        ({"cost_fp": 1, "cost_fn": 1, "cost_matrix": np.eye(2)}, "not both"),
        ({"cost_matrix": np.ones((2, 3))}, r"shape \(2, 2\)"),
    ):
        with pytest.raises(InputError, match=message):
            cost_curve([0, 1], [0.2, 0.8], **options)
    with pytest.raises(InputError, match="two classes; got 3"):
        cost_curve([0, 1, 2], np.eye(3), cost_fp=1, cost_fn=1)


def test_adjusted_probabilities_by_hand():
    # Odds 1 and 9 times (1/9)/(1): 1/9 and 1.
    assert np.allclose(adjust_prior([0.0, 0.5, 0.9, 1.0], 0.5, 0.1), [0, 0.1, 0.5, 1])
    three = adjust_prior([[0.2, 0.3, 0.5]], [1 / 3] * 3, [0.5, 0.5, 0.0])
    assert np.allclose(three, [[0.4, 0.6, 0.0]])


@many_examples
@given(st.lists(st.floats(0, 1), min_size=1, max_size=10), rate, rate)
def test_adjusting_there_and_back_changes_nothing(prob, old, new):
    there = adjust_prior(prob, old, new)
    assert np.allclose(adjust_prior(there, new, old), prob, atol=1e-9)
    both = adjust_prior(np.stack([1 - np.array(prob), prob], axis=1), old, new)
    assert np.allclose(both[:, 1], there)


def test_priors_are_checked():
    with pytest.raises(InputError, match="old_prior must lie strictly between 0 and 1"):
        adjust_prior([0.5], 0.0, 0.5)
    with pytest.raises(InputError, match="new_prior must lie in"):
        adjust_prior([0.5], 0.5, 1.5)
    with pytest.raises(InputError, match="one number per class"):
        adjust_prior([[0.2, 0.3, 0.5]], 0.5, 0.1)
    with pytest.raises(InputError, match="row 0 of y_prob has positive probability"):
        adjust_prior([1.0], 0.5, 0.0)


STRUCTURED = maps.StructuredSoftmaxMap(
    tau=0.5, floor=1e-9, mixing=0.01, prior=[0.4, 0.6], bias=[0.1, 0.0], on_logs=[0.2, 0.1],
    on_probabilities=[], shared=[0.1, 0.2, 0.3, 0.4],
)  # fmt: skip
BINARY_MAPS = [
    maps.LogOddsMap(a=0.7, b=1.3, c=-0.2),
    maps.LogOddsMap(a=0.7, b=0.7, c=0.1, scale="logit"),
    maps.QuadraticMap(a=0.1, b=0.7, c=0.1, lower=-3.0, upper=9.0),
    maps.StepMap(edges=[0.3, 0.6], values=[0.0, 0.4, 1.0]),
    maps.IdentityMap(),
    maps.IdentityMap(scale="logit"),
    maps.LogOddsCurveMap(x=[-2.0, 0.0, 2.0], y=[-3.0, 0.2, 1.0]),
    maps.LogOddsCurveMap(x=[-2.0, 0.0, 2.0], y=[-3.0, 0.2, 1.0], scale="logit"),
    maps.CharcoalGrillMap(means=[-1.0, 2.0], temperatures=[1.0, 3.0], widths=[1.0, 2.0], bias=0.3),
    STRUCTURED,
]


@pytest.mark.parametrize("drawn", BINARY_MAPS)
@pytest.mark.parametrize("new", [0.001, 0.3, 0.98])
def test_a_map_takes_up_a_base_rate_exactly(drawn, new):
    scores = np.linspace(0.01, 0.99, 50) if drawn.scale == "probability" else np.linspace(-4, 4, 50)
    adjusted = adjust_map_prior(drawn, 0.4, new)
    assert np.allclose(adjusted(scores), adjust_prior(drawn(scores), 0.4, new), atol=1e-14)


def test_the_map_of_every_method_takes_up_a_base_rate():
    rng = np.random.default_rng(0)
    p = rng.beta(0.7, 1.5, 400)
    y = (rng.random(400) < p**1.4).astype(int)
    q = np.concatenate([[0, 1e-9], np.linspace(0.01, 0.99, 99), [1 - 1e-9, 1]])
    refused = set()
    methods = {"auto": AutoCalibrator, **all_calibrators()}
    for name, kind in methods.items():
        extra = {"features": p[:, None] > 0.5} if kind().needs_features else {}
        asked = {"features": q[:, None] > 0.5} if kind().needs_features else {}
        with warnings.catch_warnings(action="ignore", category=TrueoddsWarning):
            drawn = kind().fit(p, y, **extra).to_map(interval=None if extra else 0.9)
        try:
            adjusted = adjust_map_prior(drawn, 0.3, 0.02)
        except InputError:
            refused.add(name)
            continue
        linear = isinstance(drawn, maps.PiecewiseLinearMap)
        expected = adjust_prior(drawn(q, **asked), 0.3, 0.02)
        assert np.allclose(adjusted(q, **asked), expected, rtol=0, atol=1e-4 if linear else 1e-12)
        if extra:
            continue
        found = zip(adjusted.interval(q), drawn.interval(q), strict=True)
        for end, before in found:
            expected = adjust_prior(before, 0.3, 0.02)
            assert np.allclose(end, expected, rtol=0, atol=1.1e-4 if linear else 1e-12)
    assert refused == {"group", "ensemble_temperature", "bayesian_structured"}


def test_every_softmax_takes_up_the_base_rates_of_several_classes():
    rng = np.random.default_rng(1)
    scores = rng.dirichlet([1, 1, 1], 300)
    y = (scores.cumsum(axis=1) > rng.random((300, 1))).argmax(axis=1)
    old, new = [0.2, 0.3, 0.5], [0.1, 0.1, 0.8]
    refused = set()
    for name, kind in all_calibrators().items():
        extra = {"features": scores[:, :1] > 0.5} if kind().needs_features else {}
        with warnings.catch_warnings(action="ignore", category=TrueoddsWarning):
            drawn = kind().fit(scores, y, **extra).map_
        try:
            adjusted = adjust_map_prior(drawn, old, new)
        except InputError:
            refused.add(type(drawn))
            continue
        expected = adjust_prior(drawn(scores, **extra), old, new)
        assert np.allclose(adjusted(scores, **extra), expected, rtol=0, atol=1e-12), name
    assert refused == {maps.OneVsRestMap, maps.AverageMap, maps.GroupMap}


def test_the_interval_of_several_classes_does_not_survive_another_base_rate():
    curve = maps.LogOddsCurveMap(x=[0.0], y=[0.0])
    soft = maps.SoftmaxMap(weights=[1.0] * 3, bias=[0.0] * 3)
    banded = soft.with_band([curve] * 3, [curve] * 3, level=0.9)
    assert adjust_map_prior(banded, [0.2, 0.3, 0.5], [0.6, 0.3, 0.1]).band is None


@pytest.mark.parametrize("new", [0.001, 0.3, 0.98])
def test_a_piecewise_linear_map_takes_it_up_within_the_tolerance(new):
    drawn = maps.PiecewiseLinearMap(x=[0.1, 0.4, 0.9], y=[0.0, 0.3, 1.0])
    scores = np.linspace(0, 1, 20_001)
    exact = adjust_prior(drawn(scores), 0.4, new)
    for tolerance in (1e-3, 1e-5):
        adjusted = adjust_map_prior(drawn, 0.4, new, tolerance=tolerance)
        assert np.abs(adjusted(scores) - exact).max() <= tolerance
    infinite = maps.PiecewiseLinearMap(
        x=[-np.inf, 0.0, 1.0, np.inf], y=[0.1, 0.2, 0.7, 0.9], scale="logit"
    )
    at = np.array([-np.inf, -3, 0.0, 0.5, 9, np.inf])
    adjusted = adjust_map_prior(infinite, 0.4, new)
    assert np.allclose(adjusted(at), adjust_prior(infinite(at), 0.4, new), atol=1e-4)
    with pytest.raises(InputError, match="knots would be needed"):
        adjust_map_prior(drawn, 0.9999, 1e-6, tolerance=1e-9)
    with pytest.raises(InputError, match="tolerance must be a number above 0"):
        adjust_map_prior(drawn, 0.4, new, tolerance=0)


def test_maps_of_several_classes():
    prob = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    old, new = [0.2, 0.3, 0.5], [0.6, 0.3, 0.1]
    soft = maps.SoftmaxMap(weights=[0.8, 0.8, 0.8], bias=[0.1, 0.0, -0.1])
    for drawn in (soft, maps.IdentityMap()):
        adjusted = adjust_map_prior(drawn, old, new)
        assert np.allclose(adjusted(prob), adjust_prior(drawn(prob), old, new))
    rest = maps.OneVsRestMap(maps=(maps.StepMap(edges=[0.5], values=[0.2, 0.7]),) * 3)
    with pytest.raises(InputError, match="OneVsRestMap cannot include a change of the base rate"):
        adjust_map_prior(rest, old, new)


def test_undersampling_is_undone():
    rng = np.random.default_rng(0)
    # Keeping a tenth of the negatives multiplies the odds by ten.
    p = rng.uniform(0.01, 0.99, 100)
    kept = p / (p + 0.1 * (1 - p))
    assert np.allclose(undersampling_correction(0.1)(kept), p)
    for bad in (0, -1, "all", np.inf):
        with pytest.raises(InputError, match="rate must be"):
            undersampling_correction(bad)


def test_estimated_prior_satisfies_its_equation_and_finds_the_truth():
    rng = np.random.default_rng(0)
    means = np.array([-2.0, 0.0, 2.0])
    new = np.array([0.7, 0.2, 0.1])
    y = rng.choice(3, 30_000, p=new)
    x = rng.normal(means[y])
    old = np.array([0.2, 0.3, 0.5])
    density = old * np.exp(-0.5 * (x[:, None] - means) ** 2)
    prob = density / density.sum(axis=1, keepdims=True)
    found = estimate_prior(prob, old)
    assert np.allclose(found, new, atol=0.02)
    assert np.allclose(adjust_prior(prob, old, found).mean(axis=0), found, atol=1e-8)


def test_estimated_prior_with_weights_equals_repetition():
    p, w = np.array([0.2, 0.7, 0.9]), np.array([3, 1, 2])
    weighted = estimate_prior(p, 0.4, sample_weight=w)
    assert isinstance(weighted, float)
    assert weighted == pytest.approx(estimate_prior(np.repeat(p, w), 0.4))
    with pytest.warns(ConvergenceWarning, match="after 2 steps"):
        estimate_prior(p, 0.4, max_iter=2)


def test_a_base_rate_is_that_of_the_positive_class_or_of_every_class():
    one, each = adjust_prior([0.3, 0.6], 0.5, 0.2), adjust_prior([0.3, 0.6], [0.5, 0.5], [0.8, 0.2])
    np.testing.assert_allclose(one, each)
    with pytest.raises(InputError, match=r"one number per class \(3\).*got shape \(\)"):
        adjust_prior([[0.2, 0.3, 0.5]], 0.5, [0.2, 0.3, 0.5])
    for bad in (0.0, 1.0, [0.5, 0.500002], [0.5, 0.4]):
        with pytest.raises(InputError, match="strictly between 0 and 1 and sum to 1"):
            adjust_prior([0.3], bad, 0.5)


@pytest.mark.parametrize(
    "bad", [[1, 2], [[1, 2]], [[1], [2]], [[[0, 1], [1, 0]]], [[0, np.inf], [1, 0]]]
)
def test_costs_are_a_finite_table(bad):
    with pytest.raises(InputError, match="cost_matrix must be finite numbers, one row per class"):
        expected_cost([0.3], bad)


def test_costs_have_a_row_for_every_class():
    with pytest.raises(InputError, match="one row for each of 2 classes; got 3"):
        expected_cost([0.3], [[0, 1], [1, 0], [1, 1]])


@pytest.mark.parametrize(
    ("bad", "shown"), [([0.2, 1.0, 1.5], "1"), ([-0.1, 2.0], "-0.1"), (np.nan, "nan")]
)
def test_thresholds_lie_in_the_half_open_interval(bad, shown):
    with pytest.raises(InputError, match=rf"0 <= threshold < 1; got {shown}\."):
        net_benefit([0, 1], [0.1, 0.9], bad)
    assert net_benefit([0, 1], [0.1, 0.9], 0.0) == 0.5


def test_the_cost_curve_has_each_threshold_once_and_begins_where_all_are_acted_on():
    for p in ([0.0, 0.0, 0.3, 0.8], [0.1, 0.1, 0.3, 0.8]):
        curve = cost_curve([0, 1, 0, 1], p, cost_fp=1, cost_fn=4)
        assert curve.threshold[0] == 0
        assert (np.diff(curve.threshold) > 0).all()
        assert curve.cost[0] == pytest.approx(2 / 4)  # both negatives are acted on


def test_actions_that_cost_the_same_whatever_happens_are_a_choice_by_expected_cost():
    # A false alarm costs what no action costs: acting is never worse, and at 0 as good.
    chosen = best_decision([0.0, 0.2, 1.0], [[1, 1], [4, 1]])
    np.testing.assert_array_equal(chosen, [1, 1, 1])
    # No cost depends on the action: the last action of equal ones.
    np.testing.assert_array_equal(best_decision([0.0, 0.5, 1.0], [[1, 1], [2, 2]]), [1, 1, 1])


def drawn_scores(seed=0, n=400):
    rng = np.random.default_rng(seed)
    p = rng.beta(3, 1, n).round(2)
    return p, (rng.random(n) < p**2).astype(int), rng


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_savings_by_ratio_are_means_of_paired_differences(n_classes, weighted):
    rng = np.random.default_rng(n_classes)
    n = 300
    y = rng.integers(0, n_classes, n)
    if n_classes == 2:
        before = rng.random(n)
        prob = {"identity": before, "other": np.clip(before + rng.normal(0, 0.3, n), 0, 1)}
        ratios = np.geomspace(1e-3, 1e3, 121)
    else:
        prob = {name: rng.dirichlet(np.ones(4) / 2, n) for name in ("identity", "other")}
        ratios = 10 ** np.linspace(0.1, 3, 59)
    importance = rng.integers(1, 5, n).astype(float) if weighted else np.ones(n)
    found = costs_by_ratio(
        y,
        prob,
        baseline="identity",
        weights=Weights.read(importance, None, n) if weighted else None,
        level=0.8,
    )
    np.testing.assert_allclose(found.ratio, ratios)
    share = importance / importance.sum()
    for k, ratio in enumerate(ratios):
        cost = {}
        for name, p in prob.items():
            if n_classes == 2:
                act = p >= 1 / (1 + ratio)
                cheap, dear = act & (y == 0), ~act & (y == 1)
            else:
                answered = p.max(axis=1) >= 1 - 1 / ratio
                cheap, dear = ~answered, answered & (p.argmax(axis=1) != y)
            assert found.cheap[name][k] == pytest.approx(share @ cheap, abs=1e-12)
            assert found.expensive[name][k] == pytest.approx(share @ dear, abs=1e-12)
            cost[name] = cheap + ratio * dear
        saved = cost["identity"] - cost["other"]
        mean = share @ saved
        # Half a row of each change of either mistake, in both directions.
        added = (1 + ratio**2) * np.sum(share**2) ** 2
        half = 1.2815515655446004 * np.sqrt(share**2 @ (saved - mean) ** 2 + added)
        low, high = (end[k] for end in found.saving["other"])
        assert (low, high) == pytest.approx((mean - half, mean + half), rel=1e-7, abs=1e-9)
        assert (found.saving["identity"][0][k], found.saving["identity"][1][k]) == (0, 0)


def test_one_group_has_the_threshold_of_all_rows():
    p, y, _ = drawn_scores()
    for anytime in (False, True):
        alone = guaranteed_threshold(y, p, at_most=0.3, anytime=anytime)
        found = guaranteed_thresholds(y, p, groups=["all"] * len(p), at_most=0.3, anytime=anytime)
        assert found == {"all": alone}


@pytest.mark.parametrize("risk", ["errors", "misses", "false_alarms", "cost"])
def test_groups_share_nothing_but_the_doubt_with_anytime(risk):
    p, y, rng = drawn_scores(1)
    group = rng.choice(["a", "b"], len(p))
    found = guaranteed_thresholds(
        y, p, groups=group, at_most=0.3, risk=risk, confidence=0.8, anytime=True
    )
    for name, one in found.items():
        own = group == name
        alone = guaranteed_threshold(
            y[own], p[own], at_most=0.3, risk=risk, confidence=1 - (1 - 0.8) / 2, anytime=True
        )
        assert (one.threshold, one.n_acted, one.bound) == (
            alone.threshold,
            alone.n_acted,
            alone.bound,
        )


def test_the_largest_cost_is_1e300():
    assert optimal_threshold(1e300, 1e300) == 0.5
    with pytest.raises(InputError, match=r"cost_fp must be"):
        optimal_threshold(1.1e300, 1.0)
    with pytest.raises(InputError, match="none beyond 1e\\+300"):
        best_decision([0.5], [[0, 1.1e300], [1, 0]])
