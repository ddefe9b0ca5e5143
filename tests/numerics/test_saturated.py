"""Fits on the log-odds axis with scores that have no place there."""

from itertools import combinations

import numpy as np
import pytest
from scipy.special import expit

from trueodds.inputs import Weights
from trueodds.numerics import saturated
from trueodds.numerics.log_odds import LogOddsRows
from trueodds.numerics.logistic_regression import fit_finite, fit_log_odds
from trueodds.numerics.saturated import UNSEEN_LEVEL
from trueodds.rows import Rows

DESIGNS = ["temperature", "logistic", "beta", "beta_half"]
every_design = pytest.mark.parametrize("design", DESIGNS)
ENDS = {-1: -np.inf, 1: np.inf}


def finite(seed=0):
    """Few enough for each to be a cell of its own when a level is searched for."""
    rng = np.random.default_rng(seed)
    z = rng.uniform(-3, 3, 200)
    return z, rng.random(200) < expit(0.6 * z)


def with_ends(*ends, seed=0):
    """Finite scores, and for each (side, negatives, positives) so many infinite ones."""
    z, y = finite(seed=seed)
    for side, negatives, positives in ends:
        z = np.append(z, np.full(negatives + positives, ENDS[side]))
        y = np.append(y, np.arange(negatives + positives) < positives)
    return z, y


def fit(z, y, design, weight=None, scale="logit", smoothing=None, **options):
    weight = Weights.counted(weight)
    evidence = Rows(np.asarray(z, dtype=float), y, weight, label_smoothing=smoothing)
    return fit_log_odds(evidence, scale=scale, design=design, **options)


def finite_only(z, y, design, nonnegative=False):
    used = np.isfinite(z)
    rows = LogOddsRows(z[used], 1.0 - y[used], y[used].astype(float))
    return fit_finite(rows, design, nonnegative=nonnegative)


def parameters(fit):
    return fit.a, fit.b, fit.c


def loss(fit, z, y):
    """Mean log-loss with scores brought within the range of the fit."""
    eta = fit.at(np.clip(z, fit.lower, fit.upper))
    return np.logaddexp(0, np.where(y, -eta, eta)).mean()


@every_design
def test_finite_scores_are_fitted_as_they_are_and_the_range_stays_open(design):
    z, y = finite()
    found = fit(z, y, design)
    assert parameters(found) == parameters(finite_only(z, y, design))
    assert (found.lower, found.upper) == (-np.inf, np.inf)
    of_probabilities = fit(expit(z), y, design, scale="probability")
    np.testing.assert_allclose(parameters(of_probabilities), parameters(found), rtol=1e-9)
    assert (of_probabilities.lower, of_probabilities.upper) == (-UNSEEN_LEVEL, UNSEEN_LEVEL)


def test_an_unseen_end_is_no_nearer_than_the_farthest_score():
    p = np.array([1e-30, 0.3, 0.6, 0.4, 0.7])
    found = fit(p, np.array([0, 0, 1, 1, 0]), "logistic", scale="probability")
    assert found.lower == pytest.approx(np.log(1e-30))
    assert expit(-found.upper) == pytest.approx(np.finfo(float).eps)


@every_design
@pytest.mark.parametrize(("side", "counts"), [(1, (2, 70)), (-1, (70, 2)), (1, (0, 60))])
def test_a_level_beyond_the_finite_scores_carries_the_frequency_and_changes_nothing_else(
    design, side, counts
):
    z, y = with_ends((side, *counts))
    found = fit(z, y, design)
    level = found.upper if side == 1 else found.lower
    assert level * side > (side * z[np.isfinite(z)]).max()
    assert found(level) == pytest.approx(np.log((counts[1] + 1) / (counts[0] + 1)), rel=1e-9)
    assert parameters(found) == parameters(finite_only(z, y, design))


@every_design
def test_both_ends_have_levels_of_their_own(design):
    z, y = with_ends((1, 2, 90), (-1, 80, 1))
    found = fit(z, y, design)
    assert found(found.upper) == pytest.approx(np.log(91 / 3), rel=1e-9)
    assert found(found.lower) == pytest.approx(np.log(2 / 81), rel=1e-9)


@every_design
@pytest.mark.parametrize(("side", "counts"), [(1, (12, 20)), (-1, (25, 12))])
def test_a_level_inside_the_range_is_the_likeliest(design, side, counts):
    z, y = with_ends((side, *counts))
    found = fit(z, y, design, nonnegative=True)
    level = found.upper if side == 1 else found.lower
    inside = z[np.isfinite(z)]
    assert inside.min() < level < inside.max()
    least = np.inf
    for tried in np.linspace(inside.min(), inside.max(), 21):
        clipped = np.minimum(z, tried) if side == 1 else np.maximum(z, tried)
        other = finite_only(clipped, y, design, nonnegative=True)
        least = min(least, loss(other, clipped, y))
    assert loss(found, z, y) <= least + 1e-6


