"""Observed over expected events, with an interval."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from trueodds.inputs import Floats, Weights

__all__ = ["event_ratio"]


def event_ratio(
    hit: npt.NDArray[np.bool_], prob: Floats, weight: Weights | None, level: float
) -> tuple[float, float, float, float]:
    """Return the ratio, the ends of its interval, and its standard error.

    The logarithm of the ratio is taken as normal. Without events or without non-events it has no
    variance, so the ends are those of Clopper and Pearson, and the standard error is NaN.

    Examples
    --------
    >>> hit, prob = np.array([True, False, True, True]), np.array([0.5, 0.25, 0.75, 0.5])
    >>> [round(x, 2) for x in event_ratio(hit, prob, None, 0.9)]
    [1.5, 0.93, 2.41, 0.43]
    """
    w = np.ones(len(hit)) if weight is None else weight.values
    observed, expected, total = float(w @ hit), float(w @ prob), float(w.sum())
    n = float(len(hit)) if weight is None else weight.effective
    ratio = observed / expected if expected else math.inf if observed else math.nan
    tail = (1 - level) / 2
    if not math.isfinite(ratio):
        return ratio, ratio, ratio, math.nan
    if hit.all() or not hit.any():
        end = total / expected
        none = not hit.any()
        low = 0.0 if none else tail ** (1 / n) * end
        return ratio, low, (1 - tail ** (1 / n)) * end if none else end, math.nan
    squares = w if weight is None else weight.squares
    error = math.sqrt(float(squares @ (hit - observed / total) ** 2)) / observed
    factor = math.exp(NormalDist().inv_cdf(1 - tail) * error)
    return ratio, ratio / factor, ratio * factor, ratio * error
