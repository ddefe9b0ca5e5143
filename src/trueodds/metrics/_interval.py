"""How far a metric, or the difference of two models in it, can be trusted."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.special import ndtr, ndtri

from trueodds.basics.shown import shown
from trueodds.exceptions import InputError, UndefinedReplicatesWarning, warn_user
from trueodds.inputs import Floats, check_level, is_choice, repeat_rows
from trueodds.metrics._calibration_error import debiased_calibration_error
from trueodds.metrics._interval_result import MetricComparison, MetricInterval
from trueodds.metrics._resampling import (
    Metric,
    RowStatistic,
    Statistic,
    Units,
    class_options,
    read_units,
    replicate,
    takes_weights,
)
from trueodds.metrics._sample import Forecasts, read_sample

__all__ = ["compare_metric", "confidence_interval"]

ROUNDING = 1e-12
"""Replicates that differ by less from the estimate are equal to it; sums are rounded."""

Method = Literal["auto", "bca", "percentile", "centred"]


def confidence_interval(
    metric: Metric,
    y_true: Any,
    y_prob: Any,
    *,
    level: float = 0.95,
    method: Method = "auto",
    n_resamples: int = 1000,
    groups: Any = None,
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
    **options: Any,
) -> MetricInterval:
    """A metric and a bootstrap interval for its value in the population.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, y_prob)`` → float, with or without an argument ``sample_weight``: any of
        this module, scikit-learn's ``roc_auc_score``, or your own. Labels reach it coded as
        0 … n_classes − 1. One without weights gets each resample as rows; if it raises an error
        there, the resample counts as one without a value.
    y_true, y_prob, sample_weight, classes
        As in :func:`log_loss`.
    counts : array-like of shape (n,), default=None
        How often each row occurred: the result is that of the rows written out. ``sample_weight``
        leaves a row one observation, whatever its weight.
    level : float, default=0.95
    method : {"auto", "bca", "percentile", "centred"}, default="auto"
        ``"percentile"``: quantiles of the replicates. ``"bca"``: corrected for bias and skewness.
        ``"centred"``: moved so that their mean is the estimate, for metrics that are unbiased
        though their replicates are not. ``"auto"``: ``"centred"`` (on the squared scale) for
        :func:`debiased_calibration_error`, otherwise ``"bca"``.
    n_resamples : int, default=1000
    groups : array-like of shape (n,), default=None
        Rows that belong together (one patient, one day) are drawn together.
    random_state : int or Generator, default=None
        The result depends on it, but not on ``n_jobs``.
    n_jobs : int, default=None
        Threads; −1 for all.
    progress : bool, default=None
        Show progress on stderr; by default on a terminal only.
    **options
        Passed on to the metric, such as ``n_bins=15``.

    Returns
    -------
    MetricInterval

    Notes
    -----
    A row (or group) is one independent observation, whatever its weight. Rows are resampled by
    weights (where the metric has any), so memory is O(n). Acceleration comes from leaving out 100
    random blocks.

    Means over rows, AUC and the debiased calibration error are covered as promised. ECE, MCE and
    the smooth error are so only if the model is clearly miscalibrated everywhere: in a bin that
    is calibrated they cannot be smaller than chance makes them, so their intervals tend to lie
    above the true value. See ``docs/seeing.md`` for the coverage that was measured. An interval by
    "bca" reaches at least to the estimate itself.

    References
    ----------
    Efron (1987), Better bootstrap confidence intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.metrics import brier_score, confidence_interval
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(500)
    >>> y = rng.random(500) < p
    >>> interval = confidence_interval(brier_score, y, p, level=0.9, random_state=0)
    >>> interval.low < 1 / 6 < interval.high
    True

    A function of your own, as it is:

    >>> def bias(y, p):
    ...     return np.mean(p - y)
    >>> interval = confidence_interval(bias, y, p, random_state=0)
    >>> interval.low < 0 < interval.high
    True
    """
    level = check_level(level)
    rows = repeat_rows(
        counts, y_true=y_true, y_prob=y_prob, sample_weight=sample_weight, groups=groups
    )
    sample, units = read_units(**rows, classes=classes)
    method, options, rooted = _chosen(metric, method, options)
    statistic = _statistic(metric, sample, options, classes)
    estimate = _finite_estimate(statistic, units)
    values, jackknife = replicate(
        statistic,
        units,
        n_resamples=n_resamples,
        method=method,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
    )
    values = _defined(values)
    low, high = _interval(estimate, values, jackknife, level, method)
    if rooted:
        values = np.sqrt(np.maximum(values, 0.0))
        estimate, low, high = (float(np.sqrt(max(v, 0.0))) for v in (estimate, low, high))
    return MetricInterval(estimate, low, high, level, float(values.std(ddof=1)), method, values)


def compare_metric(
    metric: Metric,
    y_true: Any,
    y_prob_a: Any,
    y_prob_b: Any,
    *,
    level: float = 0.95,
    method: Method = "auto",
    n_resamples: int = 1000,
    groups: Any = None,
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
    **options: Any,
) -> MetricComparison:
    """The difference of two models in a metric on the same rows, with interval and p-value.

    Use it to decide whether one set of probabilities is better than another. Both are measured
    on the same resamples, so what makes rows hard for both cancels. The p-value does not account
    for having chosen the models on these rows. It needs about 200 rows: with 50, 8 to 10% of
    comparisons of equally good models have p < 0.05 (``docs/tests.md``).

    Parameters
    ----------
    metric, y_true, sample_weight, counts, classes, level, method, n_resamples, groups, \
