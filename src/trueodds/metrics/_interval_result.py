"""What intervals and comparisons of metrics return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trueodds.inputs import Floats
from trueodds.metrics._plain import finite_or_none

__all__ = ["MetricComparison", "MetricInterval"]


@dataclass(frozen=True, eq=False)
class MetricInterval:
    """A metric with its confidence interval.

    Attributes
    ----------
    estimate : float
        The metric of the sample.
    low, high : float
        The ends of the interval.
    level : float
        How often such an interval should hold the metric of the population.
    standard_error : float
        Standard deviation of the replicates.
    method : {"bca", "percentile", "centred"}
    replicates : ndarray
        The metric of each resample.

    Examples
    --------
    >>> from trueodds.metrics import brier_score, confidence_interval
    >>> y, p = [0, 1, 0, 1, 1, 0] * 10, [0.2, 0.9, 0.4, 0.6, 0.7, 0.3] * 10
    >>> found = confidence_interval(brier_score, y, p, n_resamples=50, random_state=0)
    >>> round(found.estimate, 3), found.low < found.estimate < found.high
    (0.092, True)
    """

    estimate: float
    low: float
    high: float
    level: float
    standard_error: float
    method: str
    replicates: Floats

    def __repr__(self) -> str:
        return (
            f"MetricInterval(estimate={self.estimate:.6g}, low={self.low:.6g}, "
            f"high={self.high:.6g}, level={self.level:g}, method={self.method!r})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, without the replicates; None for what is infinite or undefined."""
        numbers = ("estimate", "low", "high", "standard_error")
        plain = {name: finite_or_none(getattr(self, name)) for name in numbers}
        return {**plain, "level": self.level, "method": self.method}


@dataclass(frozen=True, eq=False)
class MetricComparison:
    """A metric of model a less that of model b, on the same rows.

    Attributes
    ----------
    difference : float
        ``estimate_a − estimate_b``.
    low, high : float
        The ends of its confidence interval.
    p_value : float
        Two-sided, for the hypothesis that the difference in the population is 0: the smallest
        1 − level whose interval leaves 0 out. At least 1/(number of replicates + 1).
    estimate_a, estimate_b : float
    level : float
    method : {"bca", "percentile", "centred"}
    replicates : ndarray
        The difference in each resample.

    Examples
    --------
    >>> from trueodds.metrics import brier_score, compare_metric
    >>> y, p = [0, 1, 0, 1, 1, 0] * 10, [0.2, 0.9, 0.4, 0.6, 0.7, 0.3] * 10
    >>> found = compare_metric(brier_score, y, p, [0.5] * 60, n_resamples=50, random_state=0)
    >>> round(found.difference, 3), found.low < found.difference < found.high
    (-0.158, True)
    """

    difference: float
    low: float
    high: float
    p_value: float
    estimate_a: float
    estimate_b: float
    level: float
    method: str
    replicates: Floats

    def __repr__(self) -> str:
        return (
            f"MetricComparison(difference={self.difference:.6g}, low={self.low:.6g}, "
            f"high={self.high:.6g}, p_value={self.p_value:.3g}, level={self.level:g})"
        )
