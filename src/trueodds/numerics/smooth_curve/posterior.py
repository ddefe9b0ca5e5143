"""The posterior of the curve: a mixture of normal processes at some knots."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trueodds.inputs import Floats
from trueodds.kernels.laplace import mean_probabilities

__all__ = ["CurveMember", "CurvePosterior"]

NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
NODE_WEIGHTS = NODE_WEIGHTS / NODE_WEIGHTS.sum()
BISECTIONS = 40
LEAST_PROBABILITY = 1e-300
"""Smaller probabilities are replaced by this before a logarithm."""
LARGEST_LOG_ODDS = -float(np.log(LEAST_PROBABILITY))
"""Larger log-odds are clipped: curves far from all rows may be anywhere."""


@dataclass(frozen=True, eq=False)
class CurveMember:
    """One model, whose curve is mean + features·θ, with θ normal around 0.

    Parameters
    ----------
    weight : float
        Weight in the mixture.
    mean, deviation : ndarray of shape (n_knots,)
        Mean and standard deviation of the curve at each knot.
    features : ndarray of shape (n_knots, n_features)
    factor : ndarray of shape (n_features, n_features) or None, default=None
        Upper triangular U; the precision of θ is Uᵀ·U. None: θ is standard normal.
    """

    weight: float
    mean: Floats
    deviation: Floats
    features: Floats
    factor: Floats | None = None

    def draw(self, rng: np.random.Generator) -> Floats:
        """Draw one curve, at the knots."""
        standard = rng.normal(size=self.features.shape[1])
        theta = standard if self.factor is None else np.linalg.solve(self.factor, standard)
        return np.asarray(self.mean + self.features @ theta)


@dataclass(frozen=True, eq=False)
class CurvePosterior:
    """The curve at knots of the log-odds axis.

    Parameters
    ----------
    z : ndarray of shape (n_knots,)
        Log-odds, strictly increasing.
    weight : ndarray of shape (n_knots,)
        Weight of the rows near each knot.
    members : tuple of CurveMember
    """

    z: Floats
    weight: Floats
    members: tuple[CurveMember, ...]

    def moved(self, along: float, up: float) -> CurvePosterior:
        """The same curves, ``along`` farther to the right and ``up`` higher, both in log-odds."""
        members = tuple(replace(one, mean=one.mean + up) for one in self.members)
        return replace(self, z=self.z + along, members=members)

    def log_odds(self) -> Floats:
        """Return the log-odds of the posterior mean of the probability.

        The mean of σ(η) is nearer to 0.5 than σ of the mean of η, so small samples give moderate
        probabilities.
        """
        p, q = np.empty_like(self.z), np.empty_like(self.z)
        mean_probabilities(
            np.array([member.mean for member in self.members]),
            np.array([member.deviation for member in self.members]),
            np.array([member.weight for member in self.members]),
            NODES,
            NODE_WEIGHTS,
            p,
            q,
        )
        return np.log(np.maximum(p, LEAST_PROBABILITY)) - np.log(np.maximum(q, LEAST_PROBABILITY))

    def quantile(self, share: float) -> Floats:
        """Return the quantile of the curve's log-odds for probability ``share``, at each knot."""
        from scipy.special import ndtr

        mean = np.array([member.mean for member in self.members])
        deviation = np.maximum([member.deviation for member in self.members], 1e-12)
        weight = np.array([member.weight for member in self.members])[:, None]
        low, high = (mean - 9 * deviation).min(axis=0), (mean + 9 * deviation).max(axis=0)
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            below = (weight * ndtr((middle - mean) / deviation)).sum(axis=0) < share
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray(np.clip((low + high) / 2, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS))

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw curves from the posterior, of shape (n, n_knots)."""
        weight = np.array([member.weight for member in self.members])
        chosen = rng.choice(len(self.members), size=n, p=weight / weight.sum())
        curves = [self.members[index].draw(rng) for index in chosen]
        return np.asarray(np.clip(curves, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS))
