"""Metrics whose intervals follow from sums over the rows: one function for every entry point.

Means have their exact standard errors, the C statistic has DeLong's, ratios the delta method, and
the coefficients of recalibration the inverse information. The debiased calibration error is a sum
of squares of normal variables. Rows in clusters are counted by cluster everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtr, ndtri

from trueodds.basics.tables import Tabular
from trueodds.exceptions import FewEventsWarning, InputError, warn_user
from trueodds.inputs import Floats, Labels
from trueodds.metrics._errors import (
    binned,
    debiased_calibration_error,
    expected_calibration_error,
    maximum_calibration_error,
)
from trueodds.metrics._losses import (
    accuracy,
    brier_score,
    c_statistic,
    log_loss,
    root_mean_squared_error,
    scaled_brier_score,
)
from trueodds.metrics._recalibration import (
    calibration_intercept,
    calibration_slope,
    intercept_model,
    observed_expected_ratio,
    slope_model,
)
from trueodds.metrics._sample import Forecasts, finite_or_none, top_label
from trueodds.metrics._smooth import smooth_calibration_error
from trueodds.numerics.concordance import concordance
from trueodds.numerics.event_ratio import event_ratio
from trueodds.numerics.log_odds import log_odds, sigmoid
from trueodds.numerics.losses import Loss, row_losses
from trueodds.numerics.reliability_bins import BinSums, ratio_or_zero
from trueodds.numerics.standard_errors import Spread, design_effect, wilson

__all__ = [
    "ENOUGH",
    "MEANS",
    "Linear",
    "MetricInterval",
    "debiased_interval",
    "few_events",
    "linear",
    "measure",
    "refuse_biased",
    "undefined",
    "warn_if_few",
]

NO_REPLICATES = np.empty(0)
ENOUGH = 10
"""Events, and rows without the event, that intervals need to hold the true value."""


@dataclass(frozen=True, eq=False)
class MetricInterval(Tabular):
    """A metric with its confidence interval.

    Attributes
    ----------
    estimate : float
        The metric of the sample.
    low, high : float
        The ends of the interval; NaN if it has none.
    level : float
        How often such an interval should hold the metric of the population.
    standard_error : float
    method : str
        Intervals from sums over the rows: ``"mean"``, ``"ratio"``, ``"delong"``, ``"wilson"``,
        ``"wald"``, ``"squares"``; ``"exact"`` is Clopper and Pearson's. Those from resamples:
        ``"inverted"``, ``"bca"``, ``"percentile"``, ``"centered"``. A metric without an interval
        has ``"none"``.
    replicates : ndarray
        The metric of each resample; empty if there are none.

    Examples
    --------
    >>> from trueodds.metrics import brier_score, confidence_interval
    >>> y, p = [0, 1, 0, 1, 1, 0] * 10, [0.2, 0.9, 0.4, 0.6, 0.7, 0.3] * 10
    >>> found = confidence_interval(brier_score, y, p)
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


def undefined(level: float, method: str = "none", estimate: float = np.nan) -> MetricInterval:
    """A figure without an interval."""
    return MetricInterval(estimate, np.nan, np.nan, level, np.nan, method, NO_REPLICATES)


# ----- few events ---------------------------------------------------------------------------------


def few_events(sample: Forecasts) -> str | None:
    """A sentence if there are too few events, or rows without, for intervals to hold."""
    view = top_label(sample)
    binary = sample.prob.ndim == 1
    names = ("without the event", "with the event") if binary else ("wrong", "right")
    for name, own in zip(names, (~view.hit, view.hit), strict=True):
        part = view.take(own)
        rows = part.effective if len(part) else 0.0
        if rows < ENOUGH - 1e-9:
            return (
                f"intervals need at least {ENOUGH} rows with the event and {ENOUGH} without; "
                f"{rows:.3g} {'is' if rows == 1 else 'are'} {name}."
                if binary
                else f"intervals need at least {ENOUGH} rows that are right and {ENOUGH} that are "
                f"wrong; {rows:.3g} {'is' if rows == 1 else 'are'} {name}."
            ) + " They may contain the true value less often than stated."
    return None


def warn_if_few(sample: Forecasts) -> str | None:
    """Warn of :func:`few_events`, and return the sentence."""
    said = few_events(sample)
    if said is not None:
        warn_user(said, FewEventsWarning)
    return said


# ----- sums over rows -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Linear:
    """An estimate with the influence of each row (see :class:`Spread`)."""

    estimate: float
    influence: Floats


def _mean(sample: Forecasts, values: Floats) -> Linear:
    mean = sample.mean(values)
    with np.errstate(invalid="ignore"):  # an infinite loss
        return Linear(mean, values - mean)


def _loss(loss: Loss) -> Callable[[Forecasts], Linear]:
    return lambda sample: _mean(sample, row_losses(loss, sample.codes, sample.prob))


def _accuracy(sample: Forecasts) -> Linear:
    if sample.prob.ndim == 1:
        return _mean(sample, (sample.prob > 0.5) == sample.hit)
    return _mean(sample, sample.prob.argmax(axis=1) == sample.codes)


