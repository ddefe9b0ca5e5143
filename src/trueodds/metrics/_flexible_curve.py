"""The frequency of the event as a smooth function of its probability: loess, or a cubic spline."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.special import ndtri

from trueodds.exceptions import InputError
from trueodds.inputs import Floats, check_choice, check_integer, check_number
from trueodds.metrics._recalibration import finite_log_odds, weights_of
from trueodds.metrics._sample import Event
from trueodds.numerics.harrell_knots import KNOT_SHARES, harrell_knots
from trueodds.numerics.local_regression import KERNELS, Kernel, LocalFit, LocalRegression
from trueodds.numerics.log_odds import log_odds, sigmoid
from trueodds.numerics.logistic_model import LogisticModel, fit_logistic_model
from trueodds.numerics.natural_spline import NaturalSpline

__all__ = ["CurveOptions", "FlexibleCurve", "Smoother", "read_options"]

Smoother = Literal["loess", "splines"]

EXACT = 4096
"""Distinct probabilities up to which loess is computed at each; above, in cells and on a grid."""
CELLS = 2048
GRID, ROUGH_GRID = 200, 64
ROUGH_CELLS = 256
POINTS = 201


@dataclass(frozen=True)
class CurveOptions:
    """How the curve is made."""

    method: Smoother = "loess"
    span: float = 0.75
    kernel: Kernel = "epanechnikov"
    n_knots: int = 5


def read_options(method: Any, span: Any, kernel: Any, n_knots: Any) -> CurveOptions:
    """Check the options of a curve."""
    check_choice(method, ("loess", "splines"), "curve")
    check_choice(kernel, KERNELS, "kernel")
    n_knots = check_integer(n_knots, "n_knots", 3)
    if n_knots > max(KNOT_SHARES):
        raise InputError(f"n_knots must be 3 to {max(KNOT_SHARES)}; got {n_knots}.")
    return CurveOptions(method, check_number(span, "span", above=True), kernel, n_knots)


@dataclass(frozen=True, eq=False)
class FlexibleCurve:
    """Rows in cells of (nearly) equal probability, from which the curves of resamples are made.

    Attributes
    ----------
    x : ndarray of shape (n_cells,)
        Where the cells stand on the axis: probabilities (loess) or log-odds (splines).
    prob : ndarray of shape (n_cells,)
        Mean probability of each.
    index : ndarray of shape (n,)
        The cell of each row.
    hit : ndarray of shape (n,)
        1 where the event happened, else 0.
    exact : bool
        Whether a cell is one probability.
    spline : NaturalSpline or None
    """

    options: CurveOptions
    x: Floats
    prob: Floats
    index: Any
    hit: Floats
    exact: bool
    spline: NaturalSpline | None

    @classmethod
    def of(cls, view: Event, options: CurveOptions, *, rough: bool = False) -> FlexibleCurve:
        """Put the rows in cells; in fewer, if the curve is to be made for hundreds of resamples."""
        cells = ROUGH_CELLS if rough else CELLS
        weight = weights_of(view)
        axis = view.prob if options.method == "loess" else finite_log_odds(view)
        x, index = np.unique(axis, return_inverse=True)
        exact = len(x) <= (2 * ROUGH_CELLS if rough else EXACT)
        if not exact:
            index = _cells(x, np.bincount(index, weight).astype(np.float64), cells)[index]
        mass = np.bincount(index, weight)
        if not exact:
            x = np.bincount(index, weight * axis) / mass
        spline = None
        if options.method == "splines":
            spline = NaturalSpline(harrell_knots(axis, weight, options.n_knots))
        prob = np.bincount(index, weight * view.prob) / mass
        return cls(options, x, prob, index, view.hit.astype(np.float64), exact, spline)

    def sums(self, values: Floats) -> Floats:
        """Sums over the rows of each cell."""
        return np.bincount(self.index, values, len(self.x)).astype(np.float64, copy=False)

    def values(self, weight: Floats, *, fine: bool) -> Floats:
        """The curve at every cell, for rows of these weights.

        Unless ``fine``, loess is computed on a grid, with cubics of its values and slopes between;
        so it is in any case where probabilities are many.
        """
        mass, events = self.sums(weight), self.sums(weight * self.hit)
        if self.spline is not None:
            return sigmoid(self._basis @ self._model(mass, events, mass).coef)
        points = GRID if fine else ROUGH_GRID
        if (fine and self.exact) or len(self.x) <= points:
            return np.clip(self._loess(mass, events, self.x).value, 0.0, 1.0)
        at = _grid(self.x[mass > 0], points)
        fit = self._loess(mass, events, at)
        return np.clip(_hermite(at, fit.value, fit.slope, self.x), 0.0, 1.0)

    def drawn(
        self, weight: Floats, level: float, kind: str
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Points of the curve: probability, frequency, and the ends of a pointwise band."""
        prob = _grid(self.prob, POINTS)
        mass, events = self.sums(weight), self.sums(weight * self.hit)
        squares = self.sums(weight**2)
        z = float(ndtri((1 + level) / 2))
        if self.spline is not None:
            # Probabilities of exactly 0 and 1 stand where the cells at the ends do.
            at = np.clip(log_odds(prob, "probability"), self.x[0], self.x[-1])
            basis = self.spline.basis(at)
            model = self._model(mass, events, squares)
            centre = basis @ model.coef
            covariance = model.covariance
            if kind == "consistency":
                covariance = self._covariance_if_calibrated(mass, squares)
            half = z * np.sqrt(np.einsum("ij,jk,ik->i", basis, covariance, basis))
            middle = at if kind == "consistency" else centre
            return prob, sigmoid(centre), sigmoid(middle - half), sigmoid(middle + half)
        share = self.values(weight, fine=True) if kind == "confidence" else self.prob
        fit = self._loess(mass, events, prob, squares * share * (1 - share))
        middle = fit.value
        if kind == "consistency":  # loess of the probabilities themselves
            middle = self._loess(mass, mass * self.prob, prob).value
        half = z * np.sqrt(np.asarray(fit.variance))
        low, high = np.clip(middle - half, 0.0, 1.0), np.clip(middle + half, 0.0, 1.0)
        return prob, np.clip(fit.value, 0.0, 1.0), low, high

    def _loess(
        self, mass: Floats, events: Floats, at: Floats, noise: Floats | None = None
    ) -> LocalFit:
        seen = mass > 0
        local = LocalRegression(
            self.x[seen], mass[seen], span=self.options.span, kernel=self.options.kernel
        )
        return local.fit(events[seen] / mass[seen], at, None if noise is None else noise[seen])

    def _model(self, mass: Floats, events: Floats, squares: Floats) -> LogisticModel:
        seen = mass > 0
        return fit_logistic_model(
            self._basis[seen], events[seen] / mass[seen], mass[seen], squares=squares[seen]
        )

    @cached_property
    def _basis(self) -> Floats:
        return np.empty((0, 0)) if self.spline is None else self.spline.basis(self.x)

    def _covariance_if_calibrated(self, mass: Floats, squares: Floats) -> Floats:
        """That of the coefficients if every probability is right."""
        spread = self.prob * (1 - self.prob)
        basis = self._basis
        inverse = np.linalg.pinv((basis * (mass * spread)[:, None]).T @ basis, hermitian=True)
        return np.asarray(inverse @ ((basis * (squares * spread)[:, None]).T @ basis) @ inverse)


