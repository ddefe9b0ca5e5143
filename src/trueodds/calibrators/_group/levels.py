"""Levels of features: how a column is cut, and the prior of the effects of its levels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy

from trueodds.inputs import Floats
from trueodds.maps import SCORE, codes_of_categories, codes_of_numbers, codes_of_scores

__all__ = [
    "Levels",
    "category_levels",
    "crossed",
    "level_sums",
    "number_levels",
    "score_value_levels",
]

Ints = npt.NDArray[np.intp]

LINEAR, LENGTH = 0.3, 0.7
"""Prior of a smooth effect: share of a straight line, and length scale of the remainder, in
standard deviations of the normal quantile of the rank."""
FIRST_ROWS = 1000
"""Nearly always enough to see that two columns split the rows in different ways."""
NEGLIGIBLE = 1e-3
"""Directions of a prior with a smaller share of the largest variance are left out."""


@dataclass(frozen=True, eq=False)
class Levels:
    """The levels of a column, or of several columns together.

    Parameters
    ----------
    features : tuple of int
        Positions of the columns; −1 is the score.
    cuts : tuple of arrays, or of None for categories
        Where each column of numbers is cut; see :class:`~trueodds.maps.GroupTerm`.
    codes : array of shape (n,)
        The level of each row.
    weight : array of shape (n_levels,)
        The weight of the rows of each level.
    basis : array of shape (n_levels, n_columns), or None
        Effects of the levels are ``basis @ coefficients``; the coefficients are independent a
        priori, with one variance. None: each level has its own coefficient.
    kept : array of shape (n_levels,), default=None
        Which levels have coefficients, if there are too many; others have no effect.
    """

    features: tuple[int, ...]
    cuts: tuple[Floats | None, ...]
    codes: Ints
    weight: Floats
    basis: Floats | None
    kept: npt.NDArray[np.bool_] | None = None

    @property
    def n_levels(self) -> int:
        """Number of levels, those without rows included."""
        return len(self.weight)

    @property
    def n_columns(self) -> int:
        """Number of coefficients."""
        if self.basis is not None:
            return int(self.basis.shape[1])
        return self.n_levels if self.kept is None else int(self.kept.sum())

    def to_columns(self, table: Floats) -> Floats:
        """Sums over levels, of shape (n_levels, …), as sums over coefficients."""
        if self.basis is not None:
            return np.asarray(self.basis.T @ table)
        return table if self.kept is None else table[self.kept]

    def to_levels(self, coefficients: Floats) -> Floats:
        """Coefficients, of shape (n_columns, …), as effects of levels."""
        if self.basis is not None:
            return np.asarray(self.basis @ coefficients)
        if self.kept is None:
            return coefficients
        effects = np.zeros((self.n_levels, *coefficients.shape[1:]))
        effects[self.kept] = coefficients
        return effects

    @property
    def n_occupied(self) -> int:
        """Number of levels that have rows."""
        return int(np.count_nonzero(self.weight))

    def splits_like(self, other: Levels) -> bool:
        """Whether two rows have one level here if and only if they have one there."""
        if self.n_occupied != other.n_occupied:
            return False
        place = np.empty(self.n_levels, dtype=np.intp)
        for rows in (slice(FIRST_ROWS), slice(None)):
            place[self.codes[rows]] = other.codes[rows]
            if (place[self.codes[rows]] != other.codes[rows]).any():
                return False
        return True

    @property
    def share(self) -> Floats:
        """Share of the rows at each level."""
        return np.asarray(self.weight / self.weight.sum())

    @cached_property
    def centered(self) -> Floats:
        """Basis of the effects with mean zero over the rows; none where there are no rows."""
        basis = self.to_levels(np.eye(self.n_columns))
        centered = basis - self.share @ basis
        centered[self.weight == 0] = 0.0
        return _root(centered @ centered.T)

    def most_frequent(self, most: int) -> Levels:
        """The same levels, of which the ``most`` frequent have coefficients."""
        if self.basis is not None or self.n_levels <= most:
            return self
        kept = np.zeros(self.n_levels, dtype=np.bool_)
        kept[np.argsort(-self.weight, kind="stable")[:most]] = True
        return Levels(self.features, self.cuts, self.codes, self.weight, None, kept)

    def take(self, rows: Ints, weight: Floats) -> Levels:
        """The same levels and prior with some of the rows."""
        codes = self.codes[rows]
        total = level_sums(codes, weight, self.n_levels)
        return Levels(self.features, self.cuts, codes, total, self.basis, self.kept)


def level_sums(codes: Ints, values: Floats, n_levels: int) -> Floats:
    """Sums of the rows' values at each level."""
    return np.bincount(codes, values, n_levels).astype(np.float64, copy=False)


