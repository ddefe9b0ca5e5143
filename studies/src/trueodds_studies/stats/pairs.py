"""Two methods over many data sets: tests and intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from trueodds.exceptions import InputError
from trueodds.inputs import Floats, check_choice, check_flag, check_level, check_number
from trueodds.stats import finite_pair, paired_results

__all__ = [
    "RelativeGain",
    "SignTest",
    "WilcoxonTest",
    "relative_gain_interval",
    "sign_test",
    "wilcoxon_signed_rank",
]


@dataclass(frozen=True)
class WilcoxonTest:
    """The outcome of :func:`wilcoxon_signed_rank`.

    Attributes
    ----------
    first_sum, second_sum : float
        The sums of the ranks of the data sets on which the first, or the second, is better.
    p_value : float
        Two-sided.
    n_sets : int

    Examples
    --------
    >>> from trueodds_studies.stats import wilcoxon_signed_rank
    >>> test = wilcoxon_signed_rank([1, 2, 1, 1], [2, 1, 3, 5])
    >>> test.first_sum, test.second_sum, test.n_sets
    (8.5, 1.5, 4)
    """

    first_sum: float
    second_sum: float
    p_value: float
    n_sets: int

    @property
    def statistic(self) -> float:
        """The smaller of the two sums."""
        return min(self.first_sum, self.second_sum)

    def __str__(self) -> str:
        """A sentence."""
        return (
            f"Wilcoxon signed-rank over {self.n_sets} data sets: rank sums {self.first_sum:g} for "
            f"the first and {self.second_sum:g} for the second, p = {self.p_value:.3g}"
        )


def wilcoxon_signed_rank(
    first: Any, second: Any, *, greater_is_better: bool = False
) -> WilcoxonTest:
    """Test whether one of two methods is better, by ranks of the differences.

    This is the recommended test for two methods. It gives more weight to larger differences than
    :func:`sign_test`, but does not assume normal differences as a t-test does.

    Parameters
    ----------
    first, second : array-like of shape (n_sets,)
        Results on the same data sets.
    greater_is_better : bool, default=False

    Returns
    -------
    WilcoxonTest

    Notes
    -----
    Ranks of equal results are shared evenly between the sums. Computed by scipy: exact without
    ties for up to 50 data sets, else by the normal approximation.

    References
    ----------
    Demšar (2006), section 3.1.3.

    Examples
    --------
    >>> from trueodds_studies.stats import wilcoxon_signed_rank
    >>> result = wilcoxon_signed_rank([0.5, 0.3, 0.7, 0.2], [0.4, 0.27, 0.5, 0.25])
    >>> result.first_sum, result.second_sum, result.p_value
    (2.0, 8.0, 0.375)
    """
    from scipy.stats import rankdata, wilcoxon  # slow to import

    difference = _advantage_of_second(first, second, greater_is_better)
    ranks = rankdata(np.abs(difference))
    halves = ranks[difference == 0].sum() / 2
    first_sum = float(ranks[difference < 0].sum() + halves)
    second_sum = float(ranks[difference > 0].sum() + halves)
    if not difference.any():
        p_value = 1.0
    else:
        p_value = float(wilcoxon(_by_rank(difference), zero_method="zsplit").pvalue)
    return WilcoxonTest(first_sum, second_sum, p_value, len(difference))


def _by_rank(difference: Floats) -> Floats:
    """Return finite numbers in the same order; infinite differences become the largest."""
    from scipy.stats import rankdata

    return np.asarray(np.sign(difference) * rankdata(np.abs(difference), method="dense"))


def _advantage_of_second(first: Any, second: Any, greater_is_better: bool) -> Floats:
    """Return how much better the second is on each data set; 0 if both are infinite."""
    check_flag(greater_is_better, "greater_is_better")
    a, b = paired_results(first, second)
    with np.errstate(invalid="ignore"):
        difference = np.where(a == b, 0.0, a - b)
    # Differences of decimal fractions, such as 0.3 − 0.2 and 0.2 − 0.1, are equal but for rounding.
    size = np.maximum(np.abs(a), np.abs(b))
    scale = np.where(np.isfinite(size), size, 0.0).max(initial=0.0)
    if scale > 0:
        step = 2.0 ** (np.ceil(np.log2(scale)) - 42)
        difference = np.round(difference / step) * step
    return -difference if greater_is_better else difference


@dataclass(frozen=True)
class SignTest:
    """The outcome of :func:`sign_test`.

    Attributes
    ----------
    wins, draws, losses : int
        Results of the first method.
    p_value : float
        Two-tailed, from the binomial distribution.

    Examples
    --------
    >>> from trueodds_studies.stats import sign_test
    >>> test = sign_test([1, 2, 1, 1], [2, 1, 2, 2])
    >>> test.wins, test.draws, test.losses
    (3, 0, 1)
    """

    wins: int
    draws: int
    losses: int
    p_value: float

    @property
    def normal_p_value(self) -> float:
        """The p-value by the normal approximation, without the draws.

        Papers print it, for example Leathart et al. (2017) in Table 6. With few data sets it is
        smaller than the exact one.
        """
        from scipy.special import ndtr  # slow to import

        decided = self.wins + self.losses
        return (
            float(2 * ndtr(-abs(self.wins - self.losses) / math.sqrt(decided))) if decided else 1.0
        )

    def __str__(self) -> str:
        """A sentence."""
        return (
            f"sign test: {self.wins} wins, {self.draws} draws, {self.losses} losses of the first; "
            f"p = {self.p_value:.3g}"
        )


def sign_test(
    first: Any,
    second: Any,
    *,
    greater_is_better: bool = False,
    tolerance: float = 0.0,
    draws: Literal["split", "drop"] = "split",
) -> SignTest:
    """Count wins, draws and losses, and test whether wins and losses are equally likely.

    This test has the lowest power but assumes nothing about the differences.

    Parameters
    ----------
    first, second : array-like of shape (n_sets,)
        Results on the same data sets.
    greater_is_better : bool, default=False
    tolerance : float, default=0.0
        Differences up to this are draws.
    draws : {"split", "drop"}, default="split"
        For the p-value, give each side half of the draws as Demšar does (dropping one if their
        number is odd), or drop them all.

    Returns
    -------
    SignTest

    References
    ----------
    Demšar (2006), section 3.1.4.

    Examples
    --------
    >>> from trueodds_studies.stats import sign_test
    >>> print(sign_test([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.2, 0.3, 0.4, 0.5, 0.6, 0.7]))
    sign test: 6 wins, 0 draws, 0 losses of the first; p = 0.0312
    """
    from scipy.stats import binomtest  # slow to import

    check_choice(draws, ("split", "drop"), "draws")
    tolerance = check_number(tolerance, "tolerance")
    difference = _advantage_of_second(first, second, greater_is_better)
    wins = int((difference < -tolerance).sum())
    losses = int((difference > tolerance).sum())
    equal = len(difference) - wins - losses
    half = equal // 2 if draws == "split" else 0
    counted = wins + losses + 2 * half
    p_value = float(binomtest(wins + half, counted).pvalue) if counted else 1.0
    return SignTest(wins, equal, losses, p_value)


@dataclass(frozen=True)
class RelativeGain:
    """The outcome of :func:`relative_gain_interval`.

    Attributes
    ----------
    mean : float
        Mean over the data sets of (first − second)/second.
    low, high : float
        Interval of the mean.
    level : float
    n_sets : int

    Examples
    --------
    >>> from trueodds_studies.stats import relative_gain_interval
    >>> gain = relative_gain_interval([0.9, 1.0, 0.8], [1.0, 1.1, 1.0])
    >>> round(gain.mean, 3), gain.n_sets
    (-0.13, 3)
    """

    mean: float
    low: float
    high: float
    level: float
    n_sets: int

    def __str__(self) -> str:
        """A sentence."""
        return (
            f"relative difference {self.mean:.1%} ({self.level:.0%} interval {self.low:.1%} to "
            f"{self.high:.1%}, {self.n_sets} data sets)"
        )


def relative_gain_interval(first: Any, second: Any, *, level: float = 0.9) -> RelativeGain:
    """Compute the mean relative difference of two methods over data sets, with its interval.

    On each data set, X = (first − second)/second; negative values are a gain if the results are
    losses.

    Parameters
    ----------
    first, second : array-like of shape (n_sets,)
        Results on the same data sets; those of the second must not be 0.
    level : float, default=0.9

    Returns
    -------
    RelativeGain
        The interval is Student's for the mean of X.

    References
    ----------
    Naeini and Cooper (2016), Binary classifier calibration using an ensemble of near isotonic
    regression models, equation 10 and table II.

    Examples
    --------
    >>> from trueodds_studies.stats import relative_gain_interval
    >>> print(relative_gain_interval([0.8, 0.9, 0.7], [1.0, 1.0, 1.0]))
    relative difference -20.0% (90% interval -36.9% to -3.1%, 3 data sets)
    """
    from scipy.stats import t  # slow to import

    check_level(level)
    a, b = finite_pair(first, second, least=2)
    if not b.all():
        raise InputError(
            f"the second method's result is 0 at index {int(np.argmin(b != 0))}, so the relative "
            "difference is undefined; remove that data set for both."
        )
    with np.errstate(all="ignore"):  # next to 0 a relative difference has no bounds
        gain = (a - b) / b
        mean, error = float(gain.mean()), float(gain.std(ddof=1) / np.sqrt(len(gain)))
    half = float(t.ppf(0.5 + level / 2, len(gain) - 1)) * error
    return RelativeGain(mean, mean - half, mean + half, level, len(gain))
