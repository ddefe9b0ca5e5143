"""Cutting scores into bins."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.basics.threads import BLOCK_ROWS
from trueodds.inputs import Floats
from trueodds.kernels.tables import equal_mass_starts

__all__ = ["bin_index", "edges_between", "equal_mass_edges", "run_starts"]

FEW_EDGES = 32
"""With at most this many edges, comparing with each of them is faster than a binary search."""


def bin_index(edges: Floats, scores: Floats) -> npt.NDArray[np.integer]:
    """Bin of each score, as ``np.searchsorted(edges, scores, side="right")`` gives it."""
    if len(edges) > FEW_EDGES:
        return np.searchsorted(edges, scores, side="right")
    index = np.zeros(len(scores), dtype=np.uint8)
    for begin in range(0, len(scores), BLOCK_ROWS):
        part, chunk = index[begin : begin + BLOCK_ROWS], scores[begin : begin + BLOCK_ROWS]
        for edge in edges:
            part += chunk >= edge
    return index


def edges_between(below: Floats, above: Floats) -> Floats:
    """Edges halfway between neighboring scores, such that below < edge ≤ above.

    Halves are added, so that nothing overflows. Where rounding (or an infinity below) would put
    the edge on the lower score, it is put on the upper one.
    """
    with np.errstate(invalid="ignore"):
        middle = below / 2 + above / 2
    unusable = ~(middle > below) | ~(middle <= above)
    return np.where(unusable, above, middle)


def equal_mass_edges(scores: Floats, mass: Floats | None, n_bins: int) -> Floats:
    """Inner edges of bins that weigh about the same; None stands for rows of one each.

    Equal scores are never parted, so there may be fewer bins. Edges lie halfway between the
    neighbors that they part.
    """
    if mass is None:
        ordered = np.sort(scores)
        cuts = np.floor(len(scores) * np.arange(1, n_bins) / n_bins + 0.5).astype(np.intp)
        cuts = cuts[(cuts > 0) & (cuts < len(scores))]
        if n_bins > len(scores):
            cuts = np.unique(cuts)
        below, above = ordered[cuts - 1], ordered[cuts]
        if (below < above).all():  # no cut falls among equal scores
            return edges_between(below, above)
    else:
        order = np.argsort(scores)
        ordered = scores[order]
    starts = run_starts(ordered)
    if mass is None:
        in_run = np.diff(np.append(starts, len(ordered))).astype(np.float64)
    else:
        in_run = np.add.reduceat(mass[order], starts)
    cuts = equal_mass_starts(in_run, n_bins)[1:]
    distinct = ordered[starts]
    return edges_between(distinct[cuts - 1], distinct[cuts])


def run_starts(*keys: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Where runs of equal keys begin: at the first place, and where any of the keys changes."""
    new = np.ones(len(keys[0]), dtype=bool)
    new[1:] = keys[0][1:] != keys[0][:-1]
    for key in keys[1:]:
        new[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(new)
