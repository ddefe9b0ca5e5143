"""Over- and underconfidence at the two ends of the ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueodds.inputs import Floats, Labels, check_number
from trueodds.metrics._sample import read_two_classes
from trueodds.numerics.binning import run_starts

__all__ = ["TailCalibration", "tail_calibration"]


@dataclass(frozen=True)
class TailCalibration:
    """Mean probability and frequency of positives among the lowest and the highest scores.

    Attributes
    ----------
    fraction : float
        The share of the weight at each end.
    low_prob, low_rate : float
        Mean probability and frequency of positives in the first part of the ranking.
    high_prob, high_rate : float
        The same in the last part.

    Examples
    --------
    >>> from trueodds.metrics import tail_calibration
    >>> y, p = [0, 1, 0, 1, 1, 0] * 10, [0.2, 0.9, 0.4, 0.6, 0.7, 0.3] * 10
    >>> ends = tail_calibration(y, p, fraction=0.2)
    >>> round(ends.low_prob, 3), ends.low_rate, round(ends.high_prob, 3), ends.high_rate
    (0.217, 0.0, 0.867, 1.0)
    """

    fraction: float
    low_prob: float
    low_rate: float
    high_prob: float
    high_rate: float

    @property
    def low_overconfidence(self) -> float:
        """low_rate − low_prob: positive if the model is overconfident in the negative class."""
        return self.low_rate - self.low_prob

    @property
    def high_overconfidence(self) -> float:
        """high_prob − high_rate: positive if the model is overconfident in the positive class."""
        return self.high_prob - self.high_rate


def tail_calibration(
    y_true: Any,
    y_prob: Any,
    *,
    fraction: float = 0.025,
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
) -> TailCalibration:
    """Measure overconfidence among the lowest and highest predictions of two classes.

    Log-loss depends on these rows most.

    Parameters
    ----------
    y_true, y_prob, sample_weight, counts, classes
        As in :func:`log_loss`, for two classes.
    fraction : float, default=0.025
        How much of the weight each end holds, in (0, 0.5].

    Returns
    -------
    TailCalibration

    Notes
    -----
    Where equal probabilities straddle the end of a part, all of them count, with the share of
    their weight that fits: the mean over all ways to break the ties.

    References
    ----------
    Allikivi and Kull (2019), Non-parametric Bayesian isotonic calibration, figure 3.

    Examples
    --------
    >>> from trueodds.metrics import tail_calibration
    >>> ends = tail_calibration([0, 1, 0, 1], [0.1, 0.1, 0.6, 0.9], fraction=0.25)
    >>> ends.low_overconfidence, round(ends.high_overconfidence, 6)
    (0.4, -0.1)
    """
    fraction = check_number(fraction, "fraction", 0.0, 0.5, above=True)
    view = read_two_classes(y_true, y_prob, sample_weight, counts, classes)
    order = np.argsort(view.prob)
    prob, hit, weight = view.prob[order], view.codes[order], view.row_weight[order]
    goal = fraction * weight.sum()
    low = _part(prob, hit, weight, goal)
    high = _part(prob[::-1], hit[::-1], weight[::-1], goal)
    return TailCalibration(fraction, *low, *high)


def _part(prob: Floats, hit: Labels, weight: Floats, goal: float) -> tuple[float, float]:
    """Mean probability and frequency in the first ``goal`` of weight of ordered rows."""
    starts = run_starts(prob)
    mass = np.add.reduceat(weight, starts)
    hits = np.add.reduceat(weight * hit, starts)
    before = np.cumsum(mass) - mass
    taken = np.clip((goal - before) / mass, 0.0, 1.0)
    total = (taken * mass).sum()
    mean = float((taken * mass * prob[starts]).sum() / total)
    return mean, float((taken * hits).sum() / total)
