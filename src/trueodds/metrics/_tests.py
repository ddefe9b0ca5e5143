"""Tests of calibration: Spiegelhalter's, Cox's, Hosmer and Lemeshow's, and by redrawing labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.special import chdtrc, ndtr, ndtri

from trueodds.basics.progress import Progress
from trueodds.exceptions import InputError
from trueodds.inputs import Floats, Labels, as_seed, check_choice, check_integer
from trueodds.metrics._bands import make_cells
from trueodds.metrics._clusters import clustered_test, read_clusters, sum_test
from trueodds.metrics._errors import BinStrategy, bin_edges
from trueodds.metrics._exact_test import exact_test
from trueodds.metrics._intervals import Metric, class_options, metric_of_rows
from trueodds.metrics._recalibration import cox_statistic
from trueodds.metrics._sample import (
    Forecasts,
    Multiclass,
    binary_views,
    finite_or_none,
    read_kept,
    top_label,
)
from trueodds.numerics.binning import bin_index, equal_mass_edges
from trueodds.numerics.losses import of_label
from trueodds.numerics.reliability_bins import BinSums, bin_sums

__all__ = ["CalibrationTest", "calibration_test", "cox", "hosmer_lemeshow", "spiegelhalter"]


def spiegelhalter(sample: Forecasts, cluster: Labels | None = None) -> CalibrationTest:
    """The test of Σ w·(Σⱼpⱼ² − p_label), the squared error in excess of its expectation.

    Its variance is Σ w²·(Σⱼpⱼ³ − (Σⱼpⱼ²)²) if the probabilities are calibrated. With two classes
    the two terms are w·(y − p)(1 − 2p) and w²·p(1 − p)(1 − 2p)². Counts are their own squares.
    With clusters, the p-value is at least that of a t-test of their sums, and z is its quantile.
    """
    prob, weight = sample.prob, sample.row_weight
    if prob.ndim == 1:
        lean = 1 - 2 * prob
        excess = np.where(sample.hit, 1 - prob, -prob) * lean
        variance = prob * (1 - prob) * lean**2
    else:
        square = np.einsum("ij,ij->i", prob, prob)
        excess = square - of_label(sample.codes, prob)
        variance = np.maximum(np.einsum("ij,ij,ij->i", prob, prob, prob) - square**2, 0.0)
    total = float(weight @ excess)
    spread = float(sample.squares @ variance)
    rounding = 1e-12 * float(weight.sum())
    if spread <= rounding**2:
        # All probabilities are 0, 1 or equal: the loss is certain, so any excess is proof.
        z = 0.0 if abs(total) <= rounding else float(np.copysign(np.inf, total))
    else:
        z = float(total / np.sqrt(spread))
    p_value = float(2 * ndtr(-abs(z)))
    if cluster is not None and np.isfinite(z):
        p_value = max(p_value, sum_test(weight * excess, cluster))
        z = float(np.copysign(ndtri(p_value / 2), z)) if p_value < 1 else 0.0
    return CalibrationTest(z, p_value, "spiegelhalter", 0.0)


def cox(view: Forecasts) -> CalibrationTest:
    """The likelihood-ratio test of intercept 0 and slope 1, in counts of rows."""
    statistic = cox_statistic(view.in_counts())
    return CalibrationTest(statistic, float(chdtrc(2, statistic)), "cox", 2.0)


def hosmer_lemeshow(view: Forecasts, n_bins: int) -> CalibrationTest:
    """The test in groups of equal mass, by χ² with as many degrees of freedom as groups.

    Nothing was fitted to these rows, so no degree of freedom is lost.
    """
    weight = view.row_weight
    index = bin_index(equal_mass_edges(view.prob, view.mass, n_bins), view.prob)
    total, squares, expected, gap = (
        np.bincount(index, values)
        for values in (weight, view.squares, weight * view.prob, weight * (view.hit - view.prob))
    )
    filled = total > 0
    total, squares, expected, gap = (v[filled] for v in (total, squares, expected, gap))
    variance = squares * (expected / total) * (1 - expected / total)
    certain = variance <= 0
    if (np.abs(gap[certain]) > 1e-12 * total[certain]).any():
        # What was certain did not come about.
        return CalibrationTest(np.inf, 0.0, "hosmer_lemeshow", float(len(total)))
    statistic = float((gap[~certain] ** 2 / variance[~certain]).sum())
    degrees = float(max((~certain).sum(), 1))
    p_value = float(chdtrc(degrees, statistic))
    return CalibrationTest(statistic, p_value, "hosmer_lemeshow", degrees)


TestMethod = Literal["spiegelhalter", "exact", "cox", "hosmer_lemeshow", "ece", "mce", "rms"]
METHODS = ("spiegelhalter", "exact", "cox", "hosmer_lemeshow", "ece", "mce", "rms")
CHUNK_VALUES = 2**21
"""Numbers drawn at once: 16 MB."""
BinError = Callable[[BinSums], Floats]
ERRORS: dict[Any, BinError] = {
    "ece": BinSums.expected_error,
    "mce": BinSums.maximum_error,
    "rms": BinSums.root_mean_square_error,
}


@dataclass(frozen=True)
class CalibrationTest:
    """The result of :func:`calibration_test`.

    Attributes
    ----------
    statistic : float
        Spiegelhalter's z, which is positive if probabilities are too extreme; χ²; the metric; or
        the positives that happened, for the exact test.
    p_value : float
        How often a calibrated model would be at least as far off.
    method : str
    expected : float
        The statistic to expect of a calibrated model: 0 for z, the degrees of freedom for χ², the
        sum of the probabilities for the exact test, the mean of the draws otherwise.

    Examples
    --------
    >>> from trueodds.metrics import calibration_test
    >>> calibration_test([0, 1, 0, 1] * 10, [0.2, 0.9, 0.4, 0.6] * 10).method
    'spiegelhalter'
    """

    statistic: float
    p_value: float
    method: str
    expected: float

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; None for what is infinite or undefined."""
        return {
            "statistic": finite_or_none(self.statistic),
            "p_value": self.p_value,
            "method": self.method,
            "expected": self.expected,
        }


