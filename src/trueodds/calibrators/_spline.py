"""Spline calibration: a penalized spline of the log-odds, from rows to the knots of a map.

All computation uses an axis on which the largest log-odds are 1, so that decision values of any
size can be squared. The penalty is scaled to a standard deviation of 1, so that its strength means
the same for all scores.

The fit is a logistic regression with a quadratic penalty whose strength is estimated. It minimizes
Σ w·ln(1 + e^η) − n₊·η + 0.5·λ·β'Sβ, where η = X·β. As a model, β has a normal prior of precision
λ·S. The strength λ maximizes the evidence, the integral over β of likelihood and prior by Laplace's
method: see Wood (2011), "Fast stable restricted maximum likelihood and marginal likelihood
estimation of semiparametric generalized linear models", JRSS B 73.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from trueodds.calibrators import Calibrator
from trueodds.calibrators._shared.parametric import warn_not_converged, warn_separable
from trueodds.estimator import fact
from trueodds.inputs import (
    Floats,
    InputScale,
    check_choice,
    check_integer,
    check_number,
    is_choice,
)
from trueodds.kernels.isotonic import pool_adjacent_violators
from trueodds.maps import CalibrationMap, LogOddsCurveMap
from trueodds.numerics.compression import compress
from trueodds.numerics.glm import DenseLogLoss
from trueodds.numerics.log_odds import CERTAIN_LOG_ODDS, LogOddsRows, log_odds, sigmoid
from trueodds.numerics.natural_spline import NaturalSpline
from trueodds.numerics.newton import minimize, scaled_to_unit_diagonal
from trueodds.numerics.separable import is_separable, with_platt_targets
from trueodds.rows import Rows

__all__ = ["SplineCalibrator"]

PRIOR_WEIGHT = 10.0


@dataclass(kw_only=True, eq=False, repr=False)
class SplineCalibrator(Calibrator):
    """Penalized spline of the log-odds that bends only as far as the data support.

    It is a natural cubic spline whose curvature is penalized; the evidence sets the strength,
    without cross-validation. Use it where no formula fits and steps are a problem. A strong penalty
    leaves logistic calibration, and a prior of a few rows keeps small samples near the original
    scores.

    Parameters
    ----------
    n_knots : int, default=20
        Number of knots, at quantiles of the log-odds. More knots cost time and, thanks to the
        penalty, change little.
    strength : float, default=None
        λ of the penalty 0.5·λ·∫η″², where the log-odds have been scaled to a standard deviation of
        1. None uses the value of highest evidence.
    prior_weight : float or "auto", default="auto"
        Prior weight, in rows, of the assumption that the scores are calibrated: this many rows,
        spread evenly over the probabilities 0.01, 0.02, …, 0.99, have labels that agree with them.
        ``"auto"``: 10 for probabilities and log-odds, 0 for decision values.
    monotone : bool, default=False
        Whether decreasing parts are replaced by constants.
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores; raw scores (``"raw"``) are treated as log-odds.

    Attributes
    ----------
    map_ : LogOddsCurveMap
        The spline at points dense enough for an error of 1e-6.
    strength_ : float
        The strength used; only with two classes.

    Notes
    -----
    Outside the range of the fitted scores the map is constant. Scores of exactly 0 and 1 are placed
    outside the others, at a distance of a tenth of their range. Cost: one pass over the scores, and
    some milliseconds.

    References
    ----------
    Lucena (2018), Spline-based probability calibration, arXiv:1809.07751, for the idea and the
    prior; Wood (2011), JRSS B 73, for the strength. ``splinecalib`` differs in the penalty and in
    how its strength is found.

    Examples
    --------
    >>> from trueodds import SplineCalibrator
    >>> scores, y = [0.02, 0.4, 0.1, 0.97, 0.8, 0.95, 0.6], [0, 0, 1, 1, 0, 1, 1]
    >>> SplineCalibrator().fit(scores, y).predict_proba([0.1, 0.5, 0.9])[:, 1].round(3)
    array([0.225, 0.52 , 0.801])
    """

    title = "spline calibration"
    complexity = 50

    strength_: float = field(init=False)

    n_knots: int = 20
    strength: float | None = None
    prior_weight: float | Literal["auto"] = "auto"
    monotone: bool = False

    @fact
    def is_monotone(self) -> bool:
        """True if requested."""
        return bool(self.monotone)

    def _check_options(self) -> None:
        check_integer(self.n_knots, "n_knots", 3)
        check_choice(self.monotone, (True, False), "monotone")
        if self.strength is not None:
            check_number(self.strength, "strength", above=True, otherwise="None or ")
        if not is_choice(self.prior_weight, "auto"):
            check_number(self.prior_weight, "prior_weight", otherwise='"auto" or ')

    def _fit(self, rows: Rows) -> CalibrationMap:
        prior = self.prior_weight
        if prior == "auto":
            prior = 0.0 if self.scale == "raw" else PRIOR_WEIGHT
        fit = fit_spline(
            rows,
            scale=self.scale,
            n_knots=int(self.n_knots),
            strength=self.strength,
            prior_weight=float(prior),
            monotone=bool(self.monotone),
        )
        if fit.separable:
            warn_separable()
        if not fit.converged:
            warn_not_converged(fit.n_iter)
        self.strength_ = fit.strength
        # Log-odds that differ in their last digit may have one place.
        rises = np.append(True, fit.x[1:] > np.maximum.accumulate(fit.x)[:-1])
        return LogOddsCurveMap(x=fit.x[rises], y=fit.y[rises], scale=self.scale)


COMPRESS_SCORES_FROM = 2048
COMPRESSED_CELLS = 256
STRENGTHS = np.logspace(-3, 7, 11)
BEYOND = 0.1
"""Distance of saturated scores from the others, in units of the others' range."""
LARGEST_KNOT = 1e300  # log-odds that a map can hold
CLOSEST = 1e-4  # knots may be to each other, in units of the range
KNOT_TOLERANCE = 4e-6
"""Log-odds by which the map may differ from the spline: 1e-6 in probability."""
MOST_KNOTS = 2048  # of the map


