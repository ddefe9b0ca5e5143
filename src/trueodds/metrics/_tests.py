"""Tests of calibration: Spiegelhalter's, Cox's, Hosmer and Lemeshow's, and by redrawing labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import chdtrc, ndtr

from trueodds.basics.progress import Progress
from trueodds.exceptions import InputError
from trueodds.inputs import Floats, Labels, as_seed, check_choice, check_integer, repeat_rows
from trueodds.metrics._bands import Cells, make_cells
from trueodds.metrics._errors import BinStrategy
from trueodds.metrics._exact_test import exact_test
from trueodds.metrics._intervals import Metric, class_options
from trueodds.metrics._recalibration import cox_statistic, weights_of
from trueodds.metrics._sample import (
    Event,
    Forecasts,
    Multiclass,
    binary_views,
    finite_or_none,
    read_sample,
)
from trueodds.numerics.binning import bin_index, equal_mass_edges
from trueodds.numerics.reliability_bins import uniform_edges
from trueodds.table import ScoreTable

__all__ = ["CalibrationTest", "calibration_test", "cox", "hosmer_lemeshow", "spiegelhalter"]


def spiegelhalter(excess: float, variance: float, total: float) -> tuple[float, float, float]:
    """Statistic, p-value and expectation, of the excess loss and its variance if calibrated."""
    rounding = 1e-12 * total
    if variance <= rounding**2:
        # All probabilities are 0, 1 or equal: the loss is certain, so any excess is proof.
        z = 0.0 if abs(excess) <= rounding else float(np.copysign(np.inf, excess))
    else:
        z = float(excess / np.sqrt(variance))
    return z, float(2 * ndtr(-abs(z))), 0.0


def cox(view: Event, *, counts: bool = False) -> tuple[float, float, float]:
    """Statistic, p-value and expectation of the likelihood-ratio test of intercept 0, slope 1.

    With ``counts`` a weight of k stands for k rows, so the likelihood is that of all of them.
    """
    scale = 1.0
    if view.weight is not None and not counts:
        # A row is one observation: weights that are all alike must not change the answer.
        scale = float(view.weight.sum() / (view.weight**2).sum())
    statistic = scale * cox_statistic(view)
    return statistic, float(chdtrc(2, statistic)), 2.0


def hosmer_lemeshow(view: Event, n_bins: int) -> tuple[float, float, float]:
    """Statistic, p-value and expectation in groups of equal mass.

    As many degrees of freedom as groups: nothing was fitted to these rows.
    """
    weight = weights_of(view)
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
        return np.inf, 0.0, float(len(total))  # what was certain did not come about
    statistic = float((gap[~certain] ** 2 / variance[~certain]).sum())
    degrees = float(max((~certain).sum(), 1))
    return statistic, float(chdtrc(degrees, statistic)), degrees


TestMethod = Literal["spiegelhalter", "exact", "cox", "hosmer_lemeshow", "ece", "mce", "rms"]
METHODS = ("spiegelhalter", "exact", "cox", "hosmer_lemeshow", "ece", "mce", "rms")
CHUNK_VALUES = 2**21
"""Numbers drawn at once: 16 MB."""


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
    number of rows and any probabilities; it sees a wrong mean, a wrong slope of the log-odds and,
    with 200 or more rows, a wrong frequency in one of up to five bins. Spiegelhalter's test sees
    over- and under-confidence, but nothing that leaves the Brier score where it should be (such as
    all probabilities near one half shifted up). Cox's test sees a wrong intercept or slope of the
    log-odds. ``"ece"``, ``"mce"`` and ``"rms"`` redraw the labels from the probabilities and
    compare a binned error with that of the draws.

    Parameters
    ----------
    y_true, y_prob, sample_weight, classes
        As in :func:`expected_calibration_error`.
    counts : array-like of shape (n,), default=None
        How often each row occurred: the result is that of the rows written out.
    method : {"spiegelhalter", "exact", "cox", "hosmer_lemeshow", "ece", "mce", "rms"} or \
callable, default="spiegelhalter"
        The statistic: z; the exact tests of mean, slope and bins (Bonferroni; of several
        classes, for the most probable one); the likelihood ratio of a free
        intercept and slope (two classes, χ² with 2 degrees of freedom); that of Hosmer and Lemeshow
        in ``n_bins`` groups of equal mass (two classes, χ² with as many degrees); the mean, the
        greatest, or the root mean square of the gaps in bins; or any ``metric(y_true, y_prob,
        sample_weight=...)`` that is greater if worse calibrated (then the cost is O(n) for each
        draw, and the options of bins do not apply).
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

    Hosmer and Lemeshow's test is here because readers ask for it. It depends on the number of
    groups, rejects calibrated models too often if events are rare or probabilities near 0 and 1
    (in up to 12% of samples at the level of 5%), and does not show what is wrong: report
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
        return _exact(binary_views(sample, "top_label")[0])
    if method in ("cox", "hosmer_lemeshow"):
        if sample.prob.ndim != 1:
            raise InputError(f'method="{method}" needs two classes; got {sample.n_classes}.')
        view = Event(sample.prob, sample.codes == 1, sample.weight)
        found = cox(view) if method == "cox" else hosmer_lemeshow(view, n_bins)
        return CalibrationTest(found[0], found[1], str(method), found[2])
    if method == "spiegelhalter":
        return _spiegelhalter(sample)
    rng = np.random.default_rng(as_seed(random_state))
    with Progress(n_resamples, "redrawing labels", progress) as bar:
        if callable(method):
            observed, draws = _of_metric(sample, method, n_resamples, rng, bar)
        else:
            views = binary_views(sample, multiclass)
            binnings = [_Binning.of(view, n_bins, strategy) for view in views]
            observed = float(np.mean([b.errors(b.positive[None], method)[0] for b in binnings]))
            if len(views) == 1 and not (sample.prob.ndim == 2 and multiclass == "pooled"):
                draws = _draw_events(binnings[0], views[0], n_resamples, method, rng, bar)
            else:
                draws = _draw_classes(sample, binnings, n_resamples, method, rng, bar)
    # One more for the sample itself, so that the test keeps its level.
    beyond = (draws >= observed * (1 - 1e-12)).sum()
    p_value = float((1 + beyond) / (1 + n_resamples))
    name = getattr(method, "__name__", str(method))
    return CalibrationTest(observed, p_value, name, float(draws.mean()))


def _spiegelhalter(sample: Forecasts) -> CalibrationTest:
    prob = sample.columns()
    weight = np.ones(len(sample)) if sample.weight is None else sample.weight
    square = np.einsum("ij,ij->i", prob, prob)
    label = np.take_along_axis(prob, sample.codes[:, None], axis=1).ravel()
    cube = np.einsum("ij,ij,ij->i", prob, prob, prob)
    excess = float((weight * (square - label)).sum())
    variance = float((weight**2 * np.maximum(cube - square**2, 0.0)).sum())
    z, p_value, expected = spiegelhalter(excess, variance, float(weight.sum()))
    return CalibrationTest(z, p_value, "spiegelhalter", expected)


def _exact(view: Event) -> CalibrationTest:
    prob = np.minimum(view.prob, 1.0)  # the sum of a row of classes may be rounded up
    hit = view.hit.astype(bool)
    table = ScoreTable.from_codes(prob, hit, view.weight)
    square = None
    if view.weight is not None:
        square = ScoreTable.from_codes(prob, hit, view.weight**2).weight
    found = exact_test(table, square)
    expected = float(table.score @ table.weight)
    return CalibrationTest(table.total_pos, found.p_value, "exact", expected)


@dataclass(frozen=True, eq=False)
class _Binning:
    """Which bin a view's rows are in, and the sums that redrawing labels does not change."""

    edges: Floats
    weight: Floats
    prob: Floats
    positive: Floats
    index: Any

    @classmethod
    def of(cls, view: Event, n_bins: int, strategy: str) -> _Binning:
        if strategy == "uniform":
            edges = uniform_edges(n_bins)
        else:
            edges = equal_mass_edges(view.prob, view.weight, n_bins)
        index = bin_index(edges, view.prob)
        size = len(edges) + 1
        weight = np.ones(len(view.prob)) if view.weight is None else view.weight
        return cls(
            edges,
            _sums(index, weight, size),
            _sums(index, weight * view.prob, size),
            _sums(index, weight * view.hit, size),
            index,
        )

    def errors(self, positive: Floats, method: str) -> Floats:
        """The metric for each row of bin sums of positives, of shape (draws, n_bins)."""
        filled = self.weight > 0
        gap = np.abs(self.prob - positive)[:, filled] / self.weight[filled]
        if method == "mce":
            return np.asarray(gap.max(axis=1))
        share = self.weight[filled] / self.weight.sum()
        return np.asarray(gap @ share if method == "ece" else np.sqrt(gap**2 @ share))


