"""Fit a softmax model when some probabilities are exactly 0 and so have no logarithm.

They are put at a level below the largest logit of their row (``floor``), and the level is estimated
as in :mod:`trueodds.numerics.saturated`. Below all finite logits, the likelihood gives an equation
for it: the mean fitted probability of the entries of probability 0 is the frequency with which they
are the true class. That is (n₊ + 1)/(n + 2) under a uniform prior. If no such level exists, the one
of highest likelihood inside the range of the finite logits is searched for, which then raises all
logits below it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.inputs import Floats
from trueodds.numerics.softmax.regression import SoftmaxFit, SoftmaxModel, fit_softmax

__all__ = ["ModelOf", "SoftmaxRows", "fit_with_floor"]

ModelOf = Callable[[Floats, npt.NDArray[np.bool_]], SoftmaxModel]

MAX_ROUNDS = 50
SEARCH_ROWS = 2000
SEARCH_GRID = 12


@dataclass(frozen=True)
class SoftmaxRows:
    """Logits (−inf for a probability of 0), targets, weights, and which classes have rows.

    Logits and targets have one row for each class.
    """

    logits: Floats
    targets: Floats
    row_weight: Floats
    trainable: npt.NDArray[np.bool_]

    @cached_property
    def relative(self) -> Floats:
        """Logits counted from the largest of the row."""
        return np.asarray(self.logits - self.logits.max(axis=0))

    @cached_property
    def zero(self) -> npt.NDArray[np.bool_]:
        """Entries of probability 0."""
        return np.asarray(np.isneginf(self.logits))

    @cached_property
    def edge(self) -> float:
        """The lowest finite relative logit."""
        return float(self.relative[~self.zero].min())

    def with_floor(self, floor: float) -> Floats:
        """Logits none of which is further below the largest of its row than ``floor``."""
        return np.asarray(np.maximum(self.logits, self.logits.max(axis=0) + floor))

    def fit(self, model_of: ModelOf, floor: float, start: Floats | None = None) -> SoftmaxFit:
        """Fit with the level given."""
        model = model_of(self.with_floor(floor), self.trainable)
        share = self.row_weight / self.row_weight.sum()
        return fit_softmax(model, self.targets, share, model.start if start is None else start)

    def sample(self) -> SoftmaxRows:
        """A few thousand rows, chosen by their content and not by their order."""
        truth = self.targets.argmax(axis=0)
        order = np.lexsort((self.row_weight, truth, np.exp(2 * self.relative).sum(axis=0)))
        return self.take(order[:: -(-len(order) // SEARCH_ROWS)])

    def take(self, rows: npt.NDArray[Any]) -> SoftmaxRows:
        """Some of the rows of scores (columns here)."""
        return replace(
            self,
            logits=np.ascontiguousarray(self.logits[:, rows]),
            targets=np.ascontiguousarray(self.targets[:, rows]),
            row_weight=self.row_weight[rows],
        )


def fit_with_floor(
    rows: SoftmaxRows,
    model_of: ModelOf,
    start: Floats | None = None,
    level_by: ModelOf | None = None,
) -> tuple[SoftmaxFit, float | None]:
    """Fit the model and the level of probabilities of 0; None if there are none.

    The level takes dozens of fits. ``level_by`` is the model they are of, if not the same one.
    """
    if not rows.zero.any():
        return rows.fit(model_of, -np.inf, start), None
    if level_by is not None:
        level = fit_with_floor(rows, level_by)[1]
        assert level is not None  # noqa: S101
        return rows.fit(model_of, level, start), level
    edge = min(rows.edge, -1.0)
    excess = _excess_probability(rows, model_of)
    floor = edge
    for _ in range(MAX_ROUNDS):
        fit = rows.fit(model_of, floor, start)
        start = fit.theta
        solved = _solve_below(lambda level, theta=fit.theta: excess(level, theta), edge)  # type: ignore[misc]
        if solved is None:
            floor = _search_inside(rows, model_of, edge)
            return rows.fit(model_of, floor, start), floor
        previous, floor = floor, solved
        if abs(floor - previous) <= 1e-7 * abs(floor):
            break
    return fit, floor


def _excess_probability(rows: SoftmaxRows, model_of: ModelOf) -> Callable[[float, Floats], float]:
    """Mean fitted probability of the entries of probability 0, less their frequency."""
    part = rows.take(np.flatnonzero(rows.zero.any(axis=0)))
    weight = part.zero * part.row_weight
    n = float(weight.sum())
    frequency = (float((weight * part.targets).sum()) + 1) / (n + 2)

    def excess(level: float, theta: Floats) -> float:
        eta = model_of(part.with_floor(level), part.trainable).forward(theta)
        p = np.exp(eta - eta.max(axis=0))
        p /= p.sum(axis=0)
        return float((p * weight).sum()) / n - frequency

    return excess


def _solve_below(excess: Callable[[float], float], edge: float) -> float | None:
    """The level below ``edge`` where the excess vanishes; None if there is none."""
    from scipy.optimize import brentq  # slow to import, and rarely needed

    if excess(edge) <= 0:
        return None
    low = 2 * edge
    while excess(low) > 0:
        low *= 2
        if low < -1e6:
            return None
    return float(brentq(excess, low, edge, xtol=1e-9, rtol=1e-10))


def _search_inside(rows: SoftmaxRows, model_of: ModelOf, edge: float) -> float:
    """The level between ``edge`` and −ln 2 of highest likelihood, on a sample of the rows."""
    from scipy.optimize import minimize_scalar  # slow to import, and rarely needed

    sample = rows.sample()

    def loss(log_depth: float) -> float:
        return sample.fit(model_of, -float(np.exp(log_depth))).loss

    grid = np.linspace(np.log(np.log(2)), np.log(-edge), SEARCH_GRID)
    losses = [loss(depth) for depth in grid]
    best = int(np.argmin(losses))
    bounds = (grid[max(best - 1, 0)], grid[min(best + 1, SEARCH_GRID - 1)])
    refined = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-4})
    depth = refined.x if refined.fun < losses[best] else grid[best]
    return -float(np.exp(depth))
