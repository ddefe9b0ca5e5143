"""What a row is worth: :class:`Weights`.

An **importance** (``sample_weight``) states how much a row matters. The row stays one observation,
so only the ratios of importances have a meaning: a common factor changes nothing.

A **count** (``counts``, and the columns ``n_neg`` and ``n_pos`` of a :class:`~trueodds.ScoreTable`)
states how often a row occurred: a count of k equals k equal rows.

==============================  ======================  =====================================
of a sum over rows              counts                  importances
==============================  ======================  =====================================
the sum                         Σ k·x                   Σ w·x
its variance                    Σ k·var(x)              Σ w²·var(x)
number of rows                  Σ k                     (Σw)²/Σw², the effective rows
a log-likelihood                Σ k·ℓ                   Σ w·ℓ · Σw/Σw²
drawn in folds and resamples    k rows                  one row
==============================  ======================  =====================================

``None`` stands for rows of equal weight, one each.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from trueodds.exceptions import InputError
from trueodds.inputs._arrays import Floats, as_floats, check_length, number_text, where

__all__ = [
    "MOST_COUNT",
    "Weights",
    "check_count_size",
    "check_counts",
    "check_importances",
    "mass_of",
]

MOST_COUNT = 1e15
"""Largest count of a row; beyond it, float64 cannot count one row more."""


@dataclass(frozen=True, eq=False)
class Weights:
    """How important each row is, and how often it occurred.

    Parameters
    ----------
    importance : ndarray of shape (n,), default=None
        None if all rows that count matter equally.
    count : ndarray of shape (n,), default=None
        None if each row occurred once. Inside a fit, a fraction of a row is possible.
    """

    importance: Floats | None = None
    count: Floats | None = None

    @classmethod
    def read(
        cls, sample_weight: Any, counts: Any, n_rows: int, *, raw: bool = False
    ) -> Weights | None:
        """Validate the arguments of a public function; None if there are none.

        Unless ``raw``, importances are scaled to sum to the effective rows. So a common factor
        changes nothing, and importances that are all equal are no weights. Weights that were read
        before may be passed as ``sample_weight``.
        """
        if isinstance(sample_weight, Weights):
            if counts is not None:
                raise InputError("weights that were read hold their counts; pass no others.")
            check_length(len(sample_weight), "sample_weight", n_rows, "scores")
            return sample_weight if raw else sample_weight.scaled()
        importance = None
        if sample_weight is not None:
            importance = check_importances(sample_weight, n_rows)
        count = None if counts is None else check_counts(counts, n_rows)
        if importance is None and count is None:
            return None
        weights = cls(importance, count)
        return weights if raw else weights.scaled()

    @classmethod
    def counted(cls, count: Floats | None) -> Self | None:
        """Counts as weights; None stays None."""
        return None if count is None else cls(None, count)

    @classmethod
    def recounted(cls, weights: Weights | None, count: Any) -> Self:
        """The importances of rows, if there are any, with other counts."""
        importance = None if weights is None else weights.importance
        return cls(importance, np.asarray(count, dtype=np.float64))

    def scaled(self) -> Self | None:
        """The same weights with importances that sum to the effective rows."""
        if self.importance is None:
            return self
        importance = _relative(self.importance)
        positive = importance > 0
        of_rows = importance[positive] if self.count is None else importance[self.row_counts > 0]
        if not len(of_rows):
            raise InputError("sample_weight is zero in all rows of positive counts.")
        if of_rows.min() == of_rows.max():  # all alike: what is left are counts
            if self.count is None and positive.all():
                return None
            return type(self)(None, self.row_counts)
        scaled = type(self)(importance, self.count)
        return type(self)(importance * scaled.rows_per_weight, self.count)

    def in_counts(self) -> Self:
        """The number of rows that each is worth in a likelihood: counts, whatever they were."""
        if self.importance is None:
            return self
        return type(self)(None, self.values * self.rows_per_weight)

    def __post_init__(self) -> None:
        if self.importance is None and self.count is None:
            raise InputError("weights need importances, counts or both; None stands for neither.")

    def __len__(self) -> int:
        return len(self._count if self.importance is None else self.importance)

    def take(self, rows: Any) -> Self:
        """Those of some rows."""
        return type(self)(
            None if self.importance is None else self.importance[rows],
            None if self.count is None else self.count[rows],
        )

    def share(self, units: Any, of: Any) -> Self:
        """The part of each count that falls to ``units`` of ``of`` whole rows."""
        return type(self)(self.importance, self._count * units / np.maximum(of, 1))

    @property
    def _count(self) -> Floats:
        return np.ones(len(self)) if self.count is None else self.count

    @cached_property
    def values(self) -> Floats:
        """The weight of each row in a sum."""
        if self.importance is None:
            return self._count
        return self.importance if self.count is None else self.importance * self.count

    @cached_property
    def squares(self) -> Floats:
        """The weight of each row in the variance of a sum."""
        return self.values if self.importance is None else self.values * self.importance

    @cached_property
    def row_counts(self) -> Floats:
        """How many rows each stands for; none where the weight is zero."""
        if self.count is None:
            return (self.values > 0).astype(np.float64)
        return np.where(self.values > 0, self.count, 0.0)

    @property
    def rows_per_weight(self) -> float:
        """Σw/Σw²: the effective rows for each unit of weight."""
        return float(self.values.sum() / self.squares.sum())

    @property
    def effective(self) -> float:
        """(Σw)²/Σw²: the number of rows of equal weight that they are worth."""
        return float(self.values.sum()) * self.rows_per_weight


def mass_of(weight: Weights | None) -> Floats | None:
    """The weight of each row in a sum; None, which kernels need not read, if each is one."""
    return None if weight is None else weight.values


def _relative(importance: Floats) -> Floats:
    """Importances divided by the power of two next to the largest; their squares are finite."""
    return np.ldexp(importance, -int(np.frexp(importance.max())[1]))


def check_importances(sample_weight: Any, n_rows: int, *, all_zero: bool = False) -> Floats:
    """Importances of rows as given to a public function; ``all_zero``: whether all may be 0."""
    weights = _of_rows(sample_weight, "sample_weight", n_rows)
    if (weights < 0).any():
        raise InputError(f"sample_weight must not be negative; got one {where(weights < 0)}.")
    if not weights.any() and not all_zero:
        raise InputError("sample_weight is zero everywhere.")
    return weights


def check_counts(
    counts: Any, n_rows: int, name: str = "counts", *, all_zero: bool = False
) -> Floats:
    """Whole numbers of rows as given to a public function; ``all_zero``: whether all may be 0."""
    whole = _of_rows(counts, name, n_rows)
    wrong = ~((whole >= 0) & (whole == np.floor(whole)))
    if wrong.any():
        raise InputError(
            f"{name} must be whole numbers of rows, 0 or more; got {whole[wrong][0]:g} "
            f"{where(wrong)}. If these are importance weights, pass them as sample_weight."
        )
    if not whole.any() and not all_zero:
        raise InputError(f"{name} are zero everywhere.")
    check_count_size(whole, name)
    return whole


def _of_rows(values: Any, name: str, n_rows: int) -> Floats:
    array = as_floats(values, name)
    if array.shape != (n_rows,):
        raise InputError(f"{name} must have shape ({n_rows},); got {array.shape}.")
    unbounded = ~np.isfinite(array)
    if unbounded.any():
        raise InputError(f"{name} must be finite; got NaN or infinity {where(unbounded)}.")
    return array


def check_count_size(counts: Floats, name: str) -> None:
    """Raise for more rows than float64 can count."""
    large = counts > MOST_COUNT
    if large.any():
        place = int(np.argmax(large))
        raise InputError(
            f"{name} must not exceed {MOST_COUNT:g}, the most rows that can be counted; got "
            f"{number_text(counts[place], MOST_COUNT)} at index {place}."
        )
