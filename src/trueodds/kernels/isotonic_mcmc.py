"""Markov chains on isotonic maps under the recursive prior of Allikivi and Kull (2019).

A draw of the prior (section 4.2) is a random binary search tree T over the ranks together with a
value v[k] per rank, uniform between the values l and u of the nearest ranks above it in the tree:

    p(T, v) = Π_k 1/size_k · 1/(u_k − l_k),

where size_k is the number of ranks in the subtree of k. The chain has (T, v) as its state and the
posterior p(T, v)·Π v^n_pos·(1 − v)^n_neg as its law. It needs no bounds. A sweep has two kinds of
moves, and each leaves that law invariant.

1. *Values.* In terms of the fractions (v − l)/(u − l) the prior is uniform and independent. Moving
   one fraction carries the subtree along: what is left of k is stretched between l and v[k], what
   is right of it between v[k] and u. All these values are affine in the fraction, so its
   log-density is concave; it is slice-sampled (Neal 2003).
2. *Tree.* Given v, a subtree over the ranks i…j is redrawn exactly. With v[i − 1] and v[j + 1]
   around it, the sum over all its trees obeys

       Z(i, j) = 1/(j − i + 1) · 1/(v[j + 1] − v[i − 1]) · Σ_k Z(i, k − 1)·Z(k + 1, j),

   from which the root, and then the roots below it, are drawn. O(n³), which for a few dozen ranks
   is less than the slices take. Trees too large for that are changed by rotations of single edges
   and by redrawing their smaller subtrees.

A tree is kept as the range lo[k]…hi[k] of ranks below each k.

*Bounds.* The paper's maps between bounds (section 4.3) are draws of the same tree with v[k] uniform
between max(l, lower[k]) and min(u, upper[k]). The same two moves sample their posterior, with these
widths in place of u − l. What hangs on a moved value is then no longer affine in it, and is found
from its fractions down the tree; in the sum over trees, the width depends on the root k.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from trueodds.kernels.isotonic_tree import LARGEST, list_tree, redraw, rotate, width_of
from trueodds.kernels.random_stream import begin_stream, uniform

__all__ = ["LARGEST", "Chain"]

TRIES = 200
"""A slice is left as it is after so many; a bracket has then shrunk below any rounding."""

SINGLE_STEPS = 64
"""Steps out of a slice that are tried one by one; a chain that has settled needs a few."""

REPLAYED = 65536.0
"""Up to so many steps are added one by one, so that the place is the same to the last bit."""

Floats = npt.NDArray[np.float64]


class Chain:
    """One chain, which begins with a draw from the prior.

    Parameters
    ----------
    n_neg, n_pos : array of shape (n_ranks,)
    seed, index : int
        Chains of different indices have independent random streams.
    bounds : tuple of two arrays of shape (n_ranks,), default=None
        Lower and upper, both non-decreasing.
    """

    def __init__(
        self,
        n_neg: Floats,
        n_pos: Floats,
        *,
        seed: int,
        index: int,
        bounds: tuple[Floats, Floats] | None = None,
    ) -> None:
        ranks = len(n_neg)
        self._n_ranks = ranks
        self._data = tuple(
            np.append(0.0, column) for column in (n_neg, np.cumsum(n_neg), n_pos, np.cumsum(n_pos))
        )
        lower, upper = (np.zeros(ranks), np.ones(ranks)) if bounds is None else bounds
        self._bounds = (bounds is not None, np.append(0.0, lower), np.append(1.0, upper))
        # Ranks are 1…n in the kernel, between values of 0 and 1 that never change.
        self._state = (
            np.append(np.zeros(ranks + 1), 1.0),
            *(np.zeros(ranks + 2, dtype=np.int64) for _ in range(2)),
            np.zeros(1, dtype=np.uint64),
        )
        side = min(ranks, LARGEST) + 2
        self._work = (
            *(np.empty((side, side)) for _ in range(2)),
            *(np.empty(ranks + 2) for _ in range(2)),
            *(np.empty(ranks + 2, dtype=np.int64) for _ in range(2)),
        )
        kernel: Any = _begin
        kernel(*self._bounds[1:], *self._state, np.uint64(seed), index)

    def run(self, n_draws: int, thin: int = 1) -> Floats:
        """Go on for ``n_draws · thin`` sweeps and return every ``thin``-th map, as rows."""
        draws = np.empty((n_draws, self._n_ranks))
        kernel: Any = _sweep
        kernel(*self._data, *self._bounds, *self._state, *self._work, thin, draws)
        return draws


@njit(
    "void(float64[::1], float64[::1], float64[::1], int64[::1], int64[::1], uint64[::1],"
    "uint64, int64)",
    cache=True,
    error_model="numpy",
)
def _begin(lower, upper, v, lo, hi, state, seed, index):  # type: ignore[no-untyped-def]
    """Draw tree and values from the prior."""
    begin_stream(state, seed, index)
    n = len(v) - 2
    for k in range(1, n + 1):
        lo[k] = 0  # not yet in the tree
    i = 1
    while i <= n:
        if lo[i] > 0:
            i += 1
            continue
        # The first range without a root: it ends before the next rank that is in the tree.
        j = i
        while j < n and lo[j + 1] == 0:
            j += 1
        k = i + int(uniform(state) * (j - i + 1))
        lo[k], hi[k] = i, j
        floor, ceiling = max(v[i - 1], lower[k]), min(v[j + 1], upper[k])
        v[k] = floor + uniform(state) * (ceiling - floor)


@njit(error_model="numpy")
def _fractions(lower, upper, v, lo, hi, order, first, last, fraction):  # type: ignore[no-untyped-def]
    """Where the values at the places first…last of the order lie between their limits."""
    for p in range(first, last + 1):
        m = order[p]
        floor = max(v[lo[m] - 1], lower[m])
        fraction[m] = (v[m] - floor) / width_of(lower, upper, v, lo[m], hi[m], m)


@njit(error_model="numpy")
def _log_likelihood(n_neg, n_pos, m, value):  # type: ignore[no-untyped-def]
    """Of rank m alone."""
    total = 0.0
    if n_pos[m] > 0:
        total += n_pos[m] * np.log(value)
    if n_neg[m] > 0:
        total += n_neg[m] * np.log(1 - value)
    return total


@njit(error_model="numpy")
def _stretched(n_neg, n_pos, v, i, j, k, value):  # type: ignore[no-untyped-def]
    """Log-likelihood of the ranks i…j if v[k] were ``value`` and carried them along."""
    low, high = v[i - 1], v[j + 1]
    total = _log_likelihood(n_neg, n_pos, k, value)
    factor = (value - low) / (v[k] - low)
    for m in range(i, k):
        total += _log_likelihood(n_neg, n_pos, m, min(low + (v[m] - low) * factor, value))
    factor = (high - value) / (high - v[k])
    for m in range(k + 1, j + 1):
        total += _log_likelihood(n_neg, n_pos, m, max(high - (high - v[m]) * factor, value))
    return total


@njit(error_model="numpy")
def _stretch(v, i, j, k, value):  # type: ignore[no-untyped-def]
    """Do what ``_stretched`` weighs."""
    low, high = v[i - 1], v[j + 1]
    factor = (value - low) / (v[k] - low)
    for m in range(i, k):
        v[m] = min(low + (v[m] - low) * factor, value)
    factor = (high - value) / (high - v[k])
    for m in range(k + 1, j + 1):
        v[m] = max(high - (high - v[m]) * factor, value)
    v[k] = value


@njit(error_model="numpy")
def _hung(  # type: ignore[no-untyped-def]
    n_neg, n_pos, lower, upper, lo, hi, fraction, order, place, k, value, moved
):
    """The same between bounds, from the fractions; the ranks are then in ``moved``."""
    total = _log_likelihood(n_neg, n_pos, k, value)
    moved[k] = value
    for p in range(place[k] + 1, place[k] + hi[k] - lo[k] + 1):
        m = order[p]
        floor, ceiling = max(moved[lo[m] - 1], lower[m]), min(moved[hi[m] + 1], upper[m])
        moved[m] = min(floor + fraction[m] * max(ceiling - floor, 0.0), ceiling)
        total += _log_likelihood(n_neg, n_pos, m, moved[m])
    return total


@njit(error_model="numpy")
def _weigh(n_neg, n_pos, v, lo, hi, k, value, lower, upper, fraction, moved, order, place):  # type: ignore[no-untyped-def]
    if lower is None:
        return _stretched(n_neg, n_pos, v, lo[k], hi[k], k, value)
    return _hung(n_neg, n_pos, lower, upper, lo, hi, fraction, order, place, k, value, moved)


@njit(error_model="numpy")
def _after(place, step, count):  # type: ignore[no-untyped-def]
    """The place after ``count`` steps."""
    if count > REPLAYED:
        return place + count * step
    for _ in range(int(count)):
        place += step
    return place


@njit(error_model="numpy")
def _is_outside(  # type: ignore[no-untyped-def]
    n_neg, n_pos, v, lo, hi, k, value, lower, upper, fraction, moved, order, place,
    low, high, level,
):  # fmt: skip
    """Whether a value is beyond its limits, or too improbable for the slice."""
    return not (low < value < high) or not (
        _weigh(n_neg, n_pos, v, lo, hi, k, value, lower, upper, fraction, moved, order, place)
        > level
    )


@njit(error_model="numpy")
def _step_out(  # type: ignore[no-untyped-def]
    n_neg, n_pos, v, lo, hi, k, start, step, lower, upper, fraction, moved, order, place,
    low, high, level,
):  # fmt: skip
    """The first of start, start + step, start + 2·step, … that is not in the slice.

    From a start far off, a slice of heavy data can be millions of steps long. Beyond the first few
    the end is found by doubling and halving: a slice of a concave log-density has no gaps. (With
    bounds it may have some, but a chain that has settled makes no such long way.)
    """
    end = start
    for _ in range(SINGLE_STEPS):
        if _is_outside(
            n_neg, n_pos, v, lo, hi, k, end, lower, upper, fraction, moved, order, place,
            low, high, level,
        ):  # fmt: skip
            return end
        inside, end = end, end + step
    count, grows = 1.0, True
    while count >= 1.0:
        end = _after(inside, step, count)
        if _is_outside(
            n_neg, n_pos, v, lo, hi, k, end, lower, upper, fraction, moved, order, place,
            low, high, level,
        ):  # fmt: skip
            grows = False
        else:
            inside = end
        count = count * 2.0 if grows else count / 2.0
    return _after(inside, step, 1.0)


@njit(error_model="numpy")
def _slice(  # type: ignore[no-untyped-def]
    n_neg, sum_neg, n_pos, sum_pos, v, lo, hi, state, k,
    lower=None, upper=None, fraction=None, moved=None, order=None, place=None,
):  # fmt: skip
    """Move v[k] with its subtree: stepping out, then shrinking.

    Without bounds this is compiled without what they need.
    """
    i, j, now = lo[k], hi[k], v[k]
    low, high = v[i - 1], v[j + 1]
    if lower is not None:
        low, high = max(low, lower[k]), min(high, upper[k])
        first, last = place[k] + 1, place[k] + j - i
        _fractions(lower, upper, v, lo, hi, order, first, last, fraction)
        moved[i - 1], moved[j + 1] = v[i - 1], v[j + 1]
    if not low < now < high:
        return
    level = _weigh(
        n_neg, n_pos, v, lo, hi, k, now, lower, upper, fraction, moved, order, place
    ) + np.log(uniform(state))
    # The first bracket may depend on all but v[k]: about four standard errors of a frequency.
    neg, pos = sum_neg[j] - sum_neg[i - 1] + 1, sum_pos[j] - sum_pos[i - 1] + 1
    width = 4 * np.sqrt(neg * pos / (neg + pos)) / (neg + pos)
    left, right = low, high
    if 0 < width < 0.5 * (high - low):
        left = now - width * uniform(state)
        right = left + width
        left = _step_out(
            n_neg, n_pos, v, lo, hi, k, left, -width, lower, upper, fraction, moved, order, place,
            low, high, level,
        )  # fmt: skip
        right = _step_out(
            n_neg, n_pos, v, lo, hi, k, right, width, lower, upper, fraction, moved, order, place,
            low, high, level,
        )  # fmt: skip
        left, right = max(left, low), min(right, high)
    for _ in range(TRIES):
        value = left + uniform(state) * (right - left)
        if (
            low < value < high
            and _weigh(
                n_neg, n_pos, v, lo, hi, k, value, lower, upper, fraction, moved, order, place
            )
            > level
        ):
            if lower is None:
                _stretch(v, i, j, k, value)
            else:
                for m in range(i, j + 1):
                    v[m] = moved[m]
            return
        if value < now:
            left = value
        else:
            right = value


@njit(
    "void(float64[::1], float64[::1], float64[::1], float64[::1],"
    "boolean, float64[::1], float64[::1],"
    "float64[::1], int64[::1], int64[::1], uint64[::1],"
    "float64[:, ::1], float64[:, ::1], float64[::1], float64[::1], int64[::1], int64[::1],"
    "int64, float64[:, ::1])",
    cache=True,
    nogil=True,
    error_model="numpy",
)
def _sweep(  # type: ignore[no-untyped-def]
    n_neg, sum_neg, n_pos, sum_pos, bounded, lower, upper, v, lo, hi, state,
    rows, columns, fraction, moved, order, place, thin, draws,
):  # fmt: skip
    """Sweeps; the values after every ``thin``-th fill a row of ``draws``."""
    n = len(v) - 2
    for row in range(len(draws)):
        for _ in range(thin):
            if n <= LARGEST:
                redraw(bounded, lower, upper, v, lo, hi, state, 1, n, rows, columns)
            else:
                for _turn in range(n):
                    rotate(lower, upper, v, lo, hi, state, 1 + int(uniform(state) * n))
                for _tree in range(n // 8):
                    # The root of a range is chosen as often whatever the tree inside is.
                    k = 1 + int(uniform(state) * n)
                    if 2 <= hi[k] - lo[k] < LARGEST:
                        redraw(bounded, lower, upper, v, lo, hi, state, lo[k], hi[k], rows, columns)
            if bounded:
                list_tree(lo, order, place)
            for k in range(1, n + 1):
                if bounded:
                    _slice(
                        n_neg, sum_neg, n_pos, sum_pos, v, lo, hi, state, k,
                        lower, upper, fraction, moved, order, place,
                    )  # fmt: skip
                else:
                    _slice(n_neg, sum_neg, n_pos, sum_pos, v, lo, hi, state, k)
        for k in range(n):
            draws[row, k] = v[k + 1]
