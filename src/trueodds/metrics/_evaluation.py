"""Metrics with intervals, curve and tests: of a table of counts, or of rows of several classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueodds.basics.tables import Tabular
from trueodds.exceptions import InputError
from trueodds.inputs import (
    Labels,
    as_floats,
    as_seed,
    check_integer,
    check_level,
    check_number,
)
from trueodds.metrics._bands import binned_band, make_cells
from trueodds.metrics._clusters import clustered_test
from trueodds.metrics._curves import ReliabilityCurve, binned_points, curve_of, mass_bins
from trueodds.metrics._errors import bin_edges, binned, debiased_calibration_error
from trueodds.metrics._estimates import MetricInterval, measure, undefined, warn_if_few
from trueodds.metrics._exact_test import ExactTest, exact_test
from trueodds.metrics._finding import SMALL_ERROR, class_finding, finding
from trueodds.metrics._losses import accuracy, brier_score, c_statistic, log_loss
from trueodds.metrics._sample import Forecasts, read_sample, top_label
from trueodds.metrics._tests import CalibrationTest, cox, spiegelhalter
from trueodds.table import ScoreTable

__all__ = [
    "ClassEvaluation",
    "Evaluation",
    "check_probabilities",
    "evaluate_classes",
    "evaluate_counts",
    "table_estimates",
]

EVEN_BINS = 10
"""Bins of equal width, of the expected and the maximum calibration error."""
WITH_INTERVAL: dict[str, Any] = {
    "log_loss": log_loss,
    "brier_score": brier_score,
    "roc_auc": c_statistic,
    "accuracy": accuracy,
    "debiased_calibration_error": debiased_calibration_error,
}
TABLE_METRICS = (
    *("log_loss", "brier_score", "roc_auc", "expected_calibration_error"),
    *("debiased_calibration_error", "maximum_calibration_error"),
)
CLASS_METRICS = (
    *("log_loss", "brier_score", "accuracy"),
    *("expected_calibration_error", "debiased_calibration_error"),
)


def _measured(
    names: tuple[str, ...],
    sample: Forecasts,
    level: float,
    cluster: Labels | None = None,
    n_bins: int = EVEN_BINS,
) -> dict[str, MetricInterval]:
    """Each metric with the interval of :func:`confidence_interval`, if it has one.

    Plain errors over bins have none: chance adds to them. Nor has the debiased error of clusters,
    which add to it by an amount that is not known.
    """
    sums = binned(top_label(sample), n_bins, "uniform")
    plain = {
        "expected_calibration_error": float(sums.expected_error()),
        "maximum_calibration_error": float(sums.maximum_error()),
    }
    found = {}
    for name in names:
        if name in plain:
            found[name] = undefined(level, estimate=plain[name])
            continue
        interval = measure(WITH_INTERVAL[name], sample, level, cluster)
        if interval is None:
            alone = measure(WITH_INTERVAL[name], sample, level)
            interval = undefined(level, estimate=np.nan if alone is None else alone.estimate)
        found[name] = interval
    return found


class _Measured(Tabular):
    """An evaluation as a table of its metrics."""

    metrics: dict[str, MetricInterval]

    def rows(self) -> list[dict[str, Any]]:
        """``metric``, ``estimate``, ``low`` and ``high`` of each metric."""
        return [
            {"metric": name, "estimate": one.estimate, "low": one.low, "high": one.high}
            for name, one in self.metrics.items()
        ]


@dataclass(frozen=True, eq=False)
class Evaluation(_Measured):
    """The result of :func:`evaluate_counts`.

    Attributes
    ----------
    metrics : dict of str to MetricInterval
        ``log_loss``, ``brier_score``, ``roc_auc``, ``expected_calibration_error``,
        ``debiased_calibration_error``, ``maximum_calibration_error``. The expected and the maximum
        error have no interval (NaN). The AUC is NaN if there is one class only; a log-loss is
        infinite if the impossible happened.
    curve : ReliabilityCurve
        In bins of equal mass, with a consistency band.
    exact_test : ExactTest
        The tests of the mean, of the slope and of up to five bins that ``p_value`` is of. They
        keep their level for any number of rows.
    mean_test : CalibrationTest
        The first of them: whether positives are as many as the probabilities sum to (Poisson
        binomial distribution).
    test : CalibrationTest
        Spiegelhalter's, as papers report it: an approximation for many rows.
    slope_test : CalibrationTest or None
        Cox's, of intercept and slope of the log-odds, as papers report it: an approximation for
        many rows. None if the rows do not determine a slope.
    n : float
        The number of rows; of importances the effective one, (Σw)²/Σw².
    prevalence : float
        Share of positives.
    mean_score : float
    n_independent : float or None
        The rows divided by the design effect, if they belong to clusters.
    notes : tuple of str
        The message of a :class:`~trueodds.exceptions.FewEventsWarning`, if there was one.

    Examples
    --------
    >>> from trueodds import ScoreTable
    >>> from trueodds.metrics import evaluate_counts
    >>> y, p = [0, 1, 0, 1, 1, 0] * 10, [0.2, 0.9, 0.4, 0.6, 0.7, 0.3] * 10
    >>> found = evaluate_counts(ScoreTable.from_arrays(p, y), n_resamples=50)
    >>> found.n, found.prevalence, round(found.metrics["brier_score"].estimate, 3)
    (60.0, 0.5, 0.092)
    """

    metrics: dict[str, MetricInterval]
    curve: ReliabilityCurve
    exact_test: ExactTest
    mean_test: CalibrationTest
    test: CalibrationTest
    slope_test: CalibrationTest | None
    n: float
    prevalence: float
    mean_score: float
    n_independent: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def p_value(self) -> float:
        """How often a calibrated model would be at least as far off, by the exact tests."""
        return self.exact_test.p_value

    def finding(
        self, tolerance: float = SMALL_ERROR, groups: list[dict[str, Any]] | None = None
    ) -> str:
        """What was found, in words and with its size.

        Parameters
        ----------
        tolerance : float, default=0.02
            What is significant is called small if the expected number of positives is within this
            share of what happened, and the debiased error within this share of the standard
            deviation of the labels.
        groups : list of dict, default=None
            The ``"groups"`` of :func:`evaluate_groups`: the worst one that is flagged is named.

        Examples
        --------
        >>> from trueodds import ScoreTable
        >>> from trueodds.metrics import evaluate_counts
        >>> evaluate_counts(ScoreTable([0.3], [750], [250])).finding()
        'Not calibrated. The model predicts 300 positives; 250 occurred (20% too many). When it \
predicts 30%, 25% are positive (p = 0.00052).'
        """
        return finding(self, check_number(tolerance, "tolerance"), groups)

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as plain JSON values; None stands for what is infinite or undefined."""
        return {
            "n": self.n,
            "prevalence": self.prevalence,
            "mean_score": self.mean_score,
            "n_independent": self.n_independent,
            "metrics": {name: found.to_dict() for name, found in self.metrics.items()},
            "test": self.test.to_dict(),
            "curve": self.curve.to_dict(),
            "exact_test": self.exact_test.to_dict(),
            "mean_test": {"method": self.mean_test.method, "p_value": self.mean_test.p_value},
            "slope_test": None
            if self.slope_test is None
            else {"method": self.slope_test.method, "p_value": self.slope_test.p_value},
            "p_value": self.p_value,
        }


