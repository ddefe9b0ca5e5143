"""Fit all models to the cells, and weigh them by their evidence.

Models are Bayesian logistic regressions on the same features, fitted together by Laplace's method.
Model j has log-odds η = offset_j + X·θ, with θ ~ N(mean_j, diag(deviation_j²)). Its posterior is
taken as normal around the most probable θ, with the Hessian there, and its evidence is

    ln p(y) ≈ ln p(y | θ) + ln p(θ) + ½·d·ln 2π − ½·ln det H.

Models differ in offset and prior only, so all their Hessians Xᵀ·W_j·X are one product of matrices:
row j of W times the pairwise products of the columns of X.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from trueodds.inputs import Floats
from trueodds.numerics.log_odds import sigmoid
from trueodds.numerics.smooth_curve.cells import LogOddsCells, cells_of
from trueodds.numerics.smooth_curve.models import (
    AMPLITUDES,
    CENTERS,
    HALF_THE_RANKING,
    SPREAD_FACTOR,
    Center,
    Curve,
    Kind,
    Steps,
    fit_steps,
    squash,
)
from trueodds.numerics.smooth_curve.posterior import CurveMember, CurvePosterior

__all__ = [
    "Fits",
    "Prior",
    "fit_all",
    "fit_smooth_curve",
]

LEAST_WEIGHT = 3e-3
"""Models with a smaller share are left out: they would move no probability by more."""
LENGTHS = (1.2, 0.4)
"""Of waves, on the axis of normal quantiles; scores fill about −3 to 3 of it."""
FINER_LENGTH = 0.12
"""Tried, as are steps, if there are many rows or the shorter of the lengths is clearly better."""
ROWS_FOR_FINER_WAVES, ROWS_FOR_STEPS = 2000, 300
BARE_COUNTS_AS = 8.0
"""Models of the 77 that one without features is worth, a priori. With 1, calibrated scores lose up
to 0.0008 of log-loss at 1,000 rows; with 4 or 12, the mean over the arena is the same to 0.0001."""
WORTH_A_LOOK = 3.0
"""The difference of evidence, in nats, that makes it so: odds of 20 to 1."""
FINER_CENTERS = (Center("as_it_is", 1.0), Center("temperature", 1.0), Center("base_rate", 1.0))
"""Where short waves are needed, it matters little what they are added to."""


def n_cells_for(total: float) -> tuple[int, int]:
    """Cells for waves and for steps: more rows show finer detail."""
    if total < 3000:
        return 200, 200
    return (400, 400) if total < 30_000 else (400, 1000)


def fit_smooth_curve(
    z: Floats,
    n_neg: Floats,
    n_pos: Floats,
    *,
    centered_on_scores: bool = True,
    with_bare: bool = True,
) -> CurvePosterior:
    """The posterior of the curve.

    Parameters
    ----------
    z : ndarray of shape (n,)
        Log-odds, strictly increasing; ±inf is legal.
    n_neg, n_pos : ndarray of shape (n,)
        The weight of each class at each.
    centered_on_scores : bool, default=True
        Whether the scores themselves may be right. Not if they are margins.
    with_bare : bool, default=True
        Whether models take part that learn nothing, or a temperature alone. They make forecasts
        better, but are sure of themselves, so intervals are better off without.
    """
    for_waves, for_steps = n_cells_for(float(n_neg.sum() + n_pos.sum()))
    cells = cells_of(z, n_neg, n_pos, for_waves)
    curve = Curve(cells)

    def batch(length: float | None, among: Sequence[Center] = CENTERS) -> _Batch:
        centers = [c for c in among if centered_on_scores or c.kind != "as_it_is"]
        return _Batch(curve, centers, length)

    families: list[_Family] = [batch(None)]
    if with_bare:
        families.append(_Bare(curve, "temperature"))
    if with_bare and centered_on_scores:
        families.append(_Bare(curve, "as_it_is"))
    if len(cells) > 1:  # a single point has no shape
        long, short = (batch(length) for length in LENGTHS)
        families += [long, short]
        gain = short.evidence.max() - long.evidence.max()
        if cells.total >= ROWS_FOR_FINER_WAVES or gain > WORTH_A_LOOK:
            families.append(batch(FINER_LENGTH, FINER_CENTERS))
        if cells.total >= ROWS_FOR_STEPS or gain > WORTH_A_LOOK:
            families.append(fit_steps(cells_of(z, n_neg, n_pos, for_steps)))
    return _average(curve, families)


class _Family(Protocol):
    """Some models, with the evidence of each."""

    @property
    def evidence(self) -> Floats: ...

    def members(self, knots: Floats, weight: Floats) -> list[CurveMember]: ...


def _average(curve: Curve, families: Sequence[_Family]) -> CurvePosterior:
    """Everything that has evidence, at the knots."""
    cells = curve.cells
    top = max(family.evidence.max() for family in families)
    total = sum(np.exp(family.evidence - top).sum() for family in families)
    weights = [np.exp(family.evidence - top) / total for family in families]
    knots = _knots(curve)
    for family, weight in zip(families, weights, strict=True):
        if isinstance(family, Steps) and weight[0] >= LEAST_WEIGHT:
            knots = np.unique(np.concatenate([knots, family.cells.z]))
    members: list[CurveMember] = []
    for family, weight in zip(families, weights, strict=True):
        members += family.members(knots, np.where(weight >= LEAST_WEIGHT, weight, 0.0))
    kept = sum(member.weight for member in members)
    members = [replace(member, weight=member.weight / kept) for member in members]
    return CurvePosterior(knots, np.interp(knots, cells.z, cells.weight), tuple(members))


class _Bare:
    """A center by itself: nothing is learned, or a temperature alone."""

    def __init__(self, curve: Curve, kind: Kind) -> None:
        self._curve, self._kind = curve, kind
        cells = curve.cells
        eta = curve.center(kind, cells.z)
        likelihood = eta @ cells.n_pos - np.logaddexp(0, eta) @ cells.weight
        cost = charge(kind, cells) - np.log(BARE_COUNTS_AS)
        self.evidence = np.array([likelihood - cost])
        # Of the logarithm of a temperature: what the rows say of it, and its prior.
        q = sigmoid(eta)
        precision = cells.weight @ (q * (1 - q) * eta**2) + SPREAD_FACTOR**-2
        self._deviation = 0.0 if kind == "as_it_is" else float(precision**-0.5)

    def members(self, knots: Floats, weight: Floats) -> list[CurveMember]:
        """One curve, uncertain by its temperature alone."""
        if not weight[0]:
            return []
        eta = self._curve.center(self._kind, knots)
        return [CurveMember(float(weight[0]), eta, self._deviation * eta[:, None])]


def charge(kind: Kind, cells: LogOddsCells) -> float:
    """A temperature was fitted to the same rows: what one parameter costs, less its prior."""
    return 0.5 * np.log(cells.total) - 1 if kind in ("temperature", "squashed") else 0.0


class _Batch:
    """All models with waves of one length, or without waves."""

    def __init__(self, curve: Curve, centers: Sequence[Center], length: float | None) -> None:
        self._curve = curve
        self._length = length
        amplitudes = (None,) if length is None else AMPLITUDES
        self._centers = [center for _ in amplitudes for center in centers]
        features = self._features(curve.cells.z)
        n_waves = features.shape[1] - len(HALF_THE_RANKING)
        mean, deviation = [], []
        for amplitude in amplitudes:
            for center in centers:
                expected = HALF_THE_RANKING if center.kind == "base_rate" else (0.0,) * 4
                mean.append([*expected, *[0.0] * n_waves])
                deviation.append([center.deviation] * 4 + [amplitude or 1.0] * n_waves)
        prior = Prior(np.array(mean), np.array(deviation))
        self._fits: Fits = fit_all(features, self._offsets(curve.cells.z), curve.cells, prior)
        charges = [charge(center.kind, curve.cells) for center in self._centers]
        self.evidence = self._fits.evidence - charges

    def _features(self, z: Floats) -> Floats:
        features = self._curve.features(z)
        if self._length is None:
            return features
        return np.hstack([features, self._curve.waves(z, self._length)])

    def _offsets(self, z: Floats) -> Floats:
        kinds = {center.kind: self._curve.center(center.kind, z) for center in self._centers}
        return np.array([kinds[center.kind] for center in self._centers])

    def members(self, knots: Floats, weight: Floats) -> list[CurveMember]:
        """Those with enough weight, at the knots."""
        chosen = np.flatnonzero(weight)
        if not len(chosen):
            return []
        features, offsets = self._features(knots), self._offsets(knots)
        # H = L·Lᵀ, so that L⁻ᵀ·ε has the covariance H⁻¹.
        lower = np.linalg.cholesky(self._fits.hessian[chosen])
        factors = np.linalg.solve(
            lower, np.broadcast_to(features.T, (len(chosen), *features.T.shape))
        )
        return [
            CurveMember(float(weight[j]), offsets[j] + features @ self._fits.theta[j], factors[k].T)
            for k, j in enumerate(chosen.tolist())
        ]


def _knots(curve: Curve) -> Floats:
    """The cells' log-odds, and points between those that lie far apart."""
    z = curve.cells.z
    far = np.maximum(
        np.diff(curve.cells.quantile) / FAR_QUANTILE, np.diff(squash(z)) / FAR_SQUASHED
    )
    pieces = np.clip(np.ceil(far), 1, MOST_PIECES).astype(int)
    shares = [np.arange(n) / n for n in pieces.tolist()]
    inner = [z[i] + share * (z[i + 1] - z[i]) for i, share in enumerate(shares)]
    return np.unique(np.concatenate([*inner, z[-1:]]))


