"""Maps drawn from the prior between bounds, and their mean weighted by likelihood."""

import numpy as np
import pytest

from support.naive_isotonic import FIXTURE_SETS, fixture_table, read_columns
from trueodds.calibrators._bayesian_isotonic.bounds import isotonic_bounds
from trueodds.kernels.bayesian_isotonic import draw_maps, sample_weighted_maps
from trueodds.table import ScoreTable


@pytest.mark.slow
@pytest.mark.parametrize("name", FIXTURE_SETS)
def test_importance_means_are_within_four_standard_errors_of_the_converged_ones(name, fixtures):
    table = fixture_table(fixtures, name)
    expected = read_columns(fixtures, "bayesiso", f"{name}_converged_map.csv")
    lower, upper = isotonic_bounds(table.n_neg, table.n_pos, "authors")
    maps = sample_weighted_maps(lower, upper, table.n_neg, table.n_pos, n_samples=20_000, seed=0)
    weight = np.exp(maps.log_likelihood - maps.log_likelihood.max())
    size = weight.sum() ** 2 / np.square(weight).sum()
    error = np.hypot(expected["post_sd"] / np.sqrt(size), expected["mcse"])
    assert (np.abs(maps.mean - expected["mean_converged"]) < 4 * error).all()


def test_the_mean_is_that_of_the_maps_drawn_again():
    rng = np.random.default_rng(0)
    scores = rng.random(60)
    table = ScoreTable.from_arrays(scores, rng.random(60) < scores**2)
    lower, upper = isotonic_bounds(table.n_neg, table.n_pos, "authors")
    found = sample_weighted_maps(lower, upper, table.n_neg, table.n_pos, n_samples=500, seed=4)
    maps = draw_maps(lower, upper, np.arange(500), seed=4)
    log_likelihood = np.log(maps) @ table.n_pos + np.log1p(-maps) @ table.n_neg
    np.testing.assert_allclose(found.log_likelihood, log_likelihood, rtol=1e-12)
    weight = np.exp(log_likelihood - log_likelihood.max())
    np.testing.assert_allclose(found.mean, weight @ maps / weight.sum(), rtol=1e-12)
    assert (np.diff(maps, axis=1) >= 0).all()
    assert (maps >= lower).all()
    assert (maps <= upper).all()


def test_one_rank_is_uniform_between_its_bounds():
    maps = draw_maps(np.array([0.2]), np.array([0.7]), np.arange(4000), seed=0)
    places = np.sort((maps[:, 0] - 0.2) / 0.5)
    assert np.abs(places - (np.arange(4000) + 0.5) / 4000).max() < 1.95 / np.sqrt(4000)


def test_of_two_ranks_the_lower_has_the_mean_of_the_recursive_prior():
    # Either rank is the root: its value is uniform on [0, 1], the other's beyond it. The lower
    # has the mean ½·½ + ½·¼ and E[v²] = ½·⅓ + ½·⅑.
    maps = draw_maps(np.zeros(2), np.ones(2), np.arange(40_000), seed=3)
    error = np.sqrt((1 / 6 + 1 / 18 - (3 / 8) ** 2) / 40_000)
    assert abs(maps[:, 0].mean() - 3 / 8) < 4 * error
    assert abs(maps[:, 1].mean() - 5 / 8) < 4 * error


def test_a_map_depends_on_seed_and_number_alone():
    bounds = np.zeros(9), np.ones(9)
    together = draw_maps(*bounds, np.arange(10), seed=5)
    np.testing.assert_array_equal(draw_maps(*bounds, np.array([7, 2]), seed=5), together[[7, 2]])
    assert not np.isin(draw_maps(*bounds, np.arange(10), seed=6), together).any()


def test_threads_and_the_count_of_finished_maps_change_nothing():
    n_neg, n_pos = np.array([3.0, 1, 0]), np.array([0.0, 1, 4])
    finished = []
    one = sample_weighted_maps(np.zeros(3), np.ones(3), n_neg, n_pos, n_samples=333, seed=1)
    two = sample_weighted_maps(
        np.zeros(3), np.ones(3), n_neg, n_pos, n_samples=333, seed=1, n_threads=2,
        done=finished.append,
    )  # fmt: skip
    np.testing.assert_array_equal(one.mean, two.mean)
    np.testing.assert_array_equal(one.log_likelihood, two.log_likelihood)
    assert sum(finished) == 333
