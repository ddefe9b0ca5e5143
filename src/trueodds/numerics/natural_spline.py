"""Natural cubic splines, by their values at knots.

Between knots the spline is a cubic, beyond them a straight line; its first two derivatives are
continuous. Green and Silverman (1994), Nonparametric regression and generalized linear models,
sections 2.1 and 2.4, whose matrices Q and R are used below.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from trueodds.inputs import Floats

__all__ = ["NaturalSpline"]


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
        """Places between which the spline is linear up to ``tolerance``; at most so many."""
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
