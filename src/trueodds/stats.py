"""Adjusted p-values, and a test of two methods on the folds of one data set.

Tests over many data sets (Friedman, Nemenyi, Holm, Wilcoxon) are in ``trueodds_studies.stats``, of
the distribution trueodds-studies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueodds.exceptions import InputError
from trueodds.inputs import Floats, as_floats, check_level, check_number

__all__ = ["ResampledTTest", "corrected_resampled_t_test", "holm_adjust"]


def holm_adjust(p_values: Any) -> Floats:
    """Adjust p-values for their number by Holm's step-down procedure.

    Parameters
    ----------
    p_values : array-like of shape (m,)

    Returns
    -------
    ndarray of shape (m,)
        The i-th smallest times m − i + 1, made non-decreasing, at most 1. A hypothesis is
        rejected at level α if its adjusted p-value is at most α.

    References
    ----------
    Holm (1979), A simple sequentially rejective multiple test procedure.

    Examples
    --------
    >>> from trueodds.stats import holm_adjust
    >>> holm_adjust([0.5, 0.01, 0.02]).round(6)
    array([0.5 , 0.03, 0.04])
    """
    p = as_floats(p_values, "p_values")
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise InputError("p_values must be 1-D and lie in [0, 1].")
    order = np.argsort(p, kind="stable")
    steps = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


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
    >>> from trueodds.stats import corrected_resampled_t_test
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
    first: Any, second: Any, *, n_train: float, n_test: float, level: float = 0.9
) -> ResampledTTest:
    """Test whether two methods differ on one data set, from results on the same folds.

    Folds share most of their training data, so a plain t-test has too many false positives. Here
    the variance of a mean over J folds is (1/J + n_test/n_train)·s² instead of s²/J.

    Parameters
    ----------
    first, second : array-like of shape (n_folds,)
        Results on the same folds or random splits of one data set, including all repeats.
    n_train, n_test : float
        Training and test rows of each fold. For k folds, k − 1 and 1 give the same result.
    level : float, default=0.9
        Confidence level of the interval.

    Returns
    -------
    ResampledTTest

    References
    ----------
    Nadeau and Bengio (2003), Inference for the generalization error. Bouckaert and Frank (2004),
    Evaluating the replicability of significance tests, for repeated cross-validation.

    Examples
    --------
    >>> from trueodds.stats import corrected_resampled_t_test
    >>> result = corrected_resampled_t_test([4, 5, 6], [1, 3, 2], n_train=2, n_test=1)
    >>> round(result.statistic, 6), result.degrees_of_freedom  # 3/√((1/3 + 1/2)·1)
    (3.286335, 2)
    """
    from scipy.stats import t  # slow to import

    check_level(level)
    for value, name in ((n_train, "n_train"), (n_test, "n_test")):
        check_number(value, name, above=True)
    a, b = finite_pair(first, second, least=2)
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


def finite_pair(first: Any, second: Any, least: int) -> tuple[Floats, Floats]:
    """Return two vectors of one length that have a mean."""
    a, b = paired_results(first, second)
    if len(a) < least:
        raise InputError(f"at least {least} results of each method are needed; got {len(a)}.")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise InputError(
            "results must be finite for a mean of differences; remove the folds or data sets where "
            "one is not, for both."
        )
    return a, b


def paired_results(first: Any, second: Any) -> tuple[Floats, Floats]:
    """Return two vectors of one length."""
    pair = []
    for values, name in ((first, "first"), (second, "second")):
        array = as_floats(values, name)
        if array.ndim != 1 or len(array) == 0:
            raise InputError(f"{name} must be 1-D and not empty; got shape {array.shape}.")
        if np.isnan(array).any():
            raise InputError(f"{name} has NaN at index {int(np.argmax(np.isnan(array)))}.")
        pair.append(array)
    if len(pair[0]) != len(pair[1]):
        raise InputError(f"first and second differ in length: {len(pair[0])} and {len(pair[1])}.")
    return pair[0], pair[1]
