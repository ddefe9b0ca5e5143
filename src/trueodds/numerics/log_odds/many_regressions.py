"""Many logistic regressions on the same rows at once: one for each pair of levels of the scores.

They differ in the scores, which are clipped to the levels, and in the rows that are left out, so
that one run of Newton's method serves them all.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trueodds.inputs import Floats
from trueodds.kernels.elementary import exp_in_place, log_in_place
from trueodds.numerics.label_targets import platt_targets, smooth_counts
from trueodds.numerics.log_odds.axis import log_sigmoid
from trueodds.numerics.log_odds.finite_fit import LN2, Design
from trueodds.numerics.log_odds.rows import LogOddsRows

__all__ = ["ManyRegressions"]

Bools = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

ROUNDING = 1e-12  # of losses per unit of weight
MAX_ITERATIONS = 60
MAX_HALVINGS = 30
GRADIENT_TOLERANCE = 1e-7  # the loss is then right to about its square
RIDGE = 1e-12  # against a diagonal of 1; for features that say the same


class ManyRegressions:
    """One logistic regression for each pair of levels.

    Parameters
    ----------
    rows : LogOddsRows
    lower, upper : ndarray of shape (n_levels,)
        What scores are clipped to.
    design : {"temperature", "logistic", "beta", "beta_half"}
    left_out : ndarray of shape (n_levels, n_rows), default=None
        Rows that do not count.
    """

    def __init__(
        self,
        rows: LogOddsRows,
        lower: Floats,
        upper: Floats,
        design: Design,
        left_out: Bools | None = None,
    ) -> None:
        scores = np.clip(rows.z, lower[:, None], upper[:, None])
        counts = np.ones_like(scores, dtype=bool) if left_out is None else ~left_out
        self.intercept = design in ("logistic", "beta")
        self.n_pos = rows.n_pos / rows.total * counts
        self.weight = (rows.n_neg + rows.n_pos) / rows.total * counts
        self.parted = self._parted(scores, counts & (rows.n_neg > 0), counts & (rows.n_pos > 0))
        # Those are fitted with Platt's targets, as in ``fit_finite``.
        targets = platt_targets(float(rows.n_neg.sum()), float(rows.n_pos.sum()))
        smoothed = smooth_counts(rows.n_neg, rows.n_pos, *targets)[1] / rows.total * counts
        self.fitted_pos = np.where(self.parted[:, None], smoothed, self.n_pos)
        if design in ("temperature", "logistic"):
            columns = [scores]
        else:
            shift = LN2 if design == "beta_half" else 0.0
            columns = [log_sigmoid(scores) + shift, -log_sigmoid(-scores) - shift]
        self.features = [self._standard(column) for column in columns]

    def _parted(self, scores: Floats, neg: Bools, pos: Bools) -> Bools:
        """Whether the scores separate the classes, or there is one class only."""

        def span(used: Bools) -> tuple[Floats, Floats]:
            low = np.where(used, scores, np.inf).min(axis=1)
            return low, np.where(used, scores, -np.inf).max(axis=1)

        (neg_low, neg_high), (pos_low, pos_high) = span(neg), span(pos)
        if self.intercept:
            parted = (neg_high <= pos_low) | (pos_high <= neg_low)
        else:
            parted = (neg_high <= 0) & (pos_low >= 0) | (pos_high <= 0) & (neg_low >= 0)
        parted &= np.minimum(neg_low, pos_low) < np.maximum(neg_high, pos_high)
        return np.asarray(parted | ~neg.any(axis=1) | ~pos.any(axis=1))

    def _standard(self, column: Floats) -> Floats:
        """Centred (if there is a constant) and of unit size; a constant column becomes zero."""
        largest = np.abs(column).max(axis=1)[:, None]
        column = column / np.where(largest > 0, largest, 1.0)  # squares must not overflow
        if self.intercept:
            total = self.weight.sum(axis=1)
            mean = np.einsum("ln,ln->l", column, self.weight) / np.where(total > 0, total, 1.0)
            column -= mean[:, None]
        size = np.sqrt(np.einsum("ln,ln,ln->l", column, column, self.weight))
        return column / np.where(size > 1e-14, size, np.inf)[:, None]

    def optima(self, nonnegative: bool, start: Floats | None) -> tuple[Floats, Floats, Floats]:
        """Of each: negative log-likelihood at the optimum, log-odds of the rows, parameters.

        A negative slope is eliminated as in ``fit_finite``. Parameters are those without this,
        for others to start from.
        """
        everything = np.arange(len(self.weight))
        eta, parameters = self._solve(self.features, everything, start)
        slopes = parameters[:, : len(self.features)]
        falls = np.flatnonzero(~(slopes >= 0).all(axis=1))
        if not nonnegative or not len(falls):
            return self._loss(eta), eta, parameters
        eta[falls] = 0.0
        if self.intercept:
            pos = self.fitted_pos[falls].sum(axis=1)
            neg = self.weight[falls].sum(axis=1) - pos
            mixed = (pos > 0) & (neg > 0)
            eta[falls] = np.log(np.where(mixed, pos, 1) / np.where(mixed, neg, 1))[:, None]
        losses = self._loss(eta)
        for dropped in range(len(self.features) if len(self.features) > 1 else 0):
            chosen = np.flatnonzero(slopes[:, dropped] < 0)
            other, reduced = self._solve([self.features[1 - dropped]], chosen)
            loss = self._loss(other, chosen)
            better = (reduced[:, 0] >= 0) & (loss < losses[chosen])
            losses[chosen[better]], eta[chosen[better]] = loss[better], other[better]
        return losses, eta, parameters

    def _loss(self, eta: Floats, chosen: Integers | slice = slice(None)) -> Floats:
        """On the rows as they are."""
        return _sum_of_losses(_softplus(eta)[0], eta, self.weight[chosen], self.n_pos[chosen])

    def _solve(
        self, features: list[Floats], chosen: Integers, start: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Newton's method for some of them together: log-odds of the rows, parameters."""
        columns = [feature[chosen] for feature in features]
        if self.intercept:
            columns.append(np.ones_like(columns[0]))
        design = np.stack(columns, axis=1)  # (levels, parameters, rows)
        weight, n_pos = self.weight[chosen], self.fitted_pos[chosen]
        theta = np.zeros(design.shape[:2])
        if start is not None:
            eta = np.einsum("k,lkn->ln", start, design)
            at_start = _sum_of_losses(_softplus(eta)[0], eta, weight, n_pos)
            theta[at_start < LN2 * weight.sum(axis=1)] = start  # the loss where all are zero
        found_eta, found_theta = np.empty_like(weight), np.empty_like(theta)
        eta = np.einsum("lk,lkn->ln", theta, design)
        lost, p = _softplus(eta)
        value = _sum_of_losses(lost, eta, weight, n_pos)
        left = np.arange(len(theta))
        for _ in range(MAX_ITERATIONS):
            weighted = weight * p
            gradient = (design @ (weighted - n_pos)[:, :, None])[:, :, 0]
            going = np.abs(gradient).max(axis=1) > GRADIENT_TOLERANCE
            if not going.all():
                done = left[~going]
                found_eta[done], found_theta[done] = eta[~going], theta[~going]
                left, design, weight, n_pos = (
                    left[going],
                    design[going],
                    weight[going],
                    n_pos[going],
                )
                theta, eta, value, gradient = (
                    theta[going],
                    eta[going],
                    value[going],
                    gradient[going],
                )
                weighted, p = weighted[going], p[going]
            if not len(left):
                break
            hessian = (design * (weighted * (1 - p))[:, None, :]) @ design.transpose(0, 2, 1)
            step = -_solved(hessian, gradient)
            ahead = np.einsum("lk,lkn->ln", step, design)
            length = np.ones(len(theta))
            for halving in range(MAX_HALVINGS):
                new_eta = eta + length[:, None] * ahead
                lost, p = _softplus(new_eta)
                new_value = _sum_of_losses(lost, new_eta, weight, n_pos)
                worse = ~(new_value <= value + ROUNDING)
                if not worse.any():
                    break
                length[worse] /= 2 if halving < MAX_HALVINGS - 2 else np.inf
            theta, eta, value = theta + length[:, None] * step, new_eta, new_value
        found_eta[left], found_theta[left] = eta, theta
        return found_eta, found_theta


def _softplus(eta: Floats) -> tuple[Floats, Floats]:
    """ln(1 + exp η) and 1/(1 + exp −η), with one exponential for both."""
    small = np.ascontiguousarray(-np.abs(eta))
    exp_in_place(small.reshape(-1))
    whole = 1.0 + small
    p = np.where(eta >= 0, 1.0, small) / whole
    log_in_place(whole.reshape(-1))
    whole += np.maximum(eta, 0.0)
    return whole, p


def _sum_of_losses(lost: Floats, eta: Floats, weight: Floats, n_pos: Floats) -> Floats:
    return np.asarray(np.einsum("ln,ln->l", weight, lost) - np.einsum("ln,ln->l", n_pos, eta))


def _solved(hessian: Floats, gradient: Floats) -> Floats:
    """H⁻¹·g for each, with equal sizes on the diagonal first."""
    diagonal = np.einsum("lkk->lk", hessian)
    unit = 1 / np.sqrt(np.maximum(diagonal, 1e-300))
    scaled = hessian * unit[:, :, None] * unit[:, None, :]
    np.einsum("lkk->lk", scaled)[...] = 1 + RIDGE
    return np.asarray(np.linalg.solve(scaled, (gradient * unit)[:, :, None])[:, :, 0] * unit)
