"""The models that are averaged: smooth curves (center, features, waves), and step functions.

The curve of a smooth model is η(z) = center(z) + θ·features(z) + f(v(z)), where z are log-odds, v
their normal quantiles, and f is a Gaussian process.

*Centers* are the prior means of the curve, so that few rows change little. A center is the
unchanged scores, their temperature, the temperature of squashed scores (for models whose log-odds
reach hundreds), or the base rate with half of the ranking. Scores of 0 and 1 are read as half of
the next score, except with the center ``literal``.
*Features* shift the curve, turn it, bend each end separately, and turn it on the axis of ranks.
*Jumps* separate scores of exactly 0 and 1 from the curve next to them, in some models.
*Waves* let it bend anywhere. Three amplitudes and some lengths are averaged, and no waves.

Deviations of 0.1, 0.3 and 1 mean that calibrated log-odds differ from the center by about a tenth,
a third, or all of a typical spread. Amplitudes of 0.3, 1 and 2.5 mean the same for waves. Lengths
of 0.4 and 1.2 are a small and a large part of the axis of quantiles, on which scores range from
about −3 to 3. No single one is right for all data, so all are averaged with their evidence as
weights. ``benchmarks/choices/smooth_prior.py`` measures the effect of halving and doubling them.

*Step functions* are averaged over the positions of their steps. A smooth process cannot follow a
jump, such as that of a model with few distinct scores or of a rule that overrides it. A bin from
cell a to cell b with a Beta prior has the marginal likelihood L(a, b), and a boundary lies after
each cell with the same prior probability. The sum over all binnings from the left is their
evidence, and walking back draws binnings from their posterior.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from trueodds.inputs import Floats
from trueodds.kernels.binnings import draw_binnings, sum_over_binnings
from trueodds.numerics.smooth_curve.cells import LogOddsCells
from trueodds.numerics.smooth_curve.posterior import CurveMember

__all__ = [
    "CENTERS",
    "SQUASHED_COUNTS_AS",
    "Center",
    "Curve",
    "Steps",
    "fit_steps",
    "squash",
    "temperature",
]

Kind = Literal["unchanged", "literal", "temperature", "squashed", "base_rate"]

AMPLITUDES = (0.3, 1.0, 2.5)
JUMP = 1.0
"""Prior deviation of scores of 0 and 1 from the curve, in models that separate them."""
BEND = 3.0
"""Log-odds up to which squashing changes little."""
TRUSTED_LOG_ODDS = 8.0
"""Log-odds to which unchanged scores are clipped, if no more than 3,000 rows support them: one
error in 3,000. With n rows it is one error in n."""
SPREAD, SPREAD_FACTOR = 2.5, 0.8
"""The spread of calibrated log-odds is log-normal a priori, with this median and log-deviation."""
SQUASHED_COUNTS_AS = 2.0
"""With 1, log-loss on the arenas is higher by 0.00003 ± 0.00003 and 0.00008 ± 0.00003."""
HALF_THE_RANKING = (0.0, 0.5, 0.0, 0.5)
JITTER = 1e-6
SPACING, FEWEST_INDUCING = 0.7, 12
"""Spacing of inducing points, in lengths; closer ones change no probability by 1e-4."""


@dataclass(frozen=True)
class Center:
    """The prior mean of a curve, and the prior deviation of the coefficients of its features.

    ``counts_as`` is the prior weight of a model with this center.
    """

    kind: Kind
    deviation: float
    counts_as: float = 1.0


CENTERS = (
    *(Center("unchanged", deviation) for deviation in (0.1, 0.3, 1.0)),
    *(Center("temperature", deviation) for deviation in (0.1, 0.3, 1.0)),
    *(Center("squashed", deviation, SQUASHED_COUNTS_AS) for deviation in (0.1, 0.3, 1.0)),
    *(Center("base_rate", deviation) for deviation in (1.0, 2.0)),
)


def squash(z: Floats) -> Floats:
    """Return about z up to 3, and a logarithm beyond."""
    return np.sign(z) * BEND * np.log1p(np.abs(z) / BEND)


def temperature(z: Floats, cells: LogOddsCells) -> float:
    """Return the most probable factor of z, if calibrated log-odds have a spread of about 2.5.

    A flat prior is overconfident in separable samples: log-loss 0.24 where this prior has 0.13.
    """
    middle = np.log(SPREAD / cells.mean_and_deviation(z)[1])
    low, high = middle - 4 * SPREAD_FACTOR, middle + 4 * SPREAD_FACTOR
    for n_tried in (33, 17, 17, 17, 17):
        tried = np.linspace(low, high, n_tried)
        eta = np.exp(tried)[:, None] * z
        likelihood = eta @ cells.n_pos - np.logaddexp(0, eta) @ cells.weight
        best = int(np.argmax(likelihood - ((tried - middle) / SPREAD_FACTOR) ** 2 / 2))
        low, high = tried[max(best - 1, 0)], tried[min(best + 1, n_tried - 1)]
    return float(np.exp((low + high) / 2))


class Curve:
    """Features and centers at any log-odds, scaled for some cells.

    Beyond the first and the last cell they are constant.
    """

    def __init__(self, cells: LogOddsCells) -> None:
        self.cells = cells
        squashed = squash(cells.z)
        shapes = (squashed, np.abs(squashed), cells.quantile)
        self._scales = [cells.mean_and_deviation(shape) for shape in shapes]
        rate = (cells.n_pos.sum() + 0.5) / (cells.total + 1)
        self._base_rate = float(np.log(rate / (1 - rate)))
        self._trusted = max(TRUSTED_LOG_ODDS, float(np.log(cells.total)))
        self._temperature = temperature(cells.z, cells)
        self._squashed_temperature = temperature(squashed, cells)

    def quantile(self, z: Floats) -> Floats:
        """Return the normal quantile of a score."""
        return np.interp(z, self.cells.z, self.cells.quantile)

    def inside(self, z: Floats) -> Floats:
        """Return log-odds clipped to the range of the cells."""
        return np.clip(z, self.cells.z[0], self.cells.z[-1])

    def features(self, z: Floats) -> Floats:
        """Return one, and three shapes with mean 0 and deviation 1; of shape (n, 4)."""
        squashed = squash(self.inside(z))
        shapes = (squashed, np.abs(squashed), self.quantile(z))
        scaled = [(x - mean) / sd for x, (mean, sd) in zip(shapes, self._scales, strict=True)]
        return np.column_stack([np.ones_like(z), *scaled])

    def waves(self, z: Floats, length: float) -> Floats:
        """Return functions with independent, standard normal coefficients for a unit process."""
        inducing = self._inducing(length)

        def kernel(v: Floats) -> Floats:
            return np.exp(-(((inducing[:, None] - v) / length) ** 2) / 2)

        covariance = kernel(inducing) + JITTER * np.eye(len(inducing))
        return np.linalg.solve(np.linalg.cholesky(covariance), kernel(self.quantile(z))).T

    def jumps(self, z: Floats) -> Floats:
        """Return indicators of scores of 0 and of scores of 1; one column for each that occurs."""
        ends = zip(self._ends(z), self.cells.saturated, strict=True)
        return np.array([end for end, is_so in ends if is_so], float).reshape(-1, len(z)).T

    def _ends(self, z: Floats) -> tuple[np.ndarray, np.ndarray]:
        """Return which scores are 0, and which are 1."""
        low, high = self.cells.saturated
        return (z <= self.cells.z[0]) & low, (z >= self.cells.z[-1]) & high

    def _inducing(self, length: float) -> Floats:
        """Return the inducing points: in steps of 0.7 lengths, or the cells if they are fewer."""
        v = self.cells.quantile
        needed = max(math.ceil((v[-1] - v[0]) / (SPACING * length)) + 1, FEWEST_INDUCING)
        return v if len(v) <= needed else np.linspace(v[0], v[-1], needed)

    def center(self, kind: Kind, z: Floats) -> Floats:
        """Return the prior mean of the curve."""
        z = self.inside(z)
        if kind == "unchanged":
            return self.inside(np.clip(z, -self._trusted, self._trusted))
        if kind == "literal":
            low, high = self._ends(z)
            inner = np.clip(z, -self._trusted, self._trusted)
            return np.where(low, -self._trusted, np.where(high, self._trusted, inner))
        if kind == "temperature":
            return self._temperature * z
        if kind == "squashed":
            return self._squashed_temperature * squash(z)
        return np.full(len(z), self._base_rate)


EXPECTED_BOUNDARIES = 5.0
N_DRAWN = 32
"""Binnings that represent all."""


@dataclass(frozen=True, eq=False)
class Steps:
    """Step functions drawn from their posterior, and the evidence for steps.

    Parameters
    ----------
    cells : LogOddsCells
    log_evidence : ndarray of shape (1,)
        Logarithm of the marginal likelihood, summed over all step functions.
    binnings : list of ndarray
        First cells of the bins of each drawn function, and the number of cells.
    counts_as : ndarray of shape (1,)
        Their prior weight, all together.
    prior : (float, float)
        Pseudo-counts of negatives and positives in every bin.
    """

    cells: LogOddsCells
    log_evidence: Floats
    binnings: list[np.ndarray]
    prior: tuple[float, float]
    counts_as: Floats = field(default_factory=lambda: np.ones(1))

    def members(self, knots: Floats, weight: Floats) -> list[CurveMember]:
        """Return the drawn functions, with equal parts of the weight, at knots of the log-odds."""
        if not weight[0]:
            return []
        from scipy.special import digamma, polygamma

        nearest = np.searchsorted((self.cells.z[1:] + self.cells.z[:-1]) / 2, knots, side="right")
        members = []
        for starts in self.binnings:
            neg = np.add.reduceat(self.cells.n_neg, starts[:-1]) + self.prior[0]
            pos = np.add.reduceat(self.cells.n_pos, starts[:-1]) + self.prior[1]
            # Log-odds of a Beta variable have this mean and variance.
            mean = digamma(pos) - digamma(neg)
            deviation = np.sqrt(polygamma(1, pos) + polygamma(1, neg))
            bins = np.searchsorted(starts, nearest, side="right") - 1
            features = np.zeros((len(knots), len(mean)))
            features[np.arange(len(knots)), bins] = deviation[bins]
            share = float(weight[0]) / len(self.binnings)
            members.append(CurveMember(share, mean[bins], deviation[bins], features))
        return members


def fit_steps(cells: LogOddsCells) -> Steps:
    """Sum over all binnings, and draw some."""
    n = len(cells)
    rate = float((cells.n_pos.sum() + 0.5) / (cells.total + 1))
    last_bin_start = np.empty(n * (n + 1) // 2)
    log_evidence = sum_over_binnings(
        np.append(0.0, np.cumsum(cells.n_pos)),
        np.append(0.0, np.cumsum(cells.n_neg)),
        rate,
        1 - rate,
        min(EXPECTED_BOUNDARIES / n, 0.5),
        last_bin_start,
    )
    begins = np.empty((N_DRAWN, n), dtype=np.uint8)
    draw_binnings(last_bin_start, np.random.default_rng(0).random(N_DRAWN * n), begins)
    binnings = [np.append(np.flatnonzero(row), n) for row in begins]
    return Steps(cells, np.array([log_evidence]), binnings, (1 - rate, rate))
