"""All that a table of counts says about its probabilities, whatever the number of rows behind it.

Point values are those of the metrics themselves on weighted rows. Their intervals come from
resampling the counts: rows of one score and label are alike, so how often each occurs in a
bootstrap sample is one multinomial draw. A long table is first put in a few thousand cells, so
that the cost of a draw depends neither on the rows nor on the length of the table; replicates are
moved by what the cells change in the estimate itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueodds.exceptions import InputError
from trueodds.inputs import Floats, as_seed, check_integer, check_level, check_number
from trueodds.metrics._bands import binned_band
from trueodds.metrics._calibration_error import (
    debiased_calibration_error,
    expected_calibration_error,
    maximum_calibration_error,
)
from trueodds.metrics._calibration_test import CalibrationTest
from trueodds.metrics._curve import HISTOGRAM_BINS, ReliabilityCurve
from trueodds.metrics._evaluate_cells import DEBIASED_BINS, MetricCells, auc
from trueodds.metrics._exact_test import ExactTest, exact_test
from trueodds.metrics._interval import _defined, _interval
from trueodds.metrics._interval_result import MetricInterval
from trueodds.metrics._label_draws import FINEST, Cells
from trueodds.metrics._losses import brier_score, log_loss
from trueodds.metrics._plain_words import TOLERANCE, finding
from trueodds.metrics._published_tests import cox, spiegelhalter
from trueodds.metrics._sample import Event
from trueodds.numerics.binning import equal_mass_edges
from trueodds.numerics.reliability_bins import bin_sums, uniform_edges
from trueodds.table import ScoreTable

__all__ = ["Evaluation", "check_probabilities", "evaluate_table", "interval_of", "table_estimates"]

CURVE_BINS = 30


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The result of :func:`evaluate_table`.

    Attributes
    ----------
    metrics : dict of str to MetricInterval
        ``log_loss``, ``brier_score``, ``roc_auc``, ``expected_calibration_error``,
        ``debiased_calibration_error``, ``maximum_calibration_error``. The AUC is NaN if there is
        one class only; a log-loss is infinite if the impossible happened.
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
        Weight of everything: the number of rows, if they have no weights.
    prevalence : float
        Share of positives.
    mean_score : float

    Examples
    --------
    >>> from trueodds import ScoreTable
    >>> from trueodds.metrics import evaluate_table
    >>> y, p = [0, 1, 0, 1, 1, 0] * 10, [0.2, 0.9, 0.4, 0.6, 0.7, 0.3] * 10
    >>> found = evaluate_table(ScoreTable.from_arrays(p, y), n_resamples=50)
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

    @property
    def p_value(self) -> float:
        """How often a calibrated model would be at least as far off, by the exact tests."""
        return self.exact_test.p_value

    def finding(
        self, tolerance: float = TOLERANCE, groups: list[dict[str, Any]] | None = None
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
        >>> from trueodds.metrics import evaluate_table
        >>> evaluate_table(ScoreTable([0.3], [750], [250])).finding()
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


def evaluate_table(
    table: ScoreTable,
    *,
    level: float = 0.9,
    n_resamples: int = 200,
    n_bins: int = 10,
    n_effective: float | None = None,
    random_state: Any = 0,
) -> Evaluation:
    """Metrics with intervals, reliability curve and calibration test from counts.

    Parameters
    ----------
    table : ScoreTable
        Of probabilities.
    level : float, default=0.9
        Of the intervals and of the curve's band.
    n_resamples : int, default=200
    n_bins : int, default=10
        Bins of equal width of the expected and the maximum calibration error.
    n_effective : float, default=None
        Effective number of rows, (Σw)²/Σw², if the weights of the table are importance weights.
        By default they are counts of rows.
    random_state : int or Generator, default=0

    Returns
    -------
    Evaluation

    Notes
    -----
    The weights of a table are counts of rows, as ``counts`` of the other functions. With
    ``n_effective`` they are importance weights: intervals, band and tests are those of so many
    rows, and the exact tests become normal ones.

    Intervals are those of :func:`confidence_interval` (BCa; centred for the debiased error), but
    that bins of equal mass keep the edges of the sample. Cost: one sort of the table, and
    O(n_resamples · cells) with at most about 10,000 cells.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds import ScoreTable
    >>> from trueodds.metrics import evaluate_table
    >>> p = np.arange(1, 100) / 100
    >>> result = evaluate_table(ScoreTable(p, 1000 * (1 - p), 1000 * p))
    >>> result.metrics["brier_score"].estimate.__round__(6), result.n, result.prevalence
    (0.168333, 99000.0, 0.5)
    >>> result.metrics["expected_calibration_error"].estimate < 1e-12
    True
    """
    level = check_level(level)
    n_resamples = check_integer(n_resamples, "n_resamples", 20)
    n_bins = check_integer(n_bins, "n_bins", 1)
    check_probabilities(table, "evaluate_table")
    if np.rint(table.total) < 2:
        raise InputError(f"resampling needs at least 2 rows; the table has {table.total:.6g}.")
    rng = np.random.default_rng(as_seed(random_state))
    estimates = table_estimates(table, n_bins)
    share = _share_of_rows(table, n_effective)
    rows = (
        table if share == 1 else ScoreTable(table.score, share * table.n_neg, share * table.n_pos)
    )
    cells = MetricCells.of(rows, n_bins)
    in_cells = cells.metrics(cells.counts[None])
    drawn, left_out = cells.bootstrap(n_resamples, rng), cells.jackknife(rng)
    metrics = {}
    for name, estimate in estimates.items():
        moved = estimate - in_cells[name][0]
        values, jackknife = drawn[name] + moved, left_out[name] + moved
        metrics[name] = interval_of(estimate, values, jackknife, level, name)
    exact = exact_test(table, None if n_effective is None else table.weight / share)
    expected = float(table.score @ table.weight)
    return Evaluation(
        metrics=metrics,
        curve=_curve(rows, level, n_resamples, rng),
        exact_test=exact,
        mean_test=CalibrationTest(table.total_pos, exact.mean, "poisson_binomial", expected),
        test=_spiegelhalter(rows),
        slope_test=_slope_test(rows),
        n=table.total,
        prevalence=table.total_pos / table.total,
        mean_score=float(table.score @ table.weight / table.total),
    )


def _share_of_rows(table: ScoreTable, n_effective: float | None) -> float:
    """Rows per unit of weight."""
    if n_effective is None:
        return 1.0
    return check_number(n_effective, "n_effective", 1.0) / table.total


def check_probabilities(table: Any, name: str) -> None:
    """Refuse what is no table of probabilities."""
    if not isinstance(table, ScoreTable):
        raise InputError(f"{name} needs a ScoreTable; got {type(table).__name__}.")
    if table.score[0] < 0 or table.score[-1] > 1:
        raise InputError(
            f"the table's scores must be probabilities in [0, 1]; they reach from "
            f"{table.score[0]:.6g} to {table.score[-1]:.6g}."
        )


def table_estimates(table: ScoreTable, n_bins: int = 10) -> dict[str, float]:
    """The metrics of a table; the debiased error squared."""
    score, positive, weight = table.as_rows()
    rows: dict[str, Any] = {"sample_weight": weight, "classes": [False, True]}
    return {
        "log_loss": log_loss(positive, score, **rows),
        "brier_score": brier_score(positive, score, **rows),
        "roc_auc": float(auc(table.n_neg[None], table.n_pos[None])[0]),
        "expected_calibration_error": expected_calibration_error(
            positive, score, n_bins=n_bins, **rows
        ),
        # Of the squared error; see interval_of.
        "debiased_calibration_error": debiased_calibration_error(
            positive, score, n_bins=DEBIASED_BINS, squared=True, **rows
        ),
        "maximum_calibration_error": maximum_calibration_error(
            positive, score, n_bins=n_bins, **rows
        ),
    }


def interval_of(
    estimate: float, values: Floats, jackknife: Floats, level: float, name: str
) -> MetricInterval:
    """The interval of a metric by its name; that of the debiased error is given squared."""
    debiased = name == "debiased_calibration_error"
    method = "centred" if debiased else "bca"
    nothing = np.empty(0)
    if not np.isfinite(estimate):
        # What has happened can happen, so an infinite loss is certain; an undefined AUC stays so.
        return MetricInterval(estimate, estimate, estimate, level, np.nan, method, nothing)
    if 2 * np.isfinite(values).sum() <= len(values):
        # So few rows that most resamples lack a class: the other metrics are worth showing.
        return MetricInterval(estimate, np.nan, np.nan, level, np.nan, method, nothing)
    values = _defined(values)
    low, high = _interval(estimate, values, jackknife, level, method)
    if debiased:  # as confidence_interval does: centred as a square, shown as its root
        values = np.sqrt(np.maximum(values, 0.0))
        estimate, low, high = (float(np.sqrt(max(v, 0.0))) for v in (estimate, low, high))
    return MetricInterval(estimate, low, high, level, float(values.std(ddof=1)), method, values)


def _spiegelhalter(table: ScoreTable) -> CalibrationTest:
    """As :func:`calibration_test` on the rows that the counts stand for."""
    p, n = table.score, table.weight
    # Σ(y − p)(1 − 2p) has mean 0 and variance Σp(1 − p)(1 − 2p)² if the model is calibrated.
    excess = float((table.n_pos * (1 - p) * (1 - 2 * p) - table.n_neg * p * (1 - 2 * p)).sum())
    variance = float((n * p * (1 - p) * (1 - 2 * p) ** 2).sum())
    z, p_value, expected = spiegelhalter(excess, variance, table.total)
    return CalibrationTest(z, p_value, "spiegelhalter", expected)


def _slope_test(table: ScoreTable) -> CalibrationTest | None:
    """Cox's test; None where the likelihood has no optimum, or any slope is as good."""
    try:
        statistic, p_value, expected = cox(Event(*table.as_rows()), counts=True)
    except InputError:
        return None
    return CalibrationTest(statistic, p_value, "cox", expected)