def evaluate_counts(
    table: ScoreTable,
    *,
    level: float = 0.9,
    n_resamples: int = 1000,
    n_bins: int = 10,
    random_state: Any = 0,
) -> Evaluation:
    """Metrics with intervals, reliability curve and calibration test from counts.

    Parameters
    ----------
    table : ScoreTable
        A table of probabilities, of counts or of importances.
    level : float, default=0.9
        Confidence level of the intervals and of the curve's band.
    n_resamples : int, default=1000
        Draws of the labels for the band of the curve; the intervals need none.
    n_bins : int, default=10
        Bins of equal width of the expected and the maximum calibration error.
    random_state : int or Generator, default=0

    Returns
    -------
    Evaluation

    Notes
    -----
    With a table of importances (``square_neg`` and ``square_pos``), intervals, band and tests use
    Σw² for variances and (Σw)²/Σw² for the number of rows. The exact tests become normal ones.

    Intervals are those of :func:`confidence_interval`. Cost: one sort of the table, and
    O(n_resamples · cells) with at most about 10,000 cells.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds import ScoreTable
    >>> from trueodds.metrics import evaluate_counts
    >>> p = np.arange(1, 100) / 100
    >>> result = evaluate_counts(ScoreTable(p, 1000 * (1 - p), 1000 * p))
    >>> result.metrics["brier_score"].estimate.__round__(6), result.n, result.prevalence
    (0.168333, 99000.0, 0.5)
    >>> result.metrics["expected_calibration_error"].estimate < 1e-12
    True
    """
    level = check_level(level)
    n_resamples = check_integer(n_resamples, "n_resamples", 20)
    n_bins = check_integer(n_bins, "n_bins", 1)
    check_probabilities(table, "evaluate_counts")
    table = table.scaled()
    view = _rows_of(table)
    if view.weight is not None and np.rint(view.weight.row_counts.sum()) < 2:
        raise InputError(f"intervals need at least 2 rows; the table has {table.total:.6g}.")
    rng = np.random.default_rng(as_seed(random_state))
    said = warn_if_few(view)
    exact = exact_test(table)
    expected = float(table.score @ table.weight)
    return Evaluation(
        metrics=_measured(TABLE_METRICS, view, level, n_bins=n_bins),
        curve=_curve(view, level, n_resamples, rng),
        exact_test=exact,
        mean_test=CalibrationTest(table.total_pos, exact.mean, "poisson_binomial", expected),
        test=spiegelhalter(view),
        slope_test=_slope_test(view),
        n=table.total,
        prevalence=table.total_pos / table.total,
        mean_score=expected / table.total,
        notes=() if said is None else (said,),
    )


