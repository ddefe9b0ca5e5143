"""Bayesian isotonic calibration against the authors' program, its own prior, and itself."""

from __future__ import annotations

import numpy as np
import pytest

from support.naive_isotonic import fixture_table, read_columns
from trueodds.calibrators._bayesian_isotonic import (
    BayesianIsotonicCalibrator,
    calibrator as bayesian_isotonic,
)
from trueodds.calibrators._bayesian_isotonic.bounds import isotonic_bounds
from trueodds.calibrators._bayesian_isotonic.chains import (
    effective_sample_size,
    run_chains,
    split_r_hat,
)
from trueodds.calibrators._bayesian_isotonic.posterior import default_groups, group_starts
from trueodds.exceptions import DegenerateWeightsWarning, InputError, PoorMixingWarning
from trueodds.kernels.bayesian_isotonic import draw_maps, sample_weighted_maps
from trueodds.maps import CalibrationMap, PiecewiseLinearMap
from trueodds.plots import CalibrationMapDisplay
from trueodds.table import ScoreTable


def sample(seed, n, power=2):
    rng = np.random.default_rng(seed)
    scores = rng.random(n)
    return scores, rng.random(n) < scores**power


def prior_maps(ranks, n):
    return draw_maps(np.zeros(ranks), np.ones(ranks), np.arange(n), seed=12345)


# Bounds and importance sampling: the paper


# Markov chains: the same prior


@pytest.mark.slow
@pytest.mark.parametrize("name", ["n50", "ties1000"])
def test_chains_agree_with_importance_sampling_without_bounds(name, fixtures):
    table = fixture_table(fixtures, name)
    chains = run_chains(table.n_neg, table.n_pos, n_chains=4, wanted=4000, max_draws=20_000, seed=0)
    nothing = np.zeros(len(table)), np.ones(len(table))
    maps = sample_weighted_maps(*nothing, table.n_neg, table.n_pos, n_samples=400_000, seed=0)
    weight = np.exp(maps.log_likelihood - maps.log_likelihood.max())
    size = weight.sum() ** 2 / np.square(weight).sum()
    draws = chains.draws.reshape(-1, len(table))
    error = draws.std(axis=0) * np.sqrt(1 / chains.effective_sample_size + 1 / size)
    difference = np.abs(draws.mean(axis=0) - maps.mean)
    assert (difference < 4 * error).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "wanted"), [("n50", 1500), ("n200", 500), ("ties1000", 1000), ("n1000", 10)]
)
def test_chains_between_the_authors_bounds_have_the_authors_means(name, wanted, fixtures):
    """Everywhere, whether bounds bind or not: it is the same law."""
    table = fixture_table(fixtures, name)
    expected = read_columns(fixtures, "bayesiso", f"{name}_converged_map.csv")
    bounds = isotonic_bounds(table.n_neg, table.n_pos, "authors")
    chains = run_chains(
        *(table.n_neg, table.n_pos), bounds=bounds, n_chains=4, wanted=wanted, max_draws=2000,
        seed=0, n_threads=2,
    )  # fmt: skip
    draws = chains.draws.reshape(-1, len(table))
    assert (draws >= bounds[0]).all()
    assert (draws <= bounds[1]).all()
    difference = np.abs(draws.mean(axis=0) - expected["mean_converged"])
    assert difference.max() < (0.01 if wanted > 100 else 0.05)
    error = np.hypot(draws.std(axis=0) / np.sqrt(chains.effective_sample_size), expected["mcse"])
    assert (difference < 5 * error).all()


