"""Maps applied to arrays of scores, in one pass each."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc import math

if cython.compiled:
    from cython.cimports.trueodds.kernels.elementary import (
        exp_in_place,
        log_in_place,
        log_odds_into,
        sigmoid_in_place,
    )
else:
    from trueodds.kernels.elementary import (
        exp_in_place,
        log_in_place,
        log_odds_into,
        sigmoid_in_place,
    )

__all__ = [
    "apply_charcoal_grill",
    "apply_log_odds",
    "apply_log_odds_curve",
    "apply_piecewise_linear",
    "apply_softmax",
    "apply_steps",
    "linear_probabilities",
    "route",
    "safe_logit_floor",
    "safe_logit_limit",
]

# Two classes -------------------------------------------------------------------------------------

INFINITY = cython.declare(cython.double, float("inf"))
EXPONENT_LIMIT = cython.declare(cython.double, 708.0)  # exp(708) does not overflow, exp(710) does
BELOW_ONE = cython.declare(cython.double, 1.0 - 2.0**-53)
CACHE_BLOCK = cython.declare(cython.Py_ssize_t, 512)  # rows that fit into the first-level cache


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _clip(x: cython.double, low: cython.double, high: cython.double) -> cython.double:
    return min(max(x, low), high)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sigmoid(eta: cython.double) -> cython.double:
    """Return 1/(1 + exp(−η)), never exactly 0 or 1, so that no logarithm of it is infinite."""
    return min(1.0 / (1.0 + math.exp(min(-eta, EXPONENT_LIMIT))), BELOW_ONE)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def log_or_minus_infinity(x: cython.double) -> cython.double:
    """Return ln x; −inf for 0 also in plain Python."""
    return math.log(x) if x > 0.0 else -INFINITY


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def minus_log_complement(p: cython.double) -> cython.double:
    """Return −ln(1 − p) as −ln u − (1 − p − u)/u, where u is 1 − p rounded.

    u is exact if p ≥ 0.5. Otherwise 1 + p is near enough to 1/u.
    """
    u: cython.double = 1.0 - p
    if u == 0.0:
        return INFINITY
    return (p - (1.0 - u)) * (1.0 + p) - math.log(u)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _log_sigmoid(z: cython.double) -> cython.double:
    """Return ln σ(z)."""
    return min(z, 0.0) - math.log1p(math.exp(-abs(z)))


def apply_log_odds(
    scores: cython.const[cython.double][::1], out: cython.double[::1], work: cython.double[::1],
    is_probability: cython.bint, a: cython.double, b: cython.double, c: cython.double,
    lower: cython.double, upper: cython.double,
) -> None:  # fmt: skip
    """Write σ(a·ln p − b·ln(1−p) + c) into ``out``; the log-odds z of p are clipped first.

    If a = b it is σ(a·z + c). Scores that are not probabilities are used as z. a and b are not both
    0. ``work`` is memory for the second feature; it is not used if a = b.
    """
    n: cython.Py_ssize_t = scores.shape[0]
    i: cython.Py_ssize_t
    with cython.nogil:
        # Each step is done for all rows before the next, because steps of one row are dependent.
        if a == b:
            _log_odds_into(scores, out, is_probability)
            for i in range(n):
                out[i] = a * _clip(out[i], lower, upper) + c
        else:
            # ln p and −ln(1−p) increase with z, so the limits of z are limits of both. A slope of 0
            # leaves its feature out, even an infinite one.
            if a != 0.0:
                _log_p_into(scores, out, is_probability)
                _scale_clipped(out, a, _log_sigmoid(lower), _log_sigmoid(upper))
            if b != 0.0:
                _minus_log_complement_into(scores, work, is_probability)
                _scale_clipped(work, b, -_log_sigmoid(-lower), -_log_sigmoid(-upper))
            for i in range(n):
                out[i] = (out[i] if a != 0.0 else 0.0) + (work[i] if b != 0.0 else 0.0) + c
        sigmoid_in_place(out)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _log_odds_into(
    scores: cython.const[cython.double][::1], out: cython.double[::1], is_probability: cython.bint
) -> cython.void:
    """Write the log-odds of probabilities; other scores are copied."""
    i: cython.Py_ssize_t
    if is_probability:
        log_odds_into(scores, out)
        return
    for i in range(scores.shape[0]):
        out[i] = scores[i]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _log_p_into(
    scores: cython.const[cython.double][::1], out: cython.double[::1], is_probability: cython.bint
) -> cython.void:
    """Write ln p; other scores are log-odds."""
    i: cython.Py_ssize_t
    for i in range(scores.shape[0]):
        out[i] = scores[i] if is_probability else _log_sigmoid(scores[i])
    if is_probability:
        log_in_place(out)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _minus_log_complement_into(
    scores: cython.const[cython.double][::1], out: cython.double[::1], is_probability: cython.bint
) -> cython.void:
    """Write −ln(1 − p) as :func:`minus_log_complement` does; other scores are log-odds."""
    i: cython.Py_ssize_t
    for i in range(scores.shape[0]):
        out[i] = 1.0 - scores[i] if is_probability else -_log_sigmoid(-scores[i])
    if is_probability:
        log_in_place(out)
        for i in range(scores.shape[0]):
            p: cython.double = scores[i]
            out[i] = (p - (1.0 - (1.0 - p))) * (1.0 + p) - out[i]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _scale_clipped(
    x: cython.double[::1], slope: cython.double, low: cython.double, high: cython.double
) -> cython.void:
    i: cython.Py_ssize_t
    for i in range(x.shape[0]):
        x[i] = slope * _clip(x[i], low, high)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _nearest_coal(
    z: cython.double, means: cython.const[cython.double][::1],
    widths: cython.const[cython.double][::1],
) -> cython.Py_ssize_t:  # fmt: skip
    """Return the coal at the least distance in widths; logarithms do not overflow."""
    found: cython.Py_ssize_t = 0
    least_distance: cython.double = INFINITY
    k: cython.Py_ssize_t
    for k in range(means.shape[0]):
        distance: cython.double = math.log(abs(0.5 * z - 0.5 * means[k])) - math.log(widths[k])
        if distance < least_distance:
            least_distance = distance
            found = k
    return found


def apply_charcoal_grill(
    scores: cython.const[cython.double][::1], out: cython.double[::1], is_probability: cython.bint,
    means: cython.const[cython.double][::1], temperatures: cython.const[cython.double][::1],
    widths: cython.const[cython.double][::1],
    bias: cython.double, lower: cython.double, upper: cython.double,
) -> None:  # fmt: skip
    """Write σ(z/T(z) + bias); T is a mean temperature with weights exp(−(z − mean)²/(2·width²))."""
    n: cython.Py_ssize_t = means.shape[0]
    begin: cython.Py_ssize_t
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    z: cython.double
    # For each row of a block: squared distances in widths, then weights; their least; two sums.
    work: cython.double[:, ::1] = np.empty((n + 3, min(CACHE_BLOCK, out.shape[0])))
    with cython.nogil:
        weight: cython.double[:, ::1] = work[:n]
        least_square: cython.double[::1] = work[n]
        total: cython.double[::1] = work[n + 1]
        weighted_temperature: cython.double[::1] = work[n + 2]
        _log_odds_into(scores, out, is_probability)
        begin = 0
        while begin < out.shape[0]:
            n_rows: cython.Py_ssize_t = min(CACHE_BLOCK, out.shape[0] - begin)
            for i in range(n_rows):
                out[begin + i] = _clip(out[begin + i], lower, upper)
                least_square[i], total[i], weighted_temperature[i] = INFINITY, 0.0, 0.0
            for k in range(n):
                for i in range(n_rows):
                    distance: cython.double = (out[begin + i] - means[k]) / widths[k]
                    weight[k, i] = distance * distance
                    least_square[i] = min(least_square[i], weight[k, i])
            for k in range(n):
                for i in range(n_rows):
                    weight[k, i] = -0.5 * (weight[k, i] - least_square[i])
                exp_in_place(weight[k, :n_rows])
                for i in range(n_rows):
                    total[i] += weight[k, i]
                    weighted_temperature[i] += weight[k, i] * temperatures[k]
            for i in range(n_rows):
                z = out[begin + i]
                if math.isinf(least_square[i]):  # squares overflow: only the nearest coal counts
                    out[begin + i] = z / temperatures[_nearest_coal(z, means, widths)] + bias
                else:
                    out[begin + i] = z / (weighted_temperature[i] / total[i]) + bias
            begin += CACHE_BLOCK
        sigmoid_in_place(out)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def searchsorted(
    edges: cython.const[cython.double][::1],
    n: cython.Py_ssize_t,
    s: cython.double,
) -> cython.Py_ssize_t:
    """Return how many edges are at most s; the steps of the search do not depend on s."""
    return _searchsorted_between(edges, 0, n, s)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _searchsorted_between(
    edges: cython.const[cython.double][::1],
    first: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    s: cython.double,
) -> cython.Py_ssize_t:
    """Return how many edges are at most s, if the number is in [``first``, ``first + n``]."""
    while n > 0:
        half: cython.Py_ssize_t = (n + 1) >> 1
        first += half if edges[first + half - 1] <= s else 0
        n -= half
    return first


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _uniform_cell(
    s: cython.double, low: cython.double, scale: cython.double, n_cells: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Return the cell of s among ``n_cells`` of equal width; it never decreases with s."""
    position: cython.double = (s - low) * scale
    if not position > 0.0:
        return 0
    return cython.cast(cython.Py_ssize_t, min(position, n_cells - 1.0))


