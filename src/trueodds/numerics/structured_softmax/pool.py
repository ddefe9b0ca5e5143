r"""The models that a Bayesian structured calibrator averages, and their weights.

Members: the scores unchanged; a temperature; and structured softmaxes on two bases, with three
widths of the prior each. A member's weight is proportional to exp(evidence/5), and that of the
unchanged scores to 1 + 10/(number of errors that they expect) besides.

*Variances of the blocks* follow MacKay's fixed point: a block with coefficients θ and γ = Σ(1 −
Σ_{ii}/v) well-determined directions has variance ‖θ‖²/γ. A scaled inverse-χ² prior of ν
pseudo-observations at v₀ pulls it to (‖θ‖² + ν·v₀)/(γ + ν), so that a block without evidence keeps
its prior variance. The evidence is Laplace's,

.. math:: \ln p(y) ≈ \ln p(y | θ) - (Σ θ²/v + \ln\det(H + V^{-1}) + Σ \ln v)/2.

D. J. C. MacKay (1992), Bayesian interpolation, equations 26 to 32. Newton's method finds the most
probable parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from trueodds.inputs import Floats
from trueodds.numerics.structured_softmax.base import (
    Base,
    fit_mixing_base,
    fit_plain_base,
    temperature_log_evidence,
)
from trueodds.numerics.structured_softmax.model import (
    N_SHARED,
    Block,
    Coefficients,
    Design,
    layout_for,
    make_design,
)
from trueodds.numerics.structured_softmax.rows import ClassRows

__all__ = [
    "Member",
    "ModelFit",
    "Posterior",
    "fit_by_evidence",
    "fit_pool",
    "log_softmax_columns",
    "pool_weights",
    "prior_variances",
]

WIDTHS = (4.0, 32.0, 256.0)
"""Prior variances of the blocks, in multiples of :func:`prior_variances`. Variances move towards
the data in any case; with factors of 8, one of three priors is never far off."""
EVIDENCE_DIVISOR = 5.0
"""By what the evidence is divided. Laplace's is off by some nats, and rows of a calibration set are
not quite independent: weights by the whole evidence would choose one member by its error."""
ERRORS_FOR_A_CHANGE = 10.0
"""Unchanged scores count as 1 + 10/e members, where e is the number of errors that they expect: the
few errors of a nearly perfect model, or their absence, say little about the next ones. Without it,
three times as many experiments on the arenas lose more than 0.002 of log-loss."""
LEAST_WEIGHT = 1e-3
"""Members of less weight are left out: a map is to be written, read and run."""


@dataclass(frozen=True, eq=False)
class Member:
    """A model of the pool; without a base it leaves the scores unchanged."""

    log_evidence: float
    base: Base | None = None
    coefficients: Coefficients | None = None
    converged: bool = True
    counts_as: float = 1.0
    """The prior weight."""


def fit_pool(rows: ClassRows, *, as_they_are: bool = True) -> tuple[list[Member], Floats]:
    """The members that count, and their weights.

    ``as_they_are`` is whether the scores are probabilities, so that they may be left alone.
    """
    members = [_identity(rows) if as_they_are else Member(-np.inf)]
    plain = fit_plain_base(rows)
    k = rows.n_classes
    nothing = Coefficients(np.zeros(k), np.zeros(k), np.zeros(0), np.zeros(N_SHARED))
    members.append(Member(temperature_log_evidence(rows, plain), plain, nothing))
    layout = layout_for(k)
    widths = WIDTHS[:1] if layout == "shared" else WIDTHS  # they are those of other blocks
    for base in (plain, fit_mixing_base(rows)):
        design = make_design(rows, base, layout)
        for fit in fit_by_evidence(rows, design, widths):
            coefficients = design.coefficients(fit.theta)
            members.append(Member(fit.log_evidence, base, coefficients, fit.converged))
    evidence, counts_as = np.array([(m.log_evidence, m.counts_as) for m in members]).T
    weights = pool_weights(evidence, counts_as)
    kept = np.flatnonzero(weights)
    return [members[i] for i in kept], weights[kept]


def _identity(rows: ClassRows) -> Member:
    seen = rows.counts > 0
    with np.errstate(divide="ignore"):  # of what was said to be impossible, and was seen
        log_likelihood = float(np.sum(rows.counts[seen] * np.log(rows.p[seen])))
    expected_errors = float(rows.weight @ (1 - rows.p.max(axis=0)))
    return Member(log_likelihood, counts_as=1 + ERRORS_FOR_A_CHANGE / max(expected_errors, 1.0))


def pool_weights(log_evidence: Floats, counts_as: Floats) -> Floats:
    """Weights of members by their evidence and prior; 0 for those that do not count.

    The first one leaves the scores unchanged. The best of the others always counts, since it alone
    estimates how often forecasts of exactly 0 come true.
    """
    weights = counts_as * np.exp((log_evidence - log_evidence.max()) / EVIDENCE_DIVISOR)
    weights /= weights.sum()
    kept = weights >= LEAST_WEIGHT
    kept[1 + int(np.argmax(log_evidence[1:]))] = True
    weights = np.where(kept, np.maximum(weights, 1e-300), 0.0)
    return np.asarray(weights / weights.sum())


SHARED_VARIANCE = 0.1
"""Slopes of shared features: changes of a third either way (0.1 = 0.32²)."""
BLOCK_VARIANCE = 0.5
"""All coefficients of a class's block together, times the width of the member: the sum over j of
W_kj·z_j then has a variance that does not grow with the number of classes."""
PSEUDO_OBSERVATIONS = 10.0
"""How many coefficients' worth the prior variance of a block counts."""
LEAST_VARIANCE = 1e-6
ROUNDS = 4
SETTLED = 0.05
"""Variances that change by less than a twentieth have settled."""
ROUGH, FINE = 3e-2, 1e-3
"""What a step may still gain, in nats, before variances are set and at the end."""


