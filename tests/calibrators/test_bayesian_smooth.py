"""Bayesian smooth calibration: shapes, margins, intervals, draws, monotone on request."""

import numpy as np
import pytest
from scipy.special import expit, log_expit

from trueodds import BayesianSmoothCalibrator, BetaCalibrator, IsotonicCalibrator
from trueodds.exceptions import InputError
from trueodds.maps import LogOddsCurveMap


def sample(truth, n, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(0, 2, n)
    return z, (rng.random(n) < expit(truth(z))).astype(int)


def right(z):
    return z


def too_sure(z):
    return 0.4 * z - 0.5


def excess(calibrator, truth, n, seed):
    """Expected log-loss above that of the truth."""
    z, y = sample(truth, n, seed)
    fresh = np.random.default_rng(99).normal(0, 2, 5000)
    p, eta = calibrator.fit(expit(z), y).predict_proba(expit(fresh))[:, 1], truth(fresh)
    t = expit(eta)
    return np.mean(t * (log_expit(eta) - np.log(p)) + (1 - t) * (log_expit(-eta) - np.log1p(-p)))


@pytest.mark.parametrize("n", [100, 1000])
def test_over_several_truths_it_is_nearer_than_beta_or_isotonic(n):
    """Beta calibration is right about two of them and wrong about the third."""
    losses = [
        np.mean(
            [excess(method, f, n, seed) for f in (right, too_sure, np.sin) for seed in range(5)]
        )
        for method in (
            BayesianSmoothCalibrator(),
            BetaCalibrator(),
            IsotonicCalibrator(label_smoothing="platt"),
        )
    ]
    assert losses[0] < 0.8 * min(losses[1:])


def test_calibrated_scores_lose_little():
    losses = [excess(BayesianSmoothCalibrator(), right, 1000, seed) for seed in range(20)]
    assert np.mean(losses) < 0.0015


def test_margins_of_any_size_get_the_same_forecasts():
    z, y = sample(too_sure, 400)
    once = BayesianSmoothCalibrator(scale="raw").fit(z, y).predict_proba(z)
    for size in (2.0**-100, 2.0**300, 2.0**1000):
        again = BayesianSmoothCalibrator(scale="raw").fit(z * size, y).predict_proba(z * size)
        np.testing.assert_allclose(again, once, rtol=1e-9)


def test_log_odds_and_probabilities_are_the_same_evidence():
    z, y = sample(too_sure, 400)
    p = BayesianSmoothCalibrator().fit(expit(z), y).predict_proba(expit(z))
    q = BayesianSmoothCalibrator(scale="logit").fit(z, y).predict_proba(z)
    np.testing.assert_allclose(p, q, atol=1e-7)


def test_scores_of_exactly_0_and_1_are_never_answered_with_0_or_1():
    rng = np.random.default_rng(0)
    p = rng.choice([0.0, 0.01, 0.5, 0.99, 1.0], 500)
    y = (rng.random(500) < 0.1 + 0.8 * p).astype(int)
    found = BayesianSmoothCalibrator().fit(p, y).predict_proba([0.0, 1.0])[:, 1]
    assert found[0] == pytest.approx(0.1, abs=0.08)
    assert found[1] == pytest.approx(0.9, abs=0.08)


def votes(counts):
    """Scores and labels of {votes of 10: (negatives, positives)}."""
    scores = np.repeat([k / 10 for k in counts], [sum(n) for n in counts.values()])
    labels = np.concatenate(
        [[0] * negatives + [1] * positives for negatives, positives in counts.values()]
    )
    return scores, labels


def test_no_vote_of_10_is_near_one_vote_of_10():
    scores, y = votes({0: (25, 0), 1: (22, 3), 3: (18, 7), 5: (12, 13), 8: (6, 19), 10: (2, 23)})
    p = BayesianSmoothCalibrator().fit(scores, y).predict_proba([0.0, 0.1])[:, 1]
    assert 0.02 < p[0] < 0.1
    assert p[0] < p[1] < 0.2


def test_three_surprises_at_a_score_of_0_do_not_overturn_the_curve():
    scores, y = votes({0: (0, 3), 1: (18, 7), 3: (16, 9), 5: (12, 13), 8: (6, 19), 10: (2, 23)})
    p = BayesianSmoothCalibrator().fit(scores, y).predict_proba([0.0, 0.1])[:, 1]
    assert p[0] < 0.6
    assert 0.2 < p[1] < 0.4


def test_many_surprises_at_a_score_of_0_are_learned():
    counts = {0: (100, 300), 1: (350, 50), 3: (300, 100), 5: (200, 200), 10: (20, 380)}
    p = BayesianSmoothCalibrator().fit(*votes(counts)).predict_proba([0.0, 0.1])[:, 1]
    assert p == pytest.approx([0.75, 0.125], abs=0.04)


def test_intervals_at_scores_of_0_and_1_hold_honest_votes():
    rng = np.random.default_rng(0)
    k = rng.binomial(10, rng.beta(0.7, 0.7, 1000))
    y = (rng.random(1000) < (k + 0.7) / 11.4).astype(int)
    smooth = BayesianSmoothCalibrator().fit(k / 10, y)
    low, high = smooth.predict_interval([0.0, 1.0])
    assert (low < [0.7 / 11.4, 10.7 / 11.4]).all()
    assert (high > [0.7 / 11.4, 10.7 / 11.4]).all()
    assert (high - low < 0.12).all()


def test_monotone_never_falls_and_changes_little_where_the_curve_rises():
    z, y = sample(lambda z: z + 2 * np.sin(3 * z), 3000)
    grid = expit(np.linspace(-5, 5, 500))
    free = BayesianSmoothCalibrator().fit(expit(z), y)
    rising = BayesianSmoothCalibrator(monotone=True).fit(expit(z), y)
    assert (np.diff(free.predict_proba(grid)[:, 1]) < -1e-3).any()
    assert (np.diff(rising.predict_proba(grid)[:, 1]) >= 0).all()
    for end in rising.predict_interval(grid):
        assert (np.diff(end) >= 0).all()
    straight = sample(too_sure, 3000)
    maps = [
        BayesianSmoothCalibrator(monotone=m).fit(expit(straight[0]), straight[1]).map_(grid)
        for m in (False, True)
    ]
    np.testing.assert_allclose(*maps, atol=0.01)


@pytest.mark.slow
def test_intervals_hold_the_truth_about_as_often_as_they_say():
    grid = np.linspace(-3, 3, 25)
    inside = []
    for seed in range(25):
        z, y = sample(too_sure, 300, seed)
        low, high = BayesianSmoothCalibrator().fit(expit(z), y).predict_interval(expit(grid))
        assert (low < high).all()
        inside.append(((low < expit(too_sure(grid))) & (expit(too_sure(grid)) < high)).mean())
    assert 0.8 < np.mean(inside) <= 1


def test_a_higher_level_is_a_wider_interval_around_the_forecast():
    z, y = sample(too_sure, 300)
    fitted = BayesianSmoothCalibrator().fit(expit(z), y)
    wide, narrow = (
        fitted.predict_interval([0.3], level=0.99),
        fitted.predict_interval([0.3], level=0.5),
    )
    p = fitted.predict_proba([0.3])[0, 1]
    assert wide[0] < narrow[0] < p < narrow[1] < wide[1]


def test_drawn_maps_scatter_around_the_forecast_and_a_seed_repeats_them():
    z, y = sample(too_sure, 300)
    fitted = BayesianSmoothCalibrator().fit(expit(z), y)
    maps = fitted.sample_maps(400, random_state=1)
    assert maps[3] == fitted.sample_maps(400, random_state=1)[3]
    assert isinstance(maps[0], LogOddsCurveMap)
    assert maps[0].classes == (0, 1)
    drawn = np.mean([m([0.1, 0.6]) for m in maps], axis=0)
    np.testing.assert_allclose(drawn, fitted.predict_proba([0.1, 0.6])[:, 1], atol=0.01)


def test_several_classes_have_intervals_but_no_draws():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 200)
    fitted = BayesianSmoothCalibrator().fit(p, rng.integers(0, 3, 200))
    assert fitted.predict_proba(p).shape == (200, 3)
    assert fitted.predict_interval(p)[0].shape == (200, 3)
    with pytest.raises(InputError, match="supports two classes; this calibrator was fitted on 3"):
        fitted.sample_maps(2)


def test_impossible_options_are_refused():
    with pytest.raises(InputError, match="monotone"):
        BayesianSmoothCalibrator(monotone="auto").fit([0.1, 0.9], [0, 1])


@pytest.mark.parametrize("count", [1e12, 1e15])
def test_enormous_counts_give_the_observed_frequencies(count):
    # Rounding leaves some of the models without a maximum; the others answer.
    scores = np.repeat([0.2, 0.5, 0.8], 10)
    y = np.tile([1] + [0] * 9, 3)
    y[10:15], y[20:28] = 1, 1
    fitted = BayesianSmoothCalibrator().fit(scores, y, counts=np.full(30, count))
    frequency = [y[scores == s].mean() for s in (0.2, 0.5, 0.8)]
    np.testing.assert_allclose(fitted.predict_proba([0.2, 0.5, 0.8])[:, 1], frequency, atol=0.01)
    spread = np.linspace(0.01, 0.99, 500)
    labels = np.random.default_rng(0).random(500) < spread
    enormous = BayesianSmoothCalibrator().fit(spread, labels, counts=np.full(500, count))
    assert np.isfinite(enormous.predict_proba(spread)).all()
