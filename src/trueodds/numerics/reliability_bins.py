"""Weight, probability and positives that fall in each bin of the unit interval."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.basics.threads import BLOCK, in_blocks
from trueodds.inputs import Floats, as_codes
from trueodds.kernels.forecast_sums import add_to_bins

__all__ = ["BinSums", "bin_sums", "equal_count_sums", "uniform_bin_index", "uniform_edges"]

NEAR_EDGE = 1e-9
"""Products p·n_bins this close to a whole number are compared with the edge itself."""

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class BinSums:
    """What a binned metric needs to know: sums over the rows of each bin.

    ``spread`` is the sum of w·(y − p)², and only there if it was asked for.
    """

    weight: Floats
    prob: Floats
    positive: Floats
    spread: Floats | None = None

    def filled(self) -> BinSums:
        """The bins that are not empty."""
        kept = self.weight > 0
        if kept.all():
            return self
        spread = None if self.spread is None else self.spread[kept]
        return BinSums(self.weight[kept], self.prob[kept], self.positive[kept], spread)

    @property
    def gap(self) -> Floats:
        """Mean probability less frequency of positives; positive where over-estimated."""
        return np.asarray((self.prob - self.positive) / self.weight)


def uniform_edges(n_bins: int) -> Floats:
    """The inner edges k/n_bins, each the nearest float64 to the fraction (linspace's are not)."""
    return np.arange(1, n_bins) / n_bins


def uniform_bin_index(prob: Floats, n_bins: int, edges: Floats | None = None) -> Indices:
    """Bin of each probability among ``n_bins`` of equal width; an edge belongs to the bin above.

    The same as a binary search in :func:`uniform_edges`, which only rows near an edge undergo.
    """
    if edges is None:
        edges = uniform_edges(n_bins)
    scaled = prob * n_bins
    index = scaled.astype(np.intp)
    scaled -= index
    if scaled.min() < NEAR_EDGE or scaled.max() > 1 - NEAR_EDGE:
        near = np.flatnonzero((scaled < NEAR_EDGE) | (scaled > 1 - NEAR_EDGE))
        index[near] = np.searchsorted(edges, prob[near], side="right")
    return index


def bin_sums(
    prob: Floats,
    positive: npt.NDArray[Any],
    weight: Floats | None,
    edges: Floats,
    *,
    uniform: bool = False,
    spread: bool = False,
) -> BinSums:
    """Add up the rows of each bin.

    Parameters
    ----------
    prob : ndarray of shape (n,)
    positive : ndarray of bool or of 0 and 1, of shape (n,)
    weight : ndarray of shape (n,) or None
    edges : ndarray of shape (n_bins − 1,)
        Inner edges; a probability on an edge belongs to the bin above it.
    uniform : bool, default=False
        Whether the edges are those of :func:`uniform_edges`, which saves the binary search.
    spread : bool, default=False
        Whether to add up w·(y − p)² also.
    """
    prob, hits = np.ascontiguousarray(prob), as_codes(positive)

    def add(rows: slice) -> Floats:
        sums = np.zeros((4 if spread else 3, len(edges) + 1))
        part = None if weight is None else weight[rows]
        add_to_bins(sums, edges, uniform, prob[rows], hits[rows], part)
        return sums

    sums = reduce(np.add, in_blocks(add, len(prob), 4 * BLOCK))
    return BinSums(sums[0], sums[1], sums[2], sums[3] if spread else None)


def equal_count_sums(
    prob: Floats,
    positive: npt.NDArray[Any],
    weight: Floats | None,
    n_bins: int,
    *,
    by_label: bool,
) -> BinSums:
    """Add up groups of equal weight in the order of the probabilities, cutting ties to fill them.

    N rows make groups of ⌊N/n_bins⌋, the first N mod n_bins of them one larger. A tie that is cut
    gives each group its share of both labels; with ``by_label`` the negatives of a tie come first,
    as if rows were sorted by probability and label.
    """
    hit = np.asarray(positive) != 0
    order = np.lexsort((hit, prob))
    prob, hit = prob[order], hit[order]
    mass = np.ones(len(prob)) if weight is None else weight[order]
    new = prob[1:] > prob[:-1]
    if by_label:
        new |= hit[1:] != hit[:-1]
    starts = np.flatnonzero(np.concatenate([[True], new]))

    def cumulated(values: Floats) -> Floats:
        return np.concatenate([[0.0], np.cumsum(np.add.reduceat(values, starts))])

    filled = cumulated(mass)
    each, left = divmod(filled[-1], n_bins)
    place = np.arange(n_bins + 1)
    ends = each * place + np.minimum(place, left)
    ends[-1] = filled[-1]

    def between(values: Floats) -> Floats:
        return np.diff(np.interp(ends, filled, cumulated(values)))

    return BinSums(np.diff(ends), between(mass * prob), between(mass * hit))
