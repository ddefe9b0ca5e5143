"""Vectorized exponentials, logarithms, bins and sums (``elementary.h``)."""

from __future__ import annotations

import cython
from cython.cimports.libc import math

__all__ = [
    "add_column_moments",
    "add_weighted_rows",
    "exp_in_place",
    "log_beta_into",
    "log_in_place",
    "log_odds_into",
    "normal_cdf_in_place",
    "sigmoid_and_softplus_into",
    "sigmoid_in_place",
    "uniform_bins",
]

EDGE_TOLERANCE = cython.declare(cython.double, 1e-9)
INFINITY = cython.declare(cython.double, float("inf"))
SQRT_2 = cython.declare(cython.double, 2.0**0.5)
BELOW_ONE = cython.declare(cython.double, 1.0 - 2.0**-53)


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def exp_in_place(x: cython.double[::1]) -> cython.void:
    """Replace every x by exp(x), x clipped to ±708.

    exp(708) does not overflow, and exp(−708) is not subnormal.
    """
    if cython.compiled:
        exp_array(cython.address(x[0]), x.shape[0])  # noqa: F821
    else:
        for i in range(len(x)):
            x[i] = math.exp(min(max(x[i], -708.0), 708.0))


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def log_in_place(x: cython.double[::1]) -> cython.void:
    """Replace every x ≥ 0 by its natural logarithm; −∞ for 0."""
    if cython.compiled:
        log_array(cython.address(x[0]), x.shape[0])  # noqa: F821
    else:
        for i in range(len(x)):
            x[i] = math.log(x[i]) if x[i] > 0.0 else -INFINITY


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def log_odds_into(p: cython.const[cython.double][::1], z: cython.double[::1]) -> cython.void:
    """Write ln(p/(1−p)) of probabilities into ``z``; −∞ and ∞ for 0 and 1.

    The odds are exact to rounding for every p, so one logarithm suffices.
    """
    if cython.compiled:
        log_odds_array(cython.address(p[0]), cython.address(z[0]), p.shape[0])  # noqa: F821
    else:
        for i in range(len(p)):
            z[i] = p[i] / (1.0 - p[i]) if p[i] < 1.0 else INFINITY
        log_in_place(z)


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def sigmoid_in_place(z: cython.double[::1]) -> cython.void:
    """Replace every z by 1/(1 + exp(−z)), never exactly 0 or 1."""
    if cython.compiled:
        sigmoid_array(cython.address(z[0]), z.shape[0])  # noqa: F821
    else:
        for i in range(len(z)):
            z[i] = min(1.0 / (1.0 + math.exp(min(max(-z[i], -708.0), 708.0))), BELOW_ONE)


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def normal_cdf_in_place(x: cython.double[::1]) -> cython.void:
    """Replace every x by Φ(x), the distribution function of the standard normal."""
    i: cython.Py_ssize_t
    for i in range(x.shape[0]):
        x[i] = 0.5 * (1.0 + math.erf(x[i] / SQRT_2))


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def uniform_bins(
    x: cython.const[cython.double][::1], n_bins: cython.double, bin_of: cython.int[::1]
) -> cython.int:
    """Write ⌊x·n_bins⌋, for x in [0, 1], into ``bin_of``.

    Return True if some x is so near to an edge that rounding may have put it on the wrong side.
    """
    i: cython.Py_ssize_t
    is_near_edge: cython.int = False
    if cython.compiled:
        is_near_edge = bin_array(  # noqa: F821
            cython.address(x[0]), n_bins, cython.address(bin_of[0]), x.shape[0]
        )
    else:
        for i in range(x.shape[0]):
            bin_of[i] = int(x[i] * n_bins)
            is_near_edge |= not EDGE_TOLERANCE <= x[i] * n_bins - bin_of[i] <= 1.0 - EDGE_TOLERANCE
    return is_near_edge


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def add_column_moments(
    columns: cython.const[cython.double][:, ::1], begin: cython.Py_ssize_t,
    u: cython.const[cython.double][::1], v: cython.const[cython.double][::1],
    n: cython.Py_ssize_t, origins: cython.const[cython.double][::1],
    sums: cython.double[:, ::1],
) -> cython.void:  # fmt: skip
    """Add Σ u·d, Σ u·d² and Σ v·d of each column to ``sums``; Σ u and Σ v to its last row.

    d is the column minus its origin, in ``n`` rows that begin at ``begin``. u and v have one value
    for each of these rows. The order of summation depends only on n.
    """
    a: cython.Py_ssize_t
    i: cython.Py_ssize_t
    last: cython.Py_ssize_t = columns.shape[0]
    if cython.compiled:
        for a in range(last):
            add_moments(  # noqa: F821
                cython.address(columns[a, begin]), origins[a], cython.address(u[0]),
                cython.address(v[0]), n, cython.address(sums[a, 0]),
            )  # fmt: skip
        add_totals(  # noqa: F821
            cython.address(u[0]), cython.address(v[0]), n, cython.address(sums[last, 0])
        )
    else:
        for a in range(last):
            for i in range(n):
                d: cython.double = columns[a, begin + i] - origins[a]
                sums[a, 0] += u[i] * d
                sums[a, 1] += u[i] * d * d
                sums[a, 2] += v[i] * d
        for i in range(n):
            sums[last, 0] += u[i]
            sums[last, 1] += v[i]


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def add_weighted_rows(
    x: cython.const[cython.double][:, ::1], first: cython.Py_ssize_t,
    t: cython.const[cython.double][::1], count: cython.Py_ssize_t, y: cython.double[::1],
) -> cython.void:  # fmt: skip
    """Add Σ t[k]·x[k] over the first ``count`` rows of x to y, in columns ``first`` and later."""
    k: cython.Py_ssize_t
    if cython.compiled:
        if count > 0:
            weighted_rows(  # noqa: F821
                cython.address(x[0, first]), x.shape[1], cython.address(t[0]), count,
                cython.address(y[first]), x.shape[1] - first,
            )  # fmt: skip
    else:
        for k in range(count):
            y[first:] += t[k] * x[k, first:]


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def sigmoid_and_softplus_into(
    z: cython.const[cython.double][::1], p: cython.double[::1], softplus: cython.double[::1]
) -> cython.void:
    """Write 1/(1 + exp(−z)) into ``p``, and ln(1 + exp(z)) into ``softplus``."""
    i: cython.Py_ssize_t
    exp_minus_abs: cython.double
    if cython.compiled:
        sigmoid_and_softplus(  # noqa: F821
            cython.address(z[0]), cython.address(p[0]), cython.address(softplus[0]), z.shape[0]
        )
    else:
        for i in range(len(z)):
            exp_minus_abs = math.exp(max(-abs(z[i]), -708.0))
            p[i] = (exp_minus_abs if z[i] < 0.0 else 1.0) / (1.0 + exp_minus_abs)
            softplus[i] = max(z[i], 0.0) + math.log(1.0 + exp_minus_abs)


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def log_beta_into(
    x: cython.const[cython.double][::1], y: cython.const[cython.double][::1],
    log_beta: cython.double[::1], n: cython.Py_ssize_t,
) -> cython.void:  # fmt: skip
    """Write ln B(x, y) of the first n pairs into ``log_beta``; 0 < x, y < 1e30."""
    i: cython.Py_ssize_t
    if cython.compiled:
        log_beta_array(  # noqa: F821
            cython.address(x[0]), cython.address(y[0]), cython.address(log_beta[0]), n
        )
    else:
        for i in range(n):
            log_beta[i] = math.lgamma(x[i]) + math.lgamma(y[i]) - math.lgamma(x[i] + y[i])
