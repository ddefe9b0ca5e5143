"""What is known of the curve: a mixture of normal processes, at some knots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueodds.inputs import Floats

__all__ = ["CurveMember", "CurvePosterior"]

NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
NODE_WEIGHTS = NODE_WEIGHTS / NODE_WEIGHTS.sum()
BISECTIONS = 40
LEAST = 1e-300
"""Probabilities below have no logarithm worth keeping."""
FURTHEST = -float(np.log(LEAST))
"""Log-odds beyond are taken for these: curves far from all evidence may go anywhere."""


@dataclass(frozen=True, eq=False)
class CurveMember:
    """One model: its curve is mean + factor·ε with ε standard normal.

    Parameters
    ----------
    weight : float
        Its share of the mixture.
    mean : ndarray of shape (n_knots,)
    factor : ndarray of shape (n_knots, n_features)
    """

    weight: float
    mean: Floats
    factor: Floats

    @property
    def deviation(self) -> Floats:
        """The standard deviation at each knot."""
        return np.asarray(np.sqrt((self.factor**2).sum(axis=1)))


@dataclass(frozen=True, eq=False)
class CurvePosterior:
    """The curve at knots of the log-odds axis.

    Parameters
    ----------
    z : ndarray of shape (n_knots,)
        Log-odds, strictly increasing.
    weight : ndarray of shape (n_knots,)
        How much evidence lies near each knot.
    members : tuple of CurveMember
    """

    z: Floats
    weight: Floats
    members: tuple[CurveMember, ...]

    def log_odds(self) -> Floats:
        """The log-odds of the posterior mean of the probability.

        The mean of σ(η) is nearer to ½ than σ of the mean: small samples stay humble.
        """
        p, rest = np.zeros_like(self.z), np.zeros_like(self.z)
        for member in self.members:
            eta = member.mean[:, None] + member.deviation[:, None] * NODES
            power = np.exp(-np.abs(eta))
            near, far = 1 / (1 + power), power / (1 + power)
            p += member.weight * np.where(eta >= 0, near, far) @ NODE_WEIGHTS
            rest += member.weight * np.where(eta >= 0, far, near) @ NODE_WEIGHTS
        return np.log(np.maximum(p, LEAST)) - np.log(np.maximum(rest, LEAST))

    def quantile(self, share: float) -> Floats:
        """Log-odds below which the curve lies with probability ``share``, at each knot."""
        from scipy.special import ndtr

        mean = np.array([member.mean for member in self.members])
        deviation = np.maximum([member.deviation for member in self.members], 1e-12)
        weight = np.array([member.weight for member in self.members])[:, None]
        low, high = (mean - 9 * deviation).min(axis=0), (mean + 9 * deviation).max(axis=0)
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            below = (weight * ndtr((middle - mean) / deviation)).sum(axis=0) < share
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray(np.clip((low + high) / 2, -FURTHEST, FURTHEST))

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Curves of the posterior, of shape (n, n_knots)."""
        weight = np.array([member.weight for member in self.members])
        chosen = rng.choice(len(self.members), size=n, p=weight / weight.sum())
        curves = []
        for index in chosen:
            member = self.members[index]
            curves.append(member.mean + member.factor @ rng.normal(size=member.factor.shape[1]))
        return np.asarray(np.clip(curves, -FURTHEST, FURTHEST))