def apply_steps(
    edges: cython.const[cython.double][::1],
    values: cython.const[cython.double][::1],
    scores: cython.const[cython.double][::1],
    out: cython.double[::1],
) -> None:
    """Write ``values[i]`` for edges[i−1] ≤ score < edges[i]."""
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(scores.shape[0]):
            out[i] = values[searchsorted(edges, edges.shape[0], scores[i])]


def apply_piecewise_linear(
    x: cython.const[cython.double][::1],
    y: cython.const[cython.double][::1],
    scores: cython.const[cython.double][::1],
    out: cython.double[::1],
) -> None:
    """Interpolate linearly between the finite knots; constant beyond the first and the last.

    A first or last knot at infinity is the value only there. Between two knots whose slope exceeds
    float64, the value is that of the lower knot.
    """
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    last: cython.Py_ssize_t = x.shape[0] - 1
    with cython.nogil:
        for i in range(scores.shape[0]):
            s: cython.double = scores[i]
            k = searchsorted(x, last + 1, s) - 1
            if k < 0:
                out[i] = y[0]
            elif k == last or s == x[k] or math.isinf(x[k + 1]):
                out[i] = y[k]
            elif math.isinf(x[k]):
                out[i] = y[k + 1]
            else:
                slope: cython.double = (y[k + 1] - y[k]) / (x[k + 1] - x[k])
                if math.isinf(slope):  # knots too near each other for a line
                    out[i] = y[k]
                else:
                    # Rounding must not lead beyond the ends.
                    low: cython.double = min(y[k], y[k + 1])
                    out[i] = _clip(slope * (s - x[k]) + y[k], low, max(y[k], y[k + 1]))


