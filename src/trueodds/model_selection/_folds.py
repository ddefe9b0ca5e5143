"""Folds that depend on the rows alone, losses of what was held out, and their standard errors."""

from __future__ import annotations

import copy
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from trueodds.basics.log import logger
from trueodds.basics.threads import BLOCK_ROWS
from trueodds.basics.warned import ignored_warnings
from trueodds.calibrators import Calibrator, find_calibrator
from trueodds.engines.sample import sample_positions
from trueodds.exceptions import InputError, TooFewRowsError, TrueoddsWarning
from trueodds.inputs import Floats, InputScale, Labels, Weights
from trueodds.maps import IdentityMap
from trueodds.numerics.losses import Loss, row_losses
from trueodds.numerics.standard_errors import Spread, mean_spread
from trueodds.rows import Rows
from trueodds.table import ScoreTable

__all__ = [
    "Folds",
    "HeldOut",
    "LossTable",
    "cell_losses",
    "deal_folds",
    "fold_losses",
    "json_number",
    "mean_loss",
    "take_features",
    "weights_of",
    "whole_rows",
]

MOST_CARDS = 5_000_000
"""Rows of one class that are dealt singly; more are dealt by multinomial draws."""


@dataclass(frozen=True, eq=False)
class Folds:
    """One partition: how many of each cell's rows are in which fold.

    A cell is a class, a score and an importance. Everything is computed for cells. So the order of
    rows cannot matter, a count of k equals k rows, and ties cost nothing. Only counts are shared
    out to several folds; a row stays whole, whatever its importance.

    Parameters
    ----------
    cells : Rows
        As :meth:`Rows.distinct` returns them.
    cell_of_row : ndarray of shape (n_rows,)
    counts : ndarray of shape (n_cells, n_folds)
    ends : ndarray of shape (n_rows, 2)
        Which of its cell's units are those of each row, from the first to the last fold.
    """

    cells: Rows
    cell_of_row: Labels
    counts: Labels
    ends: Labels

    @property
    def n_folds(self) -> int:
        """How many parts."""
        return int(self.counts.shape[1])

    def test_cells(self, fold: int) -> Labels:
        """Cells with rows in the fold; those without weight are in the first."""
        inside = self.counts[:, fold] > 0
        if fold == 0:
            inside |= self.cells.row_weight == 0
        return np.flatnonzero(inside)

    def test_weight(self, fold: int) -> Floats:
        """The weight of every cell in the fold."""
        return self._share(self.counts[:, fold]).values

    def train_weight(self, fold: int) -> Weights:
        """The weight of every cell outside the fold: exactly 0 where nothing is left."""
        return self._share(self._units - self.counts[:, fold])

    def train_rows(self, fold: int) -> Rows:
        """What is left to learn from when the fold is held out."""
        weight = self.train_weight(fold)
        used = np.flatnonzero(weight.values)
        if self.cells.n_classes == 2:
            # Negatives are sorted, and so are positives: a stable sort merges the two runs.
            used = used[np.argsort(self.cells.scores[used], kind="stable")]
        rest = Rows(self.cells.scores[used], self.cells.codes[used], weight.take(used))
        if rest.n_classes > 2:
            return rest
        return Rows.of_table(ScoreTable.from_sorted_codes(rest.scores, rest.codes, rest.weight))

    @cached_property
    def fold_of_row(self) -> Labels:
        """Where the count of a row is shared out to several folds, that of its middle."""
        reached = self.counts.cumsum(axis=1)[self.cell_of_row]
        # A row without weight may lie at the end of its cell.
        middle = np.minimum(self.ends.sum(axis=1), 2 * reached[:, -1] - 1)
        fold = (middle[:, None] >= 2 * reached[:, :-1]).sum(axis=1)
        return np.where(reached[:, -1] > 0, fold, 0)

    def rows_inside(self, rows: Rows, fold: int) -> tuple[Labels, Rows]:
        """Rows with repetitions in the fold, and those without weight where they are forecast."""
        if self.row_counts is None:
            kept = np.flatnonzero(self.fold_of_row == fold)
            return kept, rows.take(kept)
        inside = self.row_counts[:, fold]
        idle = (self.row_counts.sum(axis=1) == 0) & (self.fold_of_row == fold)
        return _with_counts(rows, inside, np.flatnonzero(inside.astype(bool) | idle))

    def rows_outside(self, rows: Rows, fold: int) -> tuple[Labels, Rows]:
        """Rows with repetitions in other folds."""
        if self.row_counts is None:
            kept = np.flatnonzero(self.fold_of_row != fold)
            return kept, rows.take(kept)
        outside = self.row_counts.sum(axis=1) - self.row_counts[:, fold]
        return _with_counts(rows, outside, np.flatnonzero(outside))

    @cached_property
    def row_counts(self) -> Labels | None:
        """How many of each row's repetitions are in which fold; None if rows are all whole."""
        first, last = self.ends.T[:, :, None]
        if not (last - first > 1).any():
            return None
        reached = self.counts.cumsum(axis=1)[self.cell_of_row]
        begun = reached - self.counts[self.cell_of_row]
        return np.asarray(np.maximum(np.minimum(last, reached) - np.maximum(first, begun), 0))

    @cached_property
    def _units(self) -> Labels:
        return np.asarray(self.counts.sum(axis=1))

    def _share(self, units: Labels) -> Weights:
        return weights_of(self.cells).share(units, self._units)