def calibration_test(
    y_true: Any,
    y_prob: Any,
    *,
    method: TestMethod | Metric = "spiegelhalter",
    n_bins: int = 10,
    strategy: BinStrategy = "quantile",
    multiclass: Multiclass = "top_label",
    n_resamples: int = 1000,
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
    clusters: Any = None,
    random_state: Any = None,
    progress: bool | None = None,
) -> CalibrationTest:
    """Test the hypothesis that the probabilities are calibrated.

    Use it before reading anything into a calibration error. ``"exact"`` keeps its level for any
    number of rows and any probabilities. It detects a wrong mean, a wrong slope of the log-odds
    and, with 200 or more rows, a wrong frequency in one of up to five bins. Spiegelhalter's test
    detects overconfidence and underconfidence, but nothing that leaves the Brier score where it
    should be (such as all probabilities near one half shifted up). Cox's test detects a wrong
    intercept or slope of the log-odds. ``"ece"``, ``"mce"`` and ``"rms"`` redraw the labels from
    the probabilities and compare a binned error with that of the draws.

    Parameters
    ----------
    y_true, y_prob, sample_weight, counts, classes
        As in :func:`expected_calibration_error`. A row of any importance is one observation, and a
        count of k is k.
    method : {"spiegelhalter", "exact", "cox", "hosmer_lemeshow", "ece", "mce", "rms"} or \
callable, default="spiegelhalter"
        The statistic. ``"spiegelhalter"``: z. ``"exact"``: the exact tests of mean, slope and bins
        (Bonferroni; of several classes, for the most probable one). ``"cox"``: the likelihood ratio
        of a free intercept and slope (two classes, χ² with 2 degrees of freedom).
        ``"hosmer_lemeshow"``: ``n_bins`` groups of equal mass (two classes, χ² with as many
        degrees). ``"ece"``, ``"mce"``, ``"rms"``: the mean, the greatest, or the root mean square
        of the gaps in bins. Or any ``metric(y_true, y_prob)`` that is greater if worse calibrated;
        it gets weights and counts as in :func:`confidence_interval`. Then the cost is O(n) for
        each draw, and the options of bins do not apply.
    n_bins : int, default=10
    strategy : {"uniform", "quantile"}, default="quantile"
        For the binned methods.
    multiclass : {"top_label", "classwise", "pooled"}, default="top_label"
        For the binned methods; Spiegelhalter's test has a form for several classes. ``"pooled"``
        and ``"classwise"`` draw one label per row, not one per class.
    n_resamples : int, default=1000
    clusters : array-like of shape (n,), default=None
        Rows that depend on each other (labels of one post) have the same value. ``"exact"`` and
        ``"spiegelhalter"`` take them: the p-value is at least that of a t-test with clusters as
        observations. The other methods assume independent rows.
    random_state : int or Generator, default=None
    progress : bool, default=None

    Returns
    -------
    CalibrationTest

    Notes
    -----
    With importances, the exact test is a normal one. Spiegelhalter's, Cox's and Hosmer and
    Lemeshow's p-values are approximations for many rows; ``docs/tests.md`` has the share of false
    alarms of every test.
    With k classes, z = Σ w·(Σⱼpⱼ² − p_label) / √(Σ w²·(Σⱼpⱼ³ − (Σⱼpⱼ²)²)), which is
    Spiegelhalter's formula if k = 2.

    Hosmer and Lemeshow's test is here because many readers expect it. It depends on the number of
    groups, and does not show what is wrong. It rejects calibrated models too often if events are
    rare or probabilities near 0 and 1 (in up to 12% of samples at the level of 5%). Report
    intercept, slope and a curve next to it, or instead of it.

    References
    ----------
    Cox (1958), Two further applications of a model for binary regression.
    Hosmer and Lemeshow (1980), Goodness of fit tests for the multiple logistic regression model.
    Spiegelhalter (1986), Probabilistic prediction in patient management and clinical trials.
    Bröcker and Smith (2007), Increasing the reliability of reliability diagrams.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.metrics import calibration_test
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> y = rng.random(1000) < p
    >>> calibration_test(y, p).p_value > 0.05
    True
    >>> calibration_test(y, p**2, method="ece", random_state=0).p_value < 0.01
    True
    """
    if not callable(method):
        check_choice(method, METHODS, "method")
    check_choice(strategy, ("uniform", "quantile"), "strategy")
    n_bins = check_integer(n_bins, "n_bins", 1)
    n_resamples = check_integer(n_resamples, "n_resamples", 20)
    sample, kept = read_kept(y_true, y_prob, sample_weight, counts, classes)
    cluster = None if clusters is None else read_clusters(clusters, y_prob, kept)
    if method == "exact":
        return _exact(top_label(sample), cluster)
    if method == "spiegelhalter":
        return spiegelhalter(sample, cluster)
    if cluster is not None:
        raise InputError(
            f"{getattr(method, '__name__', method)} assumes independent rows and has no version "
            'for clusters; pass method="exact" or "spiegelhalter".'
        )
    if method in ("cox", "hosmer_lemeshow"):
        if sample.prob.ndim != 1:
            raise InputError(f'method="{method}" needs two classes; got {sample.n_classes}.')
        return cox(sample) if method == "cox" else hosmer_lemeshow(sample, n_bins)
    rng = np.random.default_rng(as_seed(random_state))
    with Progress(n_resamples, "redrawing labels", progress) as bar:
        if callable(method):
            observed, draws = _of_metric(sample, method, n_resamples, rng, bar)
        else:
            views = binary_views(sample, multiclass)
            edges = [bin_edges(view, n_bins, strategy) for view in views]
            sums = [
                bin_sums(v.prob, v.codes, v.weight, e) for v, e in zip(views, edges, strict=True)
            ]
            error = ERRORS[method]
            observed = float(np.mean([error(own) for own in sums]))
            if sample.prob.ndim == 1 or multiclass == "top_label":
                draws = _draw_events(views[0], edges[0], sums[0], error, n_resamples, rng, bar)
            else:
                draws = _draw_classes(sample, views, edges, sums, error, n_resamples, rng, bar)
    # One more for the sample itself, so that the test keeps its level.
    beyond = (draws >= observed * (1 - 1e-12)).sum()
    p_value = float((1 + beyond) / (1 + n_resamples))
    name = getattr(method, "__name__", str(method))
    return CalibrationTest(observed, p_value, name, float(draws.mean()))