def apply_log_odds_curve(
    x: cython.const[cython.double][::1], y: cython.const[cython.double][::1],
    scores: cython.const[cython.double][::1], out: cython.double[::1],
    is_probability: cython.bint,
) -> None:  # fmt: skip
    """Write σ of the linear interpolation between finite knots at the log-odds; constant beyond."""
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    last: cython.Py_ssize_t = x.shape[0] - 1
    # The number of knots before each cell leaves few to search.
    n_cells: cython.Py_ssize_t = 2 * x.shape[0] if scores.shape[0] > x.shape[0] else 1
    knots_before: cython.int[::1] = np.zeros(n_cells + 1, np.int32)
    scale: cython.double = n_cells / (x[last] - x[0]) if last > 0 else 0.0
    with cython.nogil:
        if n_cells == 1:
            knots_before[1] = cython.cast(cython.int, last + 1)
        else:
            for i in range(last + 1):
                knots_before[_uniform_cell(x[i], x[0], scale, n_cells) + 1] += 1
            for i in range(n_cells):
                knots_before[i + 1] += knots_before[i]
        _log_odds_into(scores, out, is_probability)
        for i in range(scores.shape[0]):
            k = _uniform_cell(out[i], x[0], scale, n_cells)
            k = (
                _searchsorted_between(
                    x, knots_before[k], knots_before[k + 1] - knots_before[k], out[i]
                )
                - 1
            )
            if k < 0:
                out[i] = y[0]
            elif k == last:
                out[i] = y[last]
            else:
                out[i] = y[k] + (out[i] - x[k]) / (x[k + 1] - x[k]) * (y[k + 1] - y[k])
        sigmoid_in_place(out)