random_state, n_jobs, progress
        As in :func:`confidence_interval`.
    y_prob_a, y_prob_b : array-like of shape (n,), (n, 2) or (n, n_classes)
        Probabilities of the two models.
    **options
        Passed on to the metric.

    Returns
    -------
    MetricComparison

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.metrics import brier_score, compare_metric
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(500)
    >>> y = rng.random(500) < p
    >>> result = compare_metric(brier_score, y, p**3, p, random_state=0)
    >>> result.low > 0, result.p_value < 0.01
    (True, True)
    """
    level = check_level(level)
    if not callable(metric):
        raise InputError(f"metric must be a function of labels and forecasts; got {shown(metric)}.")
    method = "bca" if is_choice(method, "auto") else method
    rows = repeat_rows(counts, y_true=y_true, sample_weight=sample_weight)
    rows_a = repeat_rows(counts, y_prob=y_prob_a, groups=groups)
    sample_a, units = read_units(**rows, **rows_a, classes=classes)
    sample_b = read_sample(**rows, **repeat_rows(counts, y_prob=y_prob_b), classes=classes)
    of_a = _statistic(metric, sample_a, options, classes)
    of_b = _statistic(metric, sample_b, options, classes)
    estimate_a, estimate_b = (_finite_estimate(s, units) for s in (of_a, of_b))
    values, jackknife = replicate(
        lambda weight: of_a(weight) - of_b(weight),
        units,
        n_resamples=n_resamples,
        method=method,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
    )
    values = _defined(values)
    difference = estimate_a - estimate_b
    low, high = _interval(difference, values, jackknife, level, method)
    if method == "centred":
        p_value = _p_value(values - values.mean() + difference, 0.0, 0.0)
    else:
        p_value = _p_value(values, *_correction(difference, values, jackknife))
    return MetricComparison(
        difference, low, high, p_value, estimate_a, estimate_b, level, method, values
    )


def _chosen(
    metric: Metric, method: Method, options: dict[str, Any]
) -> tuple[Method, dict[str, Any], bool]:
    """The method that "auto" stands for, the metric's options, and whether to take roots."""
    if not callable(metric):
        raise InputError(f"metric must be a function of labels and forecasts; got {shown(metric)}.")
    if not is_choice(method, "auto"):
        return method, options, False
    if metric is not debiased_calibration_error:
        return "bca", options, False
    # A resample holds rows twice, and what they share looks like miscalibration: replicates of
    # the squared error are centred on the plug-in error, not on the estimate without its bias.
    return "centred", {**options, "squared": True}, not options.get("squared", False)


