"""The kernel average of a reliability diagram, on an even grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueodds.inputs import Floats
from trueodds.metrics._sample import Event
from trueodds.metrics._smooth import smooth_residuals
from trueodds.numerics.heat_kernel import cosine_coefficients, smoothed_density, spread_on_grid

__all__ = ["SmoothCurve"]

GRID = 2048
POINTS = 256
NARROWEST = 0.01
"""A diagram cannot show more; the error of a nearly calibrated model gives a tiny bandwidth."""


@dataclass(frozen=True, eq=False)
class SmoothCurve:
    """x − (smoothed residuals)/(smoothed weight): the diagonal itself if there are no residuals.

    Averaging residuals p − y, not labels y, keeps the slope of the curve out of the average, so
    that a calibrated model is not bent at the ends.
    """

    x: Floats
    y: Floats
    weight: Floats
    sigma: float
    shown: Floats

    @classmethod
    def of(cls, view: Event) -> SmoothCurve:
        """Smooth all rows with the bandwidth of the smooth calibration error."""
        sigma = max(smooth_residuals(view)[1], NARROWEST)
        residual = view.prob - view.hit
        if view.weight is not None:
            residual *= view.weight
        top = spread_on_grid(view.prob, residual, GRID)
        below = spread_on_grid(view.prob, view.weight, GRID)
        shown = _shown(view.prob)
        curve, density = smoothed_curve(top, below, sigma, shown)
        return cls(shown / GRID, curve, density / GRID, sigma, shown)


def _shown(prob: Floats) -> Floats:
    """Grid points between the least and the greatest probability."""
    low, high = np.floor(prob.min() * GRID), np.ceil(prob.max() * GRID)
    return np.unique(np.linspace(low, high, POINTS).astype(np.intp)).astype(np.float64)


def smoothed_curve(
    residual: Floats, weight: Floats, sigma: float, shown: Floats
) -> tuple[Floats, Floats]:
    """The curve and the density of the weight at the shown grid points, along the last axis."""
    index = shown.astype(np.intp)
    top = smoothed_density(cosine_coefficients(residual), sigma)[..., index]
    below = smoothed_density(cosine_coefficients(weight), sigma)[..., index]
    # Far from all rows both vanish, up to rounding of either sign.
    floor = 1e-9 * np.abs(below).max(axis=-1, keepdims=True)
    safe = np.maximum(below, floor)
    return np.clip(shown / GRID - top / safe, 0.0, 1.0), np.maximum(below, 0.0)