def test_the_calibrator_can_run_chains_between_bounds():
    scores, y = sample(8, 60)
    chains, free = (
        BayesianIsotonicCalibrator(n_groups=None, bounds=bounds, min_effective_size=1000).fit(
            scores, y
        )
        for bounds in ("authors", "auto")
    )
    importance = BayesianIsotonicCalibrator(sampler="importance", n_samples=40_000).fit(scores, y)
    size = 1 / (1 / chains.effective_sample_size_ + 1 / importance.effective_sample_size_)
    error = chains.posterior_.draws.std(axis=0) / np.sqrt(size)
    assert (np.abs(chains.map_.y - importance.map_.y) < 5 * error).all()
    lower, upper = importance.posterior_.bounds
    assert ((chains.posterior_.draws >= lower) & (chains.posterior_.draws <= upper)).all()
    assert ((free.posterior_.draws < lower) | (free.posterior_.draws > upper)).any(axis=1).any()
    grouped = BayesianIsotonicCalibrator(n_groups=20, bounds="authors").fit(scores, y)
    assert (grouped.posterior_.draws[:, 0] <= upper[3]).all()
    assert (grouped.posterior_.draws[:, -1] >= lower[-4]).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["n50", "n200"])
def test_bounds_change_the_mean_a_little_where_they_do_not_bind(name, fixtures):
    """Other ranks, where they bind, carry it there. So the means differ, by less than 0.02."""
    table = fixture_table(fixtures, name)
    expected = read_columns(fixtures, "bayesiso", f"{name}_converged_map.csv")
    chains = run_chains(table.n_neg, table.n_pos, n_chains=4, wanted=1000, max_draws=4000, seed=0)
    draws = chains.draws.reshape(-1, len(table))
    inside = ((draws > expected["lower"]) & (draws < expected["upper"])).mean(axis=0)
    difference = np.abs(draws.mean(axis=0) - expected["mean_converged"])
    error = np.hypot(draws.std(axis=0) / np.sqrt(chains.effective_sample_size), expected["mcse"])
    free = inside > 0.999
    assert free.sum() > 20
    assert difference[free].max() < 0.02
    assert (difference > 5 * error)[free].any()


def test_effective_sample_size_of_an_autoregression_is_the_known_one():
    rng = np.random.default_rng(0)
    rho = np.array([0.0, 0.5, 0.9])
    draws = np.zeros((4, 5000, 3))
    for t in range(1, 5000):
        draws[:, t] = rho * draws[:, t - 1] + rng.normal(size=(4, 3))
    expected = 20_000 * (1 - rho) / (1 + rho)
    np.testing.assert_allclose(effective_sample_size(draws), expected, rtol=0.2)
    assert (split_r_hat(draws) < 1.01).all()


def test_chains_that_disagree_are_seen():
    draws = np.random.default_rng(0).normal(size=(4, 500, 2))
    draws[0, :, 1] += 2
    assert split_r_hat(draws)[0] < 1.02
    assert split_r_hat(draws)[1] > 1.2
    assert effective_sample_size(draws)[1] < 40


# Groups


def test_groups_depend_on_cumulative_weight_alone():
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 5, 500)
    starts = group_starts(counts.astype(float), 30)
    rows = np.repeat(np.arange(500), counts)
    assert len(starts) == 30
    np.testing.assert_array_equal(group_starts(counts / 7, 30), starts)
    assert starts[0] == 0
    weight = np.add.reduceat(counts, starts)
    assert weight[0] < weight[15] / 3
    assert weight[-1] < weight[15] / 3
    assert weight.sum() == len(rows)


def test_there_are_never_more_groups_than_rows():
    np.testing.assert_array_equal(group_starts(np.ones(3), 50), [0, 1, 2])
    np.testing.assert_array_equal(group_starts(np.ones(1), 50), [0])
    np.testing.assert_array_equal(group_starts(np.array([1e9, 1e-9, 1e9]), 2)[:1], [0])


def test_shifted_groups_have_their_limits_half_way_between_the_others():
    even, shifted = (group_starts(np.ones(10_000), 50, shift) for shift in (0.0, 0.5))
    assert len(even) == 50
    assert len(shifted) == 51
    assert (shifted[1:] > even).all()
    assert (shifted[1:-1] < even[1:]).all()


