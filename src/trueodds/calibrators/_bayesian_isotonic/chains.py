"""Several Markov chains on isotonic maps, run until they agree, and their diagnostics."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trueodds.inputs import Floats

__all__ = ["Chains", "effective_sample_size", "run_chains", "split_r_hat"]

WARM_UP = 100
"""Sweeps before anything is kept. Chains forget their beginning within a few dozen."""

FIRST_ROUND = 250
"""Draws of each chain before the first look at the diagnostics."""

GROWTH = 1.6
"""Largest factor by which a round lengthens the chains."""

SLACK = 1.1
"""Each round aims at this multiple of the draws that seem to be needed."""

Draws = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Chains:
    """What was drawn.

    Parameters
    ----------
    draws : ndarray of shape (n_chains, n_draws, n_ranks)
    effective_sample_size, r_hat : ndarray of shape (n_ranks,)
    """

    draws: Draws
    effective_sample_size: Floats
    r_hat: Floats

    def spread(self, sizes: npt.NDArray[np.int64]) -> Chains:
        """Each rank as this many ranks that share its value."""
        if (sizes == 1).all():
            return self
        return Chains(
            np.repeat(self.draws, sizes, axis=2),
            np.repeat(self.effective_sample_size, sizes),
            np.repeat(self.r_hat, sizes),
        )


def run_chains(
    n_neg: Floats,
    n_pos: Floats,
    *,
    n_chains: int,
    wanted: float,
    max_draws: int,
    seed: int,
    first_index: int = 0,
    bounds: tuple[Floats, Floats] | None = None,
    n_threads: int = 1,
    done: Callable[[int], None] | None = None,
) -> Chains:
    """Run chains until every rank's effective sample size is large enough.

    Parameters
    ----------
    n_neg, n_pos : ndarray of shape (n_ranks,)
    n_chains : int
    wanted : float
        Effective sample size at which to stop.
    max_draws : int
        Largest number of draws of each chain.
    seed, first_index : int
        Seed of the random streams; chains have consecutive indices.
    bounds : tuple of two ndarrays of shape (n_ranks,), default=None
        Limits of the values, as in the paper's section 4.3.
    n_threads : int
        Chains that run at once. It changes the time only.
    done : callable, default=None
        Called after each round with the growth of the effective sample size.
    """
    from trueodds.kernels.bayesian_isotonic import Chain

    chains = [
        Chain(n_neg, n_pos, seed=seed, index=first_index + k, bounds=bounds)
        for k in range(n_chains)
    ]
    rounds: list[Draws] = []
    length, warm_up, reached = min(FIRST_ROUND, max_draws), WARM_UP, 0
    with ThreadPoolExecutor(min(n_threads, n_chains)) as pool:
        while True:

            def go_on(chain: Chain, warm_up: int = warm_up, length: int = length) -> Draws:
                return chain.run(warm_up + length)[warm_up:]

            rounds.append(np.stack(list(pool.map(go_on, chains))))
            warm_up = 0
            draws = np.concatenate(rounds, axis=1)
            size = effective_sample_size(draws)
            if done is not None:
                done(int(min(size.min(), wanted)) - reached)
                reached = int(min(size.min(), wanted))
            so_far = draws.shape[1]
            if size.min() >= wanted or so_far >= max_draws:
                return Chains(draws, size, split_r_hat(draws))
            missing = so_far * (SLACK * wanted / size.min() - 1)
            length = int(np.clip(missing, 25, (GROWTH - 1) * so_far + FIRST_ROUND))
            length = min(length, max_draws - so_far)


def split_r_hat(draws: Draws) -> Floats:
    """√ of the variance of all draws over that within halves of chains; 1 if all agree.

    Parameters
    ----------
    draws : ndarray of shape (n_chains, n_draws, n_quantities)

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, section 11.4.
    """
    half = draws.shape[1] // 2
    parts = np.concatenate([draws[:, :half], draws[:, -half:]])
    within = parts.var(axis=1, ddof=1).mean(axis=0)
    between = parts.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.sqrt((half - 1) / half + between / within)
    return np.where(within > 0, ratio, 1.0)


def effective_sample_size(draws: Draws) -> Floats:
    """Number of independent draws that would estimate the mean as well.

    From the autocorrelation of the halves of all chains together, summed by Geyer's initial
    monotone sequence.

    Parameters
    ----------
    draws : ndarray of shape (n_chains, n_draws, n_quantities)

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, section 11.5. Geyer (1992), Practical Markov
    chain Monte Carlo.

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(size=(4, 1000, 1))
    >>> bool(3000 < effective_sample_size(draws)[0] < 5000)
    True
    """
    half = draws.shape[1] // 2
    parts = np.concatenate([draws[:, :half], draws[:, -half:]])
    n_parts = len(parts)
    within = parts.var(axis=1, ddof=1).mean(axis=0)
    between = parts.mean(axis=1).var(axis=0, ddof=1)
    total = within * (half - 1) / half + between
    # Of longer lags too little would be known.
    lags = max(2, half // 2 // 2 * 2)
    covariance = _autocovariance(parts, lags).sum(axis=0) / n_parts
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = 1 - (within - covariance) / total
    correlation[0] = 1.0
    pairs = correlation[0::2] + correlation[1::2]
    pairs = np.minimum.accumulate(pairs, axis=0)
    pairs = np.where(np.logical_and.accumulate(pairs > 0, axis=0), pairs, 0.0)
    time = np.maximum(2 * pairs.sum(axis=0) - 1, 1 / np.log10(n_parts * half + 10))
    return np.asarray(np.where(total > 0, n_parts * half / time, n_parts * half))


def _autocovariance(parts: Draws, lags: int) -> Draws:
    """Autocorrelations of each part at lags 0, 1, …: shape (n_parts, lags, n_quantities)."""
    centered = parts - parts.mean(axis=1, keepdims=True)
    length = parts.shape[1]
    spectrum = np.fft.rfft(centered, n=int(2 ** np.ceil(np.log2(length + lags))), axis=1)
    covariance = np.fft.irfft(spectrum * spectrum.conj(), axis=1)[:, :lags]
    return np.asarray(covariance / length)
