"""Fit η = a·ln p − b·ln(1−p) + c to finite scores by the smallest Brier score.

The sum of squares Σ w·(σ(η) − t)² is not convex in the parameters. It is minimised by Newton's
method with the exact Hessian from the maximum of the likelihood on, with all slopes free. Where
they must not be negative but come out so, three other ways are tried: from the likeliest curve of
equal slopes, and without either slope. The best of these places and of the maximum of the
likelihood itself is taken, so that the result is never worse.

A squared error is bounded: where only a few rows stand between the classes, a step that gives them
up may be best of all, and the slope runs off to infinity. Platt's targets are used then, as the
likelihood does for classes that are separated. With targets off 0 and 1 the optimum is finite.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trueodds.inputs import Floats
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

__all__ = ["fit_finite_brier", "squared_error"]

SHORT_STEP = 1e-7  # of parameters; Newton's method squares the error
MAX_ITERATIONS = 100
MAX_HALVINGS = 40
ROUNDING = 1e-15
NOTHING = 1e-18  # a mean squared error that needs no improvement
GONE = 1e-6  # of the gradient's terms at the start: so little is left on the way to infinity
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
        self.share = 2 * weight / self.total
        self.target = np.divide(n_pos, weight, out=np.zeros_like(weight), where=weight > 0)
        self.others = 1 - self.target

    def start_from(self, fit: LogisticFit) -> Floats:
        """Parameters of a fit, whose error is what :meth:`point` measures the excess over."""
        theta = self.from_original(fit.coef, fit.intercept)
        self.p_start = sigmoid(theta @ self.matrix)
        return theta

    def point(self, theta: Floats) -> _BrierPoint:
        """Error, gradient and Hessian in one pass."""
        x = self.matrix
        eta = theta @ x
        p, q = sigmoid(eta), sigmoid(-eta)  # both to the last digit
        residual = p * self.others - q * self.target
        # A difference of squares as a product: no digits are lost near the optimum.
        change = self.share * (p - self.p_start) * (p + self.p_start - 2 * self.target)
        slope = p * q
        weighted = self.share * slope
        terms = weighted * residual
        return _BrierPoint(
            float(change.sum()) / 2,
            ROUNDING * float(np.abs(change).sum()),
            x @ terms,
            (x * (weighted * slope + terms * (q - p))) @ x.T,
            float(np.abs(terms).sum()),
        )


def fit_finite_brier(rows: LogOddsRows, design: Design, *, nonnegative: bool) -> LogOddsFit:
    """Fit a design to finite log-odds by squared error; the range is left open.

    Parameters are those of :func:`trueodds.numerics.log_odds.finite_fit.fit_finite`, and so is the
    treatment of scores that separate the classes.
    """
    likeliest = fit_finite(rows, design, nonnegative=nonnegative)
    targets = platt_targets(float(rows.n_neg.sum()), float(rows.n_pos.sum()))
    if likeliest.separable:
        rows = rows.with_targets(*targets)
    if squared_error(rows, likeliest) < NOTHING:
        return likeliest
    found = _best(rows, design, nonnegative)
    if not (found.converged or likeliest.separable):
        found = replace(_best(rows.with_targets(*targets), design, nonnegative), separable=True)
    if not found.converged or squared_error(rows, found) > squared_error(rows, likeliest):
        return likeliest
    return replace(found, separable=found.separable or likeliest.separable)


def squared_error(rows: LogOddsRows, fit: LogOddsFit) -> float:
    """Mean squared distance of a fit, within its range, from the frequency in each row.

    The Brier score is this and a constant, the variance within rows.
    """
    eta = fit.at(np.clip(rows.z, fit.lower, fit.upper))
    weight = rows.weight
    missed = sigmoid(eta) * rows.n_neg - sigmoid(-eta) * rows.n_pos
    squares = np.divide(missed * missed, weight, out=np.zeros_like(weight), where=weight > 0)
    return float(squares.sum()) / rows.total


def _best(rows: LogOddsRows, design: Design, nonnegative: bool) -> LogOddsFit:
    """The best minimum, with slopes that may not be negative eliminated.

    Not converged if that is at infinity.
    """
    intercept = design in ("logistic", "beta")
    features = features_of(rows.z, design)

    def solve(keep: tuple[bool, ...], *, equal_slopes: bool = False) -> LogOddsFit:
        chosen = [f for f, kept in zip(features, keep, strict=True) if kept]
        first = [sum(chosen[1:], chosen[0])] if equal_slopes else chosen
        start = fit_logistic(first, rows.n_pos, rows.weight, intercept=intercept)
        if equal_slopes:
            start = replace(start, coef=np.repeat(start.coef, len(chosen)))
        problem = _BrierProblem(chosen, rows.n_pos, rows.weight, intercept=intercept)
        found = _minimum(problem, start)
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
        reduced.append(solve((True, True), equal_slopes=True))
        reduced += [solve(keep) for keep in ((True, False), (False, True))]
    allowed = [
        replace(fit, eliminated=min(fit.a, fit.b) == 0) for fit in reduced if min(fit.a, fit.b) >= 0
    ]
    return min(allowed, key=lambda fit: squared_error(rows, fit))


def _minimum(problem: _BrierProblem, start: LogisticFit) -> LogisticFit:
    """The minimum that is downhill from another fit.

    Newton's method, going down along what curves down too; steps are halved until the error falls.
    Not converged if there is no minimum: on the way to infinity steps never get short.
    """
    theta = problem.start_from(start)
    here, converged, iteration = problem.point(theta), False, 0
    least = GONE * here.size
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
        if here.size < least:
            break
    gradient = float(np.abs(here.gradient).max() / here.size) if here.size else 0.0
    coef, constant = problem.to_original(theta)
    return LogisticFit(coef, constant, converged, iteration, here.excess, gradient)