def test_the_two_groupings_are_mixed_evenly_and_each_draw_belongs_to_one():
    scores, y = sample(9, 2000)
    posterior = BayesianIsotonicCalibrator().fit(scores, y).posterior_
    table = ScoreTable.from_arrays(scores, y)
    half = len(posterior.draws) // 2
    for k, shift in enumerate((0.0, 0.5)):
        starts = group_starts(table.weight, default_groups(2000), shift)
        knots = np.add.reduceat(table.score, starts) / np.diff(np.append(starts, len(table)))
        own = np.isin(posterior.score.round(12), knots.round(12))
        assert own.sum() == len(starts)
        part = posterior.draws[k * half : (k + 1) * half]
        line = [np.interp(posterior.score, posterior.score[own], draw[own]) for draw in part]
        np.testing.assert_allclose(part, line, atol=1e-9)


def test_the_number_of_groups_grows_slowly():
    assert [default_groups(10.0**k) for k in (0, 2, 3, 4, 5, 9)] == [30, 30, 39, 70, 124, 200]


# The calibrator


@pytest.mark.parametrize("sampler", ["mcmc", "importance"])
def test_threads_change_nothing(sampler):
    scores, y = sample(1, 300)
    one, two = (
        BayesianIsotonicCalibrator(sampler=sampler, n_samples=2000, n_jobs=jobs).fit(scores, y)
        for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.map_.y, two.map_.y)
    np.testing.assert_array_equal(one.posterior_.draws, two.posterior_.draws)
    assert one.effective_sample_size_ == two.effective_sample_size_


def test_another_seed_gives_nearly_the_same_map():
    scores, y = sample(2, 1000)
    maps = [
        BayesianIsotonicCalibrator(random_state=state).fit(scores, y).map_
        for state in (0, 1, np.random.default_rng(0), np.random.RandomState(0), None)
    ]
    values = np.array([m.y for m in maps])
    assert len(np.unique(values[:, 5])) == 5
    assert values.std(axis=0).max() < 0.01


@pytest.mark.parametrize("n", [100, 1000, 20_000])
def test_chains_reach_what_was_asked_for(n):
    calibrator = BayesianIsotonicCalibrator().fit(*sample(3, n))
    assert calibrator.effective_sample_size_ >= 400
    assert calibrator.r_hat_ < 1.05
    assert default_groups(n) < len(calibrator.map_.x) <= 2 * default_groups(n) + 1


def test_the_map_is_closer_to_the_truth_than_isotonic_regression():
    from trueodds.calibrators._isotonic import IsotonicCalibrator

    grid = np.linspace(0.01, 0.99, 200)
    errors = []
    for seed in range(5):
        data = sample(seed, 500)
        errors.append(
            [
                np.square(calibrator.fit(*data).map_(grid) - grid**2).mean()
                for calibrator in (BayesianIsotonicCalibrator(), IsotonicCalibrator())
            ]
        )
    ours, isotonic = np.mean(errors, axis=0)
    assert ours < 0.6 * isotonic


def test_a_dominant_map_is_flagged():
    scores, y = sample(0, 3000)
    with pytest.warns(DegenerateWeightsWarning, match="one of the 20 sampled maps"):
        calibrator = BayesianIsotonicCalibrator(sampler="importance", n_samples=20).fit(scores, y)
    assert calibrator.max_weight_ > 0.5
    assert calibrator.effective_sample_size_ < 4
    assert not hasattr(calibrator, "r_hat_")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda c: c.fit([0.1, 0.2], [1, 1]),
        lambda c: c.fit([0.1, np.nan], [0, 1]),
        lambda c: c.set_params(n_chains=0).fit([0.1, 0.2], [0, 1]),
    ],
)
def test_a_fit_that_fails_leaves_the_earlier_one_usable(wrong):
    scores, y = sample(0, 100)
    calibrator = BayesianIsotonicCalibrator().fit(scores, y)
    band, size = calibrator.predict_interval(scores), calibrator.effective_sample_size_
    with pytest.raises(InputError, match=r"one class only|NaN|n_chains"):
        wrong(calibrator)
    np.testing.assert_array_equal(calibrator.predict_interval(scores), band)
    assert calibrator.effective_sample_size_ == size
    assert calibrator.map_.classes == tuple(calibrator.classes_.tolist())