@dataclass(frozen=True)
class SplineFit:
    """Knots and values of the curve, linear between them, and what happened on the way."""

    x: Floats
    y: Floats
    strength: float
    converged: bool
    n_iter: int
    separable: bool


def fit_spline(
    given: Rows,
    *,
    scale: InputScale,
    n_knots: int,
    strength: float | None,
    prior_weight: float,
    monotone: bool,
) -> SplineFit:
    """Fit; parameters are those of :class:`trueodds.SplineCalibrator`."""
    rows = _finite_rows(given, scale)
    separable = prior_weight == 0 and is_separable(rows)
    if separable:
        rows = with_platt_targets(rows)
    size = float(np.abs(rows.z).max()) or 1.0
    u, weight = rows.z / size, rows.weight
    spline = NaturalSpline(_knots(u, weight, n_knots))
    center = float(np.average(u, weights=weight))
    spread = float(np.sqrt(np.average((u - center) ** 2, weights=weight)))
    design, n_pos = spline.basis(u), rows.n_pos
    if prior_weight > 0:
        p = np.arange(1, 100) / 100
        prior = np.full(99, prior_weight / 99)
        design = np.concatenate([design, spline.basis(log_odds(p, "probability") / size)])
        n_pos, weight = np.append(n_pos, prior * p), np.append(weight, prior)
    penalty = spline.penalty * spread**3
    problem = PenalizedLogistic(design, n_pos, weight, penalty, spline.lines)
    if strength is None:
        fit = problem.best(STRENGTHS)
    else:
        fit = problem.fit(float(strength), problem.start, FINE)
    x = spline.linear_knots(fit.coef, KNOT_TOLERANCE, MOST_KNOTS)
    y = np.clip(spline.basis(x) @ fit.coef, -CERTAIN_LOG_ODDS, CERTAIN_LOG_ODDS)
    if monotone:
        y = _increasing(x, y, u, rows.weight)
    return SplineFit(x * size, y, fit.strength, fit.converged, fit.n_iter, separable)


