"""The calibration tree as the paper fits it, and as the authors' program deals its folds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds import TreeCalibrator
from trueodds.calibrators._tree.growth import Dealer

__all__ = ["AuthorsTree", "PaperTree", "authors_order"]

N_FOLDS = 5
Ints = npt.NDArray[np.int32]


class PaperTree(TreeCalibrator):
    """The paper's tree without the cross-validation of its loss, which needs five more fits."""

    def _measure(self, *_rows: Any) -> None:
        self.out_of_fold_log_loss_ = self.one_map_log_loss_ = math.nan


def authors_order(labels: Ints) -> Ints:
    """Rows in the order of the authors' five folds (Weka's); each fold is a block of it.

    Rows are grouped by class, which swaps them in place, and dealt in turn. So the folds depend on
    the order of the rows.
    """
    label = labels.tolist()
    order, i, n = list(range(len(label))), 1, len(label)
    while i < n:
        of_group = label[order[i - 1]]
        for j in range(i, n):
            if label[order[j]] == of_group:
                order[i], order[j] = order[j], order[i]
                i += 1
        i += 1
    return np.concatenate([order[start::N_FOLDS] for start in range(N_FOLDS)]).astype(np.int32)


class AuthorsTree(PaperTree):
    """The paper's tree with the folds of the authors' program, which it then equals to 1e-8."""

    def _dealer(self) -> Dealer:
        return authors_order
