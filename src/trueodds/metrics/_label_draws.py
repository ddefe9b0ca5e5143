"""Drawing labels anew from the probabilities: what calibration would look like.

Rows are sorted and put in fine cells; within a cell, the number of positives among rows of unit
weight is drawn at once. That is a binomial with the cell's mean probability in place of a sum of
Bernoulli draws: the same mean, and a variance that is too large by less than the width of a cell
(1/2048) relative to itself. The cost of a draw then does not depend on n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueodds.inputs import Floats, Labels
from trueodds.metrics._sample import Event

__all__ = ["Cells", "make_cells"]

FINEST = 2048


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows sorted by probability, in cells that never part equal probabilities or cross an edge.

    ``prob`` is the mean and ``lowest`` the smallest in each cell; ``weight`` and ``positive`` are
    sums. ``rows`` (sorted probabilities, labels and weights) is kept if there are weights;
    ``start`` says where the cells begin among them.
    """

    prob: Floats
    lowest: Floats
    weight: Floats
    positive: Floats
    start: Labels
    rows: tuple[Floats, Floats, Floats] | None

    @property
    def square_weight(self) -> Floats:
        """Sum of squared row weights in each cell."""
        if self.rows is None:
            return self.weight
        return np.asarray(np.add.reduceat(self.rows[2] ** 2, self.start))

    def redraw(self, rng: np.random.Generator, size: int) -> Floats:
        """Weight of positives in each cell, of shape (size, n_cells), if calibrated."""
        if self.rows is None:
            # A cell may hold a fractional weight: whole rows are drawn, each worth a share of it.
            count = np.clip(np.rint(self.weight), 1, 2.0**62).astype(np.int64)
            share = self.weight / count
            return rng.binomial(count, np.clip(self.prob, 0, 1), (size, len(count))) * share
        prob, _, weight = self.rows
        out = np.empty((size, len(self.prob)))
        for i in range(size):  # one row of labels at a time keeps memory O(n)
            drawn = rng.random(len(prob)) < prob
            out[i] = np.add.reduceat(weight * drawn, self.start)
        return out

    def bootstrap(self, rng: np.random.Generator, size: int) -> tuple[Floats, Floats]:
        """Weight, and weight of positives, in each cell of bootstrap samples of the rows."""
        cells = len(self.prob)
        if self.rows is None:
            # Rows of one cell and label are alike, so drawing their number is drawing them.
            both = np.concatenate([self.weight - self.positive, self.positive])
            total = max(1, int(np.rint(both.sum())))
            drawn = rng.multinomial(total, both / both.sum(), size) * (both.sum() / total)
            return drawn[:, :cells] + drawn[:, cells:], drawn[:, cells:]
        _, hit, weight = self.rows
        out = np.empty((2, size, cells))
        for i in range(size):
            count = np.bincount(rng.integers(0, len(hit), len(hit)), minlength=len(hit))
            out[0, i] = np.add.reduceat(weight * count, self.start)
            out[1, i] = np.add.reduceat(weight * count * hit, self.start)
        return out[0], out[1]


def make_cells(view: Event, edges: Floats | None = None, finest: int = FINEST) -> Cells:
    """Sort the rows into cells: of equal probabilities if these are few, else narrow ones.

    Cells are cut by an even grid, by equal shares of the rows, and by ``edges``, so that they are
    fine both where probabilities are many and where they are far apart.
    """
    order = np.argsort(view.prob, kind="stable")
    prob = view.prob[order]
    hit = view.hit[order].astype(np.float64)
    new = np.concatenate([[True], prob[1:] > prob[:-1]])
    if new.sum() > finest:
        first = np.maximum.accumulate(np.where(new, np.arange(len(prob)), 0))
        share = first * finest // len(prob)
        place = (prob * finest).astype(np.int64)
        keys: list[Any] = [share, place]
        if edges is not None:
            keys.append(np.searchsorted(edges, prob, side="right"))
        new[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    start = np.flatnonzero(new)
    if view.weight is None:
        weight = np.diff(np.append(start, len(prob))).astype(np.float64)
        mean = np.add.reduceat(prob, start) / weight
        return Cells(mean, prob[start], weight, np.add.reduceat(hit, start), start, None)
    row_weight = view.weight[order]
    weight = np.add.reduceat(row_weight, start)
    mean = np.add.reduceat(row_weight * prob, start) / weight
    positive = np.add.reduceat(row_weight * hit, start)
    return Cells(mean, prob[start], weight, positive, start, (prob, hit, row_weight))
