"""Standard errors and intervals of estimates that are sums over rows, without resampling.

An estimate is given with its influence: what a row of weight 1 adds to it, less its share of the
mean. Of a mean that is x − x̄, of a ratio Σx/Σz it is (x − ratio·z)/z̄ (the delta method).

The interval is Student's, corrected for skewness by Hall's cubic transformation [1]_. Its degrees
of freedom are those of the variance, whose own error follows from the fourth moment: an error that
a few rows decide has few.

References
----------
.. [1] Hall (1992), On the removal of skewness by transformation. Journal of the Royal Statistical
   Society B 54.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from trueodds.inputs import Floats, Labels, Weights

__all__ = ["Spread", "design_effect", "mean_spread", "wilson"]

LEAST_FREEDOM = 2.0
STRAIGHT = 1e-8
"""A skewness below this changes nothing."""


@dataclass(frozen=True)
class Spread:
    """How an estimate varies from sample to sample.

    Parameters
    ----------
    error : float
        Its standard error.
    skewness : float
    freedom : float
        Degrees of freedom of the estimated error.
    """

    error: float
    skewness: float
    freedom: float

    @classmethod
    def of(
        cls, influence: Floats, weight: Weights | None = None, cluster: Labels | None = None
    ) -> Spread:
        """The spread of an estimate from the influence of each row, whose weighted mean is 0.

        A count is that many rows, an importance a factor, and a cluster one observation.
        """
        if cluster is not None:
            total = float(len(influence)) if weight is None else float(weight.values.sum())
            parts = influence if weight is None else weight.values * influence
            sums = np.bincount(cluster, parts)
            return cls._of_terms(sums / total, np.ones(len(sums)), float(len(sums)))
        if weight is None:
            n = float(len(influence))
            return cls._of_terms(influence / n, np.ones(len(influence)), n)
        times = np.ones(len(influence)) if weight.count is None else weight.count
        part = influence / float(weight.values.sum())
        if weight.importance is not None:
            part = part * weight.importance
        return cls._of_terms(part, times, weight.effective)

    @classmethod
    def _of_terms(cls, term: Floats, times: Floats, n: float) -> Spread:
        if n < 1 + 1e-9:
            return cls(np.nan, 0.0, LEAST_FREEDOM)
        size = float(np.abs(term).max(initial=0.0))
        if size == 0 or not np.isfinite(size):
            return cls(size, 0.0, n - 1)
        unit = term / size
        square = unit * unit
        second, fourth = float(times @ square), float(times @ (square * square))
        third = float(times @ (square * unit))
        freedom = 2 * second**2 / max(fourth - second**2 / n, 1e-12 * second**2)
        return cls(
            size * float(np.sqrt(second * n / (n - 1))),
            third / second**1.5,
            float(np.clip(freedom, LEAST_FREEDOM, max(n - 1, LEAST_FREEDOM))),
        )

    def interval(self, estimate: float, level: float) -> tuple[float, float]:
        """The ends of the interval around an estimate."""
        t = _quantile(self.freedom, level)
        low, high = self._untransformed(t), self._untransformed(-t)
        return estimate - self.error * low, estimate - self.error * high

    def log_odds_interval(self, share: float, level: float) -> tuple[float, float]:
        """The ends for a share strictly between 0 and 1, symmetric in its log-odds."""
        half = _quantile(self.freedom, level) * self.error
        odds, factor = share / (1 - share), np.exp(half / (share * (1 - share)))
        return float(odds / (odds + factor)), float(odds * factor / (1 + odds * factor))

    def p_value(self, estimate: float) -> float:
        """Two-sided, for the hypothesis that the estimated value is 0."""
        from scipy.special import stdtr  # slow to import

        if self.error == 0:
            return 1.0 if estimate == 0 else 0.0
        t, k = estimate / self.error, self.skewness
        x = t + k * t**2 / 3 + k**2 * t**3 / 27 + k / 6
        return float(2 * stdtr(self.freedom, -abs(x)))

    def _untransformed(self, x: float) -> float:
        k = self.skewness
        if abs(k) < STRAIGHT:
            return x
        return float(3 / k * (np.cbrt(1 + k * (x - k / 6)) - 1))


MANY = 200.0
"""Degrees of freedom from which four terms of a series are exact to 1e-12."""


def _quantile(freedom: float, level: float) -> float:
    """The upper quantile of Student's distribution that leaves out (1 − level)/2."""
    if freedom < MANY:
        from scipy.special import stdtrit  # slow to import

        return float(stdtrit(freedom, (1 + level) / 2))
    z = -NormalDist().inv_cdf((1 - level) / 2)
    # Fisher and Cornish (1960), in powers of 1/freedom.
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / freedom ** (k + 1) for k, term in enumerate(terms))


def mean_spread(values: Floats, weight: Weights | None = None) -> tuple[float, Spread]:
    """The weighted mean of one value per row, with its spread."""
    if weight is None:
        mean = float(values.sum()) / len(values)
    else:
        mean = float((values * weight.values).sum()) / float(weight.values.sum())
    with np.errstate(invalid="ignore"):
        return mean, Spread.of(values - mean, weight)


def design_effect(influence: Floats, weight: Weights | None, cluster: Labels) -> float:
    """The variance of an estimate with clusters as observations, over that of independent rows."""
    alone = Spread.of(influence, weight).error
    return 1.0 if alone == 0 else float((Spread.of(influence, weight, cluster).error / alone) ** 2)


def wilson(frequency: Floats, n_rows: Floats, level: float) -> tuple[Floats, Floats]:
    """Wilson's interval of a frequency; of importances ``n_rows`` is the effective number."""
    z = -NormalDist().inv_cdf((1 - level) / 2)
    center = (frequency + z**2 / (2 * n_rows)) / (1 + z**2 / n_rows)
    half = (
        z
        / (1 + z**2 / n_rows)
        * np.sqrt(frequency * (1 - frequency) / n_rows + z**2 / (4 * n_rows**2))
    )
    low, high = np.maximum(center - half, 0.0), np.minimum(center + half, 1.0)
    return np.minimum(low, frequency), np.maximum(high, frequency)  # whatever rounding did
