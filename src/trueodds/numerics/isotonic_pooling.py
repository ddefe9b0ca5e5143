"""Which neighbours heavy evidence forces to one value in any non-decreasing map."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trueodds.inputs import Floats
from trueodds.numerics.isotonic import isotonic_fit

__all__ = ["pooled_starts"]

LEAST_PRESSURE = 1e5
"""Neighbours that are pressed together so hard differ by about 1e-5 in log-odds."""
LEAST_AT_END = 1e7
"""Rows that are pressed so hard against 0 or 1 differ from it by about 1e-7."""


def pooled_starts(n_neg: Floats, n_pos: Floats) -> npt.NDArray[np.int64]:
    """The first row of each run of rows that are pressed together.

    Within a block of isotonic regression, of value p, the rows before a boundary have more
    positives than p says, and those after it fewer. Their excess is the Lagrange multiplier of the
    boundary's constraint: parting the values there by δ log-odds lowers the log-likelihood by
    excess·δ, so a posterior parts them by about 1/excess. In the first block, if it has negatives
    only, raising what is after a boundary by δ lowers it by δ times the weight there; likewise in
    the last. So nothing is joined unless weights are very heavy, or very many instances contradict
    the order of their scores.

    Parameters
    ----------
    n_neg, n_pos : ndarray of shape (n_rows,)

    Returns
    -------
    ndarray of shape (n_runs,)

    Examples
    --------
    >>> pooled_starts(np.array([9e8, 0, 1e8]), np.array([0, 1e8, 0]))
    array([0, 1])
    >>> pooled_starts(np.array([9, 0, 1]), np.array([0, 1, 0]))
    array([0, 1, 2])
    """
    weight = n_neg + n_pos
    fit, _ = isotonic_fit(n_pos, weight)
    excess = np.cumsum(n_pos - weight * fit)
    to_zero = np.cumsum((weight * (fit == 0))[::-1])[::-1]
    to_one = np.cumsum(weight * (fit == 1))
    joined = excess[:-1] >= LEAST_PRESSURE
    joined |= (to_zero[1:] >= LEAST_AT_END) | (to_one[:-1] >= LEAST_AT_END)
    joined &= fit[1:] == fit[:-1]
    return np.flatnonzero(np.append(True, ~joined))
