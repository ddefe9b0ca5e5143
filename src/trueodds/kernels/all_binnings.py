"""Bayesian averaging over all binnings of n rows, by dynamic programming in O(n²) time.

A bin that begins before row a and ends before row b has a marginal likelihood L(a, b) that does
not depend on the other bins, and so has the prior of its end. With F(b) the sum over all binnings
of the rows before b, and G(a) over those of the rows from a on,

    F(b) = Σ_a F(a)·L(a, b),    G(a) = Σ_b L(a, b)·G(b),

the posterior probability of a bin is F(a)·L(a, b)·G(b)/F(n). Everything is kept as logarithms;
L is computed twice, because keeping it would take O(n²) memory.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

__all__ = ["average_over_binnings"]

Floats = npt.NDArray[np.float64]

HALF_LOG_2_PI = 0.9189385332046727
NEGLIGIBLE = -45.0
"""ln of a probability that adds nothing to a sum near 1 in float64, even ten thousand times."""


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
        Edges around the rows, as probabilities; a bin's prior mean is its midpoint.
    n_pos, n_neg : array of shape (n,)
    log_boundary, log_no_boundary : array of shape (n − 1,)
        Ln of the prior probability that a bin ends, or does not, after each row but the last.
        The second is finite.
    prior_limit : float
        How far the prior mean is kept off 0 and 1.

    Returns
    -------
    values : array of shape (n,)
    bins : float
        Posterior mean of the number of bins.
    """
    rows = len(n_pos)
    ends = np.zeros(rows + 1)
    ends[1:-1] = log_boundary
    joined = np.zeros(rows + 1)
    joined[2:] = np.cumsum(log_no_boundary)
    values = np.zeros(rows)
    kernel: Any = _average
    bins = kernel(
        np.array(edges, dtype=np.float64),
        np.append(0.0, np.cumsum(n_pos)),
        np.append(0.0, np.cumsum(n_neg)),
        *(ends, joined, prior_limit, values),
        *(np.empty(rows + 1) for _ in range(3)),
    )
    return values, float(bins)


@njit(error_model="numpy")
def _log_gamma(x):  # type: ignore[no-untyped-def]
    """Ln Γ(x) for x > 0, by Stirling's series from 10 on; several times faster than libm's."""
    product = 1.0
    while x < 10.0:
        product *= x
        x += 1.0
    z = 1.0 / (x * x)
    series = 1.0 / 1188.0 - 691.0 / 360360.0 * z
    series = 1.0 / 12.0 - z * (1.0 / 360.0 - z * (1.0 / 1260.0 - z * (1.0 / 1680.0 - z * series)))
    return (x - 0.5) * math.log(x) - x + HALF_LOG_2_PI + series / x - math.log(product)


@njit(error_model="numpy")
def _log_evidence(edges, pos, neg, joined, prior_limit, a, b):  # type: ignore[no-untyped-def]
    """Ln of a bin's marginal likelihood (BDeu, C = 2) and of the prior that nothing cuts it."""
    q = 0.5 * (edges[a] + edges[b])
    q = min(max(q, prior_limit), 1.0 - prior_limit)
    n_pos, n_neg = pos[b] - pos[a], neg[b] - neg[a]
    value = _log_gamma(n_pos + 2.0 * q) + _log_gamma(n_neg + 2.0 - 2.0 * q)
    value -= _log_gamma(n_pos + n_neg + 2.0)
    # Γ(2q)·Γ(2 − 2q) = πz/sin(πz) with z = 2q − 1; Γ(2) = 1.
    z = math.pi * abs(2.0 * q - 1.0)
    if z > 0.0:
        value -= math.log(z / math.sin(z))
    return value + joined[b] - joined[a + 1]


@njit(
    "float64(float64[::1], float64[::1], float64[::1], float64[::1], float64[::1], float64,"
    "float64[::1], float64[::1], float64[::1], float64[::1])",
    cache=True,
    error_model="numpy",
)
def _average(  # type: ignore[no-untyped-def]
    edges, pos, neg, ends, joined, prior_limit, values, forward, backward, terms
):
    """Fill ``values`` and return the expected number of bins."""
    n = len(edges) - 1
    forward[0] = 0.0
    for b in range(1, n + 1):
        highest = -np.inf
        for a in range(b):
            terms[a] = forward[a] + _log_evidence(edges, pos, neg, joined, prior_limit, a, b)
            highest = max(highest, terms[a])
        total = 0.0
        for a in range(b):
            if terms[a] - highest > NEGLIGIBLE:
                total += math.exp(terms[a] - highest)
        forward[b] = ends[b] + highest + math.log(total)
    backward[n] = 0.0
    bins = 0.0
    for a in range(n - 1, -1, -1):
        highest = -np.inf
        for b in range(a + 1, n + 1):
            terms[b] = ends[b] + backward[b]
            terms[b] += _log_evidence(edges, pos, neg, joined, prior_limit, a, b)
            highest = max(highest, terms[b])
        total = 0.0
        covering = 0.0  # what the bins from a on that reach beyond a row contribute to it
        for b in range(n, a, -1):
            if terms[b] - highest > NEGLIGIBLE:
                total += math.exp(terms[b] - highest)
            posterior = forward[a] + terms[b] - forward[n]
            if posterior > NEGLIGIBLE:
                q = 0.5 * (edges[a] + edges[b])
                q = min(max(q, prior_limit), 1.0 - prior_limit)
                n_pos, n_neg = pos[b] - pos[a], neg[b] - neg[a]
                probability = math.exp(posterior)
                bins += probability
                covering += probability * (n_pos + 2.0 * q) / (n_pos + n_neg + 2.0)
            values[b - 1] += covering
        backward[a] = highest + math.log(total)
    return bins
