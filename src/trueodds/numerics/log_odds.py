"""Between probabilities and log-odds, without losing digits at either end."""

from __future__ import annotations

import numpy as np
from scipy.special import log_expit

from trueodds.validation import Floats, InputScale

__all__ = ["log_odds", "log_pair", "positive_column", "sigmoid"]

CHUNK = 16384  # rows whose temporaries stay in the cache
EXPONENT_LIMIT = 708.0
"""exp(708) is the last whole power below the overflow of float64."""


BELOW_ONE = float(np.nextafter(1.0, 0.0))


def log_odds(scores: Floats, scale: InputScale) -> Floats:
    """ln(p/(1−p)) of probabilities; log-odds and margins are returned as they are.

    Probabilities of exactly 0 and 1 give −inf and +inf.
    """
    if scale != "probability":
        return scores
    with np.errstate(divide="ignore"):
        # p/(1−p) is exact to rounding for every p, so one logarithm is enough.
        ratio = np.subtract(1.0, scores)
        np.divide(scores, ratio, out=ratio)
        return np.log(ratio, out=ratio)


def log_pair(scores: Floats, scale: InputScale) -> tuple[Floats, Floats]:
    """Ln p and −ln(1−p), the two features of beta calibration."""
    if scale != "probability":
        return log_expit(scores), -log_expit(-scores)
    first, second = np.empty_like(scores), np.empty_like(scores)
    with np.errstate(divide="ignore"):
        for begin in range(0, len(scores), CHUNK):
            chunk = slice(begin, begin + CHUNK)
            np.log(scores[chunk], out=first[chunk])
            below = np.negative(scores[chunk], out=second[chunk])
            np.log1p(below, out=below)
            np.negative(below, out=below)
    return first, second


def positive_column(columns: Floats, scale: InputScale) -> Floats:
    """Reduce two columns, one per class, to the score of the positive class on the same scale.

    Each row of probabilities is divided by its own sum, whatever the other rows look like.
    """
    if scale == "probability":
        return np.asarray(columns[:, 1] / columns.sum(axis=1))
    return columns[:, 1] - columns[:, 0]


def sigmoid(log_odds: Floats, *, overwrite: bool = False) -> Floats:
    """1/(1 + exp(−η)), never exactly 0 or 1, so that no logarithm of it is infinite."""
    out = np.negative(log_odds, out=log_odds if overwrite else None)
    np.minimum(out, EXPONENT_LIMIT, out=out)
    np.exp(out, out=out)
    out += 1.0
    np.divide(1.0, out, out=out)
    return np.minimum(out, BELOW_ONE, out=out)