def _scaled_brier(view: Forecasts) -> Linear:
    brier = _loss("brier_score")(view)
    frequency = view.mean(view.hit)
    chance = frequency * (1 - frequency)
    if chance == 0:
        return Linear(np.nan, np.full(len(view), np.nan))
    ratio = brier.estimate / chance
    moved = ratio * (1 - 2 * frequency) * (view.hit - frequency)
    return Linear(1 - ratio, (moved - brier.influence) / chance)


def _c_statistic(view: Forecasts) -> Linear:
    c = concordance(view.prob, view.hit, view.weight)
    return Linear(c.estimate, c.influence)


def _observed_expected(view: Forecasts) -> Linear:
    expected = view.mean(view.prob)
    if expected == 0:
        return Linear(np.nan, np.full(len(view), np.nan))
    ratio = view.mean(view.hit) / expected
    return Linear(ratio, (view.hit - ratio * view.prob) / expected)


def _intercept(view: Forecasts) -> Linear:
    value = float(intercept_model(view).coef[0])
    shifted = sigmoid(log_odds(view.prob, "probability") + value)
    return Linear(value, (view.hit - shifted) / view.mean(shifted * (1 - shifted)))


MEANS: dict[Any, Callable[[Forecasts], Linear]] = {
    log_loss: _loss("log_loss"),
    brier_score: _loss("brier_score"),
    accuracy: _accuracy,
    scaled_brier_score: _scaled_brier,
    c_statistic: _c_statistic,
    observed_expected_ratio: _observed_expected,
    calibration_intercept: _intercept,
}
"""Metrics that are sums over rows, or smooth functions of such sums."""
LOWEST = {log_loss: 0.0, brier_score: 0.0, observed_expected_ratio: 0.0}


def linear(metric: Any, sample: Forecasts) -> Linear | None:
    """The metric with its influence, if it is one of :data:`MEANS` and these are not two columns.

    Metrics of two classes refuse more of them.
    """
    found = MEANS.get(metric)
    if found is None:
        return None
    several = sample.prob.ndim > 1
    return None if several and metric not in (log_loss, brier_score, accuracy) else found(sample)


def measure(
    metric: Any, sample: Forecasts, level: float, cluster: Labels | None = None, **options: Any
) -> MetricInterval | None:
    """The interval of a metric that needs no resamples; None if it needs them.

    Without clusters, equal rows of two classes are counted first, so that the result is the same
    from rows and from a table of counts, to the last bit.
    """
    if sample.prob.ndim == 1 and cluster is None:
        sample = counted(sample)
    if metric is debiased_calibration_error:
        return _debiased(sample, level, cluster, **options)
    if options:
        return None
    if metric is root_mean_squared_error:
        return _root(sample, level, cluster)
    if metric is calibration_slope:
        return _slope(sample, level, cluster)
    found = linear(metric, sample)
    if found is None:
        return None
    if metric is c_statistic:
        low, high, error = concordance(sample.prob, sample.hit, sample.weight).interval(
            level, cluster
        )
        return MetricInterval(found.estimate, low, high, level, error, "delong", NO_REPLICATES)
    if metric is observed_expected_ratio:
        given = sample.hit, sample.prob, sample.weight, level, cluster
        ratio, low, high, error = event_ratio(*given)
        method = "exact" if np.isnan(error) else "ratio"
        return MetricInterval(ratio, low, high, level, error, method, NO_REPLICATES)
    if np.isinf(found.estimate):
        # What has happened can happen, so an infinite loss is certain.
        ends = found.estimate, found.estimate
        return MetricInterval(found.estimate, *ends, level, np.nan, "mean", NO_REPLICATES)
    spread = Spread.of(found.influence, sample.weight, cluster)
    if metric is accuracy:
        n_rows = sample.effective
        if cluster is not None:
            effect = design_effect(found.influence, sample.weight, cluster)
            n_rows = n_rows / max(effect, 1.0)
        low, high = (
            float(end[0]) for end in wilson(np.array([found.estimate]), np.array([n_rows]), level)
        )
        return MetricInterval(
            found.estimate, low, high, level, spread.error, "wilson", NO_REPLICATES
        )
    low, high = spread.interval(found.estimate, level)
    low = max(low, LOWEST.get(metric, low))
    if metric is brier_score:
        high = min(high, 1.0 if sample.n_classes == 2 else 2.0)
    method = "mean" if metric in LOWEST else "ratio"
    return MetricInterval(found.estimate, low, high, level, spread.error, method, NO_REPLICATES)


def counted(sample: Forecasts) -> Forecasts:
    """Rows of two classes, one for each probability and label, with their weights."""
    return Forecasts(*sample.table.as_rows())


def _root(sample: Forecasts, level: float, cluster: Labels | None) -> MetricInterval | None:
    """The root of the mean squared error over rows and columns."""
    square = measure(brier_score, sample, level, cluster)
    if square is None:
        return None
    columns = 1 if sample.prob.ndim == 1 else sample.n_classes
    ends = (square.estimate, square.low, square.high)
    estimate, low, high = (float(np.sqrt(v / columns)) for v in ends)
    error = square.standard_error / (2 * columns * estimate) if estimate else 0.0
    return MetricInterval(estimate, low, high, level, error, "mean", NO_REPLICATES)


