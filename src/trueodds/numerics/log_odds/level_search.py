"""Where inside the range of the finite scores the saturated ones sit: search by likelihood.

For every level that is tried, scores beyond it are clipped to it and the parameters are fitted
anew. Many levels are tried at once: their logistic regressions have the same rows and differ in
the scores only, so that one pass of Newton's method serves them all.
"""

from __future__ import annotations

import numpy as np

from trueodds.numerics.label_targets import platt_targets, smooth_counts
from trueodds.numerics.log_odds.axis import log_sigmoid, sigmoid
from trueodds.numerics.log_odds.finite_fit import LN2, Design
from trueodds.numerics.log_odds.rows import LogOddsRows
from trueodds.validation import Floats

__all__ = ["Side", "search_levels"]

Side = int  # −1: the lower end, +1: the upper end

GRID = 12
ZOOM_POINTS = 7
ZOOMS = 6  # each leaves a third of the interval
ROUNDING = 1e-12  # of losses per unit of weight
EQUAL = 1e-11  # losses per unit of weight that differ by no more than rounding
OPEN = {-1: np.array([-np.inf]), 1: np.array([np.inf])}
MAX_ITERATIONS = 60
MAX_HALVINGS = 30
GRADIENT_TOLERANCE = 1e-7  # the loss is then right to about its square
RIDGE = 1e-12  # against a diagonal of 1; for features that say the same


def search_levels(
    rows: LogOddsRows, sides: list[Side], design: Design, *, nonnegative: bool
) -> dict[Side, float]:
    """Levels of highest likelihood for one or both ends: on a grid, then on ever finer ones.

    Parameters
    ----------
    rows : LogOddsRows
        Those of infinite log-odds at either of ``sides`` are to be placed; there are no others.
    sides : list of {-1, 1}
    design, nonnegative
        As in :func:`trueodds.numerics.log_odds.fit.fit_log_odds`.
    """
    finite = rows.z[np.isfinite(rows.z)]
    points = {side: np.unique(np.quantile(finite, np.linspace(0, 1, GRID))) for side in sides}
    start: Floats | None = None
    for _ in range(1 + ZOOMS):
        # Both ends at once where there are two: each level is best given the other's.
        # The outermost first: of equals, the one that clips least is taken.
        ends = (points.get(side, OPEN[side])[::-side] for side in (-1, 1))
        lower, upper = (mesh.ravel() for mesh in np.meshgrid(*ends))
        ordered = lower <= upper
        lower, upper = lower[ordered], upper[ordered]
        regressions = _ManyRegressions(rows, lower, upper, design)
        losses, parameters = regressions.optima(nonnegative, start)
        best = int(np.argmax(losses <= losses.min() + EQUAL))  # rounding must not decide
        start = parameters[best]
        level = {-1: float(lower[best]), 1: float(upper[best])}
        points = {side: _around(level[side], points[side]) for side in sides}
    return {side: level[side] for side in sides}


def _around(level: float, points: Floats) -> Floats:
    """Finer points from the neighbour below to the neighbour above, with the level itself."""
    at = int(np.argmin(np.abs(points - level)))
    low, high = points[max(at - 1, 0)], points[min(at + 1, len(points) - 1)]
    finer = np.linspace(low, high, ZOOM_POINTS)
    finer[np.abs(finer - level).argmin()] = level
    return np.unique(finer)