def _draw_events(
    binning: _Binning,
    view: Event,
    n_resamples: int,
    method: str,
    rng: np.random.Generator,
    bar: Progress,
) -> Floats:
    cells: Cells = make_cells(view, binning.edges)
    bin_of = np.searchsorted(binning.edges, cells.lowest, side="right")
    filled, first = np.unique(bin_of, return_index=True)
    parts = []
    step = max(1, CHUNK_VALUES // len(cells.prob))
    for begin in range(0, n_resamples, step):
        size = min(step, n_resamples - begin)
        positive = np.zeros((size, len(binning.weight)))
        positive[:, filled] = np.add.reduceat(cells.redraw(rng, size), first, axis=1)
        parts.append(binning.errors(positive, method))
        bar.step(size)
    return np.concatenate(parts)


def _sums(index: Any, weight: Floats, size: int) -> Floats:
    return np.bincount(index, weight, size).astype(np.float64, copy=False)


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
    binnings: list[_Binning],
    n_resamples: int,
    method: str,
    rng: np.random.Generator,
    bar: Progress,
) -> Floats:
    """Draw one class per row, which is one positive among its pairs and k − 1 negatives."""
    n, k = sample.prob.shape
    upper = _upper(sample)
    weight = np.ones(n) if sample.weight is None else sample.weight
    values = np.empty(n_resamples)
    for draw in range(n_resamples):
        code = _draw_codes(sample, rng, upper)
        errors = []
        if len(binnings) == 1:  # pooled: pair (row, class) is row·k + class
            index = binnings[0].index[np.arange(n) * k + code]
            positive = _sums(index, weight, len(binnings[0].weight))
            errors.append(binnings[0].errors(positive[None], method)[0])
        else:
            for j, binning in enumerate(binnings):
                own = code == j
                positive = _sums(binning.index[own], weight[own], len(binning.weight))
                errors.append(binning.errors(positive[None], method)[0])
        values[draw] = np.mean(errors)
        bar.step()
    return values
