"""The rows that a tree is fitted to, in an order that does not depend on the input order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueodds.inputs import Floats, Labels

__all__ = ["TreeRows", "canonical_rows"]


@dataclass(frozen=True)
class TreeRows:
    """Scores (n,) or (n, m), encoded features (n, d), class codes and weights.

    ``weight`` is what a row is worth in a likelihood; ``are_counts``: whether that is a whole
    number of rows, which may be in different folds.
    """

    scores: Floats
    attributes: Floats
    codes: Labels
    weight: Floats
    are_counts: bool

    def take(self, rows: Any) -> TreeRows:
        """Some of the rows."""
        own = self.scores[rows], self.attributes[rows], self.codes[rows], self.weight[rows]
        return TreeRows(*own, self.are_counts)

    def of_positive_weight(self) -> TreeRows:
        """Without the rows of weight zero."""
        return self if self.weight.all() else self.take(self.weight > 0)

    def weighing(self, weight: Floats) -> TreeRows:
        """Those with a positive weight, of these weights."""
        return replace(self, weight=weight).of_positive_weight()


def canonical_rows(rows: TreeRows) -> TreeRows:
    """Sort by class, scores and features, and add up the counts of equal rows.

    The folds are assigned in this order, so input order does not matter and a count of k is the
    same as k equal rows. Importances are not added up: a row stays one.
    """
    first = np.column_stack([rows.codes, rows.scores])
    if not rows.are_counts:
        full = np.column_stack([first, rows.attributes, rows.weight])
        return rows.take(np.lexsort(full.T[::-1]))
    order = np.lexsort(first.T[::-1])
    ordered = first[order]
    if not (ordered[1:] == ordered[:-1]).all(axis=1).any():
        return rows.take(order)  # no ties: the attributes need not be looked at
    full = np.column_stack([first, rows.attributes])
    order = np.lexsort(full.T[::-1])
    ordered = full[order]
    begins = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    starts = np.flatnonzero(begins)
    total = np.add.reduceat(rows.weight[order], starts)
    return replace(rows.take(order[starts]), weight=total)
