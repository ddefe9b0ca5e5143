"""Isotonic regression."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.validation import Floats

__all__ = ["isotonic_fit"]


def isotonic_fit(n_pos: Floats, weight: Floats) -> tuple[Floats, npt.NDArray[Any]]:
    """The non-decreasing frequencies of highest likelihood.

    Returns
    -------
    values : ndarray of shape (n,)
        In [0, 1].
    blocks : ndarray of shape (n_blocks + 1,)
        Where runs of one value begin; n ends the last.
    """
    from scipy.optimize import isotonic_regression  # slow to import

    solution = isotonic_regression(n_pos / weight, weights=weight)
    return np.clip(solution.x, 0.0, 1.0), solution.blocks
