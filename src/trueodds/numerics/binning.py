"""Cutting scores into bins."""

from __future__ import annotations

import numpy as np

from trueodds.validation import Floats

__all__ = ["edges_between", "equal_mass_cuts"]


def edges_between(below: Floats, above: Floats) -> Floats:
    """Edges halfway between neighbouring scores, such that below < edge ≤ above.

    Halves are added, so that nothing overflows. Where rounding (or an infinity below) would put
    the edge on the lower score, it is put on the upper one.
    """
    with np.errstate(invalid="ignore"):
        middle = below / 2 + above / 2
    unusable = ~(middle > below) | ~(middle <= above)
    return np.where(unusable, above, middle)


def equal_mass_cuts(weight: Floats, n_bins: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Row indices at which to start a new bin so that bins weigh about the same.

    A row is never split. Bins that would be empty because one row is heavy are left out, so fewer
    than ``n_bins − 1`` cuts may come back.
    """
    total = np.cumsum(weight)
    goals = total[-1] * np.arange(1, n_bins) / n_bins
    # The cut goes to whichever side of the row that crosses the goal is nearer to it.
    row = np.searchsorted(total, goals * (1 - 1e-12))
    before = total[row] - weight[row]
    cuts = np.where(goals - before < total[row] - goals, row, row + 1)
    return np.unique(cuts[(cuts > 0) & (cuts < len(weight))])
