"""Levels of saturated scores: many regressions at once must be what each would be by itself."""

import warnings

import numpy as np
import pytest
from scipy.special import expit, log_expit

from trueodds import BetaCalibrator, LogisticCalibrator
from trueodds.exceptions import TrueoddsWarning
from trueodds.numerics.log_odds.finite_fit import fit_finite
from trueodds.numerics.log_odds.level_search import _ManyRegressions, search_levels
from trueodds.numerics.log_odds.rows import LogOddsRows

DESIGNS = ["temperature", "logistic", "beta", "beta_half"]


def counts(kind, n=200, seed=0):
    rng = np.random.default_rng(seed)
    z = np.sort(rng.normal(0, 3, n))
    rising = {"rises": 0.4, "falls": -0.4, "bends": 0.4}[kind]
    p = expit(rising * z) if kind != "bends" else expit(np.where(z < 0, -0.1, 0.8) * z)
    weight = rng.integers(1, 6, n).astype(float)
    n_pos = rng.binomial(weight.astype(int), p).astype(float)
    return z, weight - n_pos, n_pos


def one_loss(z, n_neg, n_pos, design, nonnegative):
    fit = fit_finite(LogOddsRows(z, n_neg, n_pos), design, nonnegative=nonnegative)
    eta = fit.at(z)
    return (-(n_neg + n_pos) @ log_expit(-eta) - n_pos @ eta) / (n_neg + n_pos).sum()


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("kind", ["rises", "falls", "bends"])
@pytest.mark.parametrize("design", DESIGNS)
def test_all_levels_at_once_lose_what_each_loses_by_itself(design, kind, nonnegative):
    z, n_neg, n_pos = counts(kind)
    z[-1] = np.inf
    levels = np.quantile(z[:-1], [0.2, 0.5, 0.9, 1.0])
    many = _ManyRegressions(LogOddsRows(z, n_neg, n_pos), np.full(4, -np.inf), levels, design)
    together, parameters = many.optima(nonnegative, None)
    again, _ = many.optima(nonnegative, parameters[0])
    alone = [one_loss(np.minimum(z, at), n_neg, n_pos, design, nonnegative) for at in levels]
    np.testing.assert_allclose(together, alone, rtol=1e-8)
    np.testing.assert_allclose(again, alone, rtol=1e-8)


def test_levels_that_separate_the_classes_are_judged_with_platts_targets():
    z = np.array([-3.0, -2.0, 1.0, 2.0, np.inf])
    n_pos = np.array([0.0, 0, 1, 1, 3])
    many = _ManyRegressions(
        LogOddsRows(z, 1 - n_pos.clip(max=1), n_pos), np.full(1, -9.0), np.ones(1) * 2, "beta"
    )
    together, _ = many.optima(nonnegative=True, start=None)
    alone = one_loss(np.minimum(z, 2.0), 1 - n_pos.clip(max=1), n_pos, "beta", True)
    np.testing.assert_allclose(together, alone, rtol=1e-6)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("sides", [[1], [-1], [-1, 1]])
def test_no_other_level_is_more_likely(design, sides):
    z, n_neg, n_pos = counts("rises", seed=3)
    if 1 in sides:  # frequencies that belong inside the range
        z = np.append(z, np.inf)
        n_neg, n_pos = np.append(n_neg, 12), np.append(n_pos, 20)
    if -1 in sides:
        z = np.append(z, -np.inf)
        n_neg, n_pos = np.append(n_neg, 25), np.append(n_pos, 12)
    found = search_levels(LogOddsRows(z, n_neg, n_pos), sides, design, nonnegative=True)
    lower, upper = found.get(-1, -np.inf), found.get(1, np.inf)
    best = one_loss(np.clip(z, lower, upper), n_neg, n_pos, design, True)
    finite = z[np.isfinite(z)]
    for level in np.linspace(finite.min(), finite.max(), 101):
        for side in sides:
            tried = {**found, side: level}
            ends = tried.get(-1, -np.inf), tried.get(1, np.inf)
            if ends[0] < ends[1]:
                other = one_loss(np.clip(z, *ends), n_neg, n_pos, design, True)
                assert best <= other + 5e-6


@pytest.mark.slow
def test_the_scale_of_the_input_does_not_decide_where_saturated_scores_go():
    rng = np.random.default_rng(0)
    for _ in range(60):
        z = rng.normal(0, 3, 12).round(3)
        z[: rng.integers(1, 4)] = np.inf
        z[-rng.integers(1, 4) :] = -np.inf
        y, weight = rng.integers(0, 2, 12), rng.integers(1, 4, 12).astype(float)
        y[[3, 4]] = 0, 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TrueoddsWarning)
            of_logits = BetaCalibrator(input="logit").fit(z, y, sample_weight=weight)
            of_probabilities = BetaCalibrator().fit(expit(z), y, sample_weight=weight)
        a, b = of_logits.predict_proba(z), of_probabilities.predict_proba(expit(z))
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_weights_are_repetitions_where_the_level_is_on_the_edge():
    z, y = np.array([-7.1, 0.0, -1.2, -np.inf]), np.array([0, 1, 0, 0])
    weight = np.array([1, 2, 2, 3])
    calibrator = BetaCalibrator("ab", input="logit")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrueoddsWarning)
        weighted = calibrator.fit(z, y, sample_weight=weight).predict_proba(z)
        repeated = calibrator.fit(np.repeat(z, weight), np.repeat(y, weight)).predict_proba(z)
    np.testing.assert_allclose(weighted, repeated, atol=1e-9)


@pytest.mark.parametrize("size", [1e-100, 1e160, 1e300])
def test_margins_of_any_size_are_calibrated_alike(size):
    rng = np.random.default_rng(0)
    z = rng.normal(size=200)
    y = rng.random(200) < expit(z)
    plain = LogisticCalibrator(input="score").fit(z, y).predict_proba(z)
    large = LogisticCalibrator(input="score").fit(z * size, y).predict_proba(z * size)
    np.testing.assert_allclose(large, plain, atol=1e-9)
