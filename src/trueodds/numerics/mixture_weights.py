r"""Weights of a mixture of forecasts by maximum likelihood.

.. math:: \max_w Σ_i c_i \ln Σ_j w_j p_{ij}, \quad w_j ≥ 0, \; Σ_j w_j = 1

The multiplier of the sum is Σ c: maximizing Σ c·ln(P·w) − Σ c·Σ w over w ≥ 0 has the same solution,
whose sum is 1 then. That is concave with bounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueodds.inputs import Floats
from trueodds.numerics.newton import Point, minimize

__all__ = ["mixture_weights"]

RIDGE = 1e-12  # members that say the same have no best weights


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
    problem = _MixtureLoss(p, counts / counts.sum())
    m = p.shape[1]
    w = minimize(
        problem, np.full(m, 1 / m), decrement=2 * tolerance, lower=np.zeros(m), ridge=RIDGE
    ).theta
    return np.asarray(w / w.sum())


@dataclass(frozen=True)
class _MixtureLoss:
    """Σ w − Σ share·ln(P·w)."""

    p: Floats
    share: Floats

    def at(self, w: Floats) -> Point:
        fitted = self.p @ w
        if not (fitted > 0).all():
            return Point(np.inf, 0.0, np.zeros_like(w), np.eye(len(w)))
        scaled = self.p / fitted[:, None]
        value = float(w.sum() - self.share @ np.log(fitted))
        return Point(value, 0.0, 1 - self.share @ scaled, (scaled.T * self.share) @ scaled)
