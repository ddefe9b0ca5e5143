"""Parts of formulas that several families share: the twins of ``numerics`` as expressions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trueodds.export.expressions import (
    INFINITE,
    Choose,
    Constant,
    Expression,
    exp,
    log,
    maximum,
    total,
)
from trueodds.inputs import InputScale
from trueodds.numerics.log_odds import log_odds

__all__ = [
    "class_logits_expression",
    "log_or_infinite",
    "log_sum_exp",
    "one_vs_rest_expressions",
    "positive_expression",
    "probability_bounds",
    "probability_log_odds",
]

INFINITELY_LOW = Constant(-INFINITE)


def probability_log_odds(p: Expression) -> Expression:
    """ln(p/(1−p)) of a probability strictly between 0 and 1."""
    return log(p / (1 - p))


def probability_bounds(lower: float, upper: float) -> tuple[float, float]:
    """The largest p whose log-odds are at most ``lower``, the least of at least ``upper``.

    Comparing p with these decides as comparing its log-odds would, to the last digit, and needs no
    logarithm of 0.
    """
    low, high = _probability(lower), _probability(upper)
    while high < 1 and _log_odds(high) < upper:
        high = float(np.nextafter(high, 1))
    while high > 0 and _log_odds(float(np.nextafter(high, 0))) >= upper:
        high = float(np.nextafter(high, 0))
    while low > 0 and _log_odds(low) > lower:
        low = float(np.nextafter(low, 0))
    while low < 1 and _log_odds(float(np.nextafter(low, 1))) <= lower:
        low = float(np.nextafter(low, 1))
    return low, high


def _probability(z: float) -> float:
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


def _log_odds(p: float) -> float:
    return float(log_odds(np.array([p]), "probability")[0])


def positive_expression(scores: Sequence[Expression], scale: InputScale) -> Expression:
    """Two columns as the score of the positive class, on the same scale."""
    negative, positive = scores
    if scale == "probability":
        return positive / (negative + positive)
    if scale == "logit":  # −inf − x would be infinite, which nothing may be
        return maximum(positive, -INFINITE) - maximum(negative, -INFINITE)
    return positive - negative


def log_or_infinite(p: Expression) -> Expression:
    """The logarithm of p, or what stands for −inf."""
    return Choose(((p > 0, log(p)),), INFINITELY_LOW)


def class_logits_expression(
    scores: Sequence[Expression], scale: InputScale, floor: float
) -> tuple[Expression, ...]:
    """Logits, or logarithms of probabilities, at most ``-floor`` below the largest of the row."""
    if scale == "probability":
        logits = [log_or_infinite(p) for p in scores]
        # Of the largest probability only one logarithm is needed; a row of zeros has none.
        top = log_or_infinite(maximum(*scores))
    else:
        logits = [maximum(x, -INFINITE) if scale == "logit" else x for x in scores]
        top = maximum(*scores)
    if floor == -np.inf:
        return tuple(logits)
    least = top + floor
    return tuple(maximum(logit, least) for logit in logits)


def one_vs_rest_expressions(
    scores: Sequence[Expression], scale: InputScale
) -> tuple[Expression, ...]:
    """Each column as a binary score: probabilities and margins as they are, logits as log-odds."""
    if scale != "logit":
        return tuple(scores)
    logits = [maximum(x, -INFINITE) for x in scores]
    result = []
    for own in logits:
        rest = [logit for logit in logits if logit is not own]
        result.append(own - log_sum_exp(rest))
    return tuple(result)


def log_sum_exp(logits: Sequence[Expression]) -> Expression:
    """The logarithm of Σ exp(logits)."""
    if len(logits) == 1:
        return logits[0]
    top = maximum(*logits)
    return top + log(total([exp(maximum(logit - top, -700.0)) for logit in logits]))
