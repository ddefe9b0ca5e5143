"""Random numbers inside kernels: one stream per seed and index, the same on every machine.

SplitMix64 (Steele, Lea and Flood 2014): a counter that is hashed. Streams begin at places that are
hashes themselves, so that each block of work has its own, whichever thread does it.
"""

from __future__ import annotations

import cython

__all__ = ["RandomStream"]

GOLDEN = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)
MIX_1 = cython.declare(cython.ulonglong, 0xBF58476D1CE4E5B9)
MIX_2 = cython.declare(cython.ulonglong, 0x94D049BB133111EB)
ALL_BITS = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)  # where Python's integers go on
UNIT = cython.declare(cython.double, 2.0**-53)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mix(z: cython.ulonglong) -> cython.ulonglong:
    z = ((z ^ (z >> 30)) * MIX_1) & ALL_BITS
    z = ((z ^ (z >> 27)) * MIX_2) & ALL_BITS
    return z ^ (z >> 31)


@cython.final
@cython.cclass
class RandomStream:
    """Stream ``index`` of a seed, both below 2⁶⁴."""

    def __init__(self, seed: cython.ulonglong, index: cython.ulonglong) -> None:
        self.begin(seed, index)

    def begin(self, seed, index):
        """Go to the beginning of another stream."""
        where: cython.ulonglong = (seed + GOLDEN) & ALL_BITS
        offset: cython.ulonglong = (((index + 1) & ALL_BITS) * MIX_2) & ALL_BITS
        self.state = _mix(_mix(where) ^ _mix(offset))

    def uniform(self):
        """The next number of the stream, uniform and strictly between 0 and 1."""
        self.state = (self.state + GOLDEN) & ALL_BITS
        return (cython.cast(cython.double, _mix(self.state) >> 11) + 0.5) * UNIT
