"""Natural cubic splines, by their values at knots.

Between knots the spline is a cubic, beyond them a straight line; its first two derivatives are
continuous. Green and Silverman (1994), Nonparametric regression and generalized linear models,
sections 2.1 and 2.4, whose matrices Q and R are used below.

Harrell's quantiles place the knots of a restricted cubic spline, also for weighted rows.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from trueodds.inputs import Floats

__all__ = [
    "KNOT_SHARES",
    "NaturalSpline",
    "harrell_knots",
    "weighted_quantile",
]


class NaturalSpline:
    """All natural cubic splines with given knots.

    Parameters
    ----------
    knots : ndarray of shape (n_knots,)
        Strictly increasing. With two the spline is a line, with one a constant.

    Examples
    --------
    >>> import numpy as np
    >>> spline = NaturalSpline(np.array([0.0, 1.0, 2.0]))
    >>> spline.basis(np.array([0.5, 3.0])) @ [0.0, 1.0, 0.0]
    array([ 0.6875, -1.5   ])
    """

    def __init__(self, knots: Floats) -> None:
        self.knots = knots
        self.gaps = np.diff(knots)

    @cached_property
    def curvature(self) -> Floats:
        """The matrix that turns values at the knots into second derivatives there."""
        n = len(self.knots)
        result = np.zeros((n, n))
        if n > 2:
            h = self.gaps
            inner = np.arange(n - 2)
            q = np.zeros((n - 2, n))
            q[inner, inner] = 1 / h[:-1]
            q[inner, inner + 1] = -1 / h[:-1] - 1 / h[1:]
            q[inner, inner + 2] = 1 / h[1:]
            r = np.diag((h[:-1] + h[1:]) / 3)
            r[inner[:-1], inner[1:]] = r[inner[1:], inner[:-1]] = h[1:-1] / 6
            self._q = q
            result[1:-1] = np.linalg.solve(r, q)
        return result

    @cached_property
    def penalty(self) -> Floats:
        """The matrix S for which values'·S·values is the integral of the squared curvature."""
        n = len(self.knots)
        if n <= 2:
            return np.zeros((n, n))
        inner = self.curvature[1:-1]
        product = self._q.T @ inner
        return np.asarray((product + product.T) / 2)

    @property
    def lines(self) -> Floats:
        """Values at the knots of a constant and of a line, which have no curvature."""
        powers = np.arange(min(2, len(self.knots)))
        return np.asarray(self.knots[:, None] ** powers)

    def basis(self, x: Floats) -> Floats:
        """The matrix that turns values at the knots into values at x."""
        n = len(self.knots)
        if n == 1:
            return np.ones((len(x), 1))
        left = np.clip(np.searchsorted(self.knots, x, side="right") - 1, 0, n - 2)
        h = self.gaps[left]
        inside = np.clip(x, self.knots[0], self.knots[-1])
        b = (inside - self.knots[left]) / h
        a = 1 - b
        below, above = (a**3 - a) * h**2 / 6, (b**3 - b) * h**2 / 6
        result = below[:, None] * self.curvature[left] + above[:, None] * self.curvature[left + 1]
        rows = np.arange(len(x))
        result[rows, left] += a
        result[rows, left + 1] += b
        beyond = x - inside
        if beyond.any():
            first, last = self._end_slopes()
            result += np.minimum(beyond, 0)[:, None] * first + np.maximum(beyond, 0)[:, None] * last
        return np.asarray(result)

    def _end_slopes(self) -> tuple[Floats, Floats]:
        """The rows that turn values at the knots into the slopes of the lines beyond them."""
        rise = np.zeros((2, len(self.knots)))
        rise[0, :2] = np.array([-1.0, 1.0]) / self.gaps[0]
        rise[1, -2:] = np.array([-1.0, 1.0]) / self.gaps[-1]
        # The curvature is zero at the ends and linear up to the next knot.
        first = rise[0] - self.curvature[1] * self.gaps[0] / 6
        last = rise[1] + self.curvature[-2] * self.gaps[-1] / 6
        return first, last

    def linear_knots(self, values: Floats, tolerance: float, most: int) -> Floats:
        """Places between which the spline is linear up to ``tolerance``; at most ``most``."""
        if len(self.knots) == 1:
            return self.knots
        bend = np.abs(self.curvature @ values)
        # On an interval of length d, a curvature of c makes an arc of height c·d²/8.
        pieces = self.gaps * np.sqrt(np.maximum(bend[:-1], bend[1:]) / (8 * tolerance))
        pieces *= min(1.0, (most - len(self.knots)) / max(pieces.sum(), 1e-300))
        counts = np.floor(pieces).astype(np.intp) + 1
        left = np.repeat(self.knots[:-1], counts)
        step = np.repeat(self.gaps / counts, counts)
        place = np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts)
        return np.unique(np.append(left + place * step, self.knots[-1]))


FEW_ROWS = 100
"""Rows below which Harrell places the outer knots at the fifth row from either end."""
KNOT_SHARES = {
    3: (0.1, 0.5, 0.9),
    4: (0.05, 0.35, 0.65, 0.95),
    5: (0.05, 0.275, 0.5, 0.725, 0.95),
    6: (0.05, 0.23, 0.41, 0.59, 0.77, 0.95),
    7: (0.025, 0.1833, 0.3417, 0.5, 0.6583, 0.8167, 0.975),
}
"""Harrell (2015), Regression modeling strategies, table 2.3."""


def weighted_quantile(values: Floats, weight: Floats, shares: Floats) -> Floats:
    """Quantiles by linear interpolation, as ``numpy.quantile`` of rows repeated by weight."""
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
    if total < FEW_ROWS:
        fifth = min(4.0, total - 1) / max(total - 1, 1.0)
        knots[[0, -1]] = weighted_quantile(z, weight, np.array([fifth, 1 - fifth]))
    knots = np.unique(knots)
    return knots if len(knots) > 1 else distinct[[0, -1]]
