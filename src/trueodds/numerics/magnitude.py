"""Numbers of any size as numbers that float64 can calculate with.

Scores and weights are multiplied by powers of two, which lose no digit on the way there or back.
Only the few that would still overflow or vanish are moved.

=============================  ===============================================================
what is scaled                 so that
=============================  ===============================================================
:func:`bounded_weights`        products of weights are not 0 (every fit)
:func:`bounded_scores`         differences of scores are finite (every fit)
:func:`spread_exponent`        logits of several classes typically spread by about 1 (softmax)
:func:`spread_unit`            the same, as a divisor (structured softmax)
:func:`deviation_unit`         decision values spread as log-odds do (default for two classes)
:func:`size_exponent`          squares do not overflow (charcoal grill and its maps)
=============================  ===============================================================

Trees scale each column of scores in ``calibrators/_tree/growth.py``, because their stopping rules
need columns of similar size.
"""

from __future__ import annotations

import numpy as np

from trueodds.inputs import Floats, InputScale

__all__ = [
    "bounded_scores",
    "bounded_weights",
    "deviation_unit",
    "scaled_logits",
    "size_exponent",
    "spread_exponent",
    "spread_unit",
]

LARGEST_SCORE = 2.0**1020
"""Log-odds and decision values beyond are clipped to it: their differences stay finite."""
SMALLEST_SCORE = 2.0**-1020
"""Log-odds and decision values nearer to 0 count as 0: no finite slope could tell them from it."""
SMALLEST_WEIGHT = 2.0**-400
"""Smaller positive weights are raised to it, so that products of weights are not 0."""
LIGHT_WEIGHT = 2.0**-200
"""If no weight exceeds it, all weights are multiplied by a power of two."""
LARGEST_LOGIT = 2.0**100
"""Outliers are fitted as if they were no larger: as certain as possible, but with squares."""
ORDINARY_EXPONENT = 16
"""Decision values that typically spread by 2⁻¹⁶ to 2¹⁶ within a row are fitted unchanged."""
LARGEST_UNIT_EXPONENT = 996
"""2⁹⁹⁶ is less than 10³⁰⁰, the largest unit of a map."""


def bounded_scores(scores: Floats, scale: InputScale) -> Floats:
    """Log-odds and decision values within the bounds above; infinite log-odds stay infinite."""
    if scale == "probability":
        return scores
    size = np.abs(scores)
    beyond = (size > LARGEST_SCORE) & (size < np.inf)
    vanishing = (size < SMALLEST_SCORE) & (size > 0)
    if not (beyond.any() or vanishing.any()):
        return scores
    bounded = np.where(vanishing, 0.0, scores)
    return np.where(beyond, np.copysign(LARGEST_SCORE, scores), bounded)


def bounded_weights(weights: Floats) -> Floats:
    """Weights none of which vanishes compared with the largest; 0 stays 0."""
    if weights.min() >= LIGHT_WEIGHT:
        return weights
    largest = weights.max()
    if largest < LIGHT_WEIGHT:
        weights = np.ldexp(weights, size_exponent(LIGHT_WEIGHT) - size_exponent(largest))
    small = (weights > 0) & (weights < SMALLEST_WEIGHT)
    return np.where(small, SMALLEST_WEIGHT, weights) if small.any() else weights


def size_exponent(values: Floats | float) -> int:
    """The least e such that |values| < 2ᵉ.

    Examples
    --------
    >>> size_exponent(np.array([-3.0, 0.5])), size_exponent(4.0)
    (2, 3)
    """
    return int(np.frexp(np.abs(values).max())[1])


def spread_exponent(logits: Floats, ordinary: int = ORDINARY_EXPONENT) -> int:
    """The e such that logits·2⁻ᵉ typically spread by about 1 within a row; 0 if they are ordinary.

    Starts, steps and tolerances of a fit suit spreads of that order. Typical is the median over the
    rows: a few extreme ones do not decide. Logits of −inf and rows of equal logits are left out.

    Parameters
    ----------
    logits : ndarray of shape (n, n_classes)
    ordinary : int, default=16
        Up to this, either way, e counts as 0.

    Examples
    --------
    >>> spread_exponent(np.array([[0.0, 3e9], [1e9, 3e9], [0.0, 0.0]]))
    32
    >>> spread_exponent(np.array([[0.0, 3.0], [1.0, 3.0]]))
    0
    """
    lowest = np.where(np.isneginf(logits), np.inf, logits).min(axis=1)
    half = logits.max(axis=1) / 2 - lowest / 2  # the whole could overflow
    half = half[(half > 0) & (half < np.inf)]
    if not len(half):
        return 0
    exponent = size_exponent(np.median(half)) + 1
    return exponent if abs(exponent) > ordinary else 0


def spread_unit(scores: Floats, scale: InputScale, ordinary: int = ORDINARY_EXPONENT) -> float:
    """Divisor of logits and decision values: 1 unless they are extreme, else a power of two."""
    exponent = 0 if scale == "probability" else spread_exponent(scores, ordinary)
    limit = LARGEST_UNIT_EXPONENT
    return float(np.ldexp(1.0, max(min(exponent, limit), -limit)))


def scaled_logits(logits: Floats, exponent: int) -> Floats:
    """Logits·2⁻ᵉ, within ±2¹⁰⁰ if they are finite."""
    bounded = np.clip(np.ldexp(logits, -exponent), -LARGEST_LOGIT, LARGEST_LOGIT)
    return np.where(np.isneginf(logits), logits, bounded)


def deviation_unit(score: Floats, weight: Floats) -> float:
    """Return the divisor that gives decision values the spread of log-odds.

    It is a power of two, so that no digit of a score is lost.
    """
    size = float(np.abs(score).max()) or 1.0
    share = weight / weight.sum()
    scaled = score / size  # their squares cannot overflow
    spread = float(np.sqrt(share @ (scaled - share @ scaled) ** 2))
    return float(np.ldexp(1.0, round(np.log2(max(spread, 1e-12)) + np.log2(size)) - 1))