@dataclass(frozen=True, eq=False)
class ModelFit:
    """The most probable parameters, the logarithm of the evidence, and the blocks' variances."""

    theta: Floats
    log_evidence: float
    variances: Floats
    converged: bool


def prior_variances(n_classes: int, width: float) -> Floats:
    """The prior variance of each block, by :class:`Block`."""
    diagonal = width * BLOCK_VARIANCE / n_classes
    others = diagonal / (n_classes - 1)
    result = np.empty(len(Block))
    result[Block.SHARED] = SHARED_VARIANCE
    result[[Block.INTERCEPT, Block.LOG_DIAGONAL, Block.PROBABILITY_DIAGONAL]] = diagonal
    result[[Block.LOG_OTHERS, Block.PROBABILITY_OTHERS]] = others
    return result


def fit_by_evidence(rows: ClassRows, design: Design, widths: tuple[float, ...]) -> list[ModelFit]:
    """Fit one model for each width of the prior; each starts where the one before ended."""
    theta = np.zeros(len(design.blocks))
    posterior = Posterior(design, rows.counts, rows.weight, theta)
    return [_fit_width(posterior, prior_variances(rows.n_classes, width)) for width in widths]


def _fit_width(posterior: Posterior, prior: Floats) -> ModelFit:
    blocks = posterior.design.blocks
    variances = prior.copy()
    for _ in range(ROUNDS - 1):
        posterior.climb(1 / variances[blocks], ROUGH)
        before, variances = variances, _updated(posterior, variances, prior)
        if np.abs(np.log(variances / before)).max() < SETTLED:
            break
    precision = 1 / variances[blocks]
    converged = posterior.climb(precision, FINE)
    posterior.refresh()
    half_log_det = float(np.log(np.diagonal(posterior.factor(precision))).sum())
    log_evidence = posterior.value(precision) - half_log_det + 0.5 * float(np.log(precision).sum())
    return ModelFit(posterior.theta.copy(), log_evidence, variances, converged)


def _updated(posterior: Posterior, variances: Floats, prior: Floats) -> Floats:
    from scipy.linalg.lapack import dtrtri  # slow to import

    blocks, theta = posterior.design.blocks, posterior.theta
    inverse, _ = dtrtri(posterior.factor(1 / variances[blocks]), lower=True)
    of_theta = np.einsum("ij,ij->j", inverse, inverse)
    size = np.bincount(blocks, minlength=len(Block))
    left = np.bincount(blocks, of_theta, len(Block)) / variances
    squares = np.bincount(blocks, theta**2, len(Block))
    nu = PSEUDO_OBSERVATIONS
    result = (squares + nu * prior) / (np.maximum(size - left, 0) + nu)
    return np.asarray(np.maximum(result, LEAST_VARIANCE))