FAR_QUANTILE, FAR_SQUASHED, MOST_PIECES = 0.2, 0.5, 16
"""Between neighboring cells no farther apart than this, the curve is straight to 1e-4."""


MOST_STEPS = 30
ENOUGH = 1e-5
"""A step that gains less than this, in nats, is the last."""
LEAST_CURVATURE = 1e-9
"""Of a cell; keeps Hessians regular where every forecast is certain."""


@dataclass(frozen=True, eq=False)
class Prior:
    """Where the coefficients of each model are expected; arrays of shape (n_models, n_features)."""

    mean: Floats
    deviation: Floats


@dataclass(frozen=True, eq=False)
class Fits:
    """The posterior of each model.

    Parameters
    ----------
    theta : ndarray of shape (n_models, n_features)
        The most probable coefficients.
    hessian : ndarray of shape (n_models, n_features, n_features)
        The precision of the normal approximation.
    evidence : ndarray of shape (n_models,)
        The logarithm of the marginal likelihood.
    """

    theta: Floats
    hessian: Floats
    evidence: Floats


def fit_all(features: Floats, offset: Floats, cells: LogOddsCells, prior: Prior) -> Fits:
    """Fit every model by Newton's method.

    Parameters
    ----------
    features : ndarray of shape (n_cells, n_features)
    offset : ndarray of shape (n_models, n_cells)
    cells : LogOddsCells
    prior : Prior
    """
    problem = _Problem(features, offset, cells, prior)
    theta = prior.mean.copy()
    eta, value, forecast = problem.evaluate(theta, np.arange(len(theta)))
    active = np.arange(len(theta))
    for _ in range(MOST_STEPS):
        step = problem.newton_step(theta, forecast, active)
        tried, e, v, q = _climb(problem, theta, value, step, active)
        gained = v - value[active]
        theta[active], eta[active], value[active], forecast[active] = tried, e, v, q
        active = active[gained >= ENOUGH]
        if not len(active):
            break
    hessian = problem.hessian(forecast, np.arange(len(theta)))
    _, log_determinant = np.linalg.slogdet(hessian)
    evidence = value - log_determinant / 2 - np.log(prior.deviation).sum(axis=1)
    return Fits(theta, hessian, evidence)


