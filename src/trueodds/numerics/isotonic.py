"""Isotonic regression."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.kernels.pool_adjacent import pool_adjacent
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
    values, blocks = pool_adjacent(np.ascontiguousarray(n_pos), np.ascontiguousarray(weight))
    return np.minimum(values, 1.0, out=values), blocks