class _ManyRegressions:
    """One logistic regression for each pair of levels, all on the same rows."""

    def __init__(self, rows: LogOddsRows, lower: Floats, upper: Floats, design: Design) -> None:
        n_neg, n_pos = rows.n_neg, rows.n_pos
        scores = np.clip(rows.z, lower[:, None], upper[:, None])
        self.intercept = design in ("logistic", "beta")
        total = n_neg.sum() + n_pos.sum()
        self.n_pos, self.weight = n_pos / total, (n_neg + n_pos) / total
        self.fitted_pos = self._targets(scores, n_neg, n_pos) / total
        if design in ("temperature", "logistic"):
            columns = [scores]
        else:
            shift = LN2 if design == "beta_half" else 0.0
            columns = [log_sigmoid(scores) + shift, -log_sigmoid(-scores) - shift]
        self.features = [self._standard(column) for column in columns]

    def _targets(self, scores: Floats, n_neg: Floats, n_pos: Floats) -> Floats:
        """Positives of each row and level; Platt's where the scores separate the classes."""
        neg, pos = scores[:, n_neg > 0], scores[:, n_pos > 0]
        if not neg.size or not pos.size:
            parted = np.ones(len(scores), dtype=bool)
        else:
            neg_low, neg_high = neg.min(axis=1), neg.max(axis=1)
            pos_low, pos_high = pos.min(axis=1), pos.max(axis=1)
            if self.intercept:
                parted = (neg_high <= pos_low) | (pos_high <= neg_low)
            else:
                parted = (neg_high <= 0) & (pos_low >= 0) | (pos_high <= 0) & (neg_low >= 0)
            parted &= scores.min(axis=1) < scores.max(axis=1)
        targets = platt_targets(float(n_neg.sum()), float(n_pos.sum()))
        smoothed = smooth_counts(n_neg, n_pos, *targets)[1]
        return np.where(parted[:, None], smoothed, n_pos)

    def _standard(self, column: Floats) -> Floats:
        """Centred (if there is a constant) and of unit size; a constant column becomes zero."""
        largest = np.abs(column).max(axis=1)[:, None]
        column = column / np.where(largest > 0, largest, 1.0)  # squares must not overflow
        if self.intercept:
            column -= (column @ self.weight)[:, None]
        size = np.sqrt(column**2 @ self.weight)
        return column / np.where(size > 1e-14, size, np.inf)[:, None]

    def optima(self, nonnegative: bool, start: Floats | None) -> tuple[Floats, Floats]:
        """Negative log-likelihood at the optimum of each, and parameters to start the next from.

        A negative slope is eliminated as in ``fit_finite``.
        """
        best, parameters = self._solve(self.features, start)
        slopes = parameters[:, : len(self.features)]
        if not nonnegative or (slopes >= 0).all():
            return best, parameters
        constant = np.zeros_like(self.fitted_pos)
        if self.intercept:
            rate = self.fitted_pos.sum(axis=1)
            constant += np.log(rate / (1 - rate))[:, None]
        allowed = self._loss(constant)
        for dropped in range(len(self.features) if len(self.features) > 1 else 0):
            loss, reduced = self._solve([self.features[1 - dropped]])
            usable = (slopes[:, dropped] < 0) & (reduced[:, 0] >= 0)
            allowed = np.where(usable, np.minimum(allowed, loss), allowed)
        return np.where((slopes >= 0).all(axis=1), best, allowed), parameters

    def _loss(self, eta: Floats, n_pos: Floats | None = None) -> Floats:
        n_pos = np.broadcast_to(self.n_pos, eta.shape) if n_pos is None else n_pos
        return np.asarray(-log_sigmoid(-eta) @ self.weight - np.einsum("ln,ln->l", n_pos, eta))

    def _solve(self, features: list[Floats], start: Floats | None = None) -> tuple[Floats, Floats]:
        """Newton's method for all: the loss on the rows as they are, and the parameters."""
        columns = [*features, np.ones_like(features[0])] if self.intercept else features
        design = np.stack(columns, axis=1)  # (levels, parameters, rows)
        theta = np.zeros(design.shape[:2])
        eta = np.zeros_like(self.fitted_pos)
        value = self._loss(eta, self.fitted_pos)
        if start is not None:
            from_start = np.einsum("k,lkn->ln", start, design)
            better = self._loss(from_start, self.fitted_pos) < value
            theta[better], eta[better] = start, from_start[better]
            value = self._loss(eta, self.fitted_pos)
        for _ in range(MAX_ITERATIONS):
            p = sigmoid(eta)
            weighted = self.weight * p
            gradient = (design @ (weighted - self.fitted_pos)[:, :, None])[:, :, 0]
            if np.abs(gradient).max() <= GRADIENT_TOLERANCE:
                break
            hessian = (design * (weighted * (1 - p))[:, None, :]) @ design.transpose(0, 2, 1)
            step = -_solved(hessian, gradient)
            ahead = np.einsum("lk,lkn->ln", step, design)
            length = np.ones(len(theta))
            for halving in range(MAX_HALVINGS):
                new_eta = eta + length[:, None] * ahead
                new_value = self._loss(new_eta, self.fitted_pos)
                worse = ~(new_value <= value + ROUNDING)
                if not worse.any():
                    break
                length[worse] /= 2 if halving < MAX_HALVINGS - 2 else np.inf
            theta, eta, value = theta + length[:, None] * step, new_eta, new_value
        return self._loss(eta), theta


def _solved(hessian: Floats, gradient: Floats) -> Floats:
    """H⁻¹·g for each, with equal sizes on the diagonal first."""
    diagonal = np.einsum("lkk->lk", hessian)
    unit = 1 / np.sqrt(np.maximum(diagonal, 1e-300))
    scaled = hessian * unit[:, :, None] * unit[:, None, :]
    np.einsum("lkk->lk", scaled)[...] = 1 + RIDGE
    return np.asarray(np.linalg.solve(scaled, (gradient * unit)[:, :, None])[:, :, 0] * unit)
