"""Bootstrap intervals of any metric, and of the difference of two models in it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from trueodds.basics.progress import Progress
from trueodds.basics.shown import shown
from trueodds.basics.tables import Tabular
from trueodds.basics.warned import ignored_warnings
from trueodds.exceptions import InputError, UndefinedReplicatesWarning, warn_user
from trueodds.inputs import (
    Floats,
    Labels,
    Weights,
    as_dense,
    as_seed,
    check_choice,
    check_integer,
    check_jobs,
    check_level,
    encode_clusters,
    is_choice,
)
from trueodds.metrics._errors import debiased_calibration_error
from trueodds.metrics._sample import Forecasts, finite_or_none, read_kept, read_sample

__all__ = [
    "Metric",
    "MetricComparison",
    "MetricInterval",
    "Units",
    "class_options",
    "compare_metric",
    "confidence_interval",
    "metric_of_rows",
    "read_units",
]


@dataclass(frozen=True, eq=False)
class MetricInterval(Tabular):
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
    method : {"bca", "percentile", "centered"}
    replicates : ndarray
        The metric of each resample.

    Examples
    --------
    >>> from trueodds.metrics import brier_score, confidence_interval
    >>> y, p = [0, 1, 0, 1, 1, 0] * 10, [0.2, 0.9, 0.4, 0.6, 0.7, 0.3] * 10
    >>> found = confidence_interval(brier_score, y, p, n_resamples=50, random_state=0)
    >>> round(found.estimate, 3), found.low < found.estimate < found.high
    (0.092, True)
    >>> print(f"{found:.2f}")
    0.09 (0.08 to 0.10)
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

    def __format__(self, spec: str) -> str:
        """The estimate and its interval, each with this format, such as ``f"{interval:.3f}"``."""
        if not spec:
            return str(self)
        estimate, low, high = (format(v, spec) for v in (self.estimate, self.low, self.high))
        return f"{estimate} ({low} to {high})"

    def rows(self) -> list[dict[str, Any]]:
        """One row, with the ends of the interval; for several metrics, join their rows."""
        return [{"estimate": self.estimate, "low": self.low, "high": self.high}]

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
    method : {"bca", "percentile", "centered"}
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


Metric = Callable[..., float]
Statistic = Callable[[Weights | None], float]
"""A metric of everything but the weights."""

PER_SEED = 16
"""Replicates that share a seed, so that results do not depend on n_jobs."""
JACKKNIFE_BLOCKS = 100
MOST_DRAWN_SINGLY = 2**20
"""Of more rows, only the number of those that are alike is drawn."""
MOST_WRITTEN_OUT = 10_000_000
"""Most rows for a metric that takes neither weights nor counts."""


@dataclass(frozen=True, eq=False)
class Units:
    """What is resampled: rows, of which equal ones are counted, or whole clusters of rows.

    Parameters
    ----------
    importance : ndarray of shape (n,) or None
    sizes : ndarray of shape (n,)
        How often each row occurred.
    cluster : ndarray of shape (n,) or None
        The cluster of each row, if clusters are drawn.
    n_units : int
        Rows with their repetitions, or clusters.
    """

    importance: Floats | None
    sizes: Floats
    cluster: Labels | None
    n_units: int

    def weights(self, drawn: npt.NDArray[Any]) -> Weights:
        """The rows' weights if each row, or cluster, occurs so often."""
        drawn = drawn.astype(np.float64)
        return Weights(
            self.importance, drawn if self.cluster is None else self.sizes * drawn[self.cluster]
        )

    def bootstrap(self, rng: np.random.Generator) -> Weights:
        """Weights of one bootstrap sample: as many units as there are, drawn with replacement."""
        if (
            self.cluster is None
            and self.n_units > MOST_DRAWN_SINGLY
            and self.n_units > len(self.sizes)
        ):
            return self.weights(rng.multinomial(self.n_units, self.sizes / self.sizes.sum()))
        drawn = rng.integers(0, self.n_units, self.n_units)
        if self.cluster is not None or self.n_units == len(self.sizes):
            return self.weights(np.bincount(drawn, minlength=self.n_units))
        drawn = np.searchsorted(np.cumsum(self.sizes), drawn, side="right")
        return self.weights(np.bincount(drawn, minlength=len(self.sizes)))

    def jackknife(self, rng: np.random.Generator) -> Iterator[Weights]:
        """Weights without one unit, or without one of 100 random blocks of units.

        Acceleration is a skewness divided by a root of the number of units, and so is that of
        sums over blocks: leaving out blocks estimates the same number.
        """
        blocks = min(self.n_units, JACKKNIFE_BLOCKS)
        if self.cluster is not None or self.n_units == len(self.sizes):
            block_of = rng.permutation(self.n_units) % blocks
            for block in range(blocks):
                yield self.weights(block_of != block)
            return
        if self.n_units <= MOST_DRAWN_SINGLY:
            row = np.searchsorted(np.cumsum(self.sizes), np.arange(self.n_units), side="right")
            place = row * blocks + rng.permutation(self.n_units) % blocks
            left_out = np.bincount(place, minlength=len(self.sizes) * blocks).reshape(-1, blocks)
        else:
            left_out = rng.multinomial(self.sizes.astype(np.int64), np.full(blocks, 1 / blocks))
        for column in left_out.T:
            yield self.weights(self.sizes - column)


