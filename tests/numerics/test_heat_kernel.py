"""Smoothing on [0, 1] against sums of Gaussians with all their reflections."""

import numpy as np
import pytest

from trueodds.numerics.heat_kernel import (
    BLOCK_ROWS,
    cosine_coefficients,
    smoothed_density,
    spread_on_grid,
)


def reflected(position, mass, sigma, at):
    """The sum of Gaussians around every mass and its mirror images, −20 … 20 times."""
    total = np.zeros_like(at)
    for k in range(-20, 21):
        for image in (2 * k + position, 2 * k - position):
            z = (at[:, None] - image[None]) / sigma
            total += np.exp(-(z**2) / 2) @ mass / (sigma * np.sqrt(2 * np.pi))
    return total


@pytest.mark.parametrize("sigma", [0.03, 0.3, 2.0])
def test_the_density_is_that_of_reflected_gaussians(sigma):
    n = 512
    position = np.array([0.0, 64, 200, 201, 512]) / n  # on the grid
    mass = np.array([1.0, 2.0, 0.5, 3.0, 1.5])
    grid = spread_on_grid(position, mass, n)
    found = smoothed_density(cosine_coefficients(grid), sigma)
    at = np.arange(n + 1) / n
    np.testing.assert_allclose(found, reflected(position, mass, sigma, at), atol=1e-9)


def test_mass_and_mean_position_are_kept():
    rng = np.random.default_rng(0)
    position, mass = rng.random(BLOCK_ROWS + 100), rng.random(BLOCK_ROWS + 100)
    grid = spread_on_grid(position, mass, 100)
    assert grid.shape == (101,)
    assert grid.sum() == pytest.approx(mass.sum())
    assert grid @ np.arange(101) / 100 == pytest.approx(mass @ position)


def test_each_mass_goes_to_its_two_neighbors_by_hand():
    grid = spread_on_grid(np.array([0.0, 0.3, 1.0]), np.array([1.0, 2.0, 4.0]), 4)
    assert grid == pytest.approx([1, 1.6, 0.4, 0, 4])


def test_coefficients_are_sums_of_cosines_along_the_last_axis():
    grid = np.random.default_rng(1).random((2, 9))
    x, k = np.arange(9) / 8, np.arange(9)
    expected = grid @ np.cos(np.pi * np.outer(x, k))
    np.testing.assert_allclose(cosine_coefficients(grid), expected, atol=1e-12)
