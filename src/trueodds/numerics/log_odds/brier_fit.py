"""Fit η = a·ln p − b·ln(1−p) + c to finite scores by the smallest Brier score.

The sum of squares Σ w·(σ(η) − t)² is not convex in the parameters. It is minimised by Newton's
method with the exact Hessian from the maximum of the likelihood on, once with all slopes free and,
where they must not be negative but come out so, once more without each of them. The best of these
places and of the maximum of the likelihood itself is taken, so that the result is never worse.

A squared error is bounded: where only a few rows stand between the classes, a step that gives them
up may be best of all, and the slope runs off to infinity. Platt's targets are used then, as the
likelihood does for classes that are separated. With targets off 0 and 1 the optimum is finite.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from trueodds.numerics.label_targets import platt_targets
from trueodds.numerics.log_odds.axis import sigmoid
from trueodds.numerics.log_odds.finite_fit import (
    LN2,
    Design,
    LogOddsFit,
    constant_fit,
    features_of,
    fit_finite,
)
from trueodds.numerics.log_odds.logistic_regression import (
    LogisticFit,
    LogisticProblem,
    fit_logistic,
)
from trueodds.numerics.log_odds.rows import LogOddsRows
from trueodds.validation import Floats

__all__ = ["brier_of", "fit_finite_brier"]

SHORT_STEP = 1e-7  # of parameters; Newton's method squares the error
MAX_ITERATIONS = 100
MAX_HALVINGS = 40
ROUNDING = 1e-15
SINGULAR = 1e-13  # eigenvalues, relative to the largest, of parameters that do not matter


@dataclass(frozen=True)
class _BrierPoint:
    """Mean squared error beyond that of the starting place, and its derivatives."""

    excess: float
    rounding: float
    gradient: Floats
    hessian: Floats
    size: float
    """The sum of the gradient's terms if all had the same sign, for features of size 1."""


class _BrierProblem(LogisticProblem):
    """The squared error by the standardised features of the likelihood."""

    def __init__(
        self, features: list[Floats], n_pos: Floats, weight: Floats, *, intercept: bool
    ) -> None:
        super().__init__(features, n_pos, weight, intercept=intercept)
        self.n_pos = n_pos
        self.start = np.zeros(self.size)

    def _rows(self, theta: Floats) -> Iterator[tuple[Floats, Floats, Floats, Floats, Floats]]:
        """Features, shares, targets, p and 1 − p, both to the last digit."""
        begin = 0
        for x, weight in self.chunks:
            n_pos = self.n_pos[begin : begin + len(weight)]
            target = np.divide(n_pos, weight, out=np.zeros_like(weight), where=weight > 0)
            eta = theta @ x
            yield x, weight / self.total, target, sigmoid(eta), sigmoid(-eta)
            begin += len(weight)

    def point(self, theta: Floats) -> _BrierPoint:
        """Error, gradient and Hessian in one pass."""
        excess, magnitude, size = 0.0, 0.0, 0.0
        gradient, hessian = np.zeros(self.size), np.zeros((self.size, self.size))
        for (x, share, target, p, q), (_, _, _, p0, _) in zip(
            self._rows(theta), self._rows(self.start), strict=True
        ):
            residual = p * (1 - target) - q * target
            slope = p * q
            # A difference of squares as a product: no digits are lost near the optimum.
            differences = share * (p - p0) * (p + p0 - 2 * target)
            excess += float(differences.sum())
            magnitude += float(np.abs(differences).sum())
            terms = 2 * share * residual * slope
            size += float(np.abs(terms).sum())
            gradient += x @ terms
            hessian += (x * (2 * share * slope * slope + terms * (q - p))) @ x.T
        return _BrierPoint(excess, ROUNDING * magnitude, gradient, hessian, size)


