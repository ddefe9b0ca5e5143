"""Differences over resampled folds and over data sets, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueodds.compare._pairs import paired_results
from trueodds.exceptions import InputError
from trueodds.inputs import Floats, check_level, check_number

__all__ = [
    "RelativeGain",
    "ResampledTTest",
    "corrected_resampled_t_test",
    "relative_gain_interval",
]


def _finite_pair(first: Any, second: Any, least: int) -> tuple[Floats, Floats]:
    a, b = paired_results(first, second)
    if len(a) < least:
        raise InputError(f"at least {least} results of each method are needed; got {len(a)}.")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise InputError(
            "results must be finite for a mean of differences; use wilcoxon_signed_rank or "
            "sign_test, which take infinite ones."
        )
    return a, b


@dataclass(frozen=True)
class ResampledTTest:
    """The outcome of :func:`corrected_resampled_t_test`.

    Attributes
    ----------
    difference : float
        Mean of first − second.
    standard_error : float
        Corrected for the overlap of the training sets.
    statistic, p_value : float
        t and its two-sided p-value.
    degrees_of_freedom : int
    low, high : float
        Interval of the difference.
    level : float

    Examples
    --------
    >>> from trueodds.compare import corrected_resampled_t_test
    >>> test = corrected_resampled_t_test([4, 5, 6], [1, 3, 2], n_train=2, n_test=1)
    >>> test.difference, test.degrees_of_freedom
    (3.0, 2)
    """

    difference: float
    standard_error: float
    statistic: float
    p_value: float
    degrees_of_freedom: int
    low: float
    high: float
    level: float

    def __str__(self) -> str:
        """A sentence."""
        return (
            f"corrected resampled t-test: difference {self.difference:.5g} "
            f"({self.level:.0%} interval {self.low:.5g} to {self.high:.5g}), "
            f"t({self.degrees_of_freedom}) = {self.statistic:.4g}, p = {self.p_value:.3g}"
        )


def corrected_resampled_t_test(
    first: Any, second: Any, *, n_train: float, n_test: float, level: float = 0.95
) -> ResampledTTest:
    """Test whether two methods differ on one data set, from results on the same folds.

    Folds share most of their training data, so a plain t-test finds differences where there are
    none. Here the variance of a mean over J folds is (1/J + n_test/n_train)·s² instead of s²/J.

    Parameters
    ----------
    first, second : array-like of shape (n_folds,)
        Results on the same folds, or random splits, of one data set; all repeats one after the
        other.
    n_train, n_test : float
        Instances to train on and to test on, in each fold. For k folds, k − 1 and 1 will do.
    level : float, default=0.95
        Of the interval.

    Returns
    -------
    ResampledTTest

    References
    ----------
    Nadeau and Bengio (2003), Inference for the generalization error. Bouckaert and Frank (2004),
    Evaluating the replicability of significance tests, for repeated cross-validation.

    Examples
    --------
    >>> from trueodds.compare import corrected_resampled_t_test
    >>> result = corrected_resampled_t_test([4, 5, 6], [1, 3, 2], n_train=2, n_test=1)
    >>> round(result.statistic, 6), result.degrees_of_freedom  # 3/√((1/3 + 1/2)·1)
    (3.286335, 2)
    """
    from scipy.stats import t  # slow to import

    check_level(level)
    for value, name in ((n_train, "n_train"), (n_test, "n_test")):
        check_number(value, name, above=True)
    a, b = _finite_pair(first, second, least=2)
    difference = a - b
    mean, freedom = float(difference.mean()), len(difference) - 1
    with np.errstate(all="ignore"):  # an infinite error says that nothing is known
        variance = difference.var(ddof=1)
        error = float(np.sqrt((1 / len(difference) + n_test / n_train) * variance))
    if error > 0:
        statistic = mean / error
    else:
        statistic = 0.0 if mean == 0 else float(np.copysign(np.inf, mean))
    half = float(t.ppf(0.5 + level / 2, freedom)) * error
    p_value = float(2 * t.sf(abs(statistic), freedom))
    return ResampledTTest(mean, error, statistic, p_value, freedom, mean - half, mean + half, level)


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
    >>> from trueodds.compare import relative_gain_interval
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


def relative_gain_interval(first: Any, second: Any, *, level: float = 0.95) -> RelativeGain:
    """Interval of the mean relative difference of two methods over data sets.

    X = (measure of first − measure of second)/measure of second, on each data set; negative is a
    gain if the measure is a loss.

    Parameters
    ----------
    first, second : array-like of shape (n_sets,)
        Results on the same data sets; those of the second must not be 0.
    level : float, default=0.95

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
    >>> from trueodds.compare import relative_gain_interval
    >>> print(relative_gain_interval([0.8, 0.9, 0.7], [1.0, 1.0, 1.0]))
    relative difference -20.0% (95% interval -44.8% to 4.8%, 3 data sets)
    """
    from scipy.stats import t  # slow to import

    check_level(level)
    a, b = _finite_pair(first, second, least=2)
    if not b.all():
        raise InputError(
            f"the second method's result is 0 at index {int(np.argmin(b != 0))}, so no relative "
            "difference exists there; leave that data set out for both."
        )
    with np.errstate(all="ignore"):  # next to 0 a relative difference has no bounds
        gain = (a - b) / b
        mean, error = float(gain.mean()), float(gain.std(ddof=1) / np.sqrt(len(gain)))
    half = float(t.ppf(0.5 + level / 2, len(gain) - 1)) * error
    return RelativeGain(mean, mean - half, mean + half, level, len(gain))
