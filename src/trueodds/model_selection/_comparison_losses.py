"""Losses of forecasts that were made out of fold, their means, and how sure one can be of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from trueodds.inputs import Floats, Labels
from trueodds.model_selection._comparison_folds import FoldCells

if TYPE_CHECKING:
    from trueodds.model_selection._comparison_run import HeldOut

__all__ = ["LossTable", "cell_losses", "row_losses"]


def row_losses(metric: str, codes: Labels, prob: Floats) -> Floats:
    """The loss of each forecast; infinite where what happened had probability 0."""
    if metric == "log_loss":
        with np.errstate(divide="ignore"):
            if prob.ndim == 1:
                return np.asarray(-np.where(codes == 1, np.log(prob), np.log1p(-prob)))
            return np.asarray(-np.log(_of_label(codes, prob)))
    if prob.ndim == 1:
        return np.asarray((prob - codes) ** 2)
    label = _of_label(codes, prob)
    others = np.einsum("ij,ij->i", prob, prob) - label**2
    return np.asarray(np.maximum(others, 0.0) + (1 - label) ** 2)


def _of_label(codes: Labels, prob: Floats) -> Floats:
    return np.take_along_axis(prob, codes[:, None], axis=1).ravel()


def cell_losses(metric: str, cells: FoldCells, held_out: list[HeldOut]) -> tuple[Floats, Floats]:
    """The loss of each cell, averaged over its instances and over the repeats; and of each fold."""
    total, weight = np.zeros(len(cells.codes)), np.zeros(len(cells.codes))
    by_fold = np.empty(len(held_out))
    for i, part in enumerate(held_out):
        counted = part.weight > 0  # else 0 · ∞
        cell, w = part.cell[counted], part.weight[counted]
        loss = w * row_losses(metric, cells.codes[cell], part.prob[counted])
        by_fold[i] = loss.sum() / w.sum()
        total += np.bincount(cell, loss, len(total))
        weight += np.bincount(cell, w, len(weight))
    return np.divide(total, weight, out=np.zeros_like(total), where=weight > 0), by_fold


@dataclass(frozen=True, eq=False)
class LossTable:
    """The losses of all methods on the same cells.

    Parameters
    ----------
    cells : FoldCells
    losses : dict of ndarray of shape (n_cells,)
        By method.

    Notes
    -----
    Standard errors are those of a mean of independent instances, each instance's loss being its
    average over the repeats; so more repeats make the means steadier, but no interval narrower
    than the number of instances allows.
    """

    cells: FoldCells
    losses: dict[str, Floats]

    def mean(self, method: str) -> float:
        """Mean loss; infinite if one is."""
        return float(self._mean(self.losses[method]))

    def standard_error(self, method: str) -> float:
        """Of the mean; infinite if the mean is."""
        return self._error(self.losses[method])

    def difference(self, method: str, other: str) -> tuple[float, float]:
        """How much greater the loss of ``method`` is, and the paired standard error of that."""
        a, b = self.losses[method], self.losses[other]
        if not (np.isfinite(self._mean(a)) and np.isfinite(self._mean(b))):
            gap = self.mean(method) - self.mean(other) if method != other else 0.0
            return (0.0 if np.isnan(gap) else gap), np.inf
        return float(self._mean(a - b)), self._error(a - b)

    def relative_gain(self, method: str, base: str) -> tuple[float, float] | None:
        """1 − loss/loss of ``base`` with its standard error (delta method, paired).

        None if it is not defined: both losses are infinite, or that of ``base`` is 0.
        """
        a, b = self.mean(method), self.mean(base)
        if (np.isinf(a) and np.isinf(b)) or b == 0:
            return (0.0, 0.0) if method == base else None
        if np.isinf(a):
            return -np.inf, np.inf
        if np.isinf(b):
            return 1.0, 0.0
        ratio = a / b
        residual = (self.losses[method] - ratio * self.losses[base]) / b
        return 1 - ratio, self._error(residual)

    @cached_property
    def _counted(self) -> Any:
        """Cells with weight: a loss of those without may be infinite. A slice if all have some."""
        counted = self.cells.weight > 0
        return slice(None) if counted.all() else counted

    def _mean(self, values: Floats) -> float:
        counted = self._counted
        return float(values[counted] @ self.cells.weight[counted] / self.cells.total)

    def _error(self, values: Floats) -> float:
        center = self._mean(values)
        if not np.isfinite(center):
            return np.inf
        counted = self._counted
        squares = (values[counted] - center) ** 2
        return float(np.sqrt(squares @ self.cells.square_weight[counted]) / self.cells.total)