def read_units(
    y_true: Any, y_prob: Any, sample_weight: Any, counts: Any, clusters: Any, classes: Any
) -> tuple[Forecasts, Units]:
    """Validate everything once, before anything is resampled."""
    sample, kept = read_kept(y_true, y_prob, sample_weight, counts, classes)
    importance = None if sample.weight is None else sample.weight.importance
    sizes = np.ones(len(sample)) if sample.weight is None else sample.weight.row_counts
    cluster: Labels | None = None
    n_units = sample.n_rows
    if clusters is not None:
        codes, _ = encode_clusters(clusters, len(as_dense(y_prob, "y_prob")))
        found, cluster = np.unique(codes[kept], return_inverse=True)
        n_units = len(found)
    if n_units < 2:
        raise InputError(f"resampling needs at least 2 rows (or clusters); got {n_units}.")
    return sample, Units(importance, sizes, cluster, n_units)


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


def replicate(
    statistic: Statistic,
    units: Units,
    *,
    n_resamples: int,
    method: str,
    random_state: Any,
    n_jobs: int | None,
    progress: bool | None,
) -> tuple[Floats, Floats]:
    """Bootstrap replicates, and jackknife values if ``method`` is "bca" (else none)."""
    n_resamples = check_integer(n_resamples, "n_resamples", 20)
    check_jobs(n_jobs)
    check_choice(method, ("bca", "percentile", "centered"), "method")
    seeds = np.random.SeedSequence(as_seed(random_state)).spawn(1 + -(-n_resamples // PER_SEED))
    sizes = [PER_SEED] * (n_resamples // PER_SEED) + [n_resamples % PER_SEED]

    def values_of(weights: Iterable[Weights]) -> list[float]:
        # A replicate without positives makes some metrics undefined; NaN is enough to say so.
        with ignored_warnings():
            return [float(statistic(weight)) for weight in weights]

    def some(seed: np.random.SeedSequence, size: int) -> list[float]:
        rng = np.random.default_rng(seed)
        values = values_of(units.bootstrap(rng) for _ in range(size))
        bar.step(size)
        return values

    with Progress(n_resamples, "bootstrap", progress) as bar:
        if n_jobs in (None, 1):
            parts = [some(*work) for work in zip(seeds[1:], sizes, strict=False)]
        else:
            from joblib import Parallel, delayed

            # Threads: NumPy releases the lock, and nothing is copied.
            parts = Parallel(n_jobs=n_jobs, prefer="threads")(
                delayed(some)(*work) for work in zip(seeds[1:], sizes, strict=False)
            )
        jackknife: list[float] = []
        if method == "bca":
            rng = np.random.default_rng(seeds[0])
            jackknife = values_of(units.jackknife(rng))
    return np.array([v for part in parts for v in part]), np.array(jackknife)


TIE_TOLERANCE = 1e-12
"""Replicates that differ by less from the estimate are equal to it; sums are rounded."""

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
    """A metric and a bootstrap interval for its value in the population.

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
        ``"percentile"``: quantiles of the replicates. ``"bca"``: corrected for bias and skewness.
        ``"centered"``: moved so that their mean is the estimate, for metrics that are unbiased
        though their replicates are not. ``"auto"``: ``"centered"`` (on the squared scale) for
        :func:`debiased_calibration_error`, otherwise ``"bca"``.
    n_resamples : int, default=1000
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

    Notes
    -----
    A row (or cluster) is one independent observation, whatever its importance. Rows are resampled
    by counts, so memory is O(n), or of 8 MB if counts are larger. Acceleration comes from
    leaving out 100 random blocks.

    Means over rows, AUC and the debiased calibration error are covered at the level. ECE, MCE and
    the smooth error are so only if the model is clearly miscalibrated everywhere. In a calibrated
    bin they cannot be smaller than chance makes them, so their intervals tend to lie above the true
    value. See ``docs/measuring.md`` for the measured coverage. An interval by
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

    Your function, unchanged:

    >>> def bias(y, p):
    ...     return np.mean(p - y)
    >>> interval = confidence_interval(bias, y, p, random_state=0)
    >>> interval.low < 0 < interval.high
    True
    """
    level = check_level(level)
    sample, units = read_units(y_true, y_prob, sample_weight, counts, clusters, classes)
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
    on the same resamples, so what makes rows hard for both cancels. The p-value does not account
    for having chosen the models on these rows. It needs about 200 rows: with 50, 8 to 10% of
    comparisons of equally good models have p < 0.05 (``docs/tests.md``).

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
    if not callable(metric):
        raise InputError(f"metric must be a function of labels and forecasts; got {shown(metric)}.")
    method = "bca" if is_choice(method, "auto") else method
    sample_a, units = read_units(y_true, y_prob_a, sample_weight, counts, clusters, classes)
    sample_b = read_sample(y_true, y_prob_b, sample_weight, counts, classes)
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
    values = _defined(values)
    difference = estimate_a - estimate_b
    low, high = _interval(difference, values, jackknife, level, method)
    if method == "centered":
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
        raise InputError(
            f"cannot compute an interval: the metric is {estimate} on this sample. For log_loss, "
            "a probability of exactly 0 or 1 was wrong; clip first, e.g. np.clip(p, 1e-6, 1 - "
            "1e-6)."
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
    if method == "centered":
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
    tied = np.abs(values - estimate) <= TIE_TOLERANCE * max(1.0, abs(estimate))
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