def _climb(
    problem: _Problem, theta: Floats, value: Floats, step: Floats, active: np.ndarray
) -> tuple[Floats, Floats, Floats, Floats]:
    """Whole steps, halved for those models that they would make worse."""
    tried = theta[active] + step
    eta, new, forecast = problem.evaluate(tried, active)
    length = np.ones(len(active))
    for _ in range(14):
        worse = np.flatnonzero(new < value[active] - 1e-9)
        if not len(worse):
            break
        length[worse] /= 2
        tried[worse] = theta[active[worse]] + length[worse, None] * step[worse]
        eta[worse], new[worse], forecast[worse] = problem.evaluate(tried[worse], active[worse])
    return tried, eta, new, forecast


class _Problem:
    """The log-posterior of all models, and its derivatives."""

    def __init__(self, features: Floats, offset: Floats, cells: LogOddsCells, prior: Prior) -> None:
        self.features = features
        self.offset = offset
        self.cells = cells
        self.prior = prior
        self.precision = prior.deviation**-2.0
        self.size = features.shape[1]
        self.rows, self.columns = np.triu_indices(self.size)
        self.products = features[:, self.rows] * features[:, self.columns]

    def evaluate(self, theta: Floats, models: np.ndarray) -> tuple[Floats, Floats, Floats]:
        """Log-odds, log-posterior (but for constants) and forecasts of some models."""
        eta = self.offset[models] + theta @ self.features.T
        power = np.exp(-np.abs(eta))
        softplus = np.maximum(eta, 0) + np.log1p(power)
        deviation = (theta - self.prior.mean[models]) ** 2 * self.precision[models]
        value = eta @ self.cells.n_pos - softplus @ self.cells.weight - deviation.sum(axis=1) / 2
        return eta, value, np.where(eta >= 0, 1.0, power) / (1 + power)

    def hessian(self, forecast: Floats, models: np.ndarray) -> Floats:
        """Minus the second derivatives of the log-posterior."""
        q = forecast[models]
        curvature = np.maximum(self.cells.weight * q * (1 - q), LEAST_CURVATURE)
        upper = curvature @ self.products
        hessian = np.empty((len(models), self.size, self.size))
        hessian[:, self.rows, self.columns] = upper
        hessian[:, self.columns, self.rows] = upper
        diagonal = np.arange(self.size)
        hessian[:, diagonal, diagonal] += self.precision[models]
        return hessian

    def newton_step(self, theta: Floats, forecast: Floats, models: np.ndarray) -> Floats:
        residual = self.cells.n_pos - self.cells.weight * forecast[models]
        pull = self.precision[models] * (theta[models] - self.prior.mean[models])
        gradient = residual @ self.features - pull
        return np.linalg.solve(self.hessian(forecast, models), gradient[..., None])[..., 0]
