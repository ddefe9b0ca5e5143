"""The C4.5 split of a node: gain ratio among attributes of at least average gain (section 3).

Gains are in bits per unit of weight. Equal within ``SMALL`` counts as equal, as in the authors'
program, so that the first attribute or cut wins a tie whatever the rounding.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

__all__ = ["best_split", "entropy_table"]

SMALL = 1e-6
LEAST_BRANCH = 2.0
"""Two branches of a nominal split, and both sides of a cut, weigh at least this."""

TABLE_LIMIT = 1 << 22


def entropy_table(total: float, is_whole: bool) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """k·log₂k for all counts up to ``total``; of length 1 if weights are not whole numbers."""
    if not is_whole or total >= TABLE_LIMIT:
        return np.zeros(1)
    counts = np.arange(int(total) + 1, dtype=np.float64)
    counts[1:] *= np.log2(counts[1:])
    return counts


@njit(cache=True)
def _x_log_x(x, table):  # type: ignore[no-untyped-def]
    if len(table) > 1:
        return table[int(x)]
    return x * math.log2(x) if x > SMALL else 0.0


@njit(cache=True)
def _best_cut(values, order, y, weight, unit_weight, counts, total, table, min_gap, left, right):  # type: ignore[no-untyped-def]
    """The best cut of a numeric attribute.

    Returns gain (less the price of choosing among the cuts), gain ratio and cut; a gain of −1
    says that there is none.
    """
    n, n_classes = len(order), len(counts)
    if not values[0] + min_gap < values[n - 1]:
        # No gap between neighbours can be wide enough unless the whole range is.
        return -1.0, 0.0, 0.0
    least = min(max(0.1 * total / n_classes, LEAST_BRANCH), 25.0)
    if total < 2 * least - SMALL:
        return -1.0, 0.0, 0.0
    n_left = 0.0
    sum_left, sum_right = 0.0, 0.0
    for c in range(n_classes):
        left[c], right[c] = 0.0, counts[c]
        sum_right += _x_log_x(counts[c], table)
    before = _x_log_x(total, table) - sum_right
    best, best_at, best_left, n_cuts = 0.0, -1, 0.0, 0
    for i in range(n - 1):
        row = order[i]
        c = y[row]
        w = 1.0 if unit_weight else weight[row]
        sum_left -= _x_log_x(left[c], table)
        sum_right -= _x_log_x(right[c], table)
        left[c] += w
        right[c] -= w
        sum_left += _x_log_x(left[c], table)
        sum_right += _x_log_x(right[c], table)
        n_left += w
        if values[i] + min_gap < values[i + 1]:
            n_right = total - n_left
            if n_left >= least - SMALL and n_right >= least - SMALL:
                n_cuts += 1
                after = _x_log_x(n_left, table) - sum_left + _x_log_x(n_right, table) - sum_right
                gain = before - after
                gain = 0.0 if abs(gain) < SMALL else gain / total
                if gain - best > SMALL:
                    best, best_at, best_left = gain, i, n_left
    if best_at < 0:
        return -1.0, 0.0, 0.0
    best -= math.log2(n_cuts) / total
    if best < SMALL:
        return -1.0, 0.0, 0.0
    low, high = values[best_at], values[best_at + 1]
    middle = 0.5 * low + 0.5 * high
    if middle >= high:
        middle = low
    split_bits = (
        _x_log_x(total, table) - _x_log_x(best_left, table) - _x_log_x(total - best_left, table)
    ) / total
    return best, best / split_bits if split_bits * total > SMALL else 0.0, middle


@njit(cache=True)
def _nominal_gain(values, rows, y, weight, counts, total, table, n_values, cells):  # type: ignore[no-untyped-def]
    """Gain and gain ratio of one branch per value; a gain of −1 says that it is not allowed."""
    n_classes = len(counts)
    for v in range(n_values):
        for c in range(n_classes):
            cells[v, c] = 0.0
    for row in rows:
        cells[int(values[row]), y[row]] += weight[row]
    before = _x_log_x(total, table)
    after, split_bits, filled = 0.0, before, 0
    for c in range(n_classes):
        before -= _x_log_x(counts[c], table)
    for v in range(n_values):
        branch = 0.0
        for c in range(n_classes):
            branch += cells[v, c]
            after -= _x_log_x(cells[v, c], table)
        after += _x_log_x(branch, table)
        split_bits -= _x_log_x(branch, table)
        if branch >= LEAST_BRANCH - SMALL:
            filled += 1
    if filled < 2:
        return -1.0, 0.0
    gain = before - after
    gain = 0.0 if abs(gain) < SMALL else gain / total
    return gain, gain * total / split_bits if split_bits > SMALL else 0.0


@njit(cache=True)
def best_split(data, order, sorted_values, rows, weight, unit_weight, counts, total, min_gap):  # type: ignore[no-untyped-def]
    """The attribute to split on and its cut; attribute −1 if no split is worth it.

    ``data`` is the :class:`~trueodds.kernels.tree_grow.GrowData` of the tree; ``order``
    holds the node's rows sorted by each numeric attribute, and ``sorted_values`` its values.
    """
    n_attributes, n_classes = len(data.n_values), len(counts)
    gains, ratios = np.empty(n_attributes), np.empty(n_attributes)
    cuts = np.zeros(n_attributes)
    left, right = np.empty(n_classes), np.empty(n_classes)
    widest, all_many_valued = 1, True
    for a in range(n_attributes):
        widest = max(widest, data.n_values[a])
        if not data.many_valued[a]:
            all_many_valued = False
    cells = np.empty((widest, n_classes))
    usable, mean_gain = 0, 0.0
    for a in range(n_attributes):
        n_values = data.n_values[a]
        if n_values > 0:
            values = data.attributes[a]
            gains[a], ratios[a] = _nominal_gain(
                values, rows, data.y, weight, counts, total, data.table, n_values, cells
            )
        else:
            gains[a], ratios[a], cuts[a] = _best_cut(
                sorted_values[a],
                order[a],
                data.y,
                weight,
                unit_weight,
                counts,
                total,
                data.table,
                min_gap,
                left,
                right,
            )
        if gains[a] >= 0.0 and (all_many_valued or not data.many_valued[a]):
            mean_gain += gains[a]
            usable += 1
    if usable == 0:
        return -1, 0.0
    mean_gain /= usable
    best, best_ratio = -1, 0.0
    for a in range(n_attributes):
        if gains[a] >= 0.0 and gains[a] >= mean_gain - 1e-3 and ratios[a] - best_ratio > SMALL:
            best, best_ratio = a, ratios[a]
    if best < 0:
        return -1, 0.0
    return best, cuts[best]