def check_probabilities(table: Any, name: str) -> None:
    """Refuse what is no table of probabilities."""
    if not isinstance(table, ScoreTable):
        raise InputError(f"{name} needs a ScoreTable; got {type(table).__name__}.")
    if table.score[0] < 0 or table.score[-1] > 1:
        raise InputError(
            f"the table's scores must be probabilities in [0, 1]; they reach from "
            f"{table.score[0]:.6g} to {table.score[-1]:.6g}."
        )


def table_estimates(table: ScoreTable, n_bins: int = EVEN_BINS) -> dict[str, float]:
    """The metrics of a table."""
    measured = _measured(TABLE_METRICS, _rows_of(table), 0.9, n_bins=n_bins)
    return {name: found.estimate for name, found in measured.items()}


def _rows_of(table: ScoreTable) -> Forecasts:
    """A row for each score and class, with its count; of importances the effective rows."""
    return Forecasts(*table.as_rows())


def _slope_test(view: Forecasts) -> CalibrationTest | None:
    """Cox's test; None where the likelihood has no optimum, or any slope is as good."""
    try:
        return cox(view)
    except InputError:
        return None


def _curve(
    view: Forecasts, level: float, n_resamples: int, rng: np.random.Generator
) -> ReliabilityCurve:
    """As :func:`reliability_curve` with bins of equal mass and a consistency band."""
    edges = bin_edges(view, mass_bins(view.effective), "quantile")
    x, y, weight, filled = binned_points(view, edges)
    cells = make_cells(view.table, edges, middle=True)
    return curve_of(
        view,
        binned_band(cells, edges, x, "consistency", level, n_resamples, rng),
        strategy="quantile",
        prob_pred=x,
        prob_true=np.clip(y, 0.0, 1.0),
        weight=weight,
        edges=edges,
        filled=filled,
        band_kind="consistency",
        level=level,
        n_rows=round(view.effective),
        event="positive class",
    )


