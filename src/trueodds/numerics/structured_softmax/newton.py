"""The most probable parameters of a softmax with Gaussian priors, by Newton's method."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from trueodds.inputs import Floats
from trueodds.numerics.structured_softmax.blocks import Design

__all__ = ["Posterior", "log_softmax_columns"]

MOST_STEPS = 50
SLOW = 0.2
"""A step that gains more than this share of the step before calls for a new curvature."""
ROUNDING = 1e-13
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
    """Where the search for the most probable parameters stands.

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

    def __post_init__(self) -> None:
        self.eta = self.design.offset + self.design.predictor(self.theta)
        self.logs = log_softmax_columns(self.eta)
        self.refresh()

    def refresh(self) -> None:
        """Compute the curvature of the likelihood anew."""
        self.curvature = self.design.hessian(np.exp(self.logs), self.weight)

    def value(self, precision: Floats) -> float:
        """The logarithm of likelihood times prior, without the prior's constant."""
        return _value(self.counts, self.logs, self.theta, precision)

    def factor(self, precision: Floats) -> Floats:
        """The Cholesky factor of the curvature of the posterior, lower triangle.

        Where weights differ by many orders of magnitude, rounding takes more than is added first.
        """
        diagonal = np.diag_indices_from(self.curvature)
        rounding = ROUNDING * float(np.trace(self.curvature))
        while True:
            whole = self.curvature.copy()
            whole[diagonal] += precision + rounding
            try:
                return np.asarray(np.linalg.cholesky(whole), dtype=np.float64)
            except np.linalg.LinAlgError:
                if not rounding < np.trace(self.curvature):
                    raise
                rounding *= 100

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
