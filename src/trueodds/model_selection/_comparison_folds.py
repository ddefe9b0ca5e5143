"""Folds of evidence that depend on the evidence alone, not on how its rows are written down."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueodds.exceptions import TooFewInstancesError
from trueodds.inputs import Floats, Labels
from trueodds.rows import Rows
from trueodds.table import ScoreTable

__all__ = ["FoldCells", "Folds", "deal_folds", "group_cells"]


MOST_CARDS = 5_000_000
"""Instances of one class that are dealt singly; more are dealt by multinomial draws."""


@dataclass(frozen=True, eq=False)
class FoldCells:
    """The distinct ⟨class, score⟩ pairs with their weight, ordered by class, then by score.

    Everything is computed for cells. So the order of rows cannot matter, a weight of k is the
    same as k rows, and ties cost nothing.

    Parameters
    ----------
    scores : ndarray of shape (n_cells,) or (n_cells, n_classes)
    codes, weight : ndarray of shape (n_cells,)
    units : ndarray of shape (n_cells,)
        The weight as a number of instances: rounded, but at least 1 if there is any weight.
    cell_of_row : ndarray of shape (n_rows,)
    n_classes : int
    """

    scores: Floats
    codes: Labels
    weight: Floats
    units: Labels
    cell_of_row: Labels
    n_classes: int

    @property
    def square_weight(self) -> Floats:
        """Sum of the squared weights of a cell's instances."""
        return self.weight**2 / np.maximum(self.units, 1)

    @property
    def total(self) -> float:
        """Weight of everything."""
        return float(self.weight.sum())


def group_cells(scores: Floats, codes: Labels, weight: Floats | None, n_classes: int) -> FoldCells:
    """Group validated rows."""
    columns = scores[:, None] if scores.ndim == 1 else scores
    order = np.lexsort((*columns.T[::-1], codes))
    same_score = (columns[order][1:] == columns[order][:-1]).all(axis=1)
    same = same_score & (codes[order][1:] == codes[order][:-1])
    first = np.concatenate([[True], ~same])
    cell_of_row = np.empty(len(order), dtype=np.intp)
    cell_of_row[order] = np.cumsum(first) - 1
    starts = order[first]
    cell_weight = np.bincount(cell_of_row, weight, len(starts)).astype(np.float64)
    units = np.where(cell_weight > 0, np.maximum(np.rint(cell_weight), 1), 0).astype(np.intp)
    return FoldCells(scores[starts], codes[starts], cell_weight, units, cell_of_row, n_classes)


@dataclass(frozen=True, eq=False)
class Folds:
    """One partition: how many of each cell's instances are in which fold.

    Parameters
    ----------
    cells : FoldCells
    counts : ndarray of shape (n_cells, n_folds)
    fold_of_row : ndarray of shape (n_rows,)
        Where a row's weight is shared out to several folds, that of its middle.
    """

    cells: FoldCells
    counts: Labels
    fold_of_row: Labels

    @property
    def n_folds(self) -> int:
        """How many parts."""
        return int(self.counts.shape[1])

    def test_cells(self, fold: int) -> Labels:
        """FoldCells with instances in the fold; those without weight are in the first."""
        inside = self.counts[:, fold] > 0
        if fold == 0:
            inside |= self.cells.units == 0
        return np.flatnonzero(inside)

    def test_weight(self, fold: int) -> Floats:
        """The weight of every cell in the fold."""
        return self.cells.weight * self.counts[:, fold] / np.maximum(self.cells.units, 1)

    def train_weight(self, fold: int) -> Floats:
        """The weight of every cell outside the fold: exactly 0 where nothing is left."""
        rest = self.cells.units - self.counts[:, fold]
        return self.cells.weight * rest / np.maximum(self.cells.units, 1)

    def train_rows(self, fold: int) -> Rows:
        """What is left to learn from when the fold is held out."""
        if self.cells.n_classes == 2:
            return Rows.of_table(self._train_table(fold))
        weight = self.train_weight(fold)
        used = weight > 0
        return Rows(self.cells.scores[used], self.cells.codes[used], weight[used])

    def _train_table(self, fold: int) -> ScoreTable:
        """The sum of the other folds' tables (two classes)."""
        weight, codes = self.train_weight(fold), self.cells.codes
        used = weight > 0
        # Two sorted runs, negatives and positives: a stable sort merges them.
        score = self.cells.scores[used]
        order = np.argsort(score, kind="stable")
        positive, weight = (codes[used] == 1)[order], weight[used][order]
        return ScoreTable.of_sorted(
            score[order], np.where(positive, 0.0, weight), np.where(positive, weight, 0.0)
        )


def deal_folds(cells: FoldCells, n_folds: int, seed: int) -> Folds:
    """Deal the instances of each class to the folds, evenly and at random.

    Nothing but the class is stratified. Dealing neighbours in score evenly as well would repeat
    the noise of one fold in all others, and favour the most flexible method.
    """
    rng = np.random.default_rng(seed)
    counts = np.zeros((len(cells.codes), n_folds), dtype=np.intp)
    dealt = 0
    for k in range(cells.n_classes):
        rows = np.flatnonzero(cells.codes == k)
        units = cells.units[rows]
        n = int(units.sum())
        if n > MOST_CARDS:
            counts[rows] = rng.multinomial(units, np.full(n_folds, 1 / n_folds))
            continue
        # Classes begin where the one before ended, so that small ones do not fill one fold.
        folds = rng.permutation((np.arange(n) + dealt) % n_folds)
        np.add.at(counts, (np.repeat(rows, units), folds), 1)
        dealt += n
    _check_classes(cells, counts)
    return Folds(cells, counts, _fold_of_row(cells, counts, rng))


def _check_classes(cells: FoldCells, counts: Labels) -> None:
    """Whichever fold is held out, two classes must be left to learn from."""
    left = np.zeros((cells.n_classes, counts.shape[1]), dtype=np.intp)
    np.add.at(left, cells.codes, cells.units[:, None] - counts)
    if ((left > 0).sum(axis=0) < 2).any():
        units = np.bincount(cells.codes, cells.units, cells.n_classes)
        raise TooFewInstancesError(
            "comparing methods by cross-validation needs at least two instances of two classes; "
            f"found {', '.join(str(int(n)) for n in units)} of each class."
        )


def _fold_of_row(cells: FoldCells, counts: Labels, rng: np.random.Generator) -> Labels:
    """Deal a cell's instances to its rows, in random order: equal scores are interchangeable."""
    n = len(cells.cell_of_row)
    order = rng.permutation(n)
    order = order[np.argsort(cells.cell_of_row[order], kind="stable")]
    cell = cells.cell_of_row[order]
    size = np.bincount(cell, minlength=len(cells.codes))
    place = np.arange(n) - (np.cumsum(size) - size)[cell]
    card = (place + 0.5) / size[cell] * cells.units[cell]
    fold = np.empty(n, dtype=np.intp)
    fold[order] = (card[:, None] >= counts.cumsum(axis=1)[cell][:, :-1]).sum(axis=1)
    fold[cells.units[cells.cell_of_row] == 0] = 0
    return fold
