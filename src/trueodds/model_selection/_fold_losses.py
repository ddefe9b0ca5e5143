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
from trueodds.calibrators import Calibrator
from trueodds.engines.grouping import sample_positions
from trueodds.evidence import ClassEvidence, Evidence
from trueodds.exceptions import InputError, TrueoddsWarning
from trueodds.maps import IdentityMap
from trueodds.model_selection._comparison_folds import FoldCells, deal_folds, group_cells
from trueodds.model_selection._comparison_losses import row_losses
from trueodds.validation import Floats, Labels

__all__ = ["fold_losses"]

FOLDS = 5
MOST_ROWS = 10_000
MOST_ROWS_OF_SLOW = 2_000
"""For methods that are not compared by default, most of them for their time."""
SEED = 0
METRICS = ("log_loss", "brier_score")


def fold_losses(
    calibrator: Calibrator, evidence: Evidence | ClassEvidence
) -> dict[str, Any] | None:
    """Losses before and after, out of fold, on at most ten thousand rows; None if not to be had.

    A method that goes by attributes or by the order of rows has none, and neither has evidence of
    which no part can be held out.
    """
    if calibrator.needs_features or not calibrator.ignores_row_order:
        return None
    several = isinstance(evidence, ClassEvidence)
    n_classes = evidence.n_classes if isinstance(evidence, ClassEvidence) else 2
    most = MOST_ROWS if calibrator.suits(n_classes) else MOST_ROWS_OF_SLOW
    cells = _sampled_cells(evidence, n_classes, most)
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
        found[metric] = {"after": _json_number(after / cells.total)}
        if calibrator.input != "score":
            prob = IdentityMap(input=calibrator.input).apply(cells.scores)
            if several or prob.ndim == 1:
                before = float(cells.weight @ row_losses(metric, cells.codes, prob))
                found[metric] = {"before": _json_number(before / cells.total), **found[metric]}
    return found


def _forecast(calibrator: Calibrator, folds: Any, fold: int, test: Labels) -> Floats:
    options = copy.deepcopy(calibrator.get_params(deep=False))
    learned = type(calibrator)(**options).learn(folds.train_evidence(fold))
    return learned.apply(folds.cells.scores[test])


def _sampled_cells(evidence: Evidence | ClassEvidence, n_classes: int, most: int) -> FoldCells:
    """Distinct rows with their weight; of many, a sample in which every instance is as likely."""
    if isinstance(evidence, ClassEvidence):
        scores, codes, weight = evidence.scores, evidence.codes, evidence.weight
    else:
        scores, positive, weight = evidence.rows()
        codes = positive.astype(np.intp)
    mass = np.ones(len(codes)) if weight is None else weight
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
