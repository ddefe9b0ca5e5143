"""Bayesian averages over all binnings, and the gamma function that they need."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc import math

if cython.compiled:
    from cython.cimports.trueodds.kernels.elementary import exp_in_place, log_beta_into
else:
    from trueodds.kernels.elementary import exp_in_place, log_beta_into

__all__ = [
    "average_over_binnings",
    "draw_binnings",
    "log_gamma",
    "log_gammas",
    "sum_over_binnings",
]

# The gamma function ------------------------------------------------------------------------------

HALF_LOG_2_PI = cython.declare(cython.double, 0.9189385332046727)


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def log_gamma(x: cython.double) -> cython.double:
    """Return ln Γ(x) for x > 0, by Stirling's series for x ≥ 10; several times faster than libm."""
    product: cython.double = 1.0
    while x < 10.0:
        product *= x
        x += 1.0
    z: cython.double = 1.0 / (x * x)
    series: cython.double = 1.0 / 1188.0 - 691.0 / 360360.0 * z
    series = 1.0 / 12.0 - z * (1.0 / 360.0 - z * (1.0 / 1260.0 - z * (1.0 / 1680.0 - z * series)))
    return (x - 0.5) * math.log(x) - x + HALF_LOG_2_PI + series / x - math.log(product)


def log_gammas(values: cython.const[cython.double][::1]) -> npt.NDArray[np.float64]:
    """Return ln Γ of positive numbers."""
    result = np.empty(values.shape[0])
    out: cython.double[::1] = result
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(values.shape[0]):
            out[i] = log_gamma(values[i])
    return result


# All binnings ------------------------------------------------------------------------------------
# Bayesian averaging over all binnings of n rows, by dynamic programming in O(n²) time.
#
# A bin of the rows a … b − 1 has a marginal likelihood L(a, b) that does not depend on the other
# bins; neither does the prior of its end. With F(b) the sum over all binnings of the rows before b,
# and G(a) the sum over all binnings of rows a and later,
#
#     F(b) = Σ_a F(a)·L(a, b),    G(a) = Σ_b L(a, b)·G(b),
#
# the posterior probability of a bin is F(a)·L(a, b)·G(b)/F(n). All are logarithms. L is computed
# twice, because storing it would take O(n²) memory.

Floats = npt.NDArray[np.float64]

PI = cython.declare(cython.double, np.pi)
NEGLIGIBLE_LOG = cython.declare(cython.double, -45.0)
"""Logarithm of a probability that does not change a sum near 1, even ten thousand times."""


def average_over_binnings(
    edges: Floats,
    n_pos: Floats,
    n_neg: Floats,
    log_boundary: Floats,
    log_no_boundary: Floats,
    prior_limit: float,
) -> tuple[Floats, float]:
    """Average the bins' posterior means over all binnings.

    Parameters
    ----------
    edges : array of shape (n + 1,)
        Edges around the rows, as probabilities; the prior mean of a bin is its midpoint.
    n_pos, n_neg : array of shape (n,)
    log_boundary, log_no_boundary : array of shape (n − 1,)
        Logarithms of the prior probabilities that a bin ends, or does not end, after each row but
        the last. The second must be finite.
    prior_limit : float
        Least distance of the prior mean from 0 and 1.

    Returns
    -------
    values : array of shape (n,)
    bins : float
        Posterior mean of the number of bins.
    """
    rows = len(n_pos)
    log_end = np.zeros(rows + 1)
    log_end[1:rows] = log_boundary
    log_joined = np.zeros(rows + 1)
    log_joined[2:] = np.cumsum(log_no_boundary)
    values = np.zeros(rows)
    bins = _average(
        np.array(edges, dtype=np.float64),
        np.append(0.0, np.cumsum(n_pos)),
        np.append(0.0, np.cumsum(n_neg)),
        log_end,
        log_joined,
        prior_limit,
        values,
    )
    return values, float(bins)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _prior_mean(low: cython.double, high: cython.double, limit: cython.double) -> cython.double:
    """Return the midpoint of a bin, clipped away from 0 and 1."""
    return min(max(0.5 * (low + high), limit), 1.0 - limit)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _log_evidence(q: cython.double, n_pos: cython.double, n_neg: cython.double) -> cython.double:
    """Return the log marginal likelihood (BDeu, C = 2) of a bin with prior mean q."""
    value: cython.double = log_gamma(n_pos + 2.0 * q) + log_gamma(n_neg + 2.0 - 2.0 * q)
    value -= log_gamma(n_pos + n_neg + 2.0)
    # Γ(2q)·Γ(2 − 2q) = πz/sin(πz) with z = 2q − 1; Γ(2) = 1.
    z: cython.double = PI * abs(2.0 * q - 1.0)
    if z > 0.0:
        value -= math.log(z / math.sin(z))
    return value


