"""What a method gains on rows that it has not seen: quickly, from few rows, without scikit-learn.

For one method alone, where :func:`trueodds.model_selection.compare_calibrators` would compare many.
"""

from __future__ import annotations

import copy
import time
import warnings
from typing import Any

import numpy as np

from trueodds.basics.log import logger
from trueodds.basics.threads import BLOCK
from trueodds.calibrators import Calibrator
from trueodds.engines.grouping import sample_positions
from trueodds.exceptions import InputError, TrueoddsWarning
from trueodds.inputs import Floats, InputScale, Labels
from trueodds.maps import IdentityMap
from trueodds.model_selection._comparison_folds import FoldCells, deal_folds, group_cells
from trueodds.model_selection._comparison_losses import row_losses
from trueodds.rows import Rows

__all__ = ["fold_losses"]

FOLDS = 5
MOST_ROWS = 10_000
MOST_ROWS_OF_SLOW = 2_000
"""For methods that are not compared by default, most of them for their time."""
SEED = 0
METRICS = ("log_loss", "brier_score")


def fold_losses(calibrator: Calibrator, rows: Rows) -> dict[str, Any] | None:
    """Losses of all rows before the map and, out of fold, after it; None if not to be had.

    ``before`` is exact. What the map changes is measured out of fold on at most ten thousand
    rows, whose number is ``rows``, and added to it: a paired difference varies much less from
    sample to sample than a loss does. If a loss is infinite, ``after`` is that of these rows.

    A method that goes by attributes or by the order of rows has none, and neither have rows of
    which none can be held out.
    """
    if calibrator.needs_features or not calibrator.ignores_row_order:
        return None
    most = MOST_ROWS if calibrator.suits(rows.n_classes) else MOST_ROWS_OF_SLOW
    rows = rows.uncounted()
    codes, mass = rows.codes.astype(np.intp, copy=False), rows.row_weight
    cells = _sampled_cells(rows.scores, codes, mass, rows.n_classes, most)
    n_rows = int(cells.units.sum())
    start = time.perf_counter()
    try:
        folds = deal_folds(cells, min(FOLDS, n_rows), SEED)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TrueoddsWarning)  # the fit itself has said it
            parts = [
                (test, folds.test_weight(fold)[test], _forecast(calibrator, folds, fold, test))
                for fold in range(folds.n_folds)
                if len(test := folds.test_cells(fold))
            ]
    except (InputError, ArithmeticError, np.linalg.LinAlgError):
        return None
    seconds = time.perf_counter() - start
    logger.info("measured losses of %s rows out of fold in %.3f s", f"{n_rows:,}", seconds)
    found: dict[str, Any] = {"folds": folds.n_folds, "rows": n_rows}
    for metric in METRICS:
        after = sum(
            float(weight @ row_losses(metric, cells.codes[test], prob))
            for test, weight, prob in parts
        )
        after /= cells.total
        if calibrator.input == "score":  # margins have no loss
            found[metric] = {"after": _json_number(after)}
            continue
        before = _mean_loss(metric, calibrator.input, rows.scores, codes, mass)
        sampled = _mean_loss(metric, calibrator.input, cells.scores, cells.codes, cells.weight)
        if np.isfinite([before, sampled, after]).all():
            after = max(before + (after - sampled), 0.0)
        found[metric] = {"before": _json_number(before), "after": _json_number(after)}
    return found


def _mean_loss(
    metric: str, scale: InputScale, scores: Floats, codes: Labels, weight: Floats
) -> float:
    """Of scores that no map has changed; in blocks, since all rows of many classes are large."""
    identity, total = IdentityMap(input=scale), 0.0
    for start in range(0, len(codes), BLOCK):
        rows = slice(start, start + BLOCK)
        total += float(weight[rows] @ row_losses(metric, codes[rows], identity.apply(scores[rows])))
    return total / float(weight.sum())


def _forecast(calibrator: Calibrator, folds: Any, fold: int, test: Labels) -> Floats:
    options = copy.deepcopy(calibrator.get_params(deep=False))
    learned = type(calibrator)(**options).fit_map(folds.train_rows(fold))
    return learned.apply(folds.cells.scores[test])


def _sampled_cells(
    scores: Floats, codes: Labels, mass: Floats, n_classes: int, most: int
) -> FoldCells:
    """Distinct rows with their weight; of many, a sample in which every instance is as likely."""
    units = np.maximum(np.rint(mass), mass > 0).astype(np.int64)
    ends = np.cumsum(units)
    if ends[-1] > most:
        drawn = np.searchsorted(ends, sample_positions(int(ends[-1]), most, SEED), side="right")
        rows, counts = np.unique(drawn, return_counts=True)
        scores, codes = scores[rows], codes[rows]
        mass = mass[rows] / units[rows] * counts
    return group_cells(scores, codes, mass, n_classes)


def _json_number(value: float) -> float | str:
    return value if np.isfinite(value) else "inf"
