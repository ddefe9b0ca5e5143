"""Levels of saturated scores: no other may be more likely."""

import warnings

import numpy as np
import pytest
from scipy.special import expit

from numerics.level_samples import DESIGNS, counts, one_loss
from trueodds import BetaCalibrator, LogisticCalibrator
from trueodds.exceptions import TrueoddsWarning
from trueodds.numerics.level_search import ManyRegressions, search_levels
from trueodds.numerics.log_odds import LogOddsRows
from trueodds.numerics.logistic_regression import fit_finite


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


def small_sample(seed):
    """A few scores with counts, and one or both ends saturated."""
    rng = np.random.default_rng(seed)
    z = np.unique(rng.normal(0, 3, rng.integers(2, 10)).round(2))
    weight = rng.integers(1, 5, len(z))
    n_pos = rng.binomial(weight, rng.random(len(z)) if seed % 2 else expit(z))
    sides = [[1], [-1], [-1, 1]][rng.integers(3)]
    at_ends = rng.integers(0, 7, (len(sides), 2)) + [[1, 0]]
    return sides, LogOddsRows(
        np.append(z, [side * np.inf for side in sides]),
        np.append(weight - n_pos, at_ends[:, 0]).astype(float),
        np.append(n_pos, at_ends[:, 1]).astype(float),
    )


def dense_levels(z, between):
    """All distinct scores, both sides of each, and places between them."""
    scores = np.unique(z[np.isfinite(z)])
    share = np.linspace(0, 1, between + 2)[1:-1, None]
    gaps = (scores[:-1] * (1 - share) + scores[1:] * share).ravel()
    return np.unique(np.concatenate([scores, scores[1:] - 1e-7, scores[:-1] + 1e-7, gaps]))


def determine_a_slope(rows, lower, upper, design):
    """Whether the scores inside of levels that lie in gaps have a finite map of their own."""
    inside = np.ones(len(rows.z), dtype=bool)
    if lower not in rows.z:
        inside &= rows.z > lower
    if upper not in rows.z:
        inside &= rows.z < upper
    if inside.all():
        return True
    z = np.clip(rows.z[inside], lower, upper)
    neg, pos = z[rows.n_neg[inside] > 0], z[rows.n_pos[inside] > 0]
    if not len(neg) or not len(pos) or z.min() == z.max():
        return False
    if design in ("temperature", "beta_half"):
        return not (neg.max() <= 0 <= pos.min() or pos.max() <= 0 <= neg.min())
    return not (neg.max() <= pos.min() or pos.max() <= neg.min())


def lowest_loss(rows, sides, design, nonnegative):
    """By brute force, wherever there is a finite map."""
    places = dense_levels(rows.z, 9 if len(sides) == 1 else 1)
    lower = places if -1 in sides else [-np.inf]
    upper = places if 1 in sides else [np.inf]
    levels = np.array(
        [
            (low, high)
            for low in lower
            for high in upper
            if low <= high and determine_a_slope(rows, low, high, design)
        ]
    )
    return ManyRegressions(rows, *levels.T, design).optima(nonnegative, None)[0].min()


@pytest.mark.parametrize("seed", range(120))
def test_no_level_of_a_small_sample_is_more_likely_than_the_one_found(seed):
    sides, rows = small_sample(seed)
    design = DESIGNS[seed // 2 % 4]
    nonnegative = design != "logistic" or seed % 3 == 0
    found = search_levels(rows, sides, design, nonnegative=nonnegative)
    ends = np.array([found.get(-1, -np.inf)]), np.array([found.get(1, np.inf)])
    loss = ManyRegressions(rows, *ends, design).optima(nonnegative, None)[0][0]
    assert loss <= lowest_loss(rows, sides, design, nonnegative) + 1e-6


def test_a_level_between_scores_is_where_the_map_of_the_others_has_the_frequency_beyond():
    z = np.array([-3.0, -2, -1, 0, 1, 2, 3, 5, np.inf])
    n_neg = np.array([9.0, 8, 7, 6, 4, 3, 3, 3, 5])
    n_pos = np.array([1.0, 2, 3, 4, 6, 7, 7, 7, 15])
    rows = LogOddsRows(z, n_neg, n_pos)
    level = search_levels(rows, [1], "logistic", nonnegative=True)[1]
    assert level not in z
    inside = rows.take(z < level)
    fit = fit_finite(inside, "logistic", nonnegative=True)
    beyond = rows.take(z > level)
    wanted = np.log(beyond.n_pos.sum() / beyond.n_neg.sum())
    np.testing.assert_allclose(fit(level), wanted, atol=1e-9)


def test_a_map_that_turns_between_scores_has_its_level_there():
    z = np.array([-7.36, -4.58, -3.07, -2.59, -2.04, 3.67, np.inf])
    n_neg, n_pos = np.array([0.0, 1, 1, 2, 1, 4, 1]), np.array([3.0, 3, 0, 2, 0, 0, 0])
    level = search_levels(LogOddsRows(z, n_neg, n_pos), [1], "beta_half", nonnegative=False)[1]
    assert -2.04 < level < -1


def test_a_level_of_many_scores_is_found_among_those_around_the_best():
    z, n_neg, n_pos = counts("rises", n=400, seed=5)
    rows = LogOddsRows(
        np.append(z, [-np.inf, np.inf]), np.append(n_neg, [30, 9]), np.append(n_pos, [9, 30])
    )
    for sides in ([-1], [1], [-1, 1]):
        used = rows.take(np.isfinite(rows.z) | np.isin(rows.z, np.inf * np.array(sides)))
        found = search_levels(used, sides, "beta", nonnegative=True)
        best = one_loss(np.clip(used.z, found.get(-1, -9e9), found.get(1, 9e9)),
                        used.n_neg, used.n_pos, "beta", True)  # fmt: skip
        for side in sides:
            for level in z[::20]:
                ends = {**found, side: level}
                if ends.get(-1, -9e9) < ends.get(1, 9e9):
                    clipped = np.clip(used.z, ends.get(-1, -9e9), ends.get(1, 9e9))
                    assert best <= one_loss(clipped, used.n_neg, used.n_pos, "beta", True) + 1e-9


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
            of_logits = BetaCalibrator(scale="logit").fit(z, y, sample_weight=weight)
            of_probabilities = BetaCalibrator().fit(expit(z), y, sample_weight=weight)
        a, b = of_logits.predict_proba(z), of_probabilities.predict_proba(expit(z))
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_counts_are_repetitions_where_the_level_is_on_the_edge():
    z, y = np.array([-7.1, 0.0, -1.2, -np.inf]), np.array([0, 1, 0, 0])
    counts = np.array([1, 2, 2, 3])
    calibrator = BetaCalibrator("ab", scale="logit")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrueoddsWarning)
        counted = calibrator.fit(z, y, counts=counts).predict_proba(z)
        repeated = calibrator.fit(np.repeat(z, counts), np.repeat(y, counts)).predict_proba(z)
    np.testing.assert_allclose(counted, repeated, atol=1e-9)


@pytest.mark.parametrize("size", [1e-100, 1e160, 1e300])
def test_margins_of_any_size_are_calibrated_alike(size):
    rng = np.random.default_rng(0)
    z = rng.normal(size=200)
    y = rng.random(200) < expit(z)
    plain = LogisticCalibrator(scale="raw").fit(z, y).predict_proba(z)
    large = LogisticCalibrator(scale="raw").fit(z * size, y).predict_proba(z * size)
    np.testing.assert_allclose(large, plain, atol=1e-9)
