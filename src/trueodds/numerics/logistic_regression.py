"""Logistic regression on one or two features, solved to the last digit.

The negative log-likelihood of η = θ·f is Σ w·ln(1 + e^η) − θ·S, where w is the weight of a row and
S = Σ n_pos·f. Labels enter through S alone, so label smoothing costs nothing and an iteration
reads only the features.

*Designs.* η = a·ln p − b·ln(1−p) + c of finite scores: logistic, temperature and beta calibration.
Where the scores separate the classes the likelihood has no finite optimum; Platt's targets are
used then, and the result is marked as ``separable``.

*The Brier score* can be minimized instead. The sum of squares Σ w·(σ(η) − t)² is not convex in the
parameters. It is minimized by Newton's method with the exact Hessian from the maximum of the
likelihood on, with all slopes free. Where they must not be negative but come out so, three other
ways are tried: from the likeliest curve of equal slopes, and without either slope. The best of
these places and of the maximum of the likelihood itself is taken, so that the result is never
worse.

A squared error is bounded: where only a few rows are between the classes, a step that gives them
up may be best of all, and the slope runs off to infinity. Platt's targets are used then, as the
likelihood does for classes that are separated. With targets off 0 and 1 the optimum is finite.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from trueodds.inputs import Floats, InputScale
from trueodds.numerics.log_odds import LogOddsRows, log_odds, log_pair, log_sigmoid, sigmoid
from trueodds.numerics.newton import Point, Problem, minimize
from trueodds.numerics.saturated import (
    BinaryRows,
    CurveFit,
    fit_saturated,
    fit_summary,
    open_to_unseen,
)
from trueodds.numerics.separable import Separator, with_finite_optimum, with_platt_targets

__all__ = [
    "LN2",
    "Axes",
    "Design",
    "LogLoss",
    "LogOddsFit",
    "LogisticFit",
    "Loss",
    "constant_fit",
    "estimated_log_odds",
    "features_of",
    "fit_finite",
    "fit_finite_brier",
    "fit_log_odds",
    "fit_logistic",
    "minimize_on",
    "squared_error",
]

CHUNK_ROWS = 4096  # rows whose temporaries stay in the cache, and too few to start threads for
GRADIENT_TOLERANCE = 1e-8
SHORT_STEP = 1e-3
LOSS_ROUNDING = 1e-14  # of the sums that a loss is the difference of


@dataclass(frozen=True)
class LogisticFit:
    """Coefficients of the given features, the constant, and how the solver ended.

    ``loss`` is the negative log-likelihood per unit of weight; ``gradient`` the largest component
    of its gradient relative to the scale Σ w·|f|.
    """

    coef: Floats
    intercept: float
    converged: bool
    n_iter: int
    loss: float
    gradient: float


@dataclass(frozen=True)
class Axes:
    """Features on axes with another origin and unit, and the coefficients' way there and back.

    ``matrix`` has a row for each feature, and one of ones if there is a constant.
    """

    matrix: Floats
    center: Floats
    scale: Floats
    intercept: bool

    @classmethod
    def standard(cls, features: list[Floats], weight: Floats, *, intercept: bool) -> Axes:
        """Features centered (if there is a constant) and scaled to unit size."""
        share = weight / weight.sum()
        centers = np.array([float(f @ share) if intercept else 0.0 for f in features])
        matrix = np.empty((len(features) + intercept, len(weight)))
        matrix[len(features) :] = 1.0
        scale = np.empty(len(features))
        for i, (feature, center) in enumerate(zip(features, centers, strict=True)):
            column = np.subtract(feature, center, out=matrix[i])
            largest = float(np.abs(column).max())
            # One that does not vary says nothing beyond the constant: its coefficient stays 0.
            if largest <= 1e-14 * abs(center):
                scale[i] = np.inf
            else:  # in two steps: squares of large numbers would overflow
                scale[i] = largest * np.sqrt((column / largest) ** 2 @ share) or np.inf
            column /= scale[i]
        return cls(matrix, centers, scale, intercept)

    def chunks(self, *columns: Floats) -> list[tuple[Floats, ...]]:
        """The matrix and further columns, cut into parts whose temporaries stay in the cache."""
        return [
            (
                self.matrix[:, i : i + CHUNK_ROWS],
                *(column[i : i + CHUNK_ROWS] for column in columns),
            )
            for i in range(0, self.matrix.shape[1], CHUNK_ROWS)
        ]

    def to_original(self, theta: Floats) -> tuple[Floats, float]:
        """Coefficients and constant for the features as they were given."""
        k = len(self.center)
        coef = theta[:k] / self.scale
        constant = theta[k] if self.intercept else 0.0
        return coef, float(constant - coef @ self.center)

    def from_original(self, coef: Floats, constant: float) -> Floats:
        """Parameters here of coefficients and constant there."""
        theta = np.where(np.isinf(self.scale), 0.0, coef * np.minimum(self.scale, 1e300))
        return np.append(theta, constant + coef @ self.center) if self.intercept else theta


class LogLoss:
    """The negative log-likelihood per unit of weight."""

    def __init__(self, axes: Axes, n_pos: Floats, weight: Floats) -> None:
        self.total = float(weight.sum())
        self.size = len(axes.matrix)
        self.chunks = axes.chunks(weight)
        self.statistic = sum(x @ n for x, n in axes.chunks(n_pos))
        self.feature_sums = sum(x @ w for x, w in self.chunks)

    def at(self, theta: Floats) -> Point:
        """Loss, gradient and Hessian in one pass."""
        gradient, hessian, softplus = np.zeros(self.size), np.zeros((self.size, self.size)), 0.0
        with np.errstate(over="ignore"):  # exp(−η) = inf gives p = 0
            for x, weight in self.chunks:
                p = np.exp(-theta @ x)
                p += 1.0
                softplus += float(np.log(p) @ weight)
                np.divide(1.0, p, out=p)
                variance = 1.0 - p
                p *= weight
                variance *= p
                gradient += x @ p
                hessian += (x * variance) @ x.T
        # ln(1 + e^η) = η + ln(1 + e^−η), and the sum of η is known.
        linear = float(theta @ self.feature_sums)
        if np.isfinite(softplus):
            size = softplus + abs(linear)
            softplus += linear
        else:
            size = softplus = sum(float(np.logaddexp(0, theta @ x) @ w) for x, w in self.chunks)
        explained = float(theta @ self.statistic)
        return Point(
            (softplus - explained) / self.total,
            LOSS_ROUNDING * (size + abs(explained)) / self.total,
            (gradient - self.statistic) / self.total,
            hessian / self.total,
        )


def minimize_on(axes: Axes, problem: Problem[Point], start: Floats | None = None) -> LogisticFit:
    """Minimize a loss per unit of weight.

    Features have unit size, so Σ w·|f| per unit of weight is at most 1 and a gradient is relative
    to it.
    """
    found = minimize(
        problem,
        np.zeros(len(axes.matrix)) if start is None else start,
        gradient=GRADIENT_TOLERANCE,
        last_step=SHORT_STEP,
    )
    largest = float(np.abs(found.point.gradient).max())
    coef, constant = axes.to_original(found.theta)
    return LogisticFit(coef, constant, found.converged, found.n_iter, found.point.value, largest)


def fit_logistic(
    features: list[Floats],
    n_pos: Floats,
    weight: Floats,
    *,
    intercept: bool = True,
) -> LogisticFit:
    """Maximize the likelihood of η = Σ coef·feature (+ intercept).

    Parameters
    ----------
    features : list of ndarray of shape (n,)
        Finite.
    n_pos : ndarray of shape (n,)
        Weight of the positives in each row.
    weight : ndarray of shape (n,)
        Weight of each row.
    intercept : bool, default=True

    Returns
    -------
    LogisticFit
    """
    axes = Axes.standard(features, weight, intercept=intercept)
    return minimize_on(axes, LogLoss(axes, n_pos, weight))


Design = Literal["temperature", "logistic", "beta", "beta_half"]
Loss = Literal["log", "brier"]

LN2 = float(np.log(2.0))
LEAST_FEATURE = 1e-305


@dataclass(frozen=True)
class LogOddsFit(CurveFit):
    """The curve a·ln p − b·ln(1−p) + c; ``eliminated`` if a or b would have been negative."""

    a: float
    b: float
    c: float
    eliminated: bool = False

    def at(self, z: Floats) -> Floats:
        """Fitted log-odds at log-odds z, wherever the range ends."""
        if self.a == self.b:
            return np.asarray(self.a * z + self.c)
        return np.asarray(self.a * log_sigmoid(z) - self.b * log_sigmoid(-z) + self.c)

    def steepest(self, low: float, high: float) -> float:
        """Slopes lie between b and a."""
        return max(abs(self.a), abs(self.b))


IDENTITY = LogOddsFit(1.0, 1.0, 0.0)


def fit_log_odds(
    rows: BinaryRows,
    *,
    scale: InputScale,
    design: Design,
    nonnegative: bool = False,
    loss: Loss = "log",
) -> LogOddsFit:
    """Fit one of the designs to scores some of which may be saturated.

    Parameters
    ----------
    rows : Rows
        Scores in any order, some of them perhaps saturated.
    scale : {"probability", "logit", "raw"}
    design : {"temperature", "logistic", "beta", "beta_half"}
        a = b, c = 0; a = b; all free; c = (a − b)·ln 2.
    nonnegative : bool, default=False
        Whether a and b must not be negative. A coefficient that would be is eliminated (fixed at
        zero) and the others are fitted again; the likelihood is concave, so this is its
        constrained maximum.
    loss : {"log", "brier"}, default="log"
        What is minimized: the log-loss, which is maximum likelihood, or the squared error, of which
        the fit is never worse than that of maximum likelihood. A level inside the range of the
        scores is the likelihood's in either case.
    """
    from trueodds.numerics.level_search import search_levels  # which fits by this module

    likeliest = partial(fit_finite, design=design, nonnegative=nonnegative)
    least_squares = partial(fit_finite_brier, design=design, nonnegative=nonnegative)
    place = partial(
        fit_saturated,
        search=partial(search_levels, design=design, nonnegative=nonnegative),
        separable_by=_separator(design),
        identity=IDENTITY,
    )

    def fit(some: LogOddsRows) -> LogOddsFit:
        if loss == "log":
            return place(some, likeliest)
        found = place(some, least_squares)
        if np.isfinite(some.z).all():
            return found
        # With all rows placed, maximum likelihood may have the smaller squared error.
        candidates = (found, place(some, likeliest))
        return min(candidates, key=lambda candidate: squared_error(some, candidate))

    return open_to_unseen(fit_summary(rows, scale, fit), rows, scale)


def estimated_log_odds(rows: BinaryRows, scale: InputScale = "probability") -> Floats:
    """Log-odds of all rows, those of exactly 0 and 1 where a logistic fit places them."""
    z = log_odds(rows.scores, scale)
    if np.isfinite(z).all():
        return z
    fit = fit_log_odds(rows, scale=scale, design="logistic")
    return np.clip(z, fit.lower, fit.upper)


def fit_finite(rows: LogOddsRows, design: Design, *, nonnegative: bool) -> LogOddsFit:
    """Fit a design to finite log-odds; the range is left open.

    Parameters are those of :func:`fit_log_odds`.
    """
    rows, separable = with_finite_optimum(rows, _separator(design))
    return replace(_fit_design(rows, design, nonnegative), separable=separable)


def _separator(design: Design) -> Separator:
    """Without a constant, the curve is 0 at 0 and only the threshold 0 can part classes."""
    return "zero" if design in ("temperature", "beta_half") else "threshold"


def features_of(z: Floats, design: Design) -> tuple[Floats, ...]:
    """What the slopes of a design multiply."""
    if design in ("temperature", "logistic"):
        return (z,)
    first, second = log_pair(z, "logit")
    second[second < LEAST_FEATURE] = 0.0  # a slope that it could be seen by is no float64
    if design == "beta_half":
        first += LN2
        second -= LN2
    return first, second


def _fit_design(rows: LogOddsRows, design: Design, nonnegative: bool) -> LogOddsFit:
    intercept = design in ("logistic", "beta")
    features, weight = features_of(rows.z, design), rows.weight
    if len(features) == 1:
        fit = fit_logistic(list(features), rows.n_pos, weight, intercept=intercept)
        slope = float(fit.coef[0])
        if not intercept and not features[0].any():
            slope = 1.0  # log-odds of 0 say nothing about a temperature: leave it alone
        if nonnegative and slope < 0:
            return replace(constant_fit(rows, intercept), eliminated=True)
        return _as_log_odds_fit(fit, slope, slope, fit.intercept)
    shift = LN2 if design == "beta_half" else 0.0

    def solve(keep: tuple[bool, bool]) -> tuple[LogOddsFit, float]:
        chosen = [f for f, kept in zip(features, keep, strict=True) if kept]
        fit = fit_logistic(chosen, rows.n_pos, weight, intercept=intercept)
        coef = iter(fit.coef.tolist())
        a, b = (float(next(coef)) if kept else 0.0 for kept in keep)
        return _as_log_odds_fit(fit, a, b, fit.intercept + shift * (a - b)), fit.loss

    free, _ = solve((True, True))
    if not nonnegative or (free.a >= 0 and free.b >= 0):
        return free
    # Along the segment to an unconstrained maximum with one negative coefficient the likelihood
    # rises, so the constrained maximum has that coefficient at 0. With two, try both.
    candidates = []
    for keep, coef in (((False, True), free.a), ((True, False), free.b)):
        if coef < 0:
            reduced, loss = solve(keep)
            if min(reduced.a, reduced.b) >= 0:
                candidates.append((loss, reduced))
    if not candidates:
        return replace(constant_fit(rows, intercept), eliminated=True)
    return replace(min(candidates, key=lambda pair: pair[0])[1], eliminated=True)


def _as_log_odds_fit(fit: LogisticFit, a: float, b: float, c: float) -> LogOddsFit:
    return LogOddsFit(a, b, c, converged=fit.converged, n_iter=fit.n_iter, gradient=fit.gradient)


def constant_fit(rows: LogOddsRows, intercept: bool) -> LogOddsFit:
    """The frequency of positives everywhere (one half where there is no constant)."""
    c = float(np.log(rows.n_pos.sum()) - np.log(rows.n_neg.sum())) if intercept else 0.0
    return LogOddsFit(0.0, 0.0, c)


BRIER_SHORT_STEP = 1e-7  # of parameters; Newton's method squares the error
BRIER_ROUNDING = 1e-15
PERFECT_FIT = 1e-18  # a mean squared error that needs no improvement
VANISHED_GRADIENT = 1e-6  # share of the gradient's terms that is left on the way to infinity


@dataclass(frozen=True, slots=True)
class _BrierPoint(Point):
    """``size`` is the sum of the gradient's terms if all had the same sign, for features of 1."""

    size: float