def _exact(view: Forecasts, cluster: Labels | None) -> CalibrationTest:
    table = view.table
    found = exact_test(table) if cluster is None else clustered_test(view, cluster).tests
    expected = float(table.score @ table.weight)
    return CalibrationTest(table.total_pos, found.p_value, "exact", expected)


def _draw_events(
    view: Forecasts,
    edges: Floats,
    sums: BinSums,
    error: BinError,
    n_resamples: int,
    rng: np.random.Generator,
    bar: Progress,
) -> Floats:
    cells = make_cells(view.table, edges)
    first = cells.bin_starts(edges)
    sums = sums.filled()
    parts = []
    step = max(1, CHUNK_VALUES // len(cells.table))
    for begin in range(0, n_resamples, step):
        size = min(step, n_resamples - begin)
        positive = np.add.reduceat(cells.redraw(rng, size), first, axis=1)
        parts.append(error(replace(sums, positive=positive)))
        bar.step(size)
    return np.concatenate(parts)


def _draw_labels(sample: Forecasts, n_resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
    """How many rows of each class, of shape (n, n_classes), if the probabilities are right."""
    columns = sample.columns()
    total = columns.sum(axis=1, keepdims=True)
    counts = None if sample.weight is None else sample.weight.count
    if counts is not None:
        whole = counts.astype(np.int64)
        for _ in range(n_resamples):
            yield rng.multinomial(whole, columns / total).astype(np.float64)
        return
    upper = np.cumsum(columns, axis=1)
    upper /= upper[:, -1:]  # ending in exactly 1
    classes = np.arange(sample.n_classes)
    for _ in range(n_resamples):
        if sample.prob.ndim == 1:
            codes = (rng.random(len(sample)) < sample.prob).astype(np.intp)
        else:
            above = (rng.random((len(sample), 1)) >= upper).sum(axis=1)
            codes = np.minimum(above, sample.n_classes - 1)
        yield (codes[:, None] == classes).astype(np.float64)


def _of_metric(
    sample: Forecasts, metric: Metric, n_resamples: int, rng: np.random.Generator, bar: Progress
) -> tuple[float, Floats]:
    named = class_options(metric, sample.n_classes)
    of_rows = metric_of_rows(metric)
    weight = sample.weight
    observed = of_rows(sample.codes, sample.prob, weight, **named)
    values = np.empty(n_resamples)
    for draw, drawn in enumerate(_draw_labels(sample, n_resamples, rng)):
        if weight is None or weight.count is None:
            values[draw] = of_rows(drawn.argmax(axis=1), sample.prob, weight, **named)
        else:  # rows that were drawn of several classes
            row, code = np.nonzero(drawn)
            own = replace(weight.take(row), count=drawn[row, code])
            values[draw] = of_rows(code, sample.prob[row], own, **named)
        bar.step()
    return observed, values


def _draw_classes(
    sample: Forecasts,
    views: list[Forecasts],
    edges: list[Floats],
    sums: list[BinSums],
    error: BinError,
    n_resamples: int,
    rng: np.random.Generator,
    bar: Progress,
) -> Floats:
    """Draw one class per row, which is one positive among its pairs and k − 1 negatives."""
    importance = None if sample.weight is None else sample.weight.importance
    bins = [bin_index(*pair) for pair in zip(edges, (view.prob for view in views), strict=True)]
    pooled = len(views) == 1
    values = np.empty(n_resamples)
    for draw, drawn in enumerate(_draw_labels(sample, n_resamples, rng)):
        mass = drawn if importance is None else drawn * importance[:, None]
        errors = []
        for j, (index, own) in enumerate(zip(bins, sums, strict=True)):
            # Pooled, pair (row, class) is row·k + class.
            hits = mass.ravel() if pooled else mass[:, j]
            positive = np.bincount(index, hits, len(own.weight)).astype(np.float64)
            errors.append(error(replace(own, positive=positive)))
        values[draw] = np.mean(errors)
        bar.step()
    return values
