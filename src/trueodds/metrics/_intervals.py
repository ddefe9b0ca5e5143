"""Intervals of any metric, and of the difference of two models in it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from trueodds.basics.shown import shown
from trueodds.exceptions import BiasedMetricWarning, InputError, warn_user
from trueodds.inputs import (
    Floats,
    Labels,
    Weights,
    as_dense,
    check_choice,
    check_integer,
    check_level,
    encode_clusters,
    is_choice,
)
from trueodds.metrics._curve_errors import (
    curve_error_intervals,
    integrated_calibration_index,
)
from trueodds.metrics._curves import CurveOptions, read_options
from trueodds.metrics._errors import debiased_calibration_error
from trueodds.metrics._estimates import (
    NO_REPLICATES,
    MetricInterval,
    linear,
    measure,
    refuse_biased,
    warn_if_few,
)
from trueodds.metrics._resampling import (
    Statistic,
    Units,
    bootstrap_ends,
    bootstrap_p_value,
    defined,
    replicate,
)
from trueodds.metrics._sample import Forecasts, read_kept, read_sample
from trueodds.numerics.standard_errors import Spread

__all__ = [
    "Metric",
    "MetricComparison",
    "class_options",
    "compare_metric",
    "confidence_interval",
    "metric_of_rows",
    "read_clustered",
]


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
        1 − level whose interval leaves 0 out. Of resamples, at least 1/(their number + 1).
    estimate_a, estimate_b : float
    level : float
    method : {"mean", "bca", "percentile", "centered"}
    replicates : ndarray
        The difference in each resample; empty if there are none.

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


Metric = Callable[..., float]

MOST_WRITTEN_OUT = 10_000_000
"""Most rows for a metric that takes neither weights nor counts."""


def read_clustered(
    y_true: Any, y_prob: Any, sample_weight: Any, counts: Any, clusters: Any, classes: Any
) -> tuple[Forecasts, Labels | None]:
    """Validate everything once; clusters are coded from 0."""
    sample, kept = read_kept(y_true, y_prob, sample_weight, counts, classes)
    if clusters is None:
        return sample, None
    codes, _ = encode_clusters(clusters, len(as_dense(y_prob, "y_prob")))
    return sample, np.unique(codes[kept], return_inverse=True)[1]


def class_options(metric: Metric, n_classes: int) -> dict[str, Any]:
    """``classes=`` for metrics that know it, since a resample may lack a class."""
    try:
        known = "classes" in inspect.signature(metric).parameters
    except (TypeError, ValueError):  # some built-in callables have no signature
        known = False
    return {"classes": np.arange(n_classes)} if known else {}


def _has_argument(metric: Metric, name: str, *, any_name: bool = False) -> bool:
    """Whether a function has an argument of this name (or takes any, if that will do)."""
    try:
        parameters = inspect.signature(metric).parameters.values()
    except (TypeError, ValueError):  # some built-in callables have no signature
        return False
    return any(p.name == name or (any_name and p.kind is p.VAR_KEYWORD) for p in parameters)


def metric_of_rows(metric: Metric) -> Callable[..., float]:
    """A metric as a function of labels, probabilities, :class:`Weights` or None, and its options.

    It gets what it has arguments for: importances as ``sample_weight`` and counts as ``counts``;
    their product as ``sample_weight``, if that is all it takes; or the rows written out.
    """
    weighted = _has_argument(metric, "sample_weight", any_name=True)
    counted = _has_argument(metric, "counts")
    name = getattr(metric, "__name__", type(metric).__name__)

    def of(codes: Labels, prob: Floats, weight: Weights | None, **options: Any) -> float:
        if weight is None:
            return float(metric(codes, prob, **options))
        if not weighted and weight.importance is not None:
            raise InputError(
                f"{name} has no argument sample_weight, so it cannot be given the weights; leave "
                "sample_weight out, or let the function take it."
            )
        if counted:
            if weighted:
                options["sample_weight"] = weight.importance
            return float(metric(codes, prob, counts=weight.count, **options))
        if weighted:
            return float(metric(codes, prob, sample_weight=weight.values, **options))
        n_rows = weight.row_counts.sum()
        if n_rows > MOST_WRITTEN_OUT:
            raise InputError(
                f"{name} takes neither counts nor sample_weight, so its rows must be written out; "
                f"got {n_rows:.6g} of at most {MOST_WRITTEN_OUT:,}. Let it take counts."
            )
        rows = np.repeat(np.arange(len(codes)), weight.row_counts.astype(np.int64))
        return float(metric(codes[rows], prob[rows], **options))

    return of


Method = Literal["auto", "bca", "percentile", "centered"]


def confidence_interval(
    metric: Metric,
    y_true: Any,
    y_prob: Any,
    *,
    level: float = 0.9,
    method: Method = "auto",
    n_resamples: int = 1000,
    clusters: Any = None,
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
    **options: Any,
) -> MetricInterval:
    """A metric and an interval for its value in the population.

    Metrics of this module have the interval that every command and report prints for them.
    Your own function has a bootstrap interval. Errors that chance adds to (expected, maximum and
    smooth calibration error) have none and are refused; use :func:`debiased_calibration_error`.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, y_prob)`` → float: any of this module, scikit-learn's ``roc_auc_score``,
        or your own. Labels reach it coded as 0 … n_classes − 1. A resample reaches it as
        ``counts``, if it has that argument; otherwise as ``sample_weight``, multiplied by the
        importances; otherwise as rows, of which it may have ten million. One that gets rows and
        raises an error has no value in that resample.
    y_true, y_prob, sample_weight, counts, classes
        As in :func:`log_loss`. A row of any importance is one observation, and a count of k is k.
    level : float, default=0.9
    method : {"auto", "bca", "percentile", "centered"}, default="auto"
        ``"auto"``: the standard error of means and ratios, DeLong's variance, and the other rules
        of ``docs/measuring.md``; ``"bca"`` for a function without a rule. The others always
        resample. ``"percentile"``: quantiles of the replicates. ``"bca"``: corrected for bias and
        skewness. ``"centered"``: moved so that their mean is the estimate.
    n_resamples : int, default=1000
        Bootstrap samples, where there are any.
    clusters : array-like of shape (n,), default=None
        Rows that belong together (one patient, one day) have the same value and are drawn together.
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

    Warns
    -----
    FewEventsWarning
        Fewer than ten rows have the event, or lack it.
    BiasedMetricWarning
        Resamples move your function in one direction, so the interval may miss the true value.

    Notes
    -----
    A row (or cluster) is one independent observation, whatever its importance. Rows are resampled
    by counts, so memory is O(n), or of 8 MB if counts are larger. Acceleration comes from
    leaving out 100 random blocks. An interval by "bca" reaches at least to the estimate itself.

    References
    ----------
    Efron (1987), Better bootstrap confidence intervals.
    Hall (1992), On the removal of skewness by transformation.

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

    Your function, unchanged:

    >>> def bias(y, p):
    ...     return np.mean(p - y)
    >>> interval = confidence_interval(bias, y, p, random_state=0)
    >>> interval.low < 0 < interval.high
    True
    """
    level = check_level(level)
    check_choice(method, ("auto", "bca", "percentile", "centered"), "method")
    if not callable(metric):
        raise InputError(f"metric must be a function of labels and forecasts; got {shown(metric)}.")
    refuse_biased(metric)
    sample, cluster = read_clustered(y_true, y_prob, sample_weight, counts, clusters, classes)
    units = Units.of(sample, cluster)
    warn_if_few(sample)
    given = n_resamples, random_state
    if is_choice(method, "auto"):
        found = _without_resamples(metric, sample, level, cluster, given, options)
        if found is not None:
            return found
    method, options, rooted = _chosen(metric, method, options)
    statistic = _statistic(metric, sample, options, classes)
    estimate = _finite_estimate(statistic, sample)
    values, jackknife = replicate(
        _of_resample(metric, statistic),
        units,
        n_resamples=n_resamples,
        method=method,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
    )
    values = defined(values)
    if method != "centered":
        _warn_if_biased(estimate, values)
    low, high = bootstrap_ends(estimate, values, jackknife, level, method)
    if rooted:
        values = np.sqrt(np.maximum(values, 0.0))
        estimate, low, high = (float(np.sqrt(max(v, 0.0))) for v in (estimate, low, high))
    return MetricInterval(estimate, low, high, level, float(values.std(ddof=1)), method, values)


def _without_resamples(
    metric: Metric,
    sample: Forecasts,
    level: float,
    cluster: Labels | None,
    given: tuple[int, Any],
    options: dict[str, Any],
) -> MetricInterval | None:
    """The interval that every entry point returns for this metric; None if it has no rule."""
    if metric is integrated_calibration_index and sample.prob.ndim == 1:
        n_resamples, random_state = given
        return curve_error_intervals(
            sample,
            read_options(**{"method": options.get("curve", "loess"), **_curve(options)}),
            level,
            n_resamples=check_integer(n_resamples, "n_resamples", 20),
            random_state=random_state,
            cluster=cluster,
        )["ici"]
    found = measure(metric, sample, level, cluster, **options)
    if found is not None and not np.isfinite(found.estimate):
        _refuse_infinite(found.estimate)
    return found


def _curve(options: dict[str, Any]) -> dict[str, Any]:
    plain = CurveOptions()
    return {name: options.get(name, getattr(plain, name)) for name in ("span", "kernel", "n_knots")}


def compare_metric(
    metric: Metric,
    y_true: Any,
    y_prob_a: Any,
    y_prob_b: Any,
    *,
    level: float = 0.9,
    method: Method = "auto",
    n_resamples: int = 1000,
    clusters: Any = None,
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
    on the same rows, so what makes rows hard for both cancels. The p-value does not account
    for having chosen the models on these rows. With 50 rows, 90% intervals of differences contain
    the true one in 86 to 90% of samples (``docs/measuring.md``).

    Parameters
    ----------
    metric, y_true, sample_weight, counts, classes, level, method, n_resamples, clusters, \
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
    check_choice(method, ("auto", "bca", "percentile", "centered"), "method")
    if not callable(metric):
        raise InputError(f"metric must be a function of labels and forecasts; got {shown(metric)}.")
    refuse_biased(metric)
    sample_a, cluster = read_clustered(y_true, y_prob_a, sample_weight, counts, clusters, classes)
    units = Units.of(sample_a, cluster)
    sample_b = read_sample(y_true, y_prob_b, sample_weight, counts, classes)
    warn_if_few(sample_a)
    if is_choice(method, "auto"):
        a, b = (None if options else linear(metric, sample) for sample in (sample_a, sample_b))
        if a is not None and b is not None:
            for side in (a, b):
                if not np.isfinite(side.estimate):
                    _refuse_infinite(side.estimate)
            difference = a.estimate - b.estimate
            spread = Spread.of(a.influence - b.influence, sample_a.weight, cluster)
            ends = spread.interval(difference, level)
            p_value = spread.p_value(difference)
            both = a.estimate, b.estimate
            return MetricComparison(difference, *ends, p_value, *both, level, "mean", NO_REPLICATES)
        method = "bca"
    of_a = _statistic(metric, sample_a, options, classes)
    of_b = _statistic(metric, sample_b, options, classes)
    estimate_a, estimate_b = (_finite_estimate(s, sample_a) for s in (of_a, of_b))
    values, jackknife = replicate(
        _of_resample(metric, lambda weight: of_a(weight) - of_b(weight)),
        units,
        n_resamples=n_resamples,
        method=method,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
    )
    values = defined(values)
    difference = estimate_a - estimate_b
    low, high = bootstrap_ends(difference, values, jackknife, level, method)
    p_value = bootstrap_p_value(difference, values, jackknife, method)
    return MetricComparison(
        difference, low, high, p_value, estimate_a, estimate_b, level, method, values
    )


def _chosen(
    metric: Metric, method: Method, options: dict[str, Any]
) -> tuple[Method, dict[str, Any], bool]:
    """The method that "auto" stands for, the metric's options, and whether to take roots."""
    if not is_choice(method, "auto"):
        return method, options, False
    if metric is not debiased_calibration_error:
        return "bca", options, False
    # A resample holds rows twice, and what they share looks like miscalibration: replicates of
    # the squared error are centered on the plug-in error, not on the estimate without its bias.
    return "centered", {**options, "squared": True}, not options.get("squared", False)


