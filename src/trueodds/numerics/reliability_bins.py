"""Calibration errors in bins of the unit interval, as functions of sums over each bin.

The weight n_b, the mean probability p_b and the frequency y_b of a bin determine the expected
calibration error Σ n_b·|p_b − y_b|/n, the maximum error max |p_b − y_b| and the root mean square
error. The debiased error subtracts from (p_b − y_b)² what chance adds to it, s_b²/n_b, where s_b²
is the variance of y − p in the bin. So a bin is four sums, and every error a function of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.basics.threads import BLOCK_ROWS, in_blocks
from trueodds.inputs import Floats, Weights, as_codes, mass_of
from trueodds.kernels.forecast_sums import add_to_bins
from trueodds.numerics.binning import run_starts

__all__ = [
    "BinSums",
    "bin_sums",
    "equal_count_sums",
    "ratio_or_zero",
    "uniform_bin_index",
    "uniform_edges",
]

NEAR_EDGE = 1e-9
"""Products p·n_bins this close to a whole number are compared with the edge itself."""
ROUNDING = 1e-9

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class BinSums:
    """Sums over the rows of each bin, and the calibration errors that follow from them.

    The last axis runs over the bins. Other axes run over samples, such as resamples or draws of the
    labels; a sum that is the same in all of them needs no such axis.

    Parameters
    ----------
    weight, prob, positive : ndarray of shape (..., n_bins)
        Σw, Σw·p and Σw·y.
    spread : ndarray of shape (..., n_bins) or None
        Σw·(y − p)², which only :meth:`debiased_square` needs.
    squares : ndarray of shape (..., n_bins) or None
        The weight of the bin in a variance: Σw² of importances. None if it is ``weight``.
    """

    weight: Floats
    prob: Floats
    positive: Floats
    spread: Floats | None = None
    squares: Floats | None = None

    def filled(self) -> BinSums:
        """The bins of one sample that are not empty."""
        kept = self.weight > 0
        return self if kept.all() else self._each(lambda sums: sums[kept])

    def merged(self, starts: Indices) -> BinSums:
        """Sums over runs of neighboring bins, each from one of ``starts`` to the next."""
        return self._each(lambda sums: np.add.reduceat(sums, starts, axis=-1))

    def _each(self, change: Callable[[Floats], Floats]) -> BinSums:
        spread, squares = (
            None if sums is None else change(sums) for sums in (self.spread, self.squares)
        )
        return BinSums(
            change(self.weight), change(self.prob), change(self.positive), spread, squares
        )

    @property
    def excess(self) -> Floats:
        """Σw·(p − y): positives expected less positives observed."""
        return np.asarray(self.prob - self.positive)

    @property
    def gap(self) -> Floats:
        """Mean probability less frequency of positives; 0 in an empty bin."""
        return ratio_or_zero(self.excess, self.weight)

    def expected_error(self) -> Floats:
        """ECE: the mean of |gap| by weight; NaN without rows."""
        return np.asarray(np.abs(self.excess).sum(axis=-1) / self.weight.sum(axis=-1))

    def unweighted_error(self) -> Floats:
        """The mean of |gap| over the bins that are not empty."""
        return np.asarray(np.abs(self.gap).sum(axis=-1) / (self.weight > 0).sum(axis=-1))

    def error_of_all_bins(self) -> Floats:
        """The mean of |gap| over all bins; that of an empty one is 0."""
        return np.asarray(np.abs(self.gap).mean(axis=-1))

    def maximum_error(self) -> Floats:
        """MCE: the greatest |gap|."""
        return np.asarray(np.abs(self.gap).max(axis=-1))

    def root_mean_square_error(self) -> Floats:
        """The root of the mean of gap² by weight."""
        mean = (self.gap * self.excess).sum(axis=-1) / self.weight.sum(axis=-1)
        return np.asarray(np.sqrt(mean))

    def debiased_square(self) -> Floats:
        """Mean of gap² less the variance of the gap, over bins of more than one effective row."""
        if self.spread is None:
            raise ValueError("the debiased error needs the spread in each bin.")
        effective = self.weight
        if self.squares is not None:
            effective = ratio_or_zero(self.weight**2, self.squares)
        # Of one row, (Σw)²/Σw² may be 1 + 2e-16.
        usable = effective > 1 + ROUNDING
        plug_in = self.gap * self.excess
        deviation = np.maximum(self.spread - plug_in, 0.0)
        variance = ratio_or_zero(deviation, np.where(usable, effective - 1, 0.0))
        top = np.where(usable, plug_in - variance, 0.0).sum(axis=-1)
        return ratio_or_zero(top, np.where(usable, self.weight, 0.0).sum(axis=-1))


def ratio_or_zero(top: Floats, bottom: Floats) -> Floats:
    """The ratio, and 0 where ``bottom`` is 0."""
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)


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
    weight: Weights | None,
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
    weight : Weights or None
    edges : ndarray of shape (n_bins − 1,)
        Inner edges; a probability on an edge belongs to the bin above it.
    uniform : bool, default=False
        Whether the edges are those of :func:`uniform_edges`, which saves the binary search.
    spread : bool, default=False
        Whether to add up w·(y − p)² also, and the squares of importances.
    """
    prob, hits = np.ascontiguousarray(prob), as_codes(positive)

    def added(mass: Floats | None, size: int) -> Floats:
        def add(rows: slice) -> Floats:
            sums = np.zeros((size, len(edges) + 1))
            part = None if mass is None else mass[rows]
            add_to_bins(sums, edges, uniform, prob[rows], hits[rows], part)
            return sums

        return reduce(np.add, in_blocks(add, len(prob), 4 * BLOCK_ROWS))

    sums = [*added(mass_of(weight), 4 if spread else 3)]
    if spread and weight is not None and weight.importance is not None:
        sums.append(added(weight.squares, 3)[0])
    return BinSums(*sums)


def equal_count_sums(
    prob: Floats,
    positive: npt.NDArray[Any],
    mass: Floats,
    n_bins: int,
) -> BinSums:
    """Add up groups of equal weight in the order of the probabilities, cutting ties to fill them.

    N rows make groups of ⌊N/n_bins⌋, the first N mod n_bins of them one larger. A tie that is cut
    gives each group its share of both labels.
    """
    hit = np.asarray(positive) != 0
    order = np.argsort(prob, kind="stable")
    prob, hit, mass = prob[order], hit[order], mass[order]
    starts = run_starts(prob)

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
