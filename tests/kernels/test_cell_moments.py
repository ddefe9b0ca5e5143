"""Sums of powers in cells, against sums in NumPy."""

import numpy as np
import pytest

from trueodds.kernels.cell_moments import add_cell_moments


@pytest.mark.parametrize("n_rows", [1, 511, 2000])
def test_moments_are_the_sums_of_powers_in_each_cell(n_rows):
    rng = np.random.default_rng(n_rows)
    z = np.append(rng.normal(0, 40, n_rows - 1), 0.0)
    n_neg = rng.integers(0, 3, n_rows).astype(float)
    n_pos = rng.integers(0, 2, n_rows) * rng.random(n_rows)
    width = 0.07
    at = np.copysign(np.log1p(np.abs(z)), z) / width
    cell = np.floor(at).astype(int)
    first, n_cells = cell.min(), np.ptp(cell) + 1
    moments = np.ones((2, n_cells, 4))  # what was there stays
    add_cell_moments(moments, z, n_neg, n_pos, width, first)
    for label, weight in enumerate((n_neg, n_pos)):
        for power in range(4):
            sums = np.bincount(cell - first, weight * (at - np.floor(at)) ** power, n_cells)
            np.testing.assert_allclose(moments[label, :, power], 1 + sums, rtol=1e-11)


def test_what_rounding_puts_beyond_the_ends_is_in_the_first_or_last_cell():
    z = np.expm1(np.array([0.999, 1.25, 2.001]))
    moments = np.zeros((2, 2, 4))
    add_cell_moments(moments, z, np.zeros(3), np.ones(3), 0.5, 2)  # cells from 1 to 2
    np.testing.assert_allclose(moments[1, :, :2], [[2, -0.002 + 0.5], [1, 1.002]], rtol=1e-9)
    assert not moments[0].any()
