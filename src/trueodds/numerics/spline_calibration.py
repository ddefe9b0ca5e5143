"""A penalised spline of the log-odds, from evidence to the knots of a map.

Everything is computed on an axis on which the largest log-odds are 1, so that margins of any size
can be squared; the penalty is scaled to a standard deviation of 1, so that its strength has one
meaning for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueodds.inputs import Floats, InputScale
from trueodds.kernels.isotonic import pool_adjacent
from trueodds.numerics.label_targets import platt_targets
from trueodds.numerics.log_odds.axis import log_odds, sigmoid
from trueodds.numerics.log_odds.compression import compress
from trueodds.numerics.log_odds.fit import BinaryEvidence
from trueodds.numerics.log_odds.rows import LogOddsRows
from trueodds.numerics.natural_spline import NaturalSpline
from trueodds.numerics.penalised_logistic import FINE, PenalisedLogistic

__all__ = ["SplineFit", "fit_spline"]

COMPRESS_FROM = 2048
CELLS = 256
STRENGTHS = np.logspace(-3, 7, 11)
BEYOND = 0.1
"""How far beyond the others saturated scores stand, in units of the others' range."""
LARGEST = 1e300  # log-odds that a map can hold
CLOSEST = 1e-4  # knots may be to each other, in units of the range
TOLERANCE = 4e-6
"""Log-odds by which the map may differ from the spline: 1e-6 in probability."""
MOST_KNOTS = 2048  # of the map
STEEPEST = 700.0  # log-odds beyond this say no more


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
    evidence: BinaryEvidence,
    *,
    scale: InputScale,
    n_knots: int,
    strength: float | None,
    prior_weight: float,
    monotone: bool,
) -> SplineFit:
    """Fit; parameters are those of :class:`trueodds.SplineCalibrator`."""
    rows = _finite_rows(evidence, scale)
    separable = prior_weight == 0 and _separable(rows)
    if separable:
        targets = platt_targets(float(rows.n_neg.sum()), float(rows.n_pos.sum()))
        rows = rows.with_targets(*targets)
    size = float(np.abs(rows.z).max()) or 1.0
    u, weight = rows.z / size, rows.weight
    spline = NaturalSpline(_knots(u, weight, n_knots))
    centre = float(np.average(u, weights=weight))
    spread = float(np.sqrt(np.average((u - centre) ** 2, weights=weight)))
    design, n_pos = spline.basis(u), rows.n_pos
    if prior_weight > 0:
        p = np.arange(1, 100) / 100
        prior = np.full(99, prior_weight / 99)
        design = np.concatenate([design, spline.basis(log_odds(p, "probability") / size)])
        n_pos, weight = np.append(n_pos, prior * p), np.append(weight, prior)
    penalty = spline.penalty * spread**3
    problem = PenalisedLogistic(design, n_pos, weight, penalty, spline.lines)
    if strength is None:
        fit = problem.best(STRENGTHS)
    else:
        fit = problem.fit(float(strength), problem.start, FINE)
    x = spline.linear_knots(fit.coef, TOLERANCE, MOST_KNOTS)
    y = np.clip(spline.basis(x) @ fit.coef, -STEEPEST, STEEPEST)
    if monotone:
        y = _increasing(x, y, u, rows.weight)
    return SplineFit(x * size, y, fit.strength, fit.converged, fit.n_iter, separable)


def _finite_rows(evidence: BinaryEvidence, scale: InputScale) -> LogOddsRows:
    """Few rows, by increasing log-odds; saturated ones stand beyond the others."""
    # By weight: counts must give what their rows give.
    if sum(map(np.sum, evidence.counts())) >= COMPRESS_FROM:
        rows: LogOddsRows = compress(evidence.scores, scale, evidence.counts, cells=CELLS)
    else:
        rows = LogOddsRows(log_odds(evidence.scores, scale), *evidence.counts())
    rows = rows.with_targets(*evidence.targets)
    finite = rows.z[np.isfinite(rows.z)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    low, high = max(low, -LARGEST), min(high, LARGEST)
    gap = BEYOND * (high - low) or 1.0
    z = np.clip(
        rows.z, low - gap * (rows.z.min() == -np.inf), high + gap * (rows.z.max() == np.inf)
    )
    z, row = np.unique(np.clip(z, -LARGEST, LARGEST), return_inverse=True)
    n_neg, n_pos = (np.bincount(row, n).astype(np.float64) for n in (rows.n_neg, rows.n_pos))
    return LogOddsRows(z, n_neg, n_pos)


def _separable(rows: LogOddsRows) -> bool:
    """Whether a threshold parts the classes; touching counts."""
    neg, pos = rows.z[rows.n_neg > 0], rows.z[rows.n_pos > 0]
    parted = neg[-1] <= pos[0] or pos[-1] <= neg[0]
    return bool(parted and len(rows.z) > 1)


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
    """The nearest values that do not fall, weighted by the information in the data around them."""
    nearest = np.clip(np.searchsorted((x[1:] + x[:-1]) / 2, u), 0, len(x) - 1)
    mass = np.bincount(nearest, weight, len(x))
    mass += 1e-3 * mass.sum() / len(x)
    p = sigmoid(y)
    information = mass * np.maximum(p * (1 - p), 1e-12)
    values, _ = pool_adjacent(y * information, information)
    return np.asarray(values)
