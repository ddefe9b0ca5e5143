r"""The base of a structured softmax: temperature, floor and mixing.

.. math:: q = (1 - ε)·\operatorname{softmax}(τ \ln(p + δ)) + ε·π

The floor δ gives probabilities of exactly 0 a logarithm, and makes a model that says 10⁻³⁰ and one
that says 0 agree; the share ε of outcomes that the scores know nothing of keeps one surprising row
from deciding τ. π are the frequencies of the classes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trueodds.numerics.structured_softmax.rows import ClassRows
from trueodds.validation import Floats

__all__ = [
    "LEAST_FLOOR",
    "LEAST_MIXING",
    "Base",
    "fit_mixing_base",
    "fit_plain_base",
    "penalised_loss",
    "temperature_evidence",
]

LEAST_FLOOR = 1e-304
"""Of the order of the least normal number: no probability below it has all its digits."""
LEAST_MIXING = 1e-6
"""No calibration set says of an event that it happens less than once in a million: ln q has an end."""

# Priors, in logarithms (ε: log-odds). They are wide: what a set of fifty rows says of τ weighs more.
TEMPERATURE_SPREAD = 1.5  # ln τ ~ N(0, 1.5²): factors of 4.5 either way are usual
FLOOR_CENTRE = -9.0  # ln δ: e⁻⁹ ≈ 1/8,000, the resolution of a forest or of a rounded score
FLOOR_SPREAD_ABOVE = 2.5  # a floor above e⁻⁴ would erase what the scores say
FLOOR_SPREAD_BELOW = 15.0  # below, almost anything may be: naive Bayes means its 10⁻²⁰
MIXING_CENTRE, MIXING_SPREAD = -5.0, 2.0  # about 1 outcome in 150, by a factor of 7

BOUNDS = ((-6.0, 3.0), (math.log(LEAST_FLOOR), -1.0), (-12.0, 0.0))
STARTS = ((0.0, -12.0, -5.0), (-0.3, -5.0, -4.0), (-2.3, -60.0, -4.0))
"""As it is; a high floor; extreme scores that have to be cooled by a factor of ten."""
PLAIN_STARTS = (0.0, -2.0)
MOST_STEPS = 40
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
        """ln q of probabilities of shape (k, n)."""
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
    """All three numbers by penalised likelihood, π with one pseudo-count for each class."""
    counts = rows.class_weight + 1
    prior = counts / counts.sum()
    best = _best(rows, prior, [np.array(start) for start in STARTS], np.array([True] * 3))
    return _base_at(best, prior)


def fit_plain_base(rows: ClassRows) -> Base:
    """The temperature alone: the floor is half the least positive probability, ε the least one."""
    k = rows.n_classes
    floor = max(float(rows.p[rows.p > 0].min()) / 2, LEAST_FLOOR)
    ends = (min(math.log(floor), -1.0), math.log(LEAST_MIXING / (1 - LEAST_MIXING)))
    starts = [np.array([start, *ends]) for start in PLAIN_STARTS]
    prior = np.full(k, 1 / k)
    return _base_at(_best(rows, prior, starts, np.array([True, False, False])), prior)


def temperature_evidence(rows: ClassRows, base: Base) -> float:
    """Laplace's evidence of a plain base, in which the temperature alone was learned."""
    x = np.log([base.tau, base.floor, base.mixing / (1 - base.mixing)])
    fixed = 0.5 * float((_off_centre(x)[0][1:] ** 2).sum())
    step = np.array([DIFFERENCE, 0.0, 0.0])
    upper, lower = (penalised_loss(rows, base.prior, x + s)[1][0] for s in (step, -step))
    curvature = max((upper - lower) / (2 * DIFFERENCE), TEMPERATURE_SPREAD**-2)
    loss = penalised_loss(rows, base.prior, x)[0] - fixed
    return -loss - math.log(TEMPERATURE_SPREAD) - 0.5 * math.log(curvature)


def _off_centre(x: Floats) -> tuple[Floats, Floats]:
    """How far off the priors' centres the numbers are, in standard deviations; and these."""
    spread = FLOOR_SPREAD_BELOW if x[1] < FLOOR_CENTRE else FLOOR_SPREAD_ABOVE
    off = np.array([x[0], x[1] - FLOOR_CENTRE, x[2] - MIXING_CENTRE])
    widths = np.array([TEMPERATURE_SPREAD, spread, MIXING_SPREAD])
    return off / widths, widths


def _base_at(x: Floats, prior: Floats) -> Base:
    mixing = max(1 / (1 + math.exp(-x[2])), LEAST_MIXING)
    return Base(math.exp(x[0]), math.exp(x[1]), mixing, prior)


def _best(
    rows: ClassRows, prior: Floats, starts: list[Floats], free: npt.NDArray[np.bool_]
) -> Floats:
    """The best end of descents from several starts, over the free ones of ln τ, ln δ, logit ε."""
    from scipy.optimize import minimize  # slow to import

    bounds = [bound for bound, is_free in zip(BOUNDS, free, strict=True) if is_free]
    best, least = starts[0], np.inf
    for start in starts:
        x = start.copy()

        def loss(part: Floats, x: Floats = x) -> tuple[float, Floats]:
            x[free] = part
            value, slope = penalised_loss(rows, prior, x)
            return value, slope[free]

        found = minimize(
            loss, start[free], jac=True, method="L-BFGS-B", bounds=bounds,
            options={"maxiter": MOST_STEPS},
        )  # fmt: skip
        if found.fun < least:
            least, best = float(found.fun), start.copy()
            best[free] = found.x
    return best


def penalised_loss(rows: ClassRows, prior: Floats, x: Floats) -> tuple[float, Floats]:
    """Log-loss with the priors' penalties at (ln τ, ln δ, logit ε), and its slope."""
    base = _base_at(x, prior)
    tau, floor, mixing = base.tau, base.floor, base.mixing
    floored = rows.p + floor
    logs = np.log(floored)
    share = tau * logs
    share -= share.max(axis=0)
    np.exp(share, out=share)
    share /= share.sum(axis=0)
    q = (1 - mixing) * share + mixing * prior[:, None]
    value = -float(np.vdot(rows.counts, np.log(q)))

    # d(−Σ c ln q) through the softmax: Σ_k g_k·(d_k − Σ_j s_j·d_j), where g = c·(1−ε)·s/q.
    per_q = rows.counts / q
    pull = per_q * share
    pull *= 1 - mixing
    centred = pull - share * pull.sum(axis=0)
    slope = np.array(
        [
            -tau * float(np.vdot(centred, logs)),
            -tau * floor * float((centred / floored).sum()),
            -mixing * (1 - mixing) * float(np.vdot(per_q, prior[:, None] - share)),
        ]
    )
    off, widths = _off_centre(x)
    return value + 0.5 * float((off**2).sum()), slope + off / widths
