"""Exponentials and logarithms of many numbers, several at a time; see ``elementary.h``."""

from __future__ import annotations

import cython
from cython.cimports.libc import math

__all__ = ["exp_in_place", "log_in_place"]

INFINITY = cython.declare(cython.double, float("inf"))


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def exp_in_place(x: cython.double[::1]) -> cython.void:
    """Replace every number by exp of it; what is beyond ±708 counts as ±708.

    exp(708) does not overflow, and exp(−708) is not subnormal.
    """
    if cython.compiled:
        exp_of_each(cython.address(x[0]), x.shape[0])  # noqa: F821
    else:
        for i in range(len(x)):
            x[i] = math.exp(min(max(x[i], -708.0), 708.0))


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def log_in_place(x: cython.double[::1]) -> cython.void:
    """Replace every number, none of them negative, by its natural logarithm; that of 0 is −∞."""
    if cython.compiled:
        log_of_each(cython.address(x[0]), x.shape[0])  # noqa: F821
    else:
        for i in range(len(x)):
            x[i] = math.log(x[i]) if x[i] > 0.0 else -INFINITY
