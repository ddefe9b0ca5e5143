"""Maps applied to many rows, in one pass each."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc import math

if cython.compiled:
    from cython.cimports.trueodds.kernels.elementary import (
        exp_in_place,
        find_log_odds,
        log_in_place,
        sigmoid_in_place,
    )
else:
    from trueodds.kernels.elementary import (
        exp_in_place,
        find_log_odds,
        log_in_place,
        sigmoid_in_place,
    )

__all__ = [
    "apply_charcoal_grill",
    "apply_linear",
    "apply_log_odds",
    "apply_log_odds_curve",
    "apply_softmax",
    "apply_steps",
    "deep_enough",
    "far_enough",
    "linear_probabilities",
    "route",
]

# Two classes -------------------------------------------------------------------------------------
# Maps applied to many scores in one pass each.

INFINITY = cython.declare(cython.double, float("inf"))
EXPONENT_LIMIT = cython.declare(cython.double, 708.0)  # exp(708) does not overflow, exp(710) does
BELOW_ONE = cython.declare(cython.double, 1.0 - 2.0**-53)
FEW = cython.declare(cython.Py_ssize_t, 512)  # rows that stay in the nearest cache


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _clip(x: cython.double, low: cython.double, high: cython.double) -> cython.double:
    return min(max(x, low), high)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sigmoid(eta: cython.double) -> cython.double:
    """1/(1 + exp(−η)), never exactly 0 or 1, so that no logarithm of it is infinite."""
    return min(1.0 / (1.0 + math.exp(min(-eta, EXPONENT_LIMIT))), BELOW_ONE)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def log_or_infinity(x: cython.double) -> cython.double:
    """Ln x; −inf of 0 in plain Python, too."""
    return math.log(x) if x > 0.0 else -INFINITY


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def minus_log_rest(p: cython.double) -> cython.double:
    """−ln(1 − p): that of u = 1 − p as it is rounded, and what rounding took from u, over u.

    Nothing was taken from p ≥ ½, and for the others 1 + p is near enough to 1/u.
    """
    u: cython.double = 1.0 - p
    if u == 0.0:
        return INFINITY
    return (p - (1.0 - u)) * (1.0 + p) - math.log(u)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _log_sigmoid(z: cython.double) -> cython.double:
    """Ln(1/(1 + exp(−z)))."""
    return min(z, 0.0) - math.log1p(math.exp(-abs(z)))


def apply_log_odds(
    scores: cython.const[cython.double][::1], out: cython.double[::1], work: cython.double[::1],
    is_probability: cython.bint, a: cython.double, b: cython.double, c: cython.double,
    lower: cython.double, upper: cython.double,
) -> None:  # fmt: skip
    """σ(a·ln p − b·ln(1−p) + c), where the log-odds z of p are first brought into [lower, upper].

    If a = b it is σ(a·z + c). Scores that are no probabilities take the place of z. a and b are
    not both 0. ``work`` is room for a second feature, of no use if a = b.
    """
    n: cython.Py_ssize_t = scores.shape[0]
    i: cython.Py_ssize_t
    with cython.nogil:
        # One step after the other for all rows: each would wait for the one before it in its row.
        if a == b:
            _find_log_odds(scores, out, is_probability)
            for i in range(n):
                out[i] = a * _clip(out[i], lower, upper) + c
        else:
            # ln p and −ln(1−p) increase with z, so its range is a range of each. A slope of 0
            # leaves its feature out, even if that is infinite.
            if a != 0.0:
                _find_log(scores, out, is_probability)
                _scale_clipped(out, a, _log_sigmoid(lower), _log_sigmoid(upper))
            if b != 0.0:
                _find_minus_log_rest(scores, work, is_probability)
                _scale_clipped(work, b, -_log_sigmoid(-lower), -_log_sigmoid(-upper))
            for i in range(n):
                out[i] = (out[i] if a != 0.0 else 0.0) + (work[i] if b != 0.0 else 0.0) + c
        sigmoid_in_place(out)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_log_odds(
    scores: cython.const[cython.double][::1], out: cython.double[::1], is_probability: cython.bint
) -> cython.void:
    """Log-odds of probabilities; other scores take their place."""
    i: cython.Py_ssize_t
    if is_probability:
        find_log_odds(scores, out)
        return
    for i in range(scores.shape[0]):
        out[i] = scores[i]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_log(
    scores: cython.const[cython.double][::1], out: cython.double[::1], is_probability: cython.bint
) -> cython.void:
    """Ln p."""
    i: cython.Py_ssize_t
    for i in range(scores.shape[0]):
        out[i] = scores[i] if is_probability else _log_sigmoid(scores[i])
    if is_probability:
        log_in_place(out)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_minus_log_rest(
    scores: cython.const[cython.double][::1], out: cython.double[::1], is_probability: cython.bint
) -> cython.void:
    """−ln(1 − p), as in :func:`minus_log_rest`."""
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
    """The coal that is nearest in widths, by logarithms, which do not overflow."""
    found: cython.Py_ssize_t = 0
    least: cython.double = INFINITY
    k: cython.Py_ssize_t
    for k in range(means.shape[0]):
        distance: cython.double = math.log(abs(0.5 * z - 0.5 * means[k])) - math.log(widths[k])
        if distance < least:
            least = distance
            found = k
    return found


def apply_charcoal_grill(
    scores: cython.const[cython.double][::1], out: cython.double[::1], is_probability: cython.bint,
    means: cython.const[cython.double][::1], temperatures: cython.const[cython.double][::1],
    widths: cython.const[cython.double][::1],
    bias: cython.double, lower: cython.double, upper: cython.double,
) -> None:  # fmt: skip
    """σ(z/T(z) + bias), T the mean of the temperatures weighted by exp(−(z − mean)²/(2·width²))."""
    n: cython.Py_ssize_t = means.shape[0]
    begin: cython.Py_ssize_t
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    z: cython.double
    # Of a few rows: squared distances in widths, then weights; the least distance; two sums.
    work: cython.double[:, ::1] = np.empty((n + 3, min(FEW, out.shape[0])))
    with cython.nogil:
        weight: cython.double[:, ::1] = work[:n]
        nearest: cython.double[::1] = work[n]
        total: cython.double[::1] = work[n + 1]
        heat: cython.double[::1] = work[n + 2]
        _find_log_odds(scores, out, is_probability)
        begin = 0
        while begin < out.shape[0]:
            rows: cython.Py_ssize_t = min(FEW, out.shape[0] - begin)
            for i in range(rows):
                out[begin + i] = _clip(out[begin + i], lower, upper)
                nearest[i], total[i], heat[i] = INFINITY, 0.0, 0.0
            for k in range(n):
                for i in range(rows):
                    off: cython.double = (out[begin + i] - means[k]) / widths[k]
                    weight[k, i] = off * off
                    nearest[i] = min(nearest[i], weight[k, i])
            for k in range(n):
                for i in range(rows):
                    weight[k, i] = -0.5 * (weight[k, i] - nearest[i])
                exp_in_place(weight[k, :rows])
                for i in range(rows):
                    total[i] += weight[k, i]
                    heat[i] += weight[k, i] * temperatures[k]
            for i in range(rows):
                z = out[begin + i]
                if math.isinf(nearest[i]):  # so far that squares overflow: the nearest is alone
                    out[begin + i] = z / temperatures[_nearest_coal(z, means, widths)] + bias
                else:
                    out[begin + i] = z / (heat[i] / total[i]) + bias
            begin += FEW
        sigmoid_in_place(out)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count_up_to(
    edges: cython.const[cython.double][::1],
    n: cython.Py_ssize_t,
    s: cython.double,
) -> cython.Py_ssize_t:
    """How many edges are at most s; the steps of the search do not depend on s."""
    return _search(edges, 0, n, s)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _search(
    edges: cython.const[cython.double][::1],
    first: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    s: cython.double,
) -> cython.Py_ssize_t:
    """How many edges are at most s, if it is ``first`` to first + n."""
    while n > 0:
        half: cython.Py_ssize_t = (n + 1) >> 1
        first += half if edges[first + half - 1] <= s else 0
        n -= half
    return first


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _cell(
    s: cython.double, low: cython.double, scale: cython.double, n_cells: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """One of ``n_cells`` equal steps; a greater s is in the same or a later one."""
    place: cython.double = (s - low) * scale
    if not place > 0.0:
        return 0
    return cython.cast(cython.Py_ssize_t, min(place, n_cells - 1.0))


def apply_steps(
    edges: cython.const[cython.double][::1],
    values: cython.const[cython.double][::1],
    scores: cython.const[cython.double][::1],
    out: cython.double[::1],
) -> None:
    """``values[i]`` for edges[i−1] ≤ score < edges[i]."""
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(scores.shape[0]):
            out[i] = values[count_up_to(edges, edges.shape[0], scores[i])]


def apply_linear(
    x: cython.const[cython.double][::1],
    y: cython.const[cython.double][::1],
    scores: cython.const[cython.double][::1],
    out: cython.double[::1],
) -> None:
    """Linear interpolation between the finite knots; what lies beyond has the nearest one's value.

    A first or last knot at infinity is the value there, and nowhere else. Between knots whose slope
    no float64 can hold, the lower one's value counts.
    """
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    last: cython.Py_ssize_t = x.shape[0] - 1
    with cython.nogil:
        for i in range(scores.shape[0]):
            s: cython.double = scores[i]
            k = count_up_to(x, last + 1, s) - 1
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
    """σ of the linear interpolation, at the log-odds, between finite knots; constant beyond."""
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    last: cython.Py_ssize_t = x.shape[0] - 1
    # The knots before each cell: few are left to search among.
    n_cells: cython.Py_ssize_t = 2 * x.shape[0] if scores.shape[0] > x.shape[0] else 1
    before: cython.int[::1] = np.zeros(n_cells + 1, np.int32)
    scale: cython.double = n_cells / (x[last] - x[0]) if last > 0 else 0.0
    with cython.nogil:
        if n_cells == 1:
            before[1] = cython.cast(cython.int, last + 1)
        else:
            for i in range(last + 1):
                before[_cell(x[i], x[0], scale, n_cells) + 1] += 1
            for i in range(n_cells):
                before[i + 1] += before[i]
        _find_log_odds(scores, out, is_probability)
        for i in range(scores.shape[0]):
            k = _cell(out[i], x[0], scale, n_cells)
            k = _search(x, before[k], before[k + 1] - before[k], out[i]) - 1
            if k < 0:
                out[i] = y[0]
            elif k == last:
                out[i] = y[last]
            else:
                out[i] = y[k] + (out[i] - x[k]) / (x[k + 1] - x[k]) * (y[k + 1] - y[k])
        sigmoid_in_place(out)


# Several classes ---------------------------------------------------------------------------------
# Maps of several classes applied to many rows, in one pass.

# So far that the difference of two logits, each with a bias of at most 1e300, is still finite.
FAR = cython.declare(cython.double, 8e307)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def softmax_row(rows: cython.double[:, ::1], i: cython.Py_ssize_t) -> cython.void:
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _largest(weights: cython.const[cython.double][:, ::1]) -> cython.double:
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
def far_enough(weights: cython.const[cython.double][:, ::1]) -> cython.double:
    """How far from 0 a logit may be, such that no sum of products with the weights overflows."""
    largest: cython.double = _largest(weights)
    n: cython.double = weights.shape[1]
    return FAR / n / largest if n * largest > 1.0 else FAR


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def deep_enough(weights: cython.const[cython.double][:, ::1]) -> cython.double:
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


# Trees -------------------------------------------------------------------------------------------
# Sending rows down a tree, and the linear models of its nodes.

LARGEST_SCORE = cython.declare(cython.double, 1e308)

SMALL = cython.declare(cython.double, 2.0**-600)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _saturated(
    coef: cython.const[cython.double][::1], columns: cython.const[cython.double][::1]
) -> cython.double:
    """±10³⁰⁸ or 0, with the sign of a sum that is beyond float64."""
    n: cython.Py_ssize_t = columns.shape[0]
    f: cython.double = coef[n] * SMALL * SMALL
    a: cython.Py_ssize_t
    for a in range(n):
        f += (coef[a] * SMALL) * (columns[a] * SMALL)
    return LARGEST_SCORE if f > 0.0 else (-LARGEST_SCORE if f < 0.0 else 0.0)


def route(
    X: cython.const[cython.double][:, ::1],
    fill: cython.const[cython.double][::1],
    n_values: cython.const[cython.longlong][::1],
    attribute: cython.const[cython.longlong][::1],
    cut: cython.const[cython.double][::1],
    first: cython.const[cython.longlong][::1],
    children: cython.const[cython.longlong][::1],
):
    """The node at which each row of X (n, d) ends.

    NaN stands for missing and is filled. A code without a branch stops its row at the inner node.
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
    """Probabilities (n, K) of score columns (n, A) by the node's slopes and intercepts.

    One row of coefficients is the log-odds of a positive; several go through the softmax.
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
                if not -LARGEST_SCORE < f < LARGEST_SCORE:
                    f = _saturated(coef[node, k], columns[i])
                p[i, k] = f
            if n_models == 1:
                p[i, 0] = sigmoid(p[i, 0])
            else:
                softmax_row(p, i)
    return np.asarray(p)