def fit_finite_brier(rows: LogOddsRows, design: Design, *, nonnegative: bool) -> LogOddsFit:
    """Fit a design to finite log-odds by squared error; the range is left open.

    Parameters are those of :func:`trueodds.numerics.log_odds.finite_fit.fit_finite`, and so is the
    treatment of scores that separate the classes.
    """
    likeliest = fit_finite(rows, design, nonnegative=nonnegative)
    targets = platt_targets(float(rows.n_neg.sum()), float(rows.n_pos.sum()))
    if likeliest.separable:
        rows = rows.with_targets(*targets)
    found = _best(rows, design, nonnegative)
    if not (found.converged or likeliest.separable):
        found = replace(_best(rows.with_targets(*targets), design, nonnegative), separable=True)
    if not found.converged or brier_of(rows, found) > brier_of(rows, likeliest):
        return likeliest
    return replace(found, separable=found.separable or likeliest.separable)


def brier_of(rows: LogOddsRows, fit: LogOddsFit) -> float:
    """Mean squared error of a fit on rows, each placed within the fit's range."""
    eta = fit.at(np.clip(rows.z, fit.lower, fit.upper))
    return float(rows.n_neg @ sigmoid(eta) ** 2 + rows.n_pos @ sigmoid(-eta) ** 2) / rows.total


def _best(rows: LogOddsRows, design: Design, nonnegative: bool) -> LogOddsFit:
    """The best minimum, with slopes that may not be negative eliminated.

    Not converged if that is at infinity.
    """
    intercept = design in ("logistic", "beta")
    features = features_of(rows.z, design)

    def solve(keep: tuple[bool, ...]) -> LogOddsFit:
        chosen = [f for f, kept in zip(features, keep, strict=True) if kept]
        found = _minimum(chosen, rows.n_pos, rows.weight, intercept=intercept)
        slopes = iter(found.coef.tolist())
        a, *rest = (float(next(slopes)) if kept else 0.0 for kept in keep)
        b = rest[0] if rest else a
        c = found.intercept + (LN2 * (a - b) if design == "beta_half" else 0.0)
        return LogOddsFit(
            a, b, c, -np.inf, np.inf, found.converged, n_iter=found.n_iter, gradient=found.gradient
        )

    free = solve((True,) * len(features))
    if not nonnegative or min(free.a, free.b) >= 0:
        return free
    reduced = [constant_fit(rows, intercept)]
    if len(features) == 2:
        reduced += [solve(keep) for keep in ((True, False), (False, True))]
    allowed = [replace(fit, eliminated=True) for fit in reduced if min(fit.a, fit.b) >= 0]
    return min(allowed, key=lambda fit: brier_of(rows, fit))


def _minimum(
    features: list[Floats], n_pos: Floats, weight: Floats, *, intercept: bool
) -> LogisticFit:
    """The minimum next to the maximum of the likelihood.

    Newton's method, going down along what curves down too; steps are halved until the error falls.
    Not converged if there is no minimum: on the way to infinity steps never get short.
    """
    likeliest = fit_logistic(features, n_pos, weight, intercept=intercept)
    problem = _BrierProblem(features, n_pos, weight, intercept=intercept)
    theta = problem.start = problem.from_original(likeliest.coef, likeliest.intercept)
    here, converged, iteration = problem.point(theta), False, 0
    while np.isfinite(here.hessian).all() and iteration < MAX_ITERATIONS:
        iteration += 1
        values, vectors = np.linalg.eigh(here.hessian)
        matters = np.abs(values) > SINGULAR * np.abs(values).max()
        along = vectors[:, matters]
        step = -along @ ((along.T @ here.gradient) / np.abs(values[matters]))
        length, reach = float(np.abs(step).max()), 1 + float(np.abs(theta).max())
        if length <= SHORT_STEP * reach:
            theta, converged = theta + step, bool((values[matters] > 0).all())
            break
        step *= min(1.0, reach / length)
        for _ in range(MAX_HALVINGS):
            candidate = problem.point(theta + step)
            if candidate.excess <= here.excess + candidate.rounding:
                break
            step = step / 2
        else:
            break
        theta, here = theta + step, candidate
    gradient = float(np.abs(here.gradient).max() / here.size) if here.size else 0.0
    coef, constant = problem.to_original(theta)
    return LogisticFit(coef, constant, converged, iteration, here.excess, gradient)
