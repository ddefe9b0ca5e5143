"""Compiled loops, and the only place that names numba.

Nothing is imported here, so that numba is loaded by the methods that need it and by no other. A
kernel works on contiguous float64, int32 and bool arrays and has one signature, so it compiles
once and is then read from numba's cache.
"""

__all__: list[str] = []
