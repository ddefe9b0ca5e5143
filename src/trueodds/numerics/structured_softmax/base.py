r"""The base of a structured softmax: temperature, floor and mixing.

.. math:: q = (1 - ε)·\operatorname{softmax}(τ \ln(p + δ)) + ε·π

The floor δ gives probabilities of exactly 0 a logarithm, and makes forecasts of 10⁻³⁰ and of 0
nearly equal. The share ε of outcomes that the scores do not explain keeps one surprising row from
deciding τ. π are the frequencies of the classes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from trueodds.inputs import Floats
from trueodds.numerics.structured_softmax.rows import ClassRows

__all__ = [
    "LEAST_FLOOR",
    "LEAST_MIXING",
    "Base",
    "BaseLoss",
    "fit_mixing_base",
    "fit_plain_base",
    "temperature_log_evidence",
]

LEAST_FLOOR = 1e-304
"""Of the order of the least normal number: no probability below it has all its digits."""
LEAST_MIXING = 1e-6
"""No calibration set shows that an event is rarer than one in a million; so ln q has an end."""

# Priors, in logarithms (ε: log-odds). They are wide: what fifty rows say of τ weighs more.
TEMPERATURE_SPREAD = 1.5  # ln τ ~ N(0, 1.5²): factors of 4.5 either way are usual
FLOOR_CENTER = -9.0  # ln δ: e⁻⁹ ≈ 1/8,000, the resolution of a forest or of a rounded score
FLOOR_SPREAD_ABOVE = 2.5  # a floor above e⁻⁴ would erase what the scores say
FLOOR_SPREAD_BELOW = 15.0  # below, almost anything may be: naive Bayes means its 10⁻²⁰
MIXING_CENTER, MIXING_SPREAD = -5.0, 2.0  # about 1 outcome in 150, by a factor of 7

BOUNDS = ((-6.0, 3.0), (math.log(LEAST_FLOOR), -1.0), (-12.0, 0.0))
STARTS = ((0.0, -12.0, -5.0), (-0.3, -5.0, -4.0), (-2.3, -60.0, -4.0))
"""Unchanged; a high floor; extreme scores that must be divided by ten."""
PLAIN_STARTS = (0.0, -2.0)
MOST_TAU = 1e6
MOST_STEPS = 40
SEARCH_ROWS = 2000
"""Rows that decide from which start to descend; all rows decide where that ends."""
CHUNK_VALUES = 1 << 15
"""Numbers in a temporary array of the loss: they stay in the cache."""
DIFFERENCE = 1e-3
"""In ln τ, for a curvature from two slopes: errors of 1e-6 and of 1e-11."""


@dataclass(frozen=True)
class Base:
    """Temperature 1/τ, floor δ, mixing ε, and π."""

    tau: float
    floor: float
    mixing: float
    prior: Floats

    def logs(self, p: Floats) -> Floats:
        """The logarithms of q, of probabilities of shape (k, n)."""
        return np.asarray(np.log(self.mixed(p)))

    def mixed(self, p: Floats) -> Floats:
        """The probabilities q, of shape (k, n)."""
        q = np.log(p + self.floor)
        q *= self.tau
        q -= q.max(axis=0)
        np.exp(q, out=q)
        q *= (1 - self.mixing) / q.sum(axis=0)
        q += self.mixing * self.prior[:, None]
        return np.asarray(q)


def fit_mixing_base(rows: ClassRows) -> Base:
    """All three numbers by penalized likelihood, π with one pseudo-count for each class."""
    counts = rows.class_weight + 1
    prior = counts / counts.sum()
    return _base_at(_best(rows, prior, [np.array(start) for start in STARTS], n_free=3), prior)


def fit_plain_base(rows: ClassRows) -> Base:
    """The temperature alone: the floor is half the least positive probability, ε the least one."""
    k = rows.n_classes
    floor = max(float(rows.p[rows.p > 0].min()) / 2, LEAST_FLOOR)
    ends = (math.log(floor), math.log(LEAST_MIXING / (1 - LEAST_MIXING)))
    starts = [np.array([start, *ends]) for start in PLAIN_STARTS]
    prior = np.full(k, 1 / k)
    return _base_at(_best(rows, prior, starts, n_free=1), prior)


def temperature_log_evidence(rows: ClassRows, base: Base) -> float:
    """Laplace's evidence of a plain base, in which the temperature alone was learned."""
    x = np.log([base.tau, base.floor, base.mixing / (1 - base.mixing)])
    loss = BaseLoss(rows, base.prior)
    step = np.array([DIFFERENCE, 0.0, 0.0])
    upper, lower = (loss(x + s)[1][0] for s in (step, -step))
    curvature = max((upper - lower) / (2 * DIFFERENCE), TEMPERATURE_SPREAD**-2)
    fixed = 0.5 * float((_off_center(x)[0][1:] ** 2).sum())
    return fixed - loss(x)[0] - math.log(TEMPERATURE_SPREAD) - 0.5 * math.log(curvature)


