"""Bounds on a calibration map from the frequencies next to each row.

Allikivi and Kull (2019), section 4.3: in an isotonic map a row is no higher than the mean of those
after it and no lower than the mean of those before it.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from trueodds.inputs import Floats
from trueodds.numerics.isotonic import isotonic_fit

__all__ = ["isotonic_bounds"]


def isotonic_bounds(
    n_neg: Floats, n_pos: Floats, kind: Literal["paper", "authors"]
) -> tuple[Floats, Floats]:
    """Bounds at each distinct score, both non-decreasing.

    Parameters
    ----------
    n_neg, n_pos : array of shape (n_rows,)
        Weights at each distinct score, in order. They count as this many rows, whose labels are the
        frequency at their score.
    kind : {"paper", "authors"}
        ``"paper"``: bins of N/10 that contain the row, ± 1/√(size of the bin). ``"authors"``: bins
        of ⌊N/20⌋ next to it, ± 1/√N, then widened to contain isotonic regression.

    Returns
    -------
    lower, upper : ndarray of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> lower, upper = isotonic_bounds(np.repeat([1, 0], 50), np.repeat([0, 1], 50), "paper")
    >>> lower[[0, 49, 60, 99]].round(2), upper[[0, 39, 50, 99]].round(2)
    (array([0.  , 0.  , 0.68, 0.68]), array([0.32, 0.32, 1.  , 1.  ]))
    """
    weight = n_neg + n_pos
    total = float(weight.sum())
    fit, _ = isotonic_fit(n_pos, weight)
    if kind == "authors":
        size, own = max(1.0, total // 20), 1.0
        slack = 1 / np.sqrt(total)
    else:
        size, own, slack = max(1.0, total / 10), 0.0, None
    # Nothing is before the first instance; that bounds it, and all that are tied with it, by 0.
    lower = _lower(n_pos, weight, size, own, slack, 0.0)
    # From above the same, with the order and the labels reversed; but the authors' program leaves
    # the last instance out if others are tied with it.
    nothing = np.inf if weight[-1] > 1 else 0.0
    upper = 1 - _lower(n_neg[::-1], weight[::-1], size, own, slack, nothing)[::-1]
    if kind == "authors":
        lower, upper = np.minimum(lower, fit), np.maximum(upper, fit)
    lower = np.minimum.accumulate(lower[::-1])[::-1]
    upper = np.maximum.accumulate(upper)
    lower, upper = np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)
    return np.minimum(lower, upper), upper


def _lower(
    n_pos: Floats, weight: Floats, size: float, own: float, slack: float | None, nothing: float
) -> Floats:
    """Mean label in the bin before each row, minus the slack; the least at each score.

    The rows at a score end their bins at the places from ``ends[k] + 1 − own`` to ``ends[k + 1] −
    own`` on the axis of cumulative weight. There the mean is monotone between the ends of rows and
    those ends plus ``size``, so its minimum is at one of these places.
    """
    ends = np.append(0.0, np.cumsum(weight))
    positives = np.append(0.0, np.cumsum(n_pos))
    first = np.minimum(ends[:-1] + 1 - own, np.maximum(ends[1:] - own, ends[:-1]))
    last = np.maximum(ends[1:] - own, ends[:-1])
    kinks = ends + size
    row = np.searchsorted(last, kinks)
    row = np.minimum(row, len(weight) - 1)
    inner = (kinks > first[row]) & (kinks < last[row])
    place = np.concatenate([first, last, kinks[inner]])
    rows = np.concatenate([np.arange(len(weight)), np.arange(len(weight)), row[inner]])

    begin = np.maximum(place - size, 0.0)
    held = place - begin
    inside = np.interp(place, ends, positives) - np.interp(begin, ends, positives)
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = inside / held - (1 / np.sqrt(held) if slack is None else slack)
    bound[held <= 0] = nothing
    result = np.full(len(weight), np.inf)
    np.minimum.at(result, rows, bound)
    return result