def category_levels(feature: int, column: Floats, weight: Floats, n_categories: int) -> Levels:
    """Levels of encoded categories, of missing values and of categories that were not seen."""
    codes = codes_of_categories(column, n_categories)
    return Levels((feature,), (None,), codes, level_sums(codes, weight, n_categories + 2), None)


def number_levels(feature: int, column: Floats, weight: Floats, n_bins: int) -> Levels:
    """Bins of numbers, with effects that are smooth in the rank; missing values stand alone."""
    cuts = _cut_points(column, weight, n_bins)
    if feature == SCORE:
        codes, n_missing = codes_of_scores(column, cuts), 0
    else:
        codes, n_missing = codes_of_numbers(column, cuts), 1
    mass = level_sums(codes, weight, len(cuts) + 1 + n_missing)
    root = _smooth_root(mass[: len(cuts) + 1])
    basis = scipy.linalg.block_diag(root, np.eye(n_missing)) if n_missing else root
    return Levels((feature,), (cuts,), codes, mass, basis)


def score_value_levels(z: Floats, weight: Floats) -> Levels:
    """Every value of the score is a level with a separate effect."""
    cuts = _cut_points(z, weight, len(z) + 1)
    codes = codes_of_scores(z, cuts)
    return Levels((SCORE,), (cuts,), codes, level_sums(codes, weight, len(cuts) + 1), None)


def _cut_points(column: Floats, weight: Floats, n_bins: int) -> Floats:
    """Between all values if they are few, else where the weight is split as evenly as possible."""
    present = ~np.isnan(column)
    values, place = np.unique(column[present], return_inverse=True)
    if len(values) < 2:
        return np.empty(0)
    middle = values[:-1] / 2 + values[1:] / 2
    # Neighboring floats have no number between them: the lower one is then the cut.
    gaps = np.unique(np.where(middle < values[1:], middle, values[:-1]), return_index=True)[1]
    if len(gaps) < n_bins:
        return np.asarray(middle[gaps])
    mass = np.bincount(place, weight[present])
    below = np.cumsum(mass)[:-1][gaps]
    wanted = mass.sum() * np.arange(1, n_bins) / n_bins
    after = np.clip(np.searchsorted(below, wanted), 1, len(below) - 1)
    is_before = wanted - below[after - 1] <= below[after] - wanted
    return np.asarray(middle[gaps][np.unique(np.where(is_before, after - 1, after))])


def _smooth_root(mass: Floats) -> Floats:
    """A root of the prior: a Gaussian process on the normal quantiles of the bins' mid-ranks."""
    total = mass.sum()
    if total == 0:
        return np.ones((len(mass), 1))
    share = (np.cumsum(mass) - mass / 2 + 0.25) / (total + 0.5)
    rank = scipy.special.ndtri(share)
    gap = (rank[:, None] - rank) / LENGTH
    return _root(LINEAR * np.outer(rank, rank) + (1 - LINEAR) * np.exp(-0.5 * gap**2))


def crossed(parts: list[Levels], weight: Floats) -> Levels:
    """The levels of several columns together, with effects beyond those of each alone."""
    joint: Ints = np.zeros(len(weight), dtype=np.intp)
    basis: Floats = np.ones((1, 1))
    for part in parts:
        joint = joint * part.n_levels + part.codes
        basis = np.asarray(np.kron(basis, part.centered))
    mass = level_sums(joint, weight, int(np.prod([part.n_levels for part in parts])))
    features = tuple(feature for part in parts for feature in part.features)
    cuts = tuple(cut for part in parts for cut in part.cuts)
    return Levels(features, cuts, joint, mass, basis)


def _root(covariance: Floats) -> Floats:
    """A root of a covariance matrix, without directions that hardly vary."""
    size, vectors = np.linalg.eigh(covariance)
    kept = size > NEGLIGIBLE * max(float(size[-1]), 1e-300)
    return np.asarray(vectors[:, kept] * np.sqrt(size[kept]))