def _finite_rows(given: Rows, scale: InputScale) -> LogOddsRows:
    """Few rows, by increasing log-odds; saturated ones lie beyond the others."""
    # By weight: counts must give what their rows give.
    if given.total >= COMPRESS_SCORES_FROM:
        rows: LogOddsRows = compress(given.scores, scale, given.counts, cells=COMPRESSED_CELLS)
    else:
        rows = LogOddsRows(log_odds(given.scores, scale), *given.counts())
    rows = rows.with_targets(*given.targets)
    finite = rows.z[np.isfinite(rows.z)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    low, high = max(low, -LARGEST_KNOT), min(high, LARGEST_KNOT)
    gap = BEYOND * (high - low) or 1.0
    z = np.clip(
        rows.z, low - gap * (rows.z.min() == -np.inf), high + gap * (rows.z.max() == np.inf)
    )
    z, row = np.unique(np.clip(z, -LARGEST_KNOT, LARGEST_KNOT), return_inverse=True)
    n_neg, n_pos = (np.bincount(row, n).astype(np.float64) for n in (rows.n_neg, rows.n_pos))
    return LogOddsRows(z, n_neg, n_pos)


def _knots(u: Floats, weight: Floats, n_knots: int) -> Floats:
    """The ends and quantiles between, none too close to the next."""
    if u[0] == u[-1]:
        return u[:1]
    middle = (np.cumsum(weight) - weight / 2) / weight.sum()
    inner = np.interp(np.arange(1, n_knots - 1) / (n_knots - 1), middle, u)
    least = CLOSEST * (u[-1] - u[0])
    inner = inner[(inner - u[0] > least) & (u[-1] - inner > least)]
    kept = [float(u[0])]
    for knot in inner.tolist():
        if knot - kept[-1] > least:
            kept.append(knot)
    return np.array([*kept, float(u[-1])])


def _increasing(x: Floats, y: Floats, u: Floats, weight: Floats) -> Floats:
    """Nearest non-decreasing values, weighted by the information in the data around them."""
    nearest = np.clip(np.searchsorted((x[1:] + x[:-1]) / 2, u), 0, len(x) - 1)
    mass = np.bincount(nearest, weight, len(x))
    mass += 1e-3 * mass.sum() / len(x)
    p = sigmoid(y)
    information = mass * np.maximum(p * (1 - p), 1e-12)
    values, _ = pool_adjacent_violators(y * information, information)
    return np.asarray(values)


ROUGH, FINE = 1e-6, 1e-12
"""Newton decrements, per unit of weight, below which one more step is the last: to compare
strengths, and at the end. That step squares the error."""
STALLED = 1e-9  # a decrement, per unit of weight, that rounding may leave
JITTER = 1e-13  # of the diagonal: what nothing determines stays where it is


@dataclass(frozen=True)
class PenalizedFit:
    """Coefficients, the objective, minus the logarithm of the evidence, and how it ended."""

    coef: Floats
    objective: float
    evidence: float
    strength: float
    converged: bool
    n_iter: int


class PenalizedLogistic:
    """The likelihood of some rows, to be fitted at several strengths.

    Parameters
    ----------
    design : ndarray of shape (n, k)
        X above.
    n_pos, weight : ndarray of shape (n,)
        Weight of the positives, and of all, in each row.
    penalty : ndarray of shape (k, k)
        S above, positive semi-definite.
    free : ndarray of shape (k, m)
        Coefficients that are not penalized: S·free = 0, and nothing else is.

    Notes
    -----
    Inside, coefficients are those of the directions free and of S's eigenvectors. With S itself,
    λ·S·β would be the small difference of large numbers where λ is large.
    """

    def __init__(
        self, design: Floats, n_pos: Floats, weight: Floats, penalty: Floats, free: Floats
    ) -> None:
        n_free = free.shape[1]
        directions = np.linalg.qr(free, mode="complete")[0]
        rest = directions[:, n_free:]
        sizes, vectors = np.linalg.eigh(rest.T @ penalty @ rest)
        self.turn = np.concatenate([directions[:, :n_free], rest @ vectors], axis=1)
        self.penalty = np.append(np.zeros(n_free), np.maximum(sizes, 0.0))
        self.design = design @ self.turn
        self.n_pos, self.weight = n_pos, weight
        self.total = float(weight.sum())
        self.rank = len(sizes)
        share = float(n_pos.sum()) / self.total
        self.start = np.full(design.shape[1], np.log(share) - np.log1p(-share))

    def best(self, strengths: Floats) -> PenalizedFit:
        """The fit of highest evidence: the best of some strengths, then between its neighbors."""
        if self.rank == 0:
            return self.fit(0.0, self.start, FINE)
        fits: list[PenalizedFit] = []
        start = self.start
        for strength in np.sort(strengths)[::-1]:  # from the smoothest on
            fits.append(self.fit(float(strength), start, ROUGH))
            start = fits[-1].coef
        evidence = np.array([fit.evidence for fit in fits])
        at = int(evidence.argmin())
        strength = fits[at].strength
        if 0 < at < len(fits) - 1:
            # The vertex of the parabola through the best and its neighbors, on a log scale.
            before, here, after = evidence[at - 1 : at + 2]
            shift = (before - after) / (2 * (before - 2 * here + after))
            strength *= (fits[at + 1].strength / strength) ** float(np.clip(shift, -1, 1))
        return self.fit(float(strength), fits[at].coef, FINE)

    def fit(self, strength: float, start: Floats, tolerance: float) -> PenalizedFit:
        """The fit at one strength, from the coefficients ``start`` to a decrement."""
        problem = DenseLogLoss(
            self.design, self.n_pos, self.weight, penalty=strength * self.penalty
        )
        found = minimize(
            problem,
            self.turn.T @ start,
            decrement=tolerance * self.total,
            stalled=STALLED * self.total,
            ridge=JITTER,
        )
        scaled, size = scaled_to_unit_diagonal(found.point.hessian)
        scaled += JITTER * np.eye(len(size))
        half_log_determinant = np.linalg.slogdet(scaled)[1] / 2 + np.log(size).sum()
        prior = self.rank / 2 * np.log(strength) if strength > 0 else 0.0
        objective = found.point.value
        evidence = float(objective + half_log_determinant - prior)
        coef = self.turn @ found.theta
        return PenalizedFit(coef, objective, evidence, strength, found.converged, found.n_iter)
