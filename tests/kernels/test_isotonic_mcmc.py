"""Markov chains on isotonic maps: they stay in the law that they are meant to have."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import beta, chisquare, ks_2samp

from trueodds import kernels
from trueodds.calibrators._bayesian_isotonic.chains import effective_sample_size
from trueodds.kernels.bayesian_isotonic import MAX_EXACT_RANKS, Chain, draw_maps


def prior_maps(ranks, n):
    return draw_maps(np.zeros(ranks), np.ones(ranks), np.arange(n), seed=12345)


def test_the_posterior_of_one_rank_is_a_beta_distribution():
    draws = Chain(np.array([3.0]), np.array([5.0]), seed=0, index=0).run(4000, thin=3)[:, 0]
    expected = beta(6, 4)
    error = expected.std() / np.sqrt(effective_sample_size(draws[None, :, None])[0])
    assert abs(draws.mean() - expected.mean()) < 4 * error
    assert draws.std() == pytest.approx(expected.std(), rel=0.06)


def test_maps_rise_and_chains_go_on_where_they_stopped():
    n_neg, n_pos = np.array([4.0, 1, 2, 0]), np.array([0.0, 2, 1, 3])
    whole = Chain(n_neg, n_pos, seed=7, index=1).run(20)
    parts = Chain(n_neg, n_pos, seed=7, index=1)
    np.testing.assert_array_equal(np.vstack([parts.run(8), parts.run(12)]), whole)
    assert (np.diff(whole, axis=1) >= 0).all()
    assert not np.isin(Chain(n_neg, n_pos, seed=7, index=2).run(20), whole).any()


@pytest.mark.parametrize("ranks", [6, MAX_EXACT_RANKS + 10])
def test_without_data_the_chain_stays_in_the_prior(ranks):
    """With more than MAX_EXACT_RANKS ranks the tree is changed by rotations and in parts."""
    nothing = np.zeros(ranks)
    chain = Chain(nothing, nothing, seed=0, index=0)
    draws = chain.run(3000, thin=3)
    prior = prior_maps(ranks, 3000)
    for k in (0, 1, ranks // 2, ranks - 1):
        size = effective_sample_size(draws[None, :, [k]])[0]
        independent = draws[:: max(1, int(len(draws) / size)), k]
        assert ks_2samp(independent, prior[:, k]).pvalue > 1e-3
    # Also the roughness, which depends on the tree.
    gaps = np.log(np.diff(draws, axis=1) + 1e-12).mean(axis=1)
    direct = np.log(np.diff(prior, axis=1) + 1e-12).mean(axis=1)
    size = effective_sample_size(gaps[None, :, None])[0]
    error = np.hypot(gaps.std() / np.sqrt(size), direct.std() / np.sqrt(len(direct)))
    assert abs(gaps.mean() - direct.mean()) < 4 * error


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [7, MAX_EXACT_RANKS + 10])
def test_simulation_based_calibration(ranks):
    """Talts et al. (2018): the truth's rank among the draws is uniform if truth and data are."""
    n_draws, replicates = 19, 400 if ranks < MAX_EXACT_RANKS else 100
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 8, ranks).astype(float)
    watched = [0, ranks // 3, ranks - 2]
    places = np.empty((replicates, 5))
    for r, truth in enumerate(prior_maps(ranks, replicates)):
        n_pos = rng.binomial(counts.astype(int), truth).astype(float)
        chain = Chain(counts - n_pos, n_pos, seed=1, index=r)
        draws = chain.run(n_draws + 2, thin=12)[2:]
        watch = [(draws[:, k], truth[k]) for k in watched]
        watch.append((draws.mean(axis=1), truth.mean()))
        watch.append((np.diff(draws).max(axis=1), np.diff(truth).max()))
        places[r] = [(drawn < true).sum() for drawn, true in watch]
    for column in places.T:
        observed = np.bincount(column.astype(int) // 4, minlength=5)
        assert chisquare(observed).pvalue > 1e-3


def test_without_data_chains_between_bounds_stay_in_the_bounded_prior():
    """More ranks than are redrawn at once: rotations must know of the bounds too."""
    ranks = MAX_EXACT_RANKS + 10
    lower = np.repeat([0.0, 0.2, 0.5], ranks // 3)
    upper = np.repeat([0.4, 0.6, 0.9], ranks // 3)
    nothing = np.zeros(ranks)
    draws = Chain(nothing, nothing, seed=0, index=0, bounds=(lower, upper)).run(4000, thin=2)
    prior = draw_maps(lower, upper, np.arange(20_000), seed=1)
    for found, direct in (
        (draws, prior),
        (np.log(np.diff(draws) + 1e-9), np.log(np.diff(prior) + 1e-9)),
    ):
        size = effective_sample_size(found[None])
        error = np.hypot(found.std(axis=0) / np.sqrt(size), direct.std(axis=0) / np.sqrt(20_000))
        assert (np.abs(found.mean(axis=0) - direct.mean(axis=0)) < 5 * error).all()


@pytest.fixture(scope="module")
def uncompiled():
    """The kernel as plain Python, whose parts can be called and replaced."""
    source = Path(kernels.__file__).with_name("bayesian_isotonic.py")
    spec = importlib.util.spec_from_file_location("uncompiled_kernel", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 66, 1000, 65_535, 10**9])
def test_the_end_of_a_long_slice_is_found_in_few_steps_and_is_that_of_single_steps(
    length, uncompiled
):
    step = 1e-3 / 7
    tried = []

    class LongSlice(uncompiled.Chain):
        def __init__(self):
            pass

        def _is_in_slice(self, value):
            tried.append(value)
            return value <= 0.3 + (length - 0.5) * step

    found = LongSlice()._step_out(0.3, step)
    expected = 0.3
    for _ in range(min(length, 10**6)):
        expected += step
    if length < 10**6:
        assert found == expected
    else:
        assert found == pytest.approx(0.3 + length * step, abs=2 * step)
    assert len(tried) <= 64 + 2 * np.log2(length + 2) + 2


def test_chains_of_trillions_of_rows_reach_the_frequencies():
    """On their way they may make neighbors equal, which must separate again."""
    rate = np.linspace(0.002, 0.998, 200) ** 1.2
    total = 1.5e10
    stuck = []
    for index in range(24):
        draws = Chain((1 - rate) * total, rate * total, seed=0, index=index).run(400)[200:]
        away = (draws.mean(axis=0) - rate) / np.sqrt(rate * (1 - rate) / total)
        stuck.append(np.abs(away).max() > 20)
    assert not any(stuck)
