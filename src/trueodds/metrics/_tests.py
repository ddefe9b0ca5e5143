"""Tests of calibration: Spiegelhalter's, Cox's, Hosmer and Lemeshow's, and by redrawing labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.special import chdtrc, ndtr

from trueodds.basics.progress import Progress
from trueodds.exceptions import InputError
from trueodds.inputs import Floats, Labels, as_seed, check_choice, check_integer, repeat_rows
from trueodds.metrics._bands import make_cells
from trueodds.metrics._errors import BinStrategy, bin_edges
from trueodds.metrics._exact_test import exact_test
from trueodds.metrics._intervals import Metric, class_options
from trueodds.metrics._recalibration import cox_statistic
from trueodds.metrics._sample import (
    Forecasts,
    Multiclass,
    binary_views,
    finite_or_none,
    read_sample,
    top_label,
)
from trueodds.numerics.binning import bin_index, equal_mass_edges
from trueodds.numerics.losses import of_label
from trueodds.numerics.reliability_bins import BinSums, bin_sums
from trueodds.numerics.weights import rows_per_weight

__all__ = ["CalibrationTest", "calibration_test", "cox", "hosmer_lemeshow", "spiegelhalter"]


def spiegelhalter(sample: Forecasts, *, weights_are_counts: bool = False) -> CalibrationTest:
    """The test of Σ w·(Σⱼpⱼ² − p_label), the squared error in excess of its expectation.

    Its variance is Σ w²·(Σⱼpⱼ³ − (Σⱼpⱼ²)²) if the probabilities are calibrated. With two classes
    the two terms are w·(y − p)(1 − 2p) and w²·p(1 − p)(1 − 2p)². Counts replace w² by w.
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
    spread = float((weight if weights_are_counts else weight**2) @ variance)
    rounding = 1e-12 * float(weight.sum())
    if spread <= rounding**2:
        # All probabilities are 0, 1 or equal: the loss is certain, so any excess is proof.
        z = 0.0 if abs(total) <= rounding else float(np.copysign(np.inf, total))
    else:
        z = float(total / np.sqrt(spread))
    return CalibrationTest(z, float(2 * ndtr(-abs(z))), "spiegelhalter", 0.0)


def cox(view: Forecasts, *, weights_are_counts: bool = False) -> CalibrationTest:
    """The likelihood-ratio test of intercept 0 and slope 1.

    The likelihood of importance weights is that of the effective number of rows: weights that are
    all alike do not change it.
    """
    scale = 1.0 if weights_are_counts else rows_per_weight(view.row_weight)
    statistic = scale * cox_statistic(view)
    return CalibrationTest(statistic, float(chdtrc(2, statistic)), "cox", 2.0)


