"""The forecasts of one moment as a curve with knots."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trueodds.inputs import Floats
from trueodds.numerics.isotonic import isotonic_fit
from trueodds.numerics.log_odds import sigmoid

__all__ = ["sample_curve"]

FIRST_KNOTS = 241
KNOT_TOLERANCE = 2e-4
"""In probability: an interval whose middle is off by more gets a knot there."""
NARROWEST = 2.0**-20
"""Part of the first intervals' width at which a jump is a jump."""
MOST_KNOTS = 4000


def sample_curve(
    forecast: Callable[[Floats], Floats], low: float, high: float, *, monotone: bool
) -> tuple[Floats, Floats]:
    """Knots x in [low, high] and log-odds y of the forecasts there.

    Intervals are halved where the straight line misses the forecast in the middle.
    """
    x = np.linspace(low, high, FIRST_KNOTS) if high > low else np.array([low])
    p = forecast(x)
    narrowest = (high - low) / (FIRST_KNOTS - 1) * NARROWEST
    left = np.arange(len(x) - 1)
    while len(left) and len(x) + len(left) <= MOST_KNOTS:
        middle = 0.5 * (x[left] + x[left + 1])
        at_middle = forecast(middle)
        straight = sigmoid(0.5 * (_logit(p[left]) + _logit(p[left + 1])))
        wide = (x[left + 1] - x[left]) > 2 * narrowest
        bad = (np.abs(straight - at_middle) > KNOT_TOLERANCE) & wide
        after = left[bad] + 1
        x, p = np.insert(x, after, middle[bad]), np.insert(p, after, at_middle[bad])
        begin = left[bad] + np.arange(len(after))
        left = np.ravel(np.column_stack([begin, begin + 1]))
    if monotone and len(x) > 1:
        width = np.gradient(x)
        p, _ = isotonic_fit(p * width, width)
    return x, _logit(p)


def _logit(p: Floats) -> Floats:
    return np.asarray(np.log(p / (1.0 - p)))