def _statistic(
    metric: Metric, sample: Forecasts, options: dict[str, Any], classes: Any
) -> Statistic:
    # Weights leave all rows in place, so classes are only missing if they were from the start.
    named = (
        dict(options) if classes is None else {**options, "classes": np.arange(sample.n_classes)}
    )
    if not takes_weights(metric):
        if classes is not None and not class_options(metric, sample.n_classes):
            named = dict(options)
        return RowStatistic(metric, sample, named)

    def statistic(weight: Floats | None) -> float:
        return metric(sample.codes, sample.prob, sample_weight=weight, **named)

    return statistic


def _finite_estimate(statistic: Statistic, units: Units) -> float:
    estimate = float(statistic(units.weight))
    if not np.isfinite(estimate):
        raise InputError(
            f"the metric of the whole sample is {estimate}; an interval needs a finite one. For "
            "log-loss, keep probabilities off 0 and 1."
        )
    return estimate


def _defined(values: Floats) -> Floats:
    kept = values[np.isfinite(values)]
    lost = len(values) - len(kept)
    if lost > len(values) // 2:
        raise InputError(f"the metric has no finite value in {lost} of {len(values)} resamples.")
    if lost:
        warn_user(
            f"the metric has no finite value in {lost} of {len(values)} resamples; they are left "
            "out, so the interval may be too narrow.",
            UndefinedReplicatesWarning,
        )
    return kept


def _interval(
    estimate: float, values: Floats, jackknife: Floats, level: float, method: str
) -> tuple[float, float]:
    if method == "centred":
        return _ends(values - values.mean() + estimate, level, 0.0, 0.0)
    low, high = _ends(values, level, *_correction(estimate, values, jackknife))
    if method != "bca":
        return low, high
    # Resamples of a maximum may all be larger than it: the correction then leads beyond them.
    return min(low, estimate), max(high, estimate)


def _correction(estimate: float, values: Floats, jackknife: Floats) -> tuple[float, float]:
    """Efron's bias correction z₀ and acceleration a; both 0 without jackknife values."""
    jackknife = jackknife[np.isfinite(jackknife)]
    if len(jackknife) == 0:
        return 0.0, 0.0
    count = len(values)
    tied = np.abs(values - estimate) <= ROUNDING * max(1.0, abs(estimate))
    below = ((values < estimate)[~tied].sum() + tied.sum() / 2) / count
    z0 = float(ndtri(np.clip(below, 0.5 / count, 1 - 0.5 / count)))
    influence = jackknife.mean() - jackknife
    square = float((influence**2).sum())
    if square == 0:
        return z0, 0.0
    return z0, float((influence**3).sum() / (6 * square**1.5))


def _ends(values: Floats, level: float, z0: float, a: float) -> tuple[float, float]:
    z = ndtri(np.array([(1 - level) / 2, (1 + level) / 2])) + z0
    shares = ndtr(z0 + z / (1 - a * z))
    low, high = np.quantile(values, shares)
    return float(low), float(high)


def _p_value(values: Floats, z0: float, a: float) -> float:
    """The level at which an end of the interval reaches 0."""
    count = len(values)
    below = ((values < 0).sum() + (values == 0).sum() / 2 + 0.5) / (count + 1)
    # The inverse of the share that _ends computes.
    z = float(ndtri(below)) - z0
    z = z / (1 + a * z) - z0
    return float(np.clip(2 * min(ndtr(z), ndtr(-z)), 1 / (count + 1), 1.0))