class _SquaredError:
    """The mean squared error beyond that of the parameters ``start``."""

    def __init__(self, axes: Axes, n_pos: Floats, weight: Floats, start: Floats) -> None:
        self.matrix = axes.matrix
        self.share = 2 * weight / float(weight.sum())
        self.target = np.divide(n_pos, weight, out=np.zeros_like(weight), where=weight > 0)
        self.others = 1 - self.target
        self.p_start = sigmoid(start @ axes.matrix)

    def at(self, theta: Floats) -> _BrierPoint:
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
            BRIER_ROUNDING * float(np.abs(change).sum()),
            x @ terms,
            (x * (weighted * slope + terms * (q - p))) @ x.T,
            float(np.abs(terms).sum()),
        )


def fit_finite_brier(rows: LogOddsRows, design: Design, *, nonnegative: bool) -> LogOddsFit:
    """Fit a design to finite log-odds by squared error; the range is left open.

    Parameters are those of :func:`fit_finite`, and so is the
    treatment of scores that separate the classes.
    """
    likeliest = fit_finite(rows, design, nonnegative=nonnegative)
    if likeliest.separable:
        rows = with_platt_targets(rows)
    if squared_error(rows, likeliest) < PERFECT_FIT:
        return likeliest
    found = _best(rows, design, nonnegative)
    if not (found.converged or likeliest.separable):
        found = replace(_best(with_platt_targets(rows), design, nonnegative), separable=True)
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
        found = _least_squares(chosen, rows, start, intercept)
        slopes = iter(found.coef.tolist())
        a, *rest = (float(next(slopes)) if kept else 0.0 for kept in keep)
        b = rest[0] if rest else a
        c = found.intercept + (LN2 * (a - b) if design == "beta_half" else 0.0)
        return _as_log_odds_fit(found, a, b, c)

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


def _least_squares(
    features: list[Floats], rows: LogOddsRows, start: LogisticFit, intercept: bool
) -> LogisticFit:
    """The minimum that is downhill from another fit.

    Not converged if there is no minimum: on the way to infinity steps never get short.
    """
    axes = Axes.standard(features, rows.weight, intercept=intercept)
    theta = axes.from_original(start.coef, start.intercept)
    problem = _SquaredError(axes, rows.n_pos, rows.weight, theta)
    least = VANISHED_GRADIENT * problem.at(theta).size
    found = minimize(
        problem,
        theta,
        step=BRIER_SHORT_STEP,
        longest=lambda theta: 1 + float(np.abs(theta).max()),
        saddles=True,
        diverges=lambda at: at.size < least or not np.isfinite(at.hessian).all(),
    )
    size = found.point.size
    gradient = float(np.abs(found.point.gradient).max() / size) if size else 0.0
    coef, constant = axes.to_original(found.theta)
    return LogisticFit(coef, constant, found.converged, found.n_iter, found.point.value, gradient)