# Several classes ---------------------------------------------------------------------------------

# The difference of two such logits, each with a bias of at most 1e300, is still finite.
MAX_LOGIT = cython.declare(cython.double, 8e307)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def softmax_row(rows: cython.double[:, ::1], i: cython.Py_ssize_t) -> cython.void:
    """Replace the logits in row i by probabilities."""
    largest: cython.double = rows[i, 0]
    total: cython.double = 0.0
    k: cython.Py_ssize_t
    for k in range(1, rows.shape[1]):
        largest = max(largest, rows[i, k])
    for k in range(rows.shape[1]):
        rows[i, k] = math.exp(rows[i, k] - largest)
        total += rows[i, k]
    for k in range(rows.shape[1]):
        rows[i, k] /= total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _largest_weight(weights: cython.const[cython.double][:, ::1]) -> cython.double:
    largest: cython.double = 1e-8
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    for i in range(weights.shape[0]):
        for k in range(weights.shape[1]):
            largest = max(largest, abs(weights[i, k]))
    return largest


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def safe_logit_limit(weights: cython.const[cython.double][:, ::1]) -> cython.double:
    """Return the largest logit with which no sum of products with the weights overflows."""
    largest: cython.double = _largest_weight(weights)
    n: cython.double = weights.shape[1]
    return MAX_LOGIT / n / largest if n * largest > 1.0 else MAX_LOGIT


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def safe_logit_floor(weights: cython.const[cython.double][:, ::1]) -> cython.double:
    """Return the finite value that replaces a logit of −inf, such that no sum overflows."""
    return -min(1e300 / min(_largest_weight(weights), 1.0), safe_logit_limit(weights))


def apply_softmax(
    scores: cython.const[cython.double][:, ::1], out: cython.double[:, ::1],
    is_probability: cython.bint, floor: cython.double,
    weights: cython.const[cython.double][:, ::1], bias: cython.const[cython.double][::1],
) -> None:  # fmt: skip
    """Write softmax(W·l + bias); no logit l is below the largest of its row plus ``floor``.

    ``floor`` is negative. A single row of weights is the diagonal of W.
    """
    n: cython.Py_ssize_t = scores.shape[1]
    diagonal: cython.bint = weights.shape[0] == 1
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    logit: cython.double
    safe_floor: cython.double = safe_logit_floor(weights)
    limit: cython.double = safe_logit_limit(weights)
    with cython.nogil:
        for i in range(scores.shape[0]):
            largest: cython.double = scores[i, 0]
            for k in range(1, n):
                largest = max(largest, scores[i, k])
            if is_probability:
                largest = log_or_minus_infinity(largest)
            for k in range(n):
                out[i, k] = bias[k]
            for k in range(n):
                logit = log_or_minus_infinity(scores[i, k]) if is_probability else scores[i, k]
                logit = min(max(logit, largest + floor), limit)
                if diagonal:
                    # With weight 0 a logit is ignored, even −inf; with a positive weight −inf makes
                    # the class impossible.
                    if logit < -limit and not (weights[0, k] > 0.0 and logit == -INFINITY):
                        logit = -limit
                    if weights[0, k] != 0.0:
                        out[i, k] += weights[0, k] * logit
                else:
                    logit = max(logit, safe_floor)
                    for j in range(n):
                        out[i, j] += weights[j, k] * logit
            softmax_row(out, i)


