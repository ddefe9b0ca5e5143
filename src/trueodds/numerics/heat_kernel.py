"""Smoothing of point masses on [0, 1] by a Gaussian that is reflected at both ends.

The reflected Gaussian of bandwidth σ is the heat kernel of the unit interval with insulated ends.
In the cosine basis it multiplies coefficient k by exp(−(kπσ)²/2), so smoothing is two cosine
transforms, with all reflections included.
"""

from __future__ import annotations

import numpy as np
from scipy.fft import dct

from trueodds.basics.threads import BLOCK_ROWS
from trueodds.inputs import Floats

__all__ = ["cosine_coefficients", "smoothed_density", "spread_on_grid"]


def spread_on_grid(position: Floats, mass: Floats, n_cells: int) -> Floats:
    """Give each mass to the two nearest of the points 0, 1/n_cells … 1, keeping its mean position.

    This widens a kernel's variance by at most 1/(4·n_cells²).
    """
    grid = np.zeros(n_cells + 2)  # one point more, which receives nothing but zeros
    for begin in range(0, len(position), BLOCK_ROWS):
        rows = slice(begin, begin + BLOCK_ROWS)
        scaled = position[rows] * n_cells
        left = scaled.astype(np.intp)
        scaled -= left
        upper = scaled * mass[rows]
        lower = mass[rows] - upper
        low, high = int(left.min()), int(left.max())
        width = high - low + 1
        left -= low
        grid[low : high + 1] += np.bincount(left, lower, width)
        grid[low + 1 : high + 2] += np.bincount(left, upper, width)
    return grid[:-1]


def cosine_coefficients(grid: Floats) -> Floats:
    """Coefficients Σ m_j·cos(kπ·x_j) of masses on an even grid of [0, 1], along the last axis."""
    doubled = grid.copy()
    # The transform counts inner points twice and the ends once.
    doubled[..., 0] *= 2
    doubled[..., -1] *= 2
    return np.asarray(dct(doubled, type=1, axis=-1)) / 2


def smoothed_density(coefficients: Floats, sigma: float) -> Floats:
    """Density at the grid points after smoothing with bandwidth ``sigma``, along the last axis."""
    frequency = np.arange(coefficients.shape[-1])
    damped = coefficients * np.exp(-0.5 * (np.pi * sigma * frequency) ** 2)
    # f(x) = c_0 + 2·Σ c_k·cos(kπx): again a cosine transform, but for its last term, which it
    # counts once; that term is damped to nothing for any bandwidth the grid can carry.
    return np.asarray(dct(damped, type=1, axis=-1))