def _slope(view: Forecasts, level: float, cluster: Labels | None) -> MetricInterval | None:
    if view.prob.ndim > 1:
        return None
    model = slope_model(view, cluster=cluster)
    value, error = float(model.coef[1]), float(np.sqrt(model.covariance[1, 1]))
    half = float(ndtri((1 + level) / 2)) * error
    return MetricInterval(value, value - half, value + half, level, error, "wald", NO_REPLICATES)


# ----- calibration errors -------------------------------------------------------------------------

BIASED: dict[Any, str] = {
    expected_calibration_error: "expected",
    maximum_calibration_error: "maximum",
    smooth_calibration_error: "smooth",
}


def refuse_biased(metric: Any) -> None:
    """Refuse the interval of an error that chance alone makes larger than the true one."""
    name = BIASED.get(metric)
    if name is not None:
        raise InputError(
            f"the {name} calibration error has no interval: chance adds to it, so that an interval "
            "around it would often lie above the true value. Use debiased_calibration_error, whose "
            "interval holds; calibration_test shows whether an error is more than chance."
        )


PRIOR_ROWS = 1.0
"""Rows of a calibrated bin that the variance in each bin is mixed with."""
SIGNAL = 1.1
"""How much the estimated variance of the error itself is widened, as it is estimated."""


def _debiased(
    sample: Forecasts,
    level: float,
    cluster: Labels | None,
    *,
    n_bins: int = 15,
    strategy: Any = "quantile",
    squared: bool = False,
    multiclass: str = "top_label",
) -> MetricInterval | None:
    if multiclass != "top_label" and sample.prob.ndim > 1:
        return None
    if cluster is not None:
        return None
    sums = binned(top_label(sample), n_bins, strategy, spread=True)
    return debiased_interval(sums, sample.effective, level, squared=squared)


def debiased_interval(
    sums: BinSums, n_rows: float, level: float, *, squared: bool = False
) -> MetricInterval:
    """The interval of the debiased calibration error, from sums over its bins.

    The mean square of the gaps is a sum of squares of normal variables, so its distribution is
    nearly χ². Its mean and variance follow from the true error and the noise in each bin. The ends
    are the errors for which the mean square that was found lies at either quantile.
    """
    sums = sums.filled()
    if sums.spread is None:
        raise ValueError("the debiased error needs the spread in each bin.")
    square = float(sums.debiased_square())
    effective = sums.weight if sums.squares is None else ratio_or_zero(sums.weight**2, sums.squares)
    usable = effective > 1 + 1e-9
    if not usable.any():
        return undefined(level, "squares", square if squared else float(np.sqrt(max(square, 0.0))))
    weight, gap, n = sums.weight[usable], sums.gap[usable], effective[usable]
    share = weight / weight.sum()
    mean = sums.prob[usable] / weight
    # What the frequency in each bin would be if all rows were off by the same factor.
    ratio = (sums.positive.sum() + 0.5) / (sums.prob.sum() + 0.5)
    even = np.minimum(mean * ratio, 1.0)
    deviation = np.maximum(sums.spread[usable] / weight - gap**2, 0.0) * n
    noise = (deviation + PRIOR_ROWS * even * (1 - even)) / (n - 1 + PRIOR_ROWS) / n
    found = float(share @ gap**2)
    size = np.maximum(gap**2 - noise, 0.0) + (mean - even) ** 2
    signal = float(share @ size)
    of_chance = float(share @ noise)
    square_of_chance = float((share * noise) @ (share * noise))
    if signal > 0:
        with_error = SIGNAL * float((share * noise) @ (share * size)) / signal
        of_rows = float(share @ (size - signal) ** 2) / signal**2 / n_rows
    else:
        with_error, of_rows = square_of_chance / of_chance if of_chance else 0.0, 0.0

    def below(true: float) -> float:
        """How often the mean square is at most the one found, if this is the true one."""
        center = of_chance + true
        variance = 2 * square_of_chance + 4 * true * with_error + of_rows * true**2
        if variance <= 0:
            return float(found >= center)
        return float(chdtr(2 * center**2 / variance, 2 * found * center / variance))

    def end(target: float) -> float:
        if below(0.0) <= target:
            return 0.0
        most = 1.0
        while below(most) > target and most < 1e6:
            most *= 2
        return float(brentq(lambda true: below(true) - target, 0.0, most))

    low, high = end((1 + level) / 2), end((1 - level) / 2)
    low, high = min(low, max(square, 0.0)), max(high, square)
    error = float(np.sqrt(2 * square_of_chance + 4 * max(square, 0.0) * with_error))
    if not squared:
        error = error / (2 * np.sqrt(square)) if square > 0 else np.nan
        square, low, high = (float(np.sqrt(max(v, 0.0))) for v in (square, low, high))
    return MetricInterval(square, low, high, level, float(error), "squares", NO_REPLICATES)
