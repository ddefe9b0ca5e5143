"""Knots of piecewise linear lookups as SQL can compute with them."""

from __future__ import annotations

import numpy as np

__all__ = ["TINY", "add_level_stretch", "slopes_of"]

TINY = 1e-290
"""PostgreSQL refuses products that underflow: scores closer to 0 than this count as 0 there."""


def add_level_stretch(x: list[float], y: list[float]) -> None:
    """Let the line that begins at 0 begin a little later, where no product underflows."""
    for j, knot in enumerate(x[:-1]):
        if abs(knot) < TINY and x[j + 1] > 2 * TINY:
            x.insert(j + 1, TINY)
            y.insert(j + 1, y[j])
            return


def slopes_of(x: list[float], y: list[float]) -> list[float]:
    """The slopes between neighbours; 0 where two are too close for one."""
    slopes = []
    for j in range(len(x) - 1):
        rise, run = y[j + 1] - y[j], x[j + 1] - x[j]
        slope = rise / run if run > 0 else np.inf
        slopes.append(slope if np.isfinite(slope) else 0.0)
    return slopes
