"""Where the knots of a restricted cubic spline stand: Harrell's quantiles, of weighted rows too."""

from __future__ import annotations

import numpy as np

from trueodds.inputs import Floats

__all__ = ["KNOT_SHARES", "harrell_knots", "weighted_quantile"]

FEW = 100
"""Rows below which Harrell places the outer knots at the fifth row from either end."""
KNOT_SHARES = {
    3: (0.1, 0.5, 0.9),
    4: (0.05, 0.35, 0.65, 0.95),
    5: (0.05, 0.275, 0.5, 0.725, 0.95),
    6: (0.05, 0.23, 0.41, 0.59, 0.77, 0.95),
    7: (0.025, 0.1833, 0.3417, 0.5, 0.6583, 0.8167, 0.975),
}
"""Harrell (2015), Regression modeling strategies, table 2.3."""


def weighted_quantile(values: Floats, weight: Floats | None, shares: Floats) -> Floats:
    """Quantiles by linear interpolation, as ``numpy.quantile`` of rows repeated by weight."""
    if weight is None:
        return np.asarray(np.quantile(values, shares))
    order = np.argsort(values, kind="stable")
    ordered, cumulated = values[order], np.cumsum(weight[order])
    # Rounding of a sum must not reach into the next row.
    slack = 1e-12 * cumulated[-1]
    place = np.maximum(shares * (cumulated[-1] - 1), 0.0)
    below = np.floor(place + slack)
    last = len(ordered) - 1
    at = [
        ordered[np.minimum(np.searchsorted(cumulated, k + slack, side="right"), last)]
        for k in (below, below + 1)
    ]
    share = np.clip(place - below, 0.0, 1.0)
    return np.asarray(at[0] + share * (at[1] - at[0]))


def harrell_knots(z: Floats, weight: Floats, n_knots: int) -> Floats:
    """Harrell's: quantiles; the outer ones at the fifth row from either end if rows are few."""
    distinct = np.unique(z)
    if len(distinct) <= n_knots:  # more would be bent by nothing
        return distinct
    shares = np.array(KNOT_SHARES[n_knots])
    total = float(weight.sum())
    knots = weighted_quantile(z, weight, shares)
    if total < FEW:
        fifth = min(4.0, total - 1) / max(total - 1, 1.0)
        knots[[0, -1]] = weighted_quantile(z, weight, np.array([fifth, 1 - fifth]))
    knots = np.unique(knots)
    return knots if len(knots) > 1 else distinct[[0, -1]]
