"""Isotonic maps drawn from the recursive prior between bounds, weighted by their likelihood.

Allikivi and Kull (2019), algorithm 1 and sections 4.2 and 4.3. A map is drawn by choosing a rank
uniformly, its value uniformly between the bounds and the neighbours that are already there, and
then the same to the left and to the right.

Map number s has its own random stream, so any map can be drawn again from its number alone: only
log-likelihoods are kept, and memory does not grow with the number of maps times ranks.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from trueodds.kernels.random_stream import begin_stream, uniform

__all__ = ["WeightedMaps", "draw_maps", "sample_weighted_maps"]

BLOCKS = 16
"""Blocks of maps with a running sum each; fixed, so that threads do not change any sum's order."""

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class WeightedMaps(NamedTuple):
    """What is kept of many maps.

    Parameters
    ----------
    mean : float64 array of shape (n_ranks,)
        Their mean, weighted by likelihood.
    log_likelihood : float64 array of shape (n_samples,)
        Of each.
    """

    mean: Floats
    log_likelihood: Floats


def sample_weighted_maps(
    lower: Floats,
    upper: Floats,
    n_neg: Floats,
    n_pos: Floats,
    *,
    n_samples: int,
    seed: int,
    n_threads: int = 1,
    done: Any = None,
) -> WeightedMaps:
    """Draw maps and average them.

    Parameters
    ----------
    lower, upper : array of shape (n_ranks,)
        Bounds, both non-decreasing.
    n_neg, n_pos : array of shape (n_ranks,)
    n_samples : int
    seed : int
        Below 2⁶⁴.
    n_threads : int
        It changes the time only.
    done : callable, default=None
        Called with the number of maps whenever a block of them is finished.
    """
    cuts = np.linspace(0, n_samples, BLOCKS + 1).astype(np.int64)
    log_likelihood = np.empty(n_samples)
    totals = np.zeros((BLOCKS, len(lower)))
    columns = [np.array(a, dtype=np.float64) for a in (lower, upper, n_neg, n_pos)]

    def run(block: int) -> float:
        first, last = int(cuts[block]), int(cuts[block + 1])
        kernel: Any = _weigh_block
        highest = kernel(
            *columns,
            np.uint64(seed),
            *(first, log_likelihood[first:last], totals[block]),
            *_work_space(len(lower)),
        )
        if done is not None:
            done(last - first)
        return float(highest)

    with ThreadPoolExecutor(n_threads) as pool:
        highest = np.array(list(pool.map(run, range(BLOCKS))))
    best = highest.max()
    scale = np.exp(highest - best)
    weight = np.exp(log_likelihood - best).sum()
    mean = (totals * scale[:, None]).sum(axis=0) / weight
    return WeightedMaps(np.clip(mean, lower, upper), log_likelihood)


def draw_maps(lower: Floats, upper: Floats, samples: Integers, seed: int) -> Floats:
    """The maps of the given numbers again, as rows."""
    maps = np.empty((len(samples), len(lower)))
    kernel: Any = _draw_again
    kernel(
        np.array(lower, dtype=np.float64),
        np.array(upper, dtype=np.float64),
        np.uint64(seed),
        np.array(samples, dtype=np.int64),
        maps,
        *_work_space(len(lower))[1:],
    )
    return maps


def _work_space(ranks: int) -> tuple[Any, ...]:
    """Values of one map, the random state, and a stack of ranges with the values around them."""
    return (
        np.empty(ranks),
        np.empty(1, dtype=np.uint64),
        *(np.empty(ranks + 1, dtype=np.int64) for _ in range(2)),
        *(np.empty(ranks + 1) for _ in range(2)),
    )


@njit(error_model="numpy")
def _draw(lower, upper, state, values, first, last, below, above):  # type: ignore[no-untyped-def]
    """One map of the prior (section 4.2), within the bounds (section 4.3)."""
    first[0], last[0], below[0], above[0] = 0, len(lower) - 1, 0.0, 1.0
    size = 1
    while size > 0:
        size -= 1
        i, j, low, high = first[size], last[size], below[size], above[size]
        k = i + int(uniform(state) * (j - i + 1))
        floor, ceiling = max(low, lower[k]), min(high, upper[k])
        values[k] = floor + uniform(state) * (ceiling - floor)
        if k < j:
            first[size], last[size], below[size], above[size] = k + 1, j, values[k], high
            size += 1
        if k > i:
            first[size], last[size], below[size], above[size] = i, k - 1, low, values[k]
            size += 1


@njit(
    "float64(float64[::1], float64[::1], float64[::1], float64[::1], uint64, int64, float64[::1],"
    "float64[::1], float64[::1], uint64[::1], int64[::1], int64[::1], float64[::1], float64[::1])",
    cache=True,
    nogil=True,
    error_model="numpy",
)
def _weigh_block(  # type: ignore[no-untyped-def]
    lower, upper, n_neg, n_pos, seed, start, log_likelihood, total,
    values, state, first, last, below, above,
):  # fmt: skip
    """Sum of the block's maps, each times exp(its log-likelihood − the highest); that highest."""
    highest = -np.inf
    for s in range(len(log_likelihood)):
        begin_stream(state, seed, start + s)
        _draw(lower, upper, state, values, first, last, below, above)
        own = 0.0
        for k in range(len(values)):  # equation 3, for counts
            if n_pos[k] > 0:
                own += n_pos[k] * np.log(values[k])
            if n_neg[k] > 0:
                own += n_neg[k] * np.log(1 - values[k])
        log_likelihood[s] = own
        if own > highest:
            shrink = np.exp(highest - own)
            for k in range(len(total)):
                total[k] = total[k] * shrink + values[k]
            highest = own
        elif own > -np.inf:
            weight = np.exp(own - highest)
            for k in range(len(total)):
                total[k] += weight * values[k]
    return highest


@njit(
    "void(float64[::1], float64[::1], uint64, int64[::1], float64[:, ::1],"
    "uint64[::1], int64[::1], int64[::1], float64[::1], float64[::1])",
    cache=True,
    error_model="numpy",
)
def _draw_again(  # type: ignore[no-untyped-def]
    lower, upper, seed, samples, maps, state, first, last, below, above
):
    for row in range(len(samples)):
        begin_stream(state, seed, samples[row])
        _draw(lower, upper, state, maps[row], first, last, below, above)
