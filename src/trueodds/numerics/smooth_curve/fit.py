"""Fit all models to the cells, and average them with their evidence as weights.

Models are Bayesian logistic regressions on the same features, fitted together by Laplace's method.
Model j has log-odds η = offset_j + X·θ, with θ ~ N(mean_j, diag(deviation_j²)). Its posterior is
approximated by a normal around the most probable θ, with the Hessian H there. Its evidence is

    ln p(y) ≈ ln p(y | θ) + ln p(θ) + 0.5·d·ln 2π − 0.5·ln det H.

Models differ only in offset and prior. ``kernels/laplace.py`` fits one after the other, each from
the solution of a model with a narrower prior.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from trueodds.inputs import Floats
from trueodds.kernels.laplace import LogisticModels, standard_deviations
from trueodds.numerics.log_odds import sigmoid
from trueodds.numerics.smooth_curve.cells import LogOddsCells, cells_of, clip_saturated
from trueodds.numerics.smooth_curve.models import (
    AMPLITUDES,
    CENTERS,
    HALF_THE_RANKING,
    JUMP,
    SPREAD_FACTOR,
    SQUASHED_COUNTS_AS,
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

PATIENCE = 1.5
"""By which the log evidence is divided. Laplace's approximation is off by some nats, and one model
out of many would be chosen by this error. With 1, log-loss on the second arena is higher by 0.0001;
with 2, more experiments are harmed."""
LEAST_WEIGHT = 3e-3
"""Models with a smaller weight are left out; none would change a probability by more."""
LENGTHS = (1.2, 0.4)
"""Lengths of waves on the axis of normal quantiles, on which scores range from about −3 to 3."""
FINER_LENGTH = 0.12
"""Tried, as are steps, if there are many rows or the shorter of the lengths is clearly better."""
ROWS_FOR_FINER_WAVES, ROWS_FOR_STEPS = 2000, 300
SIMPLEST_COUNT_AS = 8.0
"""Prior weight of a model without features; the other 77 have 1 or 2. With 1, calibrated scores
lose up to 0.0008 of log-loss at 1,000 rows; with 4 or 12, the mean over the accuracy benchmark is
the same to 0.0001."""
CAUTIOUS_UNTIL, ERRORS_FOR_A_CHANGE = 300.0, 3.0
"""Unchanged scores are worth 1 + 300/n + 3/e times as much, if they expect e errors in n rows. With
few rows, or few errors of a nearly perfect model, a change with little evidence harms more often.
Without the first, twice as many experiments lose more than 0.002 of log-loss; without the second,
10 instead of 7."""
JUMP_CENTERS = (
    Center("unchanged", 0.3),
    Center("temperature", 0.3),
    Center("squashed", 0.3, SQUASHED_COUNTS_AS),
    Center("base_rate", 1.0),
)
JUMP_LENGTHS = (None, LENGTHS[0])
JUMPS_COUNT_AS = 4.0
"""Prior weight of a model that separates scores of 0 and 1 from the curve, if there are such
scores. With 1, intervals at scores of 0 and 1 are too narrow."""
FINER_GAIN = 3.0
"""The shorter length is clearly better with this difference of log evidence: odds of 20 to 1."""
FINER_CENTERS = (Center("unchanged", 1.0), Center("temperature", 1.0), Center("base_rate", 1.0))
"""Few centers, because with short waves the center matters little."""


def n_cells_for(total: float) -> tuple[int, int]:
    """Return the number of cells for waves and for steps; more rows show finer detail."""
    if total < 3000:
        return 200, 200
    return (400, 400) if total < 30_000 else (400, 1000)


def fit_smooth_curve(
    z: Floats,
    n_neg: Floats,
    n_pos: Floats,
    *,
    centered_on_scores: bool = True,
    with_simplest: bool = True,
    offset: float = 0.0,
) -> CurvePosterior:
    """The posterior of the curve.

    Parameters
    ----------
    z : ndarray of shape (n,)
        Log-odds, strictly increasing; ±inf is legal.
    n_neg, n_pos : ndarray of shape (n,)
        Weight of each class at each score.
    centered_on_scores : bool, default=True
        Whether the scores themselves may be calibrated. Not for decision values.
    with_simplest : bool, default=True
        Whether to include models that learn nothing or only a temperature. They improve forecasts,
        but make intervals too narrow.
    offset : float, default=0
        Log-odds of the counts minus those of the curve: the classes were not sampled alike. Scores
        are moved by as much, so that calibrated ones stay a model, and the curve is moved back.
    """
    if offset:
        along = offset if centered_on_scores else 0.0
        posterior = fit_smooth_curve(
            z + along,
            n_neg,
            n_pos,
            centered_on_scores=centered_on_scores,
            with_simplest=with_simplest,
        )
        return posterior.moved(-along, -offset)
    for_waves, for_steps = n_cells_for(float(n_neg.sum() + n_pos.sum()))
    saturated = (False, False)
    if centered_on_scores:
        z, saturated = clip_saturated(z)
    cells = cells_of(z, n_neg, n_pos, for_waves, saturated)
    curve = Curve(cells)

    def batch(
        length: float | None, among: Sequence[Center] = CENTERS, *, jumps: bool = False
    ) -> _Batch:
        centers = [c for c in among if centered_on_scores or c.kind != "unchanged"]
        return _Batch(curve, centers, length, jumps=jumps)

    families: list[_Family] = [batch(None)]
    if with_simplest:
        families.append(_Simplest(curve, "temperature"))
    if with_simplest and centered_on_scores:
        families.append(_Simplest(curve, "unchanged"))
        if any(saturated):
            families.append(_Simplest(curve, "literal"))
    if len(cells) > 1:  # a single point has no shape
        long, short = (batch(length) for length in LENGTHS)
        families += [long, short]
        if any(saturated):
            families += [batch(length, JUMP_CENTERS, jumps=True) for length in JUMP_LENGTHS]
        gain = short.log_evidence.max() - long.log_evidence.max()
        if cells.total >= ROWS_FOR_FINER_WAVES or gain > FINER_GAIN:
            families.append(batch(FINER_LENGTH, FINER_CENTERS))
        if cells.total >= ROWS_FOR_STEPS or gain > FINER_GAIN:
            families.append(fit_steps(cells_of(z, n_neg, n_pos, for_steps, saturated)))
    return _average(curve, families)


class _Family(Protocol):
    """Some models, with the evidence and the prior weight of each."""

    @property
    def log_evidence(self) -> Floats: ...

    @property
    def counts_as(self) -> Floats:
        """Prior weights."""

    def members(self, knots: Floats, weight: Floats) -> list[CurveMember]: ...


def _average(curve: Curve, families: Sequence[_Family]) -> CurvePosterior:
    """Average the models, at the knots."""
    cells = curve.cells
    logs = [family.log_evidence / PATIENCE + np.log(family.counts_as) for family in families]
    top = max(log.max() for log in logs)
    total = sum(np.exp(log - top).sum() for log in logs)
    weights = [np.exp(log - top) / total for log in logs]
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


class _Simplest:
    """A center without features: nothing is learned, or only a temperature."""

    def __init__(self, curve: Curve, kind: Kind) -> None:
        self._curve, self._kind = curve, kind
        cells = curve.cells
        eta = curve.center(kind, cells.z)
        likelihood = eta @ cells.n_pos - np.logaddexp(0, eta) @ cells.weight
        self.log_evidence = np.array([likelihood - parameter_cost(kind, cells)])
        q = sigmoid(eta)
        caution = 0.0
        if kind != "temperature":
            expected_errors = float(cells.weight @ np.minimum(q, 1 - q))
            caution = CAUTIOUS_UNTIL / max(cells.total, 1.0)
            caution += ERRORS_FOR_A_CHANGE / max(expected_errors, 1.0)
        self.counts_as = np.array([SIMPLEST_COUNT_AS * (1 + caution)])
        # Precision of the logarithm of a temperature, from the rows and from its prior.
        precision = cells.weight @ (q * (1 - q) * eta**2) + SPREAD_FACTOR**-2
        self._deviation = float(precision**-0.5) if kind == "temperature" else 0.0

    def members(self, knots: Floats, weight: Floats) -> list[CurveMember]:
        """Return one curve, whose only uncertainty is its temperature."""
        if not weight[0]:
            return []
        eta = self._curve.center(self._kind, knots)
        deviation = self._deviation * eta
        return [CurveMember(float(weight[0]), eta, np.abs(deviation), deviation[:, None])]


def parameter_cost(kind: Kind, cells: LogOddsCells) -> float:
    """Return the cost in nats of a temperature that was fitted to the same rows, less its prior."""
    return 0.5 * np.log(cells.total) - 1 if kind in ("temperature", "squashed") else 0.0


class _Batch:
    """All models with waves of one length, or without waves; with or without jumps."""

    def __init__(
        self, curve: Curve, centers: Sequence[Center], length: float | None, *, jumps: bool
    ) -> None:
        self._curve = curve
        self._length = length
        self._jumps = jumps
        amplitudes = (None,) if length is None else AMPLITUDES
        self._kinds = [center.kind for _ in amplitudes for center in centers]
        features = self._features(curve.cells.z)
        n_jumps = sum(curve.cells.saturated) if jumps else 0
        n_waves = features.shape[1] - len(HALF_THE_RANKING) - n_jumps
        mean, deviation = [], []
        for amplitude in amplitudes:
            for center in centers:
                expected = HALF_THE_RANKING if center.kind == "base_rate" else (0.0,) * 4
                mean.append([*expected, *[0.0] * (n_jumps + n_waves)])
                widths = [center.deviation] * 4 + [JUMP] * n_jumps + [amplitude or 1.0] * n_waves
                deviation.append(widths)
        prior = Prior(np.array(mean), np.array(deviation))
        offset = self._offsets(curve.cells.z)
        parents = _parents(centers, len(amplitudes))
        self._fits = fit_all(features, offset, curve.cells, prior, parents)
        costs = {kind: parameter_cost(kind, curve.cells) for kind in set(self._kinds)}
        self.log_evidence = self._fits.log_evidence - [costs[kind] for kind in self._kinds]
        self.counts_as = np.array([center.counts_as for _ in amplitudes for center in centers])
        self.counts_as *= JUMPS_COUNT_AS if jumps else 1.0

    def _features(self, z: Floats) -> Floats:
        columns = [self._curve.features(z)]
        if self._jumps:
            columns.append(self._curve.jumps(z))
        if self._length is not None:
            columns.append(self._curve.waves(z, self._length))
        return np.hstack(columns)

    def _offsets(self, z: Floats) -> Floats:
        by_kind = {kind: self._curve.center(kind, z) for kind in set(self._kinds)}
        return np.array([by_kind[kind] for kind in self._kinds])

    def members(self, knots: Floats, weight: Floats) -> list[CurveMember]:
        """Return the models with positive weight, at the knots."""
        chosen = np.flatnonzero(weight)
        if not len(chosen):
            return []
        features = self._features(knots)
        mean = self._offsets(knots)[chosen] + self._fits.theta[chosen] @ features.T
        deviation = np.empty_like(mean)
        factor = self._fits.factor
        standard_deviations(factor, chosen, np.ascontiguousarray(features.T), deviation)
        return [
            CurveMember(float(weight[j]), mean[k], deviation[k], features, factor[j])
            for k, j in enumerate(chosen.tolist())
        ]


def _parents(centers: Sequence[Center], n_amplitudes: int) -> list[int]:
    """Return, for each model, one with a narrower prior and the same center, or −1."""
    first = [
        j - 1 if j and centers[j - 1].kind == center.kind else -1
        for j, center in enumerate(centers)
    ]
    return first + list(range(len(centers) * (n_amplitudes - 1)))


def _knots(curve: Curve) -> Floats:
    """Return the log-odds of the cells, and points between those that are far apart."""
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


@dataclass(frozen=True, eq=False)
class Prior:
    """Prior mean and deviation of the coefficients; arrays of shape (n_models, n_features)."""

    mean: Floats
    deviation: Floats


@dataclass(frozen=True, eq=False)
class Fits:
    """The posterior of each model.

    Parameters
    ----------
    theta : ndarray of shape (n_models, n_features)
        The most probable coefficients.
    factor : ndarray of shape (n_models, n_features, n_features)
        Upper triangular U; Uᵀ·U is the precision of the normal approximation.
    log_evidence : ndarray of shape (n_models,)
        The logarithm of the marginal likelihood; −inf for a model that could not be fitted.
    """

    theta: Floats
    factor: Floats
    log_evidence: Floats


def fit_all(
    features: Floats,
    offset: Floats,
    cells: LogOddsCells,
    prior: Prior,
    parents: Sequence[int] | None = None,
) -> Fits:
    """Fit every model by Newton's method.

    Parameters
    ----------
    features : ndarray of shape (n_cells, n_features)
    offset : ndarray of shape (n_models, n_cells)
    cells : LogOddsCells
    prior : Prior
    parents : sequence of int, default=None
        For each model, an earlier one from whose solution to start, or −1.
    """
    n_models, n_features = prior.mean.shape
    theta = prior.mean.copy()
    hessian = np.empty((n_models, n_features, n_features))
    factor = np.zeros((n_models, n_features, n_features))
    log_evidence = np.empty(n_models)
    LogisticModels(features, cells.n_pos, cells.weight).fit(
        offset,
        prior.mean,
        prior.deviation**-2.0,
        np.full(n_models, -1) if parents is None else np.array(parents),
        theta,
        hessian,
        factor,
        log_evidence,
    )
    return Fits(theta, factor, np.where(np.isnan(log_evidence), -np.inf, log_evidence))