def test_a_fit_that_is_interrupted_leaves_the_earlier_one_usable(monkeypatch):
    scores, y = sample(0, 100)
    calibrator = BayesianIsotonicCalibrator().fit(scores, np.where(y, "yes", "no"))
    band = calibrator.predict_interval(scores)

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(bayesian_isotonic, "chain_posterior", interrupted)
    with pytest.raises(KeyboardInterrupt):
        calibrator.fit(scores, y)
    np.testing.assert_array_equal(calibrator.predict_interval(scores), band)
    assert calibrator.classes_.tolist() == ["no", "yes"]
    assert calibrator.effective_sample_size_ >= 400


def test_another_sampler_leaves_no_diagnostics_of_the_one_before():
    scores, y = sample(0, 100)
    calibrator = BayesianIsotonicCalibrator().fit(scores, y)
    calibrator.set_params(sampler="importance").fit(scores, y)
    assert not hasattr(calibrator, "r_hat_")


def test_too_short_chains_are_flagged():
    with pytest.warns(PoorMixingWarning, match="Raise max_draws"):
        calibrator = BayesianIsotonicCalibrator(max_draws=20).fit(*sample(0, 300))
    assert calibrator.effective_sample_size_ < 400


@pytest.mark.parametrize("sampler", ["mcmc", "importance"])
def test_bands_are_nested_rise_and_hold_the_mean(sampler):
    scores, y = sample(4, 300)
    calibrator = BayesianIsotonicCalibrator(sampler=sampler).fit(scores, y)
    grid = np.linspace(0, 1, 101)
    mean = calibrator.predict_proba(grid)[:, 1]
    narrow, wide = (calibrator.predict_interval(grid, level=level) for level in (0.5, 0.9))
    for ends in (*narrow, *wide):
        assert (np.diff(ends) >= 0).all()
    assert (wide[0] <= narrow[0]).all()
    assert (narrow[0] <= narrow[1]).all()
    assert (narrow[1] <= wide[1]).all()
    assert (wide[0] < mean).all()
    assert (mean < wide[1]).all()
    both = np.stack([1 - grid, grid], axis=1)
    np.testing.assert_allclose(calibrator.predict_interval(both), wide, atol=1e-12)


@pytest.mark.slow
def test_bands_cover_a_truth_drawn_from_the_prior_as_often_as_they_say():
    rng = np.random.default_rng(0)
    ranks = 30
    counts = np.full(ranks, 5)
    scores = np.repeat(np.arange(ranks) / ranks, counts)
    covered = []
    for truth in prior_maps(ranks, 60):
        y = rng.random(len(scores)) < np.repeat(truth, counts)
        if y.all() or not y.any():
            continue
        calibrator = BayesianIsotonicCalibrator(n_groups=None).fit(scores, y)
        low, high = calibrator.predict_interval(np.arange(ranks) / ranks, level=0.8)
        covered.append(((low <= truth) & (truth <= high)).mean())
    assert 0.74 < np.mean(covered) < 0.86


@pytest.mark.parametrize("sampler", ["mcmc", "importance"])
def test_drawn_maps_average_to_the_map_and_can_be_shipped(sampler, tmp_path):
    scores, y = sample(5, 200)
    calibrator = BayesianIsotonicCalibrator(sampler=sampler).fit(scores, y)
    maps = calibrator.sample_maps(400)
    assert len(maps) == 400
    assert all(isinstance(m, PiecewiseLinearMap) for m in maps)
    values = np.array([m(scores) for m in maps])
    assert np.abs(values.mean(axis=0) - calibrator.map_(scores)).max() < 0.03
    assert (np.diff([m.y for m in maps], axis=1) >= 0).all()
    maps[0].save(tmp_path / "map.json")
    assert CalibrationMap.load(tmp_path / "map.json") == maps[0]
    assert len(calibrator.sample_maps(5000)) == 5000
    again = calibrator.sample_maps(3, random_state=1)
    assert again == calibrator.sample_maps(3, random_state=1)
    assert again != calibrator.sample_maps(3, random_state=2)