def _with_counts(rows: Rows, counts: Labels, kept: Labels) -> tuple[Labels, Rows]:
    taken = rows.take(kept)
    return kept, replace(taken, weight=Weights.recounted(taken.weight, counts[kept]))


def deal_folds(rows: Rows, n_folds: int, seed: int) -> Folds:
    """Deal the rows of each class to the folds, evenly and at random; see :class:`Folds`.

    Nothing but the class is stratified. Dealing neighbors in score evenly as well would repeat
    the noise of one fold in all others, and favor the most flexible method.
    """
    rng = np.random.default_rng(seed)
    cells, cell_of_row = rows.distinct()
    units = whole_rows(rows)
    whole = np.bincount(cell_of_row, units).astype(np.intp)
    counts = np.zeros((len(cells), n_folds), dtype=np.intp)
    dealt = 0
    for k in range(cells.n_classes):
        own = np.flatnonzero(cells.codes == k)
        n = int(whole[own].sum())
        if n > MOST_CARDS:
            counts[own] = rng.multinomial(whole[own], np.full(n_folds, 1 / n_folds))
            continue
        # Classes begin where the one before ended, so that small ones do not fill one fold.
        folds = rng.permutation((np.arange(n) + dealt) % n_folds)
        np.add.at(counts, (np.repeat(own, whole[own]), folds), 1)
        dealt += n
    _check_classes(cells, whole, counts)
    return Folds(cells, cell_of_row, counts, _ends_of_rows(cell_of_row, units, whole, rng))


def _check_classes(cells: Rows, whole: Labels, counts: Labels) -> None:
    """Whichever fold is held out, two classes must be left to learn from."""
    left = np.zeros((cells.n_classes, counts.shape[1]), dtype=np.intp)
    np.add.at(left, cells.codes, whole[:, None] - counts)
    if ((left > 0).sum(axis=0) < 2).any():
        units = np.bincount(cells.codes, whole, cells.n_classes)
        raise TooFewRowsError(
            "comparing methods by cross-validation needs at least two rows of each of two classes; "
            f"found {', '.join(str(int(n)) for n in units)} of each class."
        )


