"""The rows that a tree is fitted to, in an order that does not depend on the input order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueodds.inputs import Floats, Labels

__all__ = ["TreeRows", "canonical_rows"]


@dataclass(frozen=True)
class TreeRows:
    """Scores (n,) or (n, m), encoded features (n, d), class codes and weights."""

    scores: Floats
    attributes: Floats
    codes: Labels
    weight: Floats

    def take(self, rows: Any) -> TreeRows:
        """Some of the rows."""
        return TreeRows(
            self.scores[rows], self.attributes[rows], self.codes[rows], self.weight[rows]
        )

    def of_positive_weight(self) -> TreeRows:
        """Without the rows of weight zero."""
        return self if self.weight.all() else self.take(self.weight > 0)

    def weighing(self, weight: Floats) -> TreeRows:
        """Those with a positive weight, of these weights."""
        return replace(self, weight=weight).of_positive_weight()

    def weighed(self) -> TreeRows:
        """Scale to a mean weight of one, unless weights are whole numbers, which count rows.

        The weight that a node needs to be boosted or split is meant in rows.
        """
        if (self.weight == np.floor(self.weight)).all():
            return self
        scaled = self.weight * (len(self.weight) / self.weight.sum())
        return TreeRows(self.scores, self.attributes, self.codes, scaled)


def canonical_rows(rows: TreeRows) -> TreeRows:
    """Sort by class, scores and features, and add up the weights of equal rows.

    The folds are assigned in this order, so input order does not matter and a weight of k is the
    same as k equal rows.
    """
    first = np.column_stack([rows.codes, rows.scores])
    order = np.lexsort(first.T[::-1])
    ordered = first[order]
    if not (ordered[1:] == ordered[:-1]).all(axis=1).any():
        return rows.take(order)  # no ties: the attributes need not be looked at
    full = np.column_stack([first, rows.attributes])
    order = np.lexsort(full.T[::-1])
    ordered = full[order]
    begins = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    starts = np.flatnonzero(begins)
    result = rows.take(order[starts])
    total = np.add.reduceat(rows.weight[order], starts)
    return TreeRows(result.scores, result.attributes, result.codes, total)
