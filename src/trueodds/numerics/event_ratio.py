"""Observed over expected events, with an interval."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from trueodds.inputs import Floats, Labels, Weights
from trueodds.numerics.standard_errors import Spread

__all__ = ["event_ratio"]


def event_ratio(
    hit: npt.NDArray[np.bool_],
    prob: Floats,
    weight: Weights | None,
    level: float,
    cluster: Labels | None = None,
) -> tuple[float, float, float, float]:
    """Return the ratio, the ends of its interval, and its standard error.

    The standard error is that of a ratio of two sums over the same rows. Without events or without
    non-events it is not known, so the ends are those of Clopper and Pearson.

    Examples
    --------
    >>> hit, prob = np.array([True, False, True, True]), np.array([0.5, 0.25, 0.75, 0.5])
    >>> [round(x, 2) for x in event_ratio(hit, prob, None, 0.9)]
    [1.5, 0.66, 2.14, 0.31]
    """
    w = np.ones(len(hit)) if weight is None else weight.values
    observed, expected, total = float(w @ hit), float(w @ prob), float(w.sum())
    n = float(len(hit)) if weight is None else weight.effective
    ratio = observed / expected if expected else math.inf if observed else math.nan
    if not math.isfinite(ratio):
        return ratio, ratio, ratio, math.nan
    if hit.all() or not hit.any():
        tail, end = (1 - level) / 2, total / expected
        none = not hit.any()
        low = 0.0 if none else tail ** (1 / n) * end
        return ratio, low, (1 - tail ** (1 / n)) * end if none else end, math.nan
    spread = Spread.of((hit - ratio * prob) * (total / expected), weight, cluster)
    low, high = spread.interval(ratio, level)
    return ratio, max(low, 0.0), high, spread.error