def _ends_of_rows(
    cell_of_row: Labels, units: Labels, whole: Labels, rng: np.random.Generator
) -> Labels:
    """Deal the units of a cell to its rows, in random order: equal scores are interchangeable."""
    order = rng.permutation(len(cell_of_row))
    order = order[np.argsort(cell_of_row[order], kind="stable")]
    last = np.cumsum(units[order]) - (np.cumsum(whole) - whole)[cell_of_row[order]]
    ends = np.empty((len(order), 2), dtype=np.intp)
    ends[order] = np.stack([last - units[order], last], axis=1)
    return ends


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Forecasts of one fitted method for what it has not seen.

    Parameters
    ----------
    cell : ndarray of int
        The cell of each forecast.
    weight : ndarray
    prob : ndarray of shape (n,) or (n, n_classes)
    row : ndarray of int or None
        The row of each forecast, if it is made for rows and not for cells.
    """

    cell: Labels
    weight: Floats
    prob: Floats
    row: Labels | None = None

    def forecasts(self, rows: Labels, cell_of_row: Labels) -> Floats:
        """Those for some rows that are in the fold."""
        if self.row is None:
            return self.prob[np.searchsorted(self.cell, cell_of_row[rows])]
        return self.prob[np.searchsorted(self.row, rows)]


def cell_losses(metric: Loss, cells: Rows, held_out: list[HeldOut]) -> tuple[Floats, Floats]:
    """The loss of each cell, averaged over its rows and over the repeats; and of each fold."""
    total, weight = np.zeros(len(cells)), np.zeros(len(cells))
    by_fold = np.empty(len(held_out))
    for i, part in enumerate(held_out):
        counted = part.weight > 0  # else 0 · ∞
        cell, w = part.cell[counted], part.weight[counted]
        loss = w * row_losses(metric, cells.codes[cell], part.prob[counted])
        by_fold[i] = loss.sum() / w.sum() if len(w) else np.nan
        total += np.bincount(cell, loss, len(total))
        weight += np.bincount(cell, w, len(weight))
    return np.divide(total, weight, out=np.zeros_like(total), where=weight > 0), by_fold


CLEARLY = 2.0
"""Standard errors beyond which a formula is called better."""


@dataclass(frozen=True, eq=False)
class LossTable:
    """The losses of all methods on the same cells.

    Parameters
    ----------
    weight : Weights
        Weights of the cells.
    losses : dict of ndarray of shape (n_cells,)
        By method.

    Notes
    -----
    Standard errors are those of a mean of independent rows. The loss of a row is its average over
    the repeats, so more repeats make the means steadier, but no interval narrower than the number
    of rows allows.
    """

    weight: Weights
    losses: dict[str, Floats]

    def mean(self, method: str) -> float:
        """Mean loss; infinite if one is."""
        return float(self._mean(self.losses[method]))

    def standard_error(self, method: str) -> float:
        """Return the standard error of the mean; infinite if the mean is."""
        return self._error(self.losses[method])

    def difference(self, method: str, other: str) -> tuple[float, float]:
        """How much greater the loss of ``method`` is, and the paired standard error of that."""
        a, b = self.losses[method], self.losses[other]
        if not (np.isfinite(self._mean(a)) and np.isfinite(self._mean(b))):
            gap = self.mean(method) - self.mean(other) if method != other else 0.0
            return (0.0 if np.isnan(gap) else gap), np.inf
        return float(self._mean(a - b)), self._error(a - b)

    def is_close(self, method: str, lowest: str) -> bool:
        """Whether a loss is at most one standard error of the difference above another."""
        gap, error = self.difference(method, lowest)
        return gap <= error

    def verdict(self, formula: str, other: str) -> str:
        """What to say of a formula that is close: as good, or better beyond chance."""
        gap, error = self.difference(formula, other)
        if gap >= -CLEARLY * error:
            return "does as well here"
        return "is slightly better here; the default is safer, as it assumes no shape of the error"

    def interval(self, method: str, level: float) -> tuple[float, float]:
        """The ends for the mean loss: those of every entry point."""
        mean, spread = self._spread(self.losses[method])
        if not np.isfinite(mean):
            return mean, mean
        low, high = spread.interval(mean, level)
        return max(low, 0.0), high

    def relative_gain(
        self, method: str, base: str, level: float
    ) -> tuple[float, float, float] | None:
        """1 − loss/loss of ``base`` with its interval (delta method, paired).

        None if it is not defined: both losses are infinite, or that of ``base`` is 0.
        """
        a, b = self.mean(method), self.mean(base)
        if (np.isinf(a) and np.isinf(b)) or b == 0:
            return (0.0, 0.0, 0.0) if method == base else None
        if np.isinf(a):
            return -np.inf, -np.inf, -np.inf
        if np.isinf(b):
            return 1.0, 1.0, 1.0
        ratio = a / b
        residual = (ratio * self.losses[base] - self.losses[method]) / b
        return 1 - ratio, *self._spread(residual)[1].interval(1 - ratio, level)

    @cached_property
    def _counted(self) -> Any:
        """Cells with weight: a loss of those without may be infinite. A slice if all have some."""
        counted = self.weight.values > 0
        return slice(None) if counted.all() else counted

    def _mean(self, values: Floats) -> float:
        counted, weight = self._counted, self.weight.values
        return float(values[counted] @ weight[counted] / weight.sum())

    def _spread(self, values: Floats) -> tuple[float, Spread]:
        counted = self._counted
        return mean_spread(values[counted], self.weight.take(counted))

    def _error(self, values: Floats) -> float:
        mean, spread = self._spread(values)
        return spread.error if np.isfinite(mean) else np.inf


FOLDS = 5
MOST_ROWS = {True: 50_000, False: 10_000}
"""Rows that losses are measured on: of two classes, and of several, whose fits take longer."""
MOST_ROWS_OF_SLOW = 2_000
"""For methods that are not compared by default, most of them for their time."""
SEED = 0
METRICS: tuple[Loss, ...] = ("log_loss", "brier_score")
FORMULAS = ("temperature", "logistic", "beta")
"""Formulas of a few numbers that may do as well as a curve of many, the simplest first."""


def fold_losses(calibrator: Calibrator, rows: Rows, features: Any = None) -> dict[str, Any] | None:
    """Losses of all rows before the map and, out of fold, after it; None if not available.

    ``before`` is exact. The change by the map is measured out of fold on at most 50,000 rows
    (10,000 of several classes), whose number is ``rows``, and added to it. A paired difference
    varies much less from sample to sample than a loss does. If a loss is infinite, ``after`` is
    that of these rows. For a curve of two classes, ``formula`` is the simplest formula that does
    as well, with the difference of log-loss from the curve.

    The result is None for a method that depends on the order of rows, and if no row can be held
    out.
    """
    with_features = calibrator.needs_features
    if not (with_features or calibrator.ignores_row_order):
        return None
    binary = rows.n_classes == 2
    is_fast = calibrator.is_compared(rows.n_classes)
    rows = _with_codes(rows.uncounted())
    sample, kept = _sampled(rows, MOST_ROWS[binary] if is_fast else MOST_ROWS_OF_SLOW)
    n_rows = int(whole_rows(sample).sum())
    start = time.perf_counter()
    try:
        folds = deal_folds(sample, min(FOLDS, n_rows), SEED)
        cells = folds.cells
        with ignored_warnings(TrueoddsWarning):  # the fit itself has said it
            if with_features:
                held_out = _held_out_rows(calibrator, sample, features, kept, folds)
            else:
                held_out = _held_out_cells(calibrator, folds)
        if held_out is None:
            return None
    except (InputError, ArithmeticError, np.linalg.LinAlgError):
        return None
    found: dict[str, Any] = {"folds": folds.n_folds, "rows": n_rows}
    table = LossTable(weights_of(cells), {})
    for metric in METRICS:
        table.losses[metric] = cell_losses(metric, cells, held_out)[0]
        after = table.mean(metric)
        if calibrator.scale == "raw":  # margins have no loss
            found[metric] = {"after": json_number(after)}
            continue
        before = mean_loss(metric, calibrator.scale, rows)
        sampled = mean_loss(metric, calibrator.scale, cells)
        if np.isfinite([before, sampled, after]).all():
            after = max(before + (after - sampled), 0.0)
        found[metric] = {"before": json_number(before), "after": json_number(after)}
    if binary and calibrator.complexity >= find_calibrator("isotonic").complexity:
        known = np.isfinite(table.mean("log_loss")) and not with_features
        formula = None if not known else _formula(calibrator, cells, folds, table)
        found |= {} if formula is None else {"formula": formula}
    seconds = time.perf_counter() - start
    logger.info("measured losses of %s rows out of fold in %.3f s", f"{n_rows:,}", seconds)
    return found


def _formula(
    calibrator: Calibrator, cells: Rows, folds: Folds, table: LossTable
) -> dict[str, Any] | None:
    """The simplest formula whose log-loss is within one standard error of that of the curve."""
    for name in FORMULAS:
        with suppress(InputError, ArithmeticError), ignored_warnings(TrueoddsWarning):
            held_out = _held_out_cells(find_calibrator(name)(scale=calibrator.scale), folds)
            table.losses[name] = cell_losses("log_loss", cells, held_out)[0]
            if np.isfinite(table.mean(name)) and table.is_close(name, "log_loss"):
                gap, error = table.difference(name, "log_loss")
                words = table.verdict(name, "log_loss")
                return {
                    "method": name,
                    "verdict": words,
                    "difference": json_number(gap),
                    "standard_error": json_number(error),
                }
    return None


def take_features(features: Any, rows: Labels) -> Any:
    """Some rows of an array or a frame."""
    from sklearn.utils import _safe_indexing  # it takes longer to import than most fits

    return _safe_indexing(features, rows)


def _held_out_cells(calibrator: Calibrator, folds: Folds) -> list[HeldOut]:
    """Forecasts of what each fold held out, by a method that rows of equal score are alike to."""
    options = calibrator.get_params(deep=False)
    found = []
    for fold in range(folds.n_folds):
        test = folds.test_cells(fold)
        if len(test):
            learned = type(calibrator)(**copy.deepcopy(options)).fit_map(folds.train_rows(fold))
            prob = learned._apply_valid(folds.cells.scores[test])
            found.append(HeldOut(test, folds.test_weight(fold)[test], prob))
    return found


def _held_out_rows(
    calibrator: Calibrator, rows: Rows, features: Any, kept: Labels | None, folds: Folds
) -> list[HeldOut] | None:
    """The same by a method that needs features; None if it cannot be fitted."""
    from trueodds.model_selection._comparison import run_methods

    if kept is not None:
        features = take_features(features, kept)
    methods = {"": calibrator}
    runs = run_methods(
        methods, rows, calibrator.scale, features, [folds], n_jobs=None, progress=False
    )
    return runs[""].held_out if runs[""].error is None else None


def mean_loss(metric: Loss, scale: InputScale, rows: Rows) -> float:
    """Loss of scores that no map has changed; in blocks, since rows of many classes are large."""
    identity, total, weight = IdentityMap(scale=scale), 0.0, rows.row_weight
    for start in range(0, len(rows), BLOCK_ROWS):
        some = slice(start, start + BLOCK_ROWS)
        losses = row_losses(metric, rows.codes[some], identity._apply_valid(rows.scores[some]))
        total += float(weight[some] @ losses)
    return total / float(weight.sum())


def _with_codes(rows: Rows) -> Rows:
    """Rows with whole numbers as codes, also those of two classes."""
    return replace(rows, codes=rows.codes.astype(np.intp, copy=False))


def _sampled(rows: Rows, most: int) -> tuple[Rows, Labels | None]:
    """All rows; of many, a sample in which every instance is as likely, and its places."""
    units = whole_rows(rows)
    ends = np.cumsum(units)
    if ends[-1] <= most:
        return rows, None
    drawn = np.searchsorted(ends, sample_positions(int(ends[-1]), most, SEED), side="right")
    index, counts = np.unique(drawn, return_counts=True)
    weight = weights_of(rows).take(index).share(counts, units[index])
    return replace(rows.take(index), weight=weight), index


def whole_rows(rows: Rows) -> Labels:
    """How many rows each stands for, as whole numbers: at least 1 if it has any weight."""
    counts = weights_of(rows).row_counts
    return np.where(counts > 0, np.maximum(np.rint(counts), 1), 0).astype(np.intp)


def weights_of(rows: Rows) -> Weights:
    """The weights, also of rows that count one each."""
    return Weights(None, np.ones(len(rows))) if rows.weight is None else rows.weight


def json_number(value: Any) -> float | str:
    """A number as JSON can hold it: what is not finite as a text."""
    number = float(value)
    return number if np.isfinite(number) else str(number)