def test_bands_are_quantiles_of_the_drawn_maps_between_the_knots_too():
    scores, y = sample(7, 400)
    calibrator = BayesianIsotonicCalibrator().fit(scores, y)
    knots = calibrator.map_.x
    points = np.sort(np.concatenate([knots, (2 * knots[:-1] + knots[1:]) / 3]))
    values = np.array([m(points) for m in calibrator.sample_maps(2000)])
    low, high = calibrator.predict_interval(points, level=0.8)
    kept = len(calibrator.posterior_.draws)
    assert kept <= 2000
    expected = np.quantile(values, [0.1, 0.9], axis=0)
    np.testing.assert_allclose([low, high], expected, atol=1e-12 if kept == 2000 else 0.02)


def test_bands_are_defined_for_knots_without_a_float_between_them():
    a = 0.3
    scores = np.repeat([a, np.nextafter(a, 1), np.nextafter(np.nextafter(a, 1), 1)], 10)
    calibrator = BayesianIsotonicCalibrator().fit(scores, np.arange(30) % 2)
    low, high = calibrator.predict_interval(scores)
    assert (low < high).all()


def test_the_display_draws_the_band():
    scores, y = sample(6, 200)
    calibrator = BayesianIsotonicCalibrator().fit(scores, y)
    display = CalibrationMapDisplay.from_calibrator(calibrator, scores=scores, y=y, level=0.8)
    low, high = calibrator.predict_interval(display.x, level=0.8)
    np.testing.assert_array_equal(display.low, low)
    np.testing.assert_array_equal(display.high, high)


def test_infinite_log_odds_have_their_own_value_or_that_of_their_group():
    z = np.concatenate([[-np.inf] * 40, np.linspace(-3, 3, 120), [np.inf] * 40])
    y = np.concatenate([np.zeros(40), np.arange(120) % 2, np.ones(40)]).astype(int)
    calibrator = BayesianIsotonicCalibrator(scale="logit").fit(z, y)
    p = calibrator.predict_proba([-np.inf, -50.0, 0.0, 50.0, np.inf])[:, 1]
    assert p[0] < 0.05 < p[1] < p[2] < p[3] < 0.95 < p[4]


def test_several_classes_keep_the_worst_diagnostics_but_no_draws():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 300)
    y = (p.cumsum(axis=1) > rng.random((300, 1))).argmax(axis=1)
    calibrator = BayesianIsotonicCalibrator().fit(p, y)
    assert calibrator.effective_sample_size_ >= 400
    with pytest.raises(InputError, match="sample_maps supports two classes"):
        calibrator.sample_maps(3)
    calibrator.fit(p[:, 0], y == 0)
    assert len(calibrator.sample_maps(3)) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sampler": "gibbs"}, "sampler"),
        ({"bounds": "tight"}, "bounds"),
        ({"n_groups": 0}, 'n_groups must be "auto", None or an integer of at least 1'),
        ({"n_groups": 2.5}, "n_groups"),
        ({"n_chains": True}, "n_chains"),
        ({"n_samples": 0}, "n_samples"),
        ({"max_draws": 1}, "max_draws"),
        ({"min_effective_size": 0}, "min_effective_size"),
        ({"random_state": -1}, "random_state"),
        ({"random_state": "zero"}, "random_state"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        BayesianIsotonicCalibrator(**options).fit([0.1, 0.2], [0, 1])


def test_a_level_must_be_a_share():
    calibrator = BayesianIsotonicCalibrator().fit(*sample(0, 50))
    with pytest.raises(InputError, match="level must be a number strictly between"):
        calibrator.predict_interval([0.5], level=90)


def test_progress_is_shown_when_asked_for(capfd):
    BayesianIsotonicCalibrator(progress=True).fit(*sample(0, 50))
    assert "Bayesian isotonic" in capfd.readouterr().err
    BayesianIsotonicCalibrator().fit(*sample(0, 50))
    assert capfd.readouterr().err == ""
