"""Between probabilities and log-odds, without losing digits at either end."""

from __future__ import annotations

import numpy as np
from scipy.special import log_expit

from trueodds.validation import Floats, InputScale

__all__ = ["log_odds", "log_pair", "positive_column", "sigmoid"]

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
    """ln p and −ln(1−p), the two features of beta calibration."""
    if scale != "probability":
        return log_expit(scores), -log_expit(-scores)
    with np.errstate(divide="ignore"):
        above = np.negative(scores)
        np.log1p(above, out=above)
        return np.log(scores), np.negative(above, out=above)


def positive_column(columns: Floats, scale: InputScale) -> Floats:
    """Reduce two columns, one per class, to the score of the positive class on the same scale.

    Each row of probabilities is divided by its own sum, whatever the other rows look like.
    """
    if scale == "probability":
        return columns[:, 1] / columns.sum(axis=1)
    return columns[:, 1] - columns[:, 0]


def sigmoid(log_odds: Floats, *, overwrite: bool = False) -> Floats:
    """1/(1 + exp(−η)), never exactly 0 or 1, so that no logarithm of it is infinite."""
    out = np.negative(log_odds, out=log_odds if overwrite else None)
    np.minimum(out, EXPONENT_LIMIT, out=out)
    np.exp(out, out=out)
    out += 1.0
    np.divide(1.0, out, out=out)
    return np.minimum(out, BELOW_ONE, out=out)