def _curve(
    table: ScoreTable, level: float, n_resamples: int, rng: np.random.Generator
) -> ReliabilityCurve:
    """As :func:`reliability_curve` with bins of equal mass and a consistency band."""
    score, positive, weight = table.as_rows()
    n_bins = int(np.clip(table.total // 20, 1, CURVE_BINS))
    edges = equal_mass_edges(table.score, table.weight, n_bins)
    sums = bin_sums(score, positive, weight, edges)
    filled = np.flatnonzero(sums.weight > 0)
    sums = sums.filled()
    x, y = sums.prob / sums.weight, sums.positive / sums.weight
    band = binned_band(_label_cells(table, edges), edges, x, "consistency", level, n_resamples, rng)
    hist = bin_sums(score, positive, weight, uniform_edges(HISTOGRAM_BINS), uniform=True)
    return ReliabilityCurve(
        strategy="quantile",
        prob_pred=x,
        prob_true=np.clip(y, 0.0, 1.0),
        weight=sums.weight,
        edges=edges,
        filled=filled,
        band_kind="consistency",
        level=level,
        band_x=band.x,
        band_low=band.low,
        band_high=band.high,
        hist_edges=np.arange(HISTOGRAM_BINS + 1) / HISTOGRAM_BINS,
        hist_weight=hist.weight,
        n_rows=int(np.rint(table.total)),
        event="positive class",
    )


def _label_cells(table: ScoreTable, edges: Floats) -> Cells:
    """The table in cells whose labels are drawn at once; see :mod:`._label_draws`."""
    score, weight = table.score, table.weight
    bins = np.searchsorted(edges, score, side="right")
    new = np.ones(len(table), dtype=bool)
    if len(table) > FINEST:
        share = np.floor((np.cumsum(weight) - weight / 2) / weight.sum() * FINEST)
        keys = (share, np.floor(score * FINEST), bins)
        new[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    start = np.flatnonzero(new)
    mass = np.add.reduceat(weight, start)
    mean = np.add.reduceat(weight * score, start) / mass
    return Cells(mean, score[start], mass, np.add.reduceat(table.n_pos, start), start, None)