def _statistic(
    metric: Metric, sample: Forecasts, options: dict[str, Any], classes: Any
) -> Statistic:
    # Weights leave all rows in place, so classes are only missing if they were from the start.
    named = dict(options)
    if classes is not None:
        named |= {"classes": np.arange(sample.n_classes)}
    if _gets_rows(metric) and not class_options(metric, sample.n_classes):
        named = dict(options)
    of_rows = metric_of_rows(metric)
    return lambda weight: of_rows(sample.codes, sample.prob, weight, **named)


def _gets_rows(metric: Metric) -> bool:
    """Whether a metric takes neither weights nor counts."""
    weighted = _has_argument(metric, "sample_weight", any_name=True)
    return not weighted and not _has_argument(metric, "counts")


def _of_resample(metric: Metric, statistic: Statistic) -> Statistic:
    """A statistic that is NaN where a metric of rows raises an error: it was fine with all rows."""
    if not _gets_rows(metric):
        return statistic

    def value(weight: Weights | None) -> float:
        try:
            return statistic(weight)
        except Exception:  # the resample is to blame, not the caller
            return float("nan")

    return value


def _finite_estimate(statistic: Statistic, sample: Forecasts) -> float:
    estimate = statistic(sample.weight)
    if not np.isfinite(estimate):
        _refuse_infinite(estimate)
    return estimate


def _refuse_infinite(estimate: float) -> None:
    raise InputError(
        f"cannot compute an interval: the metric is {estimate} on this sample. For log_loss, a "
        "probability of exactly 0 or 1 was wrong; clip first, e.g. np.clip(p, 1e-6, 1 - 1e-6)."
    )


MOST_BIAS = 1.0
"""How far the mean of replicates may be from the estimate, in their standard deviations."""


def _warn_if_biased(estimate: float, values: Floats) -> None:
    """Warn if resamples move a metric in one direction: chance has then moved the sample, too."""
    spread = float(values.std(ddof=1))
    bias = float(values.mean()) - estimate
    if spread > 0 and abs(bias) > MOST_BIAS * spread:
        warn_user(
            f"resamples have {'greater' if bias > 0 else 'smaller'} values than the sample, by "
            f"{abs(bias) / spread:.1f} standard errors on average. Chance adds to this metric, so "
            "its interval may lie on one side of the true value.",
            BiasedMetricWarning,
        )