MOST_STEPS = 50
SLOW = 0.2
"""A step that gains more than this share of the step before calls for a new curvature."""
TRACE_ROUNDING = 1e-13
"""Of the trace: with weights of millions, what is rounded away exceeds the precision of a prior."""
SHORTEST = 1e-4
"""A step that gains nothing even at this length is as good as none."""


def log_softmax_columns(eta: Floats) -> Floats:
    """Logarithms of the probabilities of the classes, which are the rows here."""
    logs = eta - eta.max(axis=0)
    logs -= np.log(np.exp(logs).sum(axis=0))
    return np.asarray(logs)


@dataclass(eq=False)
class Posterior:
    """The state of the search for the most probable parameters.

    The curvature of the likelihood is kept from one prior to the next: where the parameters have
    hardly moved, it is still right.

    Parameters
    ----------
    design : Design
    counts : ndarray of shape (k, n)
    weight : ndarray of shape (n,)
    theta : ndarray of shape (size,)
        Where to start.
    """

    design: Design
    counts: Floats
    weight: Floats
    theta: Floats
    eta: Floats = field(init=False)
    logs: Floats = field(init=False)
    curvature: Floats = field(init=False)
    _factored: tuple[Floats, Floats] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.eta = self.design.offset + self.design.predictor(self.theta)
        self.logs = log_softmax_columns(self.eta)
        self.refresh()

    def refresh(self) -> None:
        """Compute the curvature of the likelihood anew."""
        self.curvature = self.design.hessian(np.exp(self.logs), self.weight)
        self._factored = None

    def value(self, precision: Floats) -> float:
        """The logarithm of likelihood times prior, without the prior's constant."""
        return _value(self.counts, self.logs, self.theta, precision)

    def factor(self, precision: Floats) -> Floats:
        """The Cholesky factor of the curvature of the posterior, lower triangle.

        Where weights differ by many orders of magnitude, rounding takes more than is added first.
        The last factor is kept: variances are set with that of the last step.
        """
        if self._factored is not None and np.array_equal(self._factored[0], precision):
            return self._factored[1]
        rounding = TRACE_ROUNDING * float(np.trace(self.curvature))
        while True:
            whole = self.curvature.copy()
            whole.reshape(-1)[:: len(whole) + 1] += precision + rounding
            try:
                factor = np.asarray(np.linalg.cholesky(whole), dtype=np.float64)
            except np.linalg.LinAlgError:
                if not rounding < np.trace(self.curvature):
                    raise
                rounding *= 100
            else:
                self._factored = precision, factor
                return factor

    def climb(self, precision: Floats, tolerance: float) -> bool:
        """Go to the top for a prior; stop when a step gains less than ``tolerance``.

        A gradient costs a small part of a curvature, which is therefore kept for as long as each
        step gains much less than the one before. Returns whether the top was reached.
        """
        from scipy.linalg import cho_solve  # slow to import

        value, before = self.value(precision), np.inf
        factor = self.factor(precision)
        for _ in range(MOST_STEPS):
            slope = self.design.gradient(self.counts - self.weight * np.exp(self.logs))
            slope -= precision * self.theta
            gain = self._move(cho_solve((factor, True), slope), precision, value)
            value += gain
            if gain < tolerance:
                return True
            if gain > SLOW * before:
                self.refresh()
                factor = self.factor(precision)
                gain = np.inf
            before = gain
        return False

    def _move(self, direction: Floats, precision: Floats, value: float) -> float:
        """Go along a direction, halving the length until something is gained; what is gained."""
        change = self.design.predictor(direction)
        length = 1.0
        while length >= SHORTEST:
            theta = self.theta + length * direction
            eta = self.eta + length * change
            logs = log_softmax_columns(eta)
            gain = _value(self.counts, logs, theta, precision) - value
            if gain >= 0:
                self.theta, self.eta, self.logs = theta, eta, logs
                return gain
            length /= 2
        return 0.0


def _value(counts: Floats, logs: Floats, theta: Floats, precision: Floats) -> float:
    return float(np.vdot(counts, logs)) - 0.5 * float(precision @ theta**2)