def _average(
    edges: cython.double[::1], cum_pos: cython.double[::1], cum_neg: cython.double[::1],
    log_end: cython.double[::1], log_joined: cython.double[::1], prior_limit: cython.double,
    values: cython.double[::1],
):  # fmt: skip
    """Fill ``values`` and return the expected number of bins."""
    n: cython.Py_ssize_t = edges.shape[0] - 1
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    q: cython.double
    max_term: cython.double
    total: cython.double
    lowest: cython.double = -np.inf
    forward: cython.double[::1] = np.zeros(n + 1)
    backward: cython.double[::1] = np.zeros(n + 1)
    terms: cython.double[::1] = np.zeros(n + 1)
    bins: cython.double = 0.0
    with cython.nogil:
        for b in range(1, n + 1):
            max_term = lowest
            for a in range(b):
                q = _prior_mean(edges[a], edges[b], prior_limit)
                # The likelihood of the bin, and the prior of no boundary inside it.
                terms[a] = forward[a] + (
                    _log_evidence(q, cum_pos[b] - cum_pos[a], cum_neg[b] - cum_neg[a])
                    + log_joined[b]
                    - log_joined[a + 1]
                )
                max_term = max(max_term, terms[a])
            total = 0.0
            for a in range(b):
                if terms[a] - max_term > NEGLIGIBLE_LOG:
                    total += math.exp(terms[a] - max_term)
            forward[b] = log_end[b] + max_term + math.log(total)
        for a in range(n - 1, -1, -1):
            max_term = lowest
            for b in range(a + 1, n + 1):
                q = _prior_mean(edges[a], edges[b], prior_limit)
                terms[b] = log_end[b] + backward[b]
                terms[b] += (
                    _log_evidence(q, cum_pos[b] - cum_pos[a], cum_neg[b] - cum_neg[a])
                    + log_joined[b]
                    - log_joined[a + 1]
                )
                max_term = max(max_term, terms[b])
            total = 0.0
            # The contribution to a row from all bins that begin at a and contain the row.
            covering: cython.double = 0.0
            for b in range(n, a, -1):
                if terms[b] - max_term > NEGLIGIBLE_LOG:
                    total += math.exp(terms[b] - max_term)
                posterior: cython.double = forward[a] + terms[b] - forward[n]
                if posterior > NEGLIGIBLE_LOG:
                    q = _prior_mean(edges[a], edges[b], prior_limit)
                    n_pos: cython.double = cum_pos[b] - cum_pos[a]
                    n_neg: cython.double = cum_neg[b] - cum_neg[a]
                    probability: cython.double = math.exp(posterior)
                    bins += probability
                    covering += probability * (n_pos + 2.0 * q) / (n_pos + n_neg + 2.0)
                values[b - 1] += covering
            backward[a] = max_term + math.log(total)
    return bins


# Step functions with a Beta prior ----------------------------------------------------------------
# The same sum with one prior for every bin and one probability of a boundary. For every end, the
# distribution of the start of the last bin is stored, so that binnings can be drawn.


def sum_over_binnings(
    cum_pos: cython.const[cython.double][::1],
    cum_neg: cython.const[cython.double][::1],
    prior_pos: cython.double,
    prior_neg: cython.double,
    boundary: cython.double,
    last_bin_start: cython.double[::1],
) -> float:
    """Return the log marginal likelihood, summed over all step functions.

    Parameters
    ----------
    cum_pos, cum_neg : array of shape (n + 1,)
        Cumulative weight of each class in the cells before each boundary.
    prior_pos, prior_neg : float
        Parameters of the Beta prior of a bin's probability.
    boundary : float
        Prior probability that a bin ends after a cell.
    last_bin_start : array of shape (n·(n + 1)/2,)
        Filled, for every end b = 1, 2, …, with the posterior probabilities that the last bin of the
        cells before b begins at cell 0, 1, … b − 1.
    """
    n: cython.Py_ssize_t = cum_pos.shape[0] - 1
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    at: cython.Py_ssize_t = 0
    max_term: cython.double
    total: cython.double
    log_cut: cython.double = math.log(boundary)
    log_uncut: cython.double = math.log1p(-boundary)
    log_prior_beta: cython.double[::1] = np.empty(1)
    forward: cython.double[::1] = np.zeros(n + 1)
    bin_pos: cython.double[::1] = np.array([prior_pos, *[0.0] * n])
    bin_neg: cython.double[::1] = np.array([prior_neg, *[0.0] * n])
    terms: cython.double[::1] = np.empty(n)
    with cython.nogil:
        log_beta_into(bin_pos, bin_neg, log_prior_beta, 1)
        for b in range(1, n + 1):
            for a in range(b):
                bin_pos[a] = cum_pos[b] - cum_pos[a] + prior_pos
                bin_neg[a] = cum_neg[b] - cum_neg[a] + prior_neg
            log_beta_into(bin_pos, bin_neg, terms, b)
            for a in range(b):
                # The boundary before the bin, and no boundary inside it.
                terms[a] += forward[a] - log_prior_beta[0] + (b - 1 - a) * log_uncut
                if a > 0:
                    terms[a] += log_cut
            max_term = terms[0]
            for a in range(1, b):
                max_term = max(max_term, terms[a])
            for a in range(b):
                last_bin_start[at + a] = terms[a] - max_term
            exp_in_place(last_bin_start[at : at + b])
            total = 0.0
            for a in range(b):
                total += last_bin_start[at + a]
            for a in range(b):
                last_bin_start[at + a] /= total
            forward[b] = max_term + math.log(total)
            at += b
    return forward[n]


def draw_binnings(
    last_bin_start: cython.const[cython.double][::1],
    uniform: cython.const[cython.double][::1],
    begins: cython.uchar[:, ::1],
) -> None:
    """Draw binnings from their posterior, each from the last bin to the first.

    Parameters
    ----------
    last_bin_start : array
        Probabilities from :func:`sum_over_binnings`.
    uniform : array
        Random numbers in [0, 1); one for each bin.
    begins : array of shape (n_drawn, n)
        Filled with 1 where a bin begins, and 0 elsewhere.
    """
    k: cython.Py_ssize_t
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    n_used: cython.Py_ssize_t = 0
    cumulative: cython.double
    with cython.nogil:
        for k in range(begins.shape[0]):
            begins[k, :] = 0
            b = begins.shape[1]
            while b > 0:
                a = 0
                cumulative = last_bin_start[b * (b - 1) // 2]
                while cumulative <= uniform[n_used] and a < b - 1:
                    a += 1
                    cumulative += last_bin_start[b * (b - 1) // 2 + a]
                n_used += 1
                begins[k, a] = 1
                b = a
