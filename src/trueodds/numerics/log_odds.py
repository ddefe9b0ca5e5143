"""The log-odds axis: conversions that lose no digits at either end, and binary rows on it.

NumPy alone: importing scipy.special would take longer than all else that a map needs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from trueodds.basics.threads import BLOCK_ROWS
from trueodds.inputs import Floats, InputScale
from trueodds.numerics.label_targets import smooth_counts

__all__ = [
    "LogOddsRows",
    "log_odds",
    "log_pair",
    "log_sigmoid",
    "sigmoid",
]

CERTAIN_LOG_ODDS = 700.0
"""The sigmoid of more is 0 or 1 for every purpose."""
EXPONENT_LIMIT = 708.0
"""exp(708) is the last whole power below the overflow of float64."""
BELOW_ONE = float(np.nextafter(1.0, 0.0))


def log_odds(scores: Floats, scale: InputScale, out: Floats | None = None) -> Floats:
    """ln(p/(1−p)) of probabilities; log-odds and decision values unchanged.

    Probabilities of exactly 0 and 1 give −inf and +inf. Without ``out``, log-odds and decision
    values are returned without a copy.
    """
    if scale != "probability":
        if out is None:
            return scores
        out[:] = scores
        return out
    with np.errstate(divide="ignore"):
        # p/(1−p) is exact to rounding for every p, so one logarithm is enough.
        ratio = np.subtract(1.0, scores, out=out)
        np.divide(scores, ratio, out=ratio)
        return np.log(ratio, out=ratio)


def log_pair(scores: Floats, scale: InputScale) -> tuple[Floats, Floats]:
    """The two features of beta calibration, ln p and −ln(1−p)."""
    if scale != "probability":
        return log_sigmoid(scores), -log_sigmoid(-scores)
    first, second = np.empty_like(scores), np.empty_like(scores)
    rest = np.empty(min(BLOCK_ROWS, len(scores)))
    with np.errstate(divide="ignore", invalid="ignore"):
        for begin in range(0, len(scores), BLOCK_ROWS):
            p = scores[begin : begin + BLOCK_ROWS]
            np.log(p, out=first[begin : begin + BLOCK_ROWS])
            # log1p by hand, which is faster: −ln u for u = 1 − p rounded, and what rounding took,
            # (p − (1 − u))/u. Where u = 0 both parts are infinite, and so is the answer.
            u = np.subtract(1.0, p, out=rest[: len(p)])
            logarithm = np.log(u, out=second[begin : begin + BLOCK_ROWS])
            lost = p - (1.0 - u)
            lost /= u
            np.subtract(lost, logarithm, out=logarithm)
    if scores.max(initial=0.0) == 1:
        second[scores == 1] = np.inf
    return first, second


def sigmoid(log_odds: Floats, *, overwrite: bool = False) -> Floats:
    """1/(1 + exp(−η)), never exactly 0 or 1, so that no logarithm of it is infinite."""
    out = np.negative(log_odds, out=log_odds if overwrite else None)
    np.minimum(out, EXPONENT_LIMIT, out=out)
    np.exp(out, out=out)
    out += 1.0
    np.divide(1.0, out, out=out)
    return np.minimum(out, BELOW_ONE, out=out)


def log_sigmoid(log_odds: Floats | np.float64) -> Floats:
    """ln(1/(1 + exp(−η)))."""
    return np.asarray(-np.logaddexp(0.0, -log_odds))


@dataclass(frozen=True)
class LogOddsRows:
    """Log-odds in any order, some of them perhaps infinite, with the weight of each class.

    Parameters
    ----------
    z : ndarray of shape (n,)
    n_neg, n_pos : ndarray of shape (n,)
        Weight of the negatives and of the positives in each row.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.calibrators import LogOddsRows
    >>> LogOddsRows(np.array([-1.0, 2.0]), np.array([3.0, 1.0]), np.array([0.0, 2.0])).total
    6.0
    """

    z: Floats
    n_neg: Floats
    n_pos: Floats

    @property
    def weight(self) -> Floats:
        """Weight of both classes in each row."""
        return np.asarray(self.n_neg + self.n_pos)

    @property
    def total(self) -> float:
        """Weight of everything."""
        return float(self.n_neg.sum() + self.n_pos.sum())

    def take(self, rows: Any) -> Self:
        """Some of the rows."""
        return replace(self, z=self.z[rows], n_neg=self.n_neg[rows], n_pos=self.n_pos[rows])

    def with_targets(self, low: float, high: float) -> Self:
        """Let a negative count as ``low`` of a positive, and a positive as ``high``."""
        n_neg, n_pos = smooth_counts(self.n_neg, self.n_pos, low, high)
        return replace(self, n_neg=n_neg, n_pos=n_pos)
