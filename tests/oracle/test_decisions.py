"""``trueodds.decisions`` and ``trueodds.stats`` in Python against their oracles."""

import dataclasses

import numpy as np
import pytest
from scipy import optimize, special, stats

from oracle import oracles, samples
from oracle.figures import Near
from trueodds import LogisticCalibrator, decisions, stats as statistics

SAMPLES = [one for one in samples.all_samples() if one.w is None]
NAMES = [one.name for one in SAMPLES]
THRESHOLDS = [0.0, 0.05, 0.2, 0.3, 0.5, 0.9]
SOURCE = "decisions"


def columns(rows):
    return {name: [row[name] for row in rows] for name in rows[0]}


@pytest.mark.parametrize("one", SAMPLES, ids=NAMES)
def test_decision_curve_counts_rows(one, figures):
    y, p, _ = one.rows
    curve = decisions.decision_curve(y, p, thresholds=THRESHOLDS)
    (model,) = curve.models.values()
    expected = columns([oracles.benefit(y, p, t, 0.9) for t in THRESHOLDS])
    figures.compare(SOURCE, dataclasses.asdict(model), expected)
    everybody = np.ones(len(y))
    treat_all = columns([oracles.benefit(y, everybody, t, 0.9) for t in THRESHOLDS])
    figures.compare(SOURCE, dataclasses.asdict(curve.treat_all), treat_all)
    figures.compare(SOURCE, [curve.prevalence, curve.n], [y.mean(), len(y)])


@pytest.mark.parametrize("one", SAMPLES, ids=NAMES)
def test_standardized_benefit_counts_the_uncertainty_of_events(one, figures):
    y, p, _ = one.rows
    curve = decisions.decision_curve(y, p, thresholds=THRESHOLDS, standardized=True, level=0.9)
    (model,) = curve.models.values()
    found = {name: getattr(model, name) for name in ("net_benefit", "low", "high")}
    expected = columns([oracles.standardized_benefit(y, p, t, 0.9) for t in THRESHOLDS])
    figures.compare(SOURCE, found, expected)


def test_net_benefit_with_weights_is_that_of_repeated_rows(figures):
    one = samples.counts()
    y, p, _ = one.expanded
    found = decisions.net_benefit(one.y, one.p, THRESHOLDS, sample_weight=one.w)
    expected = [oracles.benefit_rows(y, p, t).mean() for t in THRESHOLDS]
    figures.compare(SOURCE, found, expected)


@pytest.mark.parametrize("one", samples.all_samples(), ids=lambda one: one.name)
def test_cost_curve_is_the_cost_of_every_threshold(one, figures):
    y, p, w = one.rows
    curve = decisions.cost_curve(y, p, cost_fp=1, cost_fn=9, sample_weight=w)

    def cost(t):
        return oracles.mean(np.where(p >= t, 1.0 * (y == 0), 9.0 * (y == 1)), w)

    expected = [cost(t) for t in curve.threshold]
    figures.compare(SOURCE, curve.cost, expected)
    figures.compare(
        SOURCE,
        [
            curve.theoretical_threshold,
            curve.theoretical_cost,
            curve.empirical_cost,
            curve.empirical_cost,
        ],
        [0.1, cost(0.1), min(expected), cost(curve.empirical_threshold)],
    )


def test_costs_of_several_decisions(figures):
    rows = samples.classes()
    costs = np.array([[0, 5, 1, 2.0], [9, 0, 1, 2], [4, 4, 0, 2]])
    expected = rows.q @ costs
    best = 3 - expected[:, ::-1].argmin(1)  # the last of several that are equal
    realized = oracles.mean(costs[rows.codes, best], rows.w)
    found = [
        decisions.expected_cost(rows.q, costs),
        decisions.best_decision(rows.q, costs),
        decisions.realized_cost(
            rows.labels, rows.q, costs, sample_weight=rows.w, classes=rows.names
        ),
        decisions.optimal_threshold(2, 7, cost_tp=-1, cost_tn=0.5),
    ]
    figures.compare(SOURCE, found, [expected, best, realized, 1.5 / (1.5 + 8)])


def test_another_base_rate(figures):
    p = samples.percent().p
    odds = p / (1 - p) * (0.2 / 0.8) / (0.05 / 0.95)
    calibrator = LogisticCalibrator().fit(p, samples.percent().y)
    moved = decisions.adjust_map_prior(calibrator.map_, 0.05, 0.2)
    after = special.expit(
        special.logit(calibrator.map_(p)) + special.logit(0.2) - special.logit(0.05)
    )
    found = [
        decisions.adjust_prior(p, 0.05, 0.2),
        moved(p),
        decisions.undersampling_correction(0.1)(p),
    ]
    kept = 0.1 * p / (1 - p)
    figures.compare(SOURCE, found, [odds / (1 + odds), after, kept / (1 + kept)])


def test_estimated_base_rate_has_the_greatest_likelihood(figures):
    p = samples.distinct().p

    def surprise(rate):
        return -np.sum(np.log(p * rate / 0.4 + (1 - p) * (1 - rate) / 0.6))

    best = optimize.minimize_scalar(
        surprise, bounds=(1e-6, 1 - 1e-6), method="bounded", options={"xatol": 1e-10}
    )
    figures.compare(SOURCE, decisions.estimate_prior(p, 0.4), Near(best.x, 1e-6))


# --- p-values ----------------------------------------------------------------------------------


def test_adjusted_p_values_and_the_corrected_t_test(figures):
    some = np.array([0.01, 0.04, 0.03, 0.005, 0.04])
    figures.compare("stats", statistics.holm_adjust(some), oracles.holm(some))
    first, second = np.random.default_rng(1).random((2, 12))
    d = first - second
    error = np.sqrt((1 / 12 + 1 / 9) * d.var(ddof=1))
    test = statistics.corrected_resampled_t_test(first, second, n_train=9, n_test=1)
    interval = stats.t.interval(0.9, 11, d.mean(), error)
    figures.compare(
        "stats",
        [test.difference, test.standard_error, test.statistic, test.p_value, test.low, test.high],
        [
            d.mean(),
            error,
            d.mean() / error,
            2 * stats.t.sf(abs(d.mean() / error), 11),
            *interval,
        ],
    )