def _cells(distinct: Floats, mass: Floats, count: int) -> Any:
    """A cell for each distinct value: equal in mass, and narrow where rows are few."""
    share = np.floor((np.cumsum(mass) - mass / 2) / mass.sum() * count)
    place = np.floor((distinct - distinct[0]) / (distinct[-1] - distinct[0]) * count)
    new = (share[1:] != share[:-1]) | (place[1:] != place[:-1])
    return np.concatenate([[0], np.cumsum(new)])


def _grid(x: Floats, points: int) -> Floats:
    """Half of the points evenly, half where the rows are."""
    half = points // 2
    even = np.linspace(x[0], x[-1], half)
    return np.unique(np.concatenate([even, x[np.linspace(0, len(x) - 1, half).astype(np.intp)]]))


def _hermite(at: Floats, value: Floats, slope: Floats, x: Floats) -> Floats:
    """Cubics with given values and slopes at the grid; beyond it the value at its end."""
    if len(at) == 1:
        return np.full(len(x), value[0])
    x = np.clip(x, at[0], at[-1])
    left = np.clip(np.searchsorted(at, x, side="right") - 1, 0, len(at) - 2)
    gap = np.diff(at)[left]
    t = (x - at[left]) / gap
    rise = value[left + 1] - value[left]
    first, last = slope[left] * gap - rise, rise - slope[left + 1] * gap
    return np.asarray(value[left] + t * rise + t * (1 - t) * ((1 - t) * first + t * last))
