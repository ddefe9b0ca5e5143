r"""Weights of a mixture of forecasts by maximum likelihood.

.. math:: \max_w Σ_i c_i \ln Σ_j w_j p_{ij}, \quad w_j ≥ 0, \; Σ_j w_j = 1

The multiplier of the sum is Σ c: maximizing Σ c·ln(P·w) − Σ c·Σ w over w ≥ 0 has the same solution,
whose sum is 1 of itself. That is concave with bounds, and solved by Newton's method among the
weights that are not held at 0 (Bertsekas' projection).
"""

from __future__ import annotations

import numpy as np

from trueodds.inputs import Floats

__all__ = ["mixture_weights"]

MOST_STEPS = 100
SHORTEST = 2.0**-40
RIDGE = 1e-12
"""Against the mean curvature: members that say the same have no best weights."""


def mixture_weights(p: Floats, counts: Floats, tolerance: float = 1e-12) -> Floats:
    """The weights of the members.

    Parameters
    ----------
    p : ndarray of shape (n, m)
        What each member gave what was seen; at least one member is positive in every row.
    counts : ndarray of shape (n,)
    tolerance : float, default=1e-12
        What a step may still gain, as a share of Σ counts.

    Examples
    --------
    >>> import numpy as np
    >>> mixture_weights(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([3.0, 1.0])).round(6)
    array([0.75, 0.25])
    """
    share = counts / counts.sum()
    w = np.full(p.shape[1], 1 / p.shape[1])
    value = _value(p, share, w)
    for _ in range(MOST_STEPS):
        fitted = p @ w
        slope = p.T @ (share / fitted) - 1
        free = (w > 0) | (slope > 0)
        scaled = p[:, free] / fitted[:, None]
        curvature = (scaled.T * share) @ scaled
        curvature[np.diag_indices_from(curvature)] += RIDGE * np.trace(curvature) / len(curvature)
        direction = np.zeros_like(w)
        direction[free] = np.linalg.solve(curvature, slope[free])
        w, gain = _best_on_path(p, share, w, direction, value)
        value += gain
        if gain <= tolerance:
            break
    return np.asarray(w / w.sum())


def _best_on_path(
    p: Floats, share: Floats, w: Floats, direction: Floats, value: float
) -> tuple[Floats, float]:
    """Go along a direction, bending where a weight would be negative; halve until it gains."""
    length = 1.0
    while length >= SHORTEST:
        trial = np.maximum(w + length * direction, 0)
        gain = _value(p, share, trial) - value
        if gain > 0:
            return trial, gain
        length /= 2
    return w, 0.0


def _value(p: Floats, share: Floats, w: Floats) -> float:
    fitted = p @ w
    if not (fitted > 0).all():
        return -np.inf
    return float(share @ np.log(fitted) - w.sum())