# Trees -------------------------------------------------------------------------------------------
# Rows routed to nodes, and the linear models of the nodes.

MAX_SCORE = cython.declare(cython.double, 1e308)

DOWNSCALE = cython.declare(cython.double, 2.0**-600)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sign_of_overflow(
    coef: cython.const[cython.double][::1], columns: cython.const[cython.double][::1]
) -> cython.double:
    """Return ±10³⁰⁸ or 0, with the sign of a linear combination that exceeds float64."""
    n: cython.Py_ssize_t = columns.shape[0]
    f: cython.double = coef[n] * DOWNSCALE * DOWNSCALE
    a: cython.Py_ssize_t
    for a in range(n):
        f += (coef[a] * DOWNSCALE) * (columns[a] * DOWNSCALE)
    return MAX_SCORE if f > 0.0 else (-MAX_SCORE if f < 0.0 else 0.0)


def route(
    X: cython.const[cython.double][:, ::1],
    fill: cython.const[cython.double][::1],
    n_values: cython.const[cython.longlong][::1],
    attribute: cython.const[cython.longlong][::1],
    cut: cython.const[cython.double][::1],
    first: cython.const[cython.longlong][::1],
    children: cython.const[cython.longlong][::1],
):
    """Return the node that each row of X (n, d) reaches.

    NaN means missing and is replaced by ``fill``. A row with a code that has no branch stops at the
    inner node.
    """
    node_of: cython.int[::1] = np.empty(X.shape[0], np.int32)
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(X.shape[0]):
            node: cython.Py_ssize_t = 0
            a: cython.Py_ssize_t = attribute[0]
            while a >= 0:
                value: cython.double = X[i, a]
                if value != value:
                    value = fill[a]
                if n_values[a] == 0:
                    node = children[first[node] + (0 if value <= cut[node] else 1)]
                elif 0 <= value < n_values[a]:
                    node = children[first[node] + cython.cast(cython.Py_ssize_t, value)]
                else:
                    break
                a = attribute[node]
            node_of[i] = cython.cast(cython.int, node)
    return np.asarray(node_of)


def linear_probabilities(
    columns: cython.const[cython.double][:, ::1],
    node_of: cython.const[cython.int][::1],
    coef: cython.const[cython.double][:, :, ::1],
):
    """Return probabilities (n, K) of score columns (n, A) by the linear model of each row's node.

    A single row of coefficients is the log-odds of the positive class; several are logits.
    """
    n_columns: cython.Py_ssize_t = columns.shape[1]
    n_models: cython.Py_ssize_t = coef.shape[1]
    p: cython.double[:, ::1] = np.empty((columns.shape[0], n_models))
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    a: cython.Py_ssize_t
    with cython.nogil:
        for i in range(columns.shape[0]):
            node: cython.Py_ssize_t = node_of[i]
            for k in range(n_models):
                f: cython.double = coef[node, k, n_columns]
                for a in range(n_columns):
                    f += coef[node, k, a] * columns[i, a]
                if not -MAX_SCORE < f < MAX_SCORE:
                    f = _sign_of_overflow(coef[node, k], columns[i])
                p[i, k] = f
            if n_models == 1:
                p[i, 0] = sigmoid(p[i, 0])
            else:
                softmax_row(p, i)
    return np.asarray(p)