@dataclass(frozen=True, eq=False)
class ClassEvaluation(_Measured):
    """The result of :func:`evaluate_classes`.

    Attributes
    ----------
    metrics : dict of str to MetricInterval
        ``log_loss``, ``brier_score``, ``accuracy``, ``expected_calibration_error``,
        ``debiased_calibration_error``.
    test : CalibrationTest
        Spiegelhalter's, of the most probable class.
    n : int
        Rows of positive weight.
    mean_confidence : float
        The mean probability of the most probable class, which is the accuracy that it predicts.
    notes : tuple of str
        The message of a :class:`~trueodds.exceptions.FewEventsWarning`, if there was one.

    Examples
    --------
    >>> from trueodds.metrics import evaluate_classes
    >>> scores = [[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7]] * 10
    >>> found = evaluate_classes([0, 1, 2, 2, 1, 0] * 10, scores * 2)
    >>> found.n, round(found.mean_confidence, 3), round(found.metrics["accuracy"].estimate, 3)
    (60, 0.667, 0.667)
    """

    metrics: dict[str, MetricInterval]
    test: CalibrationTest
    n: int
    mean_confidence: float
    notes: tuple[str, ...] = ()

    @property
    def p_value(self) -> float:
        """How often a calibrated model would be at least as far off."""
        return self.test.p_value

    def finding(
        self, tolerance: float = SMALL_ERROR, groups: list[dict[str, Any]] | None = None
    ) -> str:
        """What was found, in words and with its size.

        Parameters
        ----------
        tolerance : float, default=0.02
            Significant miscalibration is called small if the gap between confidence and
            accuracy, and the debiased calibration error, are at most this large.
        groups : list of dict, default=None
            As in :meth:`Evaluation.finding`.
        """
        return class_finding(self, check_number(tolerance, "tolerance"), groups)

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as plain JSON values; None stands for what is infinite or undefined."""
        return {
            "metrics": {name: found.to_dict() for name, found in self.metrics.items()},
            "n": self.n,
            "mean_confidence": self.mean_confidence,
            "test": self.test.to_dict(),
            "p_value": self.p_value,
        }


def evaluate_classes(
    y_true: Any,
    y_prob: Any,
    *,
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
    level: float = 0.9,
) -> ClassEvaluation:
    """Metrics with intervals and calibration test of the probabilities of several classes.

    For two classes, and for more rows than fit in memory, there is :func:`evaluate_counts`.

    Parameters
    ----------
    y_true : array-like of shape (n,)
    y_prob : array-like of shape (n, n_classes)
        Each row is divided by its sum.
    sample_weight : array-like of shape (n,), default=None
        Importance of each row, which stays one observation; a common factor changes nothing.
    counts : array-like of shape (n,), default=None
        How often each row occurred.
    classes : array-like, default=None
        The label of each column; by default the sorted labels.
    level : float, default=0.9
        Confidence level of the intervals, which are those of :func:`confidence_interval`.

    Returns
    -------
    ClassEvaluation

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.metrics import evaluate_classes
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 1, 1], size=1000)
    >>> y = [rng.choice(["cat", "dog", "fox"], p=row) for row in p]
    >>> result = evaluate_classes(y, p)
    >>> bool(result.metrics["log_loss"].low < 0.8 < result.metrics["log_loss"].high)
    True
    >>> result.p_value > 0.05  # they are calibrated
    True
    """
    level = check_level(level)
    prob = as_floats(y_prob, "y_prob")
    if prob.ndim == 2:
        with np.errstate(all="ignore"):  # a row of zeros is refused below
            prob = prob / prob.sum(axis=1, keepdims=True)
    sample = read_sample(y_true, prob, sample_weight, counts, classes)
    if sample.prob.ndim == 1:
        raise InputError(
            "evaluate_classes needs three or more classes, and a column of y_prob for each; got "
            f"y_prob of shape {prob.shape}. For two classes use evaluate_counts."
        )
    said = warn_if_few(sample)
    return ClassEvaluation(
        _measured(CLASS_METRICS, sample, level),
        spiegelhalter(sample),
        sample.n_rows,
        mean_confidence=sample.mean(top_label(sample).prob),
        notes=() if said is None else (said,),
    )


def evaluate_clusters(
    sample: Forecasts, cluster: Labels, *, level: float, n_resamples: int, random_state: Any
) -> Evaluation | ClassEvaluation:
    """The evaluation of rows that belong to clusters: its intervals and tests count clusters.

    The reliability curve's band is left out.
    """
    test = spiegelhalter(sample, cluster)
    if sample.prob.ndim > 1:
        classes = np.arange(sample.n_classes)
        several = evaluate_classes(
            sample.codes, sample.prob, sample_weight=sample.weight, classes=classes, level=level
        )
        metrics = _measured(CLASS_METRICS, sample, level, cluster)
        return replace(several, metrics=metrics, test=test)
    found = evaluate_counts(
        sample.table, level=level, n_resamples=n_resamples, random_state=random_state
    )
    clustered = clustered_test(sample, cluster)
    return replace(
        found,
        metrics=_measured(TABLE_METRICS, sample, level, cluster),
        curve=replace(found.curve, band_low=None, band_high=None),
        exact_test=clustered.tests,
        mean_test=replace(found.mean_test, p_value=clustered.tests.mean, method="clusters"),
        test=test,
        slope_test=None,
        n_independent=clustered.effective,
    )
