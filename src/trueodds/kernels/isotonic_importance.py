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

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc import math

if cython.compiled:
    from cython.cimports.trueodds.kernels.random_stream import RandomStream
else:
    from trueodds.kernels.random_stream import RandomStream

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

    def run(block: int) -> float:
        first, last = int(cuts[block]), int(cuts[block + 1])
        drawer = _Drawer(lower, upper, seed)
        highest = drawer.weigh(n_neg, n_pos, first, log_likelihood[first:last], totals[block])
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
    drawer = _Drawer(lower, upper, seed)
    for row, sample in enumerate(samples):
        drawer.draw_into(int(sample), maps[row])
    return maps


@cython.final
@cython.cclass
class _Drawer:
    """Draws maps one after the other, with a stack of ranges and the values around them."""

    seed: cython.ulonglong
    lower: cython.double[::1]
    upper: cython.double[::1]
    first: cython.longlong[::1]
    last: cython.longlong[::1]
    below: cython.double[::1]
    above: cython.double[::1]

    def __init__(self, lower, upper, seed):
        ranks = len(lower)
        self.lower, self.upper = np.array(lower, dtype=float), np.array(upper, dtype=float)
        self.seed = seed
        self.first, self.last = np.empty(ranks + 1, np.int64), np.empty(ranks + 1, np.int64)
        self.below, self.above = np.empty(ranks + 1), np.empty(ranks + 1)

    def draw_into(self, sample: cython.ulonglong, values: cython.double[::1]):
        """Map number ``sample``."""
        self._draw(RandomStream(self.seed, sample), values)

    def weigh(
        self, n_neg, n_pos, start: cython.ulonglong,
        log_likelihood: cython.double[::1], total: cython.double[::1],
    ):  # fmt: skip
        """Sum of the block's maps, each times exp(its log-likelihood − the highest); that one."""
        neg: cython.double[::1] = np.array(n_neg, dtype=float)
        pos: cython.double[::1] = np.array(n_pos, dtype=float)
        values: cython.double[::1] = np.empty(len(n_neg))
        highest: cython.double = -np.inf
        s: cython.Py_ssize_t
        stream: RandomStream = RandomStream(self.seed, start)
        with cython.nogil:
            for s in range(log_likelihood.shape[0]):
                stream.begin(self.seed, start + s)
                self._draw(stream, values)
                log_likelihood[s] = _log_likelihood(neg, pos, values)
                highest = _add(log_likelihood[s], highest, values, total)
        return highest

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _draw(self, stream: RandomStream, values: cython.double[::1]) -> cython.void:
        """One map of the prior (section 4.2), within the bounds (section 4.3)."""
        self.first[0], self.last[0] = 0, self.lower.shape[0] - 1
        self.below[0], self.above[0] = 0.0, 1.0
        size: cython.Py_ssize_t = 1
        while size > 0:
            size -= 1
            i: cython.Py_ssize_t = self.first[size]
            j: cython.Py_ssize_t = self.last[size]
            low: cython.double = self.below[size]
            high: cython.double = self.above[size]
            k: cython.Py_ssize_t = i + cython.cast(
                cython.Py_ssize_t, stream.uniform() * (j - i + 1)
            )
            floor: cython.double = max(low, self.lower[k])
            ceiling: cython.double = min(high, self.upper[k])
            values[k] = floor + stream.uniform() * (ceiling - floor)
            if k < j:
                self.first[size], self.last[size] = k + 1, j
                self.below[size], self.above[size] = values[k], high
                size += 1
            if k > i:
                self.first[size], self.last[size] = i, k - 1
                self.below[size], self.above[size] = low, values[k]
                size += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _log_likelihood(
    n_neg: cython.double[::1], n_pos: cython.double[::1], values: cython.double[::1]
) -> cython.double:
    """Equation 3, for counts."""
    total: cython.double = 0.0
    k: cython.Py_ssize_t
    for k in range(values.shape[0]):
        if n_pos[k] > 0:
            total += n_pos[k] * math.log(values[k])
        if n_neg[k] > 0:
            total += n_neg[k] * math.log(1 - values[k])
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add(
    own: cython.double,
    highest: cython.double,
    values: cython.double[::1],
    total: cython.double[::1],
) -> cython.double:
    """Add a map times exp(own − highest) to the total; returns the new highest."""
    k: cython.Py_ssize_t
    if own > highest:
        shrink: cython.double = math.exp(highest - own)
        for k in range(total.shape[0]):
            total[k] = total[k] * shrink + values[k]
        return own
    if math.isfinite(own):
        weight: cython.double = math.exp(own - highest)
        for k in range(total.shape[0]):
            total[k] += weight * values[k]
    return highest
