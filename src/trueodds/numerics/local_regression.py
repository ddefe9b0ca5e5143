"""Local regression (loess): at each place a line or parabola, fitted to the nearest points.

Cleveland and Devlin (1988), Locally weighted regression, JASA 83. As in R's ``loess`` the bandwidth
at a place is the distance to its q-th nearest point, q = ⌊span·n⌋, and weights fall with the
distance by a tricube. R interpolates between the vertices of a tree by default; here the regression
is done at every given place (R's ``surface = "direct"``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from trueodds.inputs import Floats, Labels

__all__ = ["KERNELS", "Kernel", "LocalFit", "LocalRegression"]

Kernel = Literal["tricube", "epanechnikov"]
KERNELS = ("tricube", "epanechnikov")

CHUNK_VALUES = 2**20
RANK_TOLERANCE = 1e-10  # eigenvalues of the moments, relative to the largest: below, none is left


@dataclass(frozen=True, eq=False)
class LocalFit:
    """Values, slopes, and variances of the values, at the given places."""

    value: Floats
    slope: Floats
    variance: Floats | None


class LocalRegression:
    """Points that are regressed on locally.

    Parameters
    ----------
    x : ndarray of shape (n,)
        In increasing order; may have ties.
    weight : ndarray of shape (n,)
        Weight of each row in a sum.
    span : float
        Share of the weight that determines the value at each place; all of it if 1 or more.
    degree : int
        Degree of the polynomials: 0, 1 or 2.
    kernel : {"tricube", "epanechnikov"}

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0, 1, 9)
    >>> line = LocalRegression(x, np.ones(9), span=0.75, degree=2)
    >>> line.fit(x**2, np.array([0.3])).value.round(12)
    array([0.09])
    """

    def __init__(
        self,
        x: Floats,
        weight: Floats,
        *,
        span: float = 0.75,
        degree: int = 2,
        kernel: Kernel = "tricube",
    ) -> None:
        self.x, self.weight = x, weight
        self.span, self.degree, self.kernel = span, degree, kernel
        self.cumulated = np.concatenate([[0.0], np.cumsum(weight)])

    def bandwidth(self, at: Floats) -> Floats:
        """The distance from each place within which the nearest q units of weight lie."""
        x, total = self.x, float(self.cumulated[-1])
        wanted = min(max(np.floor(self.span * total + 1e-5), 1.0), total)
        # Sums of weights that are no whole numbers carry rounding.
        wanted -= 1e-9 * total
        low = np.zeros(len(at))
        high = np.maximum(at - x[0], x[-1] - at)
        high = np.nextafter(np.maximum(high, 0.0), np.inf)
        for _ in range(64):
            middle = (low + high) / 2
            enough = self._inside(at, middle) >= wanted
            high, low = np.where(enough, middle, high), np.where(enough, low, middle)
        # From a bisected number to the distance of the farthest point inside.
        first, last = self._ends(at, high)
        reach = np.maximum(at - x[first], x[np.maximum(last - 1, 0)] - at)
        return np.asarray(np.maximum(reach, 0.0) * max(self.span, 1.0))

    def _ends(self, at: Floats, reach: Floats) -> tuple[Labels, Labels]:
        first = np.searchsorted(self.x, at - reach, side="left")
        return np.minimum(first, len(self.x) - 1), np.searchsorted(self.x, at + reach, side="right")

    def _inside(self, at: Floats, reach: Floats) -> Floats:
        first = np.searchsorted(self.x, at - reach, side="left")
        last = np.searchsorted(self.x, at + reach, side="right")
        return np.asarray(self.cumulated[last] - self.cumulated[first])

    def fit(self, y: Floats, at: Floats, noise: Floats | None = None) -> LocalFit:
        """The regression of y at some places.

        Parameters
        ----------
        y : ndarray of shape (n,)
        at : ndarray of shape (m,)
        noise : ndarray of shape (n,), default=None
            Variance of Σ weight·y at each point; the result then has variances.

        Notes
        -----
        O(n·m). Where the points near a place do not determine a parabola (few distinct ones), the
        shortest solution is taken.
        """
        reach = self.bandwidth(at)
        step = max(1, CHUNK_VALUES // len(self.x))
        parts = [
            self._chunk(y, at[begin : begin + step], reach[begin : begin + step], noise)
            for begin in range(0, len(at), step)
        ]
        value, slope, variance = (np.concatenate(column) for column in zip(*parts, strict=True))
        return LocalFit(value, slope, None if noise is None else variance)

    def operator(self, at: Floats) -> Floats:
        """The matrix of shape (m, n) that takes the sums Σ weight·y at the points to the fit."""
        return self._operator(*self._local(at, self.bandwidth(at))[1:4])

    def _chunk(
        self, y: Floats, at: Floats, reach: Floats, noise: Floats | None
    ) -> tuple[Floats, Floats, Floats]:
        scale, u, nearness, inverse, powers = self._local(at, reach)
        right = np.stack([power @ y for power in powers[: self.degree + 1]], axis=1)
        coef = np.einsum("mij,mj->mi", inverse, right)
        slope = coef[:, 1] / scale[:, 0] if self.degree else np.zeros(len(at))
        if noise is None:
            return coef[:, 0], slope, np.zeros(len(at))
        return coef[:, 0], slope, self._operator(u, nearness, inverse) ** 2 @ noise

    def _local(
        self, at: Floats, reach: Floats
    ) -> tuple[Floats, Floats, Floats, Floats, list[Floats]]:
        """Bandwidths, distances in them, nearness, inverse moments, and powers by weight."""
        scale = np.where(reach > 0, reach, 1.0)[:, None]
        # In units of the bandwidth, so that moments of all orders have like sizes.
        with np.errstate(over="ignore"):  # a window of almost no width
            u = (self.x[None, :] - at[:, None]) / scale
        np.clip(u, -2.0, 2.0, out=u)  # what lies outside the window has no weight
        nearness = _nearness(u, self.kernel)
        # More than q points stand where the place is: nobody else has a say.
        alone = np.flatnonzero(reach == 0)
        nearness[alone] = u[alone] == 0
        powers = [nearness * self.weight]
        for _ in range(2 * self.degree):
            powers.append(powers[-1] * u)
        sums = np.stack([power.sum(axis=1) for power in powers], axis=1)
        index = np.arange(self.degree + 1)
        moments = sums[:, index[:, None] + index[None, :]]
        inverse = np.linalg.pinv(moments, rcond=RANK_TOLERANCE, hermitian=True)
        return scale, u, nearness, inverse, powers

    def _operator(self, u: Floats, nearness: Floats, inverse: Floats) -> Floats:
        operator = nearness * inverse[:, 0, :1]
        run = nearness
        for k in range(1, self.degree + 1):
            run = run * u
            operator += run * inverse[:, 0, k : k + 1]
        return operator


def _nearness(u: Floats, kernel: Kernel) -> Floats:
    """Weight of a point at u bandwidths; 0 at 1 and beyond."""
    distance = np.minimum(np.abs(u), 1.0)
    if kernel == "epanechnikov":
        return np.asarray(np.maximum(1 - distance**2, 0.0))
    inner = np.maximum(1 - distance * distance * distance, 0.0)
    return np.asarray(inner * inner * inner)
