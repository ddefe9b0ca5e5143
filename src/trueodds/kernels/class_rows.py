"""Maps of several classes applied to many rows, in one pass."""

from __future__ import annotations

import cython
from cython.cimports.libc import math

INFINITY = cython.declare(cython.double, float("inf"))

if cython.compiled:
    from cython.cimports.trueodds.kernels.map_rows import log_or_infinity
else:
    from trueodds.kernels.map_rows import log_or_infinity

__all__ = ["apply_softmax", "deep_enough", "far_enough"]

# So far that the difference of two logits, each with a bias of at most 1e300, is still finite.
FAR = cython.declare(cython.double, 8e307)


def softmax_row(rows, i):
    """Replace the logits in row i by probabilities."""
    top: cython.double = rows[i, 0]
    total: cython.double = 0.0
    k: cython.Py_ssize_t
    for k in range(1, rows.shape[1]):
        top = max(top, rows[i, k])
    for k in range(rows.shape[1]):
        rows[i, k] = math.exp(rows[i, k] - top)
        total += rows[i, k]
    for k in range(rows.shape[1]):
        rows[i, k] /= total


def _largest(weights):
    largest: cython.double = 1e-8
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    for i in range(weights.shape[0]):
        for k in range(weights.shape[1]):
            largest = max(largest, abs(weights[i, k]))
    return largest


def far_enough(weights):
    """How far from 0 a logit may be, such that no sum of products with the weights overflows."""
    largest: cython.double = _largest(weights)
    n: cython.double = weights.shape[1]
    return FAR / n / largest if n * largest > 1.0 else FAR


def deep_enough(weights):
    """How far below 0 a logit of −inf is put, such that no sum overflows."""
    return min(1e300 / min(_largest(weights), 1.0), far_enough(weights))


def apply_softmax(
    scores: cython.const[cython.double][:, ::1], out: cython.double[:, ::1],
    is_probability: cython.bint, floor: cython.double,
    weights: cython.const[cython.double][:, ::1], bias: cython.const[cython.double][::1],
) -> None:  # fmt: skip
    """softmax(W·l + bias), l the logits, none of them more than −``floor`` below the row's largest.

    One row of weights is the diagonal of W.
    """
    n: cython.Py_ssize_t = scores.shape[1]
    diagonal: cython.bint = weights.shape[0] == 1
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    logit: cython.double
    deepest: cython.double = -deep_enough(weights)
    farthest: cython.double = far_enough(weights)
    with cython.nogil:
        for i in range(scores.shape[0]):
            largest: cython.double = scores[i, 0]
            for k in range(1, n):
                largest = max(largest, scores[i, k])
            if is_probability:
                largest = log_or_infinity(largest)
            for k in range(n):
                out[i, k] = bias[k]
            for k in range(n):
                logit = log_or_infinity(scores[i, k]) if is_probability else scores[i, k]
                logit = min(max(logit, largest + floor), farthest)
                if diagonal:
                    # A weight of 0 ignores its class's logit, even one of −inf, and a positive
                    # one makes it impossible.
                    if logit < -farthest and not (weights[0, k] > 0.0 and logit == -INFINITY):
                        logit = -farthest
                    if weights[0, k] != 0.0:
                        out[i, k] += weights[0, k] * logit
                else:
                    logit = max(logit, deepest)
                    for j in range(n):
                        out[i, j] += weights[j, k] * logit
            softmax_row(out, i)
