"""Random numbers inside kernels: one stream per seed and index, the same on every machine.

SplitMix64 (Steele, Lea and Flood 2014): a counter that is hashed. Streams begin at places that are
hashes themselves, so that each block of work has its own, whichever thread does it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["begin_stream", "uniform"]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
S11, S27, S30, S31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)
UNIT = 2.0**-53


@njit(error_model="numpy")
def _mix(z):  # type: ignore[no-untyped-def]
    z = (z ^ (z >> S30)) * MIX_1
    z = (z ^ (z >> S27)) * MIX_2
    return z ^ (z >> S31)


@njit(error_model="numpy")
def begin_stream(state, seed, index):  # type: ignore[no-untyped-def]
    """Put ``state``, an array of one uint64, at the beginning of stream ``index`` of a seed."""
    state[0] = _mix(_mix(seed + GOLDEN) ^ _mix((np.uint64(index) + np.uint64(1)) * MIX_2))


@njit(error_model="numpy")
def uniform(state):  # type: ignore[no-untyped-def]
    """The next number of a stream, uniform and strictly between 0 and 1."""
    state[0] = state[0] + GOLDEN
    return (np.float64(_mix(state[0]) >> S11) + 0.5) * UNIT
