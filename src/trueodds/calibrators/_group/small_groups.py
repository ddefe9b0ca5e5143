"""Evidence on the standard deviation of effects from groups of few rows, by quadrature.

If a group has few rows, the log-likelihood of its effect is no parabola, and Laplace's method finds
evidence against effects where there is none: one row per group has no evidence.

Heagerty (1999), Marginally specified logistic-normal models for longitudinal binary data,
Biometrics 55(3).
"""

from __future__ import annotations

from functools import cache

import numpy as np
import scipy

from trueodds.calibrators._group.levels import Ints, level_sums
from trueodds.inputs import Floats

__all__ = ["log_evidence_of_groups", "recalibrated"]

N_NODES = 5
NEWTON_STEPS, STRENGTH = 3, 1e-3
"""Of the recalibration, and the precision of its prior, whose mean is no change."""


def log_evidence_of_groups(
    eta: Floats, y: Floats, weight: Floats, codes: Ints, n_groups: int, deviations: Floats
) -> Floats:
    """Log-evidence of each standard deviation of the groups' effects, against no effect.

    ``eta`` are the log-odds of the rows' probabilities, averaged over the groups. These do not
    depend on the deviation (Heagerty, 1999), so only what the rows of a group have in common is
    evidence. The nodes of a group are adapted to one Newton step from no effect.
    """
    p = scipy.special.expit(eta)
    pull = level_sums(codes, weight * (y - p), n_groups)
    information = level_sums(codes, weight * p * (1 - p), n_groups)
    none = level_sums(codes, weight * _log_likelihood(eta, y), n_groups)
    nodes, shares = _normal_nodes(N_NODES)
    result = []
    for deviation in deviations.tolist():
        shrunk = deviation**2 / (1 + deviation**2 * information)
        given = np.interp(eta, *_averaged_and_given(deviation))
        gain = np.empty((N_NODES, n_groups))
        for node, row in zip(nodes, gain, strict=True):
            effect = pull * shrunk + np.sqrt(shrunk) * node
            row[:] = level_sums(codes, weight * _log_likelihood(given + effect[codes], y), n_groups)
            row += 0.5 * (node**2 - (effect / deviation) ** 2)
        best = gain.max(axis=0)
        found = best + np.log(shares @ np.exp(gain - best)) - none
        result.append(float((found + 0.5 * np.log(shrunk / deviation**2)).sum()))
    return np.array(result)


def recalibrated(eta: Floats, y: Floats, weight: Floats) -> Floats:
    """The log-odds times a slope, plus a constant, as the rows have them on average."""
    design, change = np.stack([np.ones(len(eta)), eta]), np.zeros(2)
    for _ in range(NEWTON_STEPS):
        p = scipy.special.expit(eta + change @ design)
        hessian = (design * (weight * p * (1 - p))) @ design.T + STRENGTH * np.eye(2)
        gradient = design @ (weight * (y - p)) - STRENGTH * change
        change = change + np.linalg.solve(hessian, gradient)
    return np.asarray(eta + change @ design)


def _log_likelihood(eta: Floats, y: Floats) -> Floats:
    return y * eta - np.log1p(np.exp(eta))


@cache
def _normal_nodes(count: int) -> tuple[Floats, Floats]:
    """Nodes and weights of the mean of a function of a standard normal."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(count)
    return nodes, weights / weights.sum()


@cache
def _averaged_and_given(deviation: float) -> tuple[Floats, Floats]:
    """Log-odds of the probability averaged over normal effects, and those without an effect."""
    nodes, shares = _normal_nodes(31)
    eta = np.linspace(-40.0, 40.0, 801)
    low = -np.abs(eta)  # where the mean has all its digits
    averaged = scipy.special.logit(shares @ scipy.special.expit(low + deviation * nodes[:, None]))
    return np.where(eta > 0, -averaged, averaged), eta