def test_two_levels_inside_are_the_likeliest_together_even_if_one_comes_in_by_the_other():
    # With the upper level far inside, the slope is such that the lower one has to move in too.
    z, y = with_ends((1, 30, 10), (-1, 58, 5))
    found = fit(z, y, "temperature", nonnegative=True)
    inside = z[np.isfinite(z)]
    assert inside.min() < found.lower < found.upper < inside.max()
    levels = np.linspace(inside.min(), inside.max(), 13)
    for lower, upper in combinations(levels, 2):
        clipped = np.clip(z, lower, upper)
        other = finite_only(clipped, y, "temperature", nonnegative=True)
        assert loss(found, z, y) <= loss(other, clipped, y) + 1e-6


def test_saturated_scores_alone_carry_their_frequencies():
    z = np.repeat([-np.inf, np.inf], [10, 20])
    y = np.isin(np.arange(30), [0, 1, *range(13, 30)])  # 2 of 10, 17 of 20
    found = fit(z, y, "beta")
    assert (found.a, found.b, found.c) == (1, 1, 0)
    np.testing.assert_allclose((found.lower, found.upper), np.log([3 / 9, 18 / 4]))
    inverted = fit(-z, y, "beta")
    np.testing.assert_allclose((inverted.lower, inverted.upper), np.log(20 / 12))
    top = fit(z[10:], y[10:], "logistic")
    np.testing.assert_allclose((top.lower, top.upper), np.log(18 / 4))  # of all that may come


@every_design
@pytest.mark.parametrize("ends", [[(1, 2, 70)], [(1, 15, 25), (-1, 25, 12)]])
def test_the_other_class_has_the_mirrored_fit(design, ends):
    z, y = with_ends(*ends)
    found, other = fit(z, y, design, nonnegative=True), fit(-z, ~y, design, nonnegative=True)
    at = np.linspace(-5, 5, 11)
    np.testing.assert_allclose(
        -other.at(np.clip(-at, other.lower, other.upper)),
        found.at(np.clip(at, found.lower, found.upper)),
        atol=1e-5,
    )


@every_design
@pytest.mark.parametrize("ends", [[(1, 2, 35)], [(1, 6, 10), (-1, 12, 6)]])
def test_counts_are_repetitions_and_the_order_of_rows_does_not_matter(design, ends):
    z, y = with_ends(*ends)
    rng = np.random.default_rng(1)
    times = rng.integers(1, 4, len(z))
    rows = rng.permutation(np.repeat(np.arange(len(z)), times))
    weighted = fit(z, y, design, times.astype(float), nonnegative=True)
    repeated = fit(z[rows], y[rows], design, nonnegative=True)
    np.testing.assert_allclose(parameters(repeated), parameters(weighted), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(
        (repeated.lower, repeated.upper), (weighted.lower, weighted.upper), rtol=1e-7
    )


def test_labels_count_as_their_targets():
    z, y = finite()
    found = fit(z, y, "logistic", smoothing=0.2)
    residual = expit(found.at(z)) - np.where(y, 0.9, 0.1)
    assert abs(residual.sum()) < 1e-9
    assert abs(residual @ z) < 1e-9


def test_saturated_scores_that_a_falling_map_cannot_place_are_placed_all_the_same():
    z, y = with_ends((1, 3, 40))
    z[np.isfinite(z)] *= -1  # finite scores fall, the infinite ones do not
    for nonnegative in (False, True):
        found = fit(z, y, "logistic", nonnegative=nonnegative)
        assert np.isfinite(parameters(found)).all()
        assert np.isfinite(found.upper)
        constant = -(y.mean() * np.log(y.mean()) + (1 - y.mean()) * np.log(1 - y.mean()))
        assert loss(found, z, y) <= constant + 1e-9


def test_counts_as_heavy_as_many_rows_take_their_way_to_the_same_fit(monkeypatch):
    summaries = []
    original = saturated.compress

    def spy(*arguments):
        summaries.append(original(*arguments))
        return summaries[-1]

    monkeypatch.setattr(saturated, "compress", spy)
    z, y = with_ends((1, 2, 70))
    few = fit(z, y, "beta")
    assert not summaries
    rows = np.tile(np.arange(len(z)), 300)  # 81,600
    many, heavy = fit(z[rows], y[rows], "beta"), fit(z, y, "beta", np.full(len(z), 300.0))
    assert len(summaries) == 2
    np.testing.assert_allclose(parameters(many), parameters(few), rtol=1e-8)
    np.testing.assert_allclose(parameters(heavy), parameters(many), rtol=1e-12)
    assert heavy.upper == pytest.approx(many.upper, rel=1e-12)


def test_classes_that_only_a_level_parts_are_not_called_separable():
    z, y = np.array([-np.inf, -2.0, -1.0, 1.0, 2.0, np.inf]), np.array([0, 0, 1, 0, 1, 1])
    fit = fit_log_odds(Rows(z, y), scale="logit", design="logistic")
    brought_together = np.clip(z, fit.lower, fit.upper)
    assert brought_together[y == 0].max() <= brought_together[y == 1].min()
    assert not fit.separable
    parted = fit_log_odds(Rows(z, np.sort(y)), scale="logit", design="logistic")
    assert parted.separable