def hosmer_lemeshow(view: Forecasts, n_bins: int) -> CalibrationTest:
    """The test in groups of equal mass, by χ² with as many degrees of freedom as groups.

    Nothing was fitted to these rows, so no degree of freedom is lost.
    """
    weight = view.row_weight
    index = bin_index(equal_mass_edges(view.prob, view.weight, n_bins), view.prob)
    total, squares, expected, gap = (
        np.bincount(index, values)
        for values in (weight, weight**2, weight * view.prob, weight * (view.hit - view.prob))
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
    y_true, y_prob, sample_weight, classes
        As in :func:`expected_calibration_error`.
    counts : array-like of shape (n,), default=None
        How often each row occurred: the result is that of the rows written out.
    method : {"spiegelhalter", "exact", "cox", "hosmer_lemeshow", "ece", "mce", "rms"} or \
callable, default="spiegelhalter"
        The statistic. ``"spiegelhalter"``: z. ``"exact"``: the exact tests of mean, slope and bins
        (Bonferroni; of several classes, for the most probable one). ``"cox"``: the likelihood ratio
        of a free intercept and slope (two classes, χ² with 2 degrees of freedom).
        ``"hosmer_lemeshow"``: ``n_bins`` groups of equal mass (two classes, χ² with as many
        degrees). ``"ece"``, ``"mce"``, ``"rms"``: the mean, the greatest, or the root mean square
        of the gaps in bins. Or any ``metric(y_true, y_prob, sample_weight=...)`` that is greater if
        worse calibrated. Then the cost is O(n) for each draw, and the options of bins do not apply.
    n_bins : int, default=10
    strategy : {"uniform", "quantile"}, default="quantile"
        For the binned methods.
    multiclass : {"top_label", "classwise", "pooled"}, default="top_label"
        For the binned methods; Spiegelhalter's test has a form for several classes. ``"pooled"``
        and ``"classwise"`` draw one label per row, not one per class.
    n_resamples : int, default=1000
    random_state : int or Generator, default=None
    progress : bool, default=None

    Returns
    -------
    CalibrationTest

    Notes
    -----
    A row is one independent observation, whatever its ``sample_weight``; with such weights the
    exact test is a normal one. Spiegelhalter's, Cox's and Hosmer and Lemeshow's p-values are
    approximations for many rows; ``docs/tests.md`` has the share of false alarms of every test.
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
    rows = repeat_rows(counts, y_true=y_true, y_prob=y_prob, sample_weight=sample_weight)
    sample = read_sample(**rows, classes=classes)
    if method == "exact":
        return _exact(top_label(sample))
    if method in ("cox", "hosmer_lemeshow"):
        if sample.prob.ndim != 1:
            raise InputError(f'method="{method}" needs two classes; got {sample.n_classes}.')
        return cox(sample) if method == "cox" else hosmer_lemeshow(sample, n_bins)
    if method == "spiegelhalter":
        return spiegelhalter(sample)
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


def _exact(view: Forecasts) -> CalibrationTest:
    table = view.table
    found = exact_test(table, view.square_weight)
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
    cells = make_cells(view, edges)
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


def _draw_codes(sample: Forecasts, rng: np.random.Generator, upper: Floats) -> Labels:
    if sample.prob.ndim == 1:
        return (rng.random(len(sample)) < sample.prob).astype(np.intp)
    above = (rng.random((len(sample), 1)) >= upper).sum(axis=1)
    return np.asarray(np.minimum(above, sample.n_classes - 1), dtype=np.intp)


def _upper(sample: Forecasts) -> Floats:
    """Cumulated class probabilities of each row, ending in exactly 1."""
    upper = np.cumsum(sample.columns(), axis=1)
    return np.asarray(upper / upper[:, -1:])


def _of_metric(
    sample: Forecasts, metric: Metric, n_resamples: int, rng: np.random.Generator, bar: Progress
) -> tuple[float, Floats]:
    named = class_options(metric, sample.n_classes)
    if sample.weight is not None:
        named["sample_weight"] = sample.weight
    observed = float(metric(sample.codes, sample.prob, **named))
    upper = _upper(sample)
    values = np.empty(n_resamples)
    for draw in range(n_resamples):
        values[draw] = metric(_draw_codes(sample, rng, upper), sample.prob, **named)
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
    n, k = sample.prob.shape
    upper = _upper(sample)
    weight = sample.row_weight
    bins = [bin_index(*pair) for pair in zip(edges, (view.prob for view in views), strict=True)]
    pooled = len(views) == 1
    values = np.empty(n_resamples)
    for draw in range(n_resamples):
        code = _draw_codes(sample, rng, upper)
        errors = []
        for j, (index, own) in enumerate(zip(bins, sums, strict=True)):
            # Pooled, pair (row, class) is row·k + class.
            drawn = np.arange(n) * k + code if pooled else np.flatnonzero(code == j)
            mass = weight if pooled else weight[drawn]
            positive = np.bincount(index[drawn], mass, len(own.weight)).astype(np.float64)
            errors.append(error(replace(own, positive=positive)))
        values[draw] = np.mean(errors)
        bar.step()
    return values