def _base_at(x: Floats, prior: Floats) -> Base:
    mixing = max(1 / (1 + math.exp(-x[2])), LEAST_MIXING)
    # exp(ln δ) may lie a little below δ, and τ must stay one that a map may have.
    floor = min(max(math.exp(x[1]), LEAST_FLOOR), 1.0)
    return Base(min(math.exp(x[0]), MOST_TAU), floor, mixing, prior)


def _off_center(x: Floats) -> tuple[Floats, Floats]:
    """How far off the priors' centers the numbers are, in standard deviations; and these."""
    spread = FLOOR_SPREAD_BELOW if x[1] < FLOOR_CENTER else FLOOR_SPREAD_ABOVE
    off = np.array([x[0], x[1] - FLOOR_CENTER, x[2] - MIXING_CENTER])
    widths = np.array([TEMPERATURE_SPREAD, spread, MIXING_SPREAD])
    return off / widths, widths


def _best(rows: ClassRows, prior: Floats, starts: list[Floats], n_free: int) -> Floats:
    """The best end of descents from several starts, over the first of (ln τ, ln δ, logit ε)."""
    part = rows.sample(SEARCH_ROWS)
    ends = [_descend(BaseLoss(part, prior), start, n_free) for start in starts]
    best, _ = min(ends, key=lambda end: end[1])
    return best if part is rows else _descend(BaseLoss(rows, prior), best, n_free)[0]


def _descend(loss: BaseLoss, start: Floats, n_free: int) -> tuple[Floats, float]:
    from scipy.optimize import minimize  # slow to import

    def partial(free: Floats) -> tuple[float, Floats]:
        value, slope = loss(np.concatenate([free, start[n_free:]]))
        return value, slope[:n_free]

    found = minimize(
        partial,
        start[:n_free],
        jac=True,
        method="L-BFGS-B",
        bounds=BOUNDS[:n_free],
        options={"maxiter": MOST_STEPS},
    )
    return np.concatenate([found.x, start[n_free:]]), float(found.fun)


@dataclass(frozen=True, eq=False)
class BaseLoss:
    """Log-loss of a base with the priors' penalties, and its slope, at (ln τ, ln δ, logit ε)."""

    rows: ClassRows
    prior: Floats

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        """The loss and its slope."""
        base = _base_at(x, self.prior)
        value, slope = 0.0, np.zeros(3)
        for rows, classes, places, counts in self._chunks:
            floored, logs = self._floored(rows, base.floor)
            more, steeper = self._of_chunk(base, floored, logs, classes, places, counts)
            value += more
            slope += steeper
        off, widths = _off_center(x)
        return value + 0.5 * float((off**2).sum()), slope + off / widths

    def _floored(self, rows: slice, floor: float) -> tuple[Floats, Floats]:
        """Probabilities above the floor and their logarithms.

        Those of one chunk are kept: the search for a plain base does not move the floor.
        """
        if floor not in self._last:
            floored = self.rows.p[:, rows] + floor
            if len(self._chunks) > 1:
                return floored, np.log(floored)
            self._last.clear()
            self._last[floor] = floored, np.log(floored)
        return self._last[floor]

    @cached_property
    def _last(self) -> dict[float, tuple[Floats, Floats]]:
        return {}

    @cached_property
    def _chunks(self) -> list[tuple[slice, npt.NDArray[np.intp], npt.NDArray[np.intp], Floats]]:
        """Rows, and the classes, places and counts of what was seen in them."""
        k, n = self.rows.p.shape
        step = max(CHUNK_VALUES // k, 1)
        result = []
        for start in range(0, n, step):
            rows = slice(start, start + step)
            counts = self.rows.counts[:, rows]
            classes, places = np.nonzero(counts)
            result.append((rows, classes, places, counts[classes, places]))
        return result

    def _of_chunk(
        self,
        base: Base,
        floored: Floats,
        logs: Floats,
        classes: npt.NDArray[np.intp],
        places: npt.NDArray[np.intp],
        counts: Floats,
    ) -> tuple[float, Floats]:
        tau, mixing = base.tau, base.mixing
        share = tau * logs
        share -= share.max(axis=0)
        np.exp(share, out=share)
        share /= share.sum(axis=0)
        seen, prior = share[classes, places], self.prior[classes]
        q = (1 - mixing) * seen + mixing * prior
        # d(Σ c·ln q) through the softmax: Σ_k g_k·(d_k − Σ_j s_j·d_j), where g = c·(1−ε)·s/q.
        pull = counts * (1 - mixing) * seen / q
        pulls = np.bincount(places, pull, floored.shape[1])
        by_tau = pull @ logs[classes, places] - pulls @ np.einsum("kn,kn->n", share, logs)
        by_floor = pull @ (1 / floored[classes, places]) - pulls @ (share / floored).sum(axis=0)
        by_mixing = (counts / q) @ (prior - seen)
        scales = np.array([tau, tau * base.floor, mixing * (1 - mixing)])
        return -float(counts @ np.log(q)), -scales * [by_tau, by_floor, by_mixing]
