"""Confidence sequences: intervals that hold at all times at once, however often one looks."""

from __future__ import annotations

import math

import numpy as np

from trueodds.inputs import Floats

__all__ = ["line_margins", "mean_interval"]

_LAMBDAS = np.concatenate([2.0 ** np.arange(-12, 2), -(2.0 ** np.arange(-12, 2))])
BISECTIONS = 60
PRIOR_SD = 1.0
"""Of the Gaussian mixture over shifts and slopes."""


def mean_interval(weight: float, observed: float, alpha: float) -> tuple[float, float]:
    """Interval for the mean of the true probabilities, which may differ from row to row.

    For each λ, exp(λ·Σy)/Π(1 − π + π·exp λ) is a martingale. The logarithm of a factor is concave
    in π, so the product is largest if all π are equal to their mean; with that in its place there
    is only less evidence. A mixture over fixed λ, and Ville's inequality, do the rest.

    Parameters
    ----------
    weight, observed : float
        Number of rows and of positives.
    alpha : float
        The chance that the mean is ever outside.
    """
    if weight <= 0:
        return 0.0, 1.0
    middle = min(max(observed / weight, 0.0), 1.0)

    def refuted(mean: float) -> bool:
        logs = _LAMBDAS * observed - weight * np.log1p(mean * np.expm1(_LAMBDAS))
        top = float(logs.max())
        return top + math.log(float(np.exp(logs - top).mean())) >= -math.log(alpha)

    def edge(outside: float) -> float:
        inside = middle
        if not refuted(outside):
            return outside
        for _ in range(BISECTIONS):
            half = 0.5 * (inside + outside)
            inside, outside = (inside, half) if refuted(half) else (half, outside)
        return outside

    return edge(0.0), edge(1.0)


def line_margins(estimate: Floats, information: Floats, alpha: float, size: int) -> Floats:
    """Half-widths of intervals for the intercept (and slope), for all times at once.

    A Gaussian mixture over the parameters, centred at "calibrated", evaluated by Laplace's method:
    exact in the limit of many rows, under the model that the log-odds are off by a line.
    """
    own = information[:size, :size]
    off = (estimate - [0.0, 1.0])[:size]
    with_prior = np.eye(size) + PRIOR_SD**2 * own
    level = -math.log(alpha) + 0.5 * float(np.linalg.slogdet(with_prior)[1])
    level += 0.5 * float(off @ off) / PRIOR_SD**2
    # A direction of which nothing is known but rounding errors has hardly any information.
    known, axes = np.linalg.eigh(own)
    known = np.where(known > 1e-14 * known[-1], known, 0.0) + 1e-12
    return np.asarray(np.sqrt(2.0 * level * (axes**2 / known).sum(axis=1)))
