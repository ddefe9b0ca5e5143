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
from scipy.special import bdtr, bdtrc, ndtr

from trueodds.exceptions import InputError
from trueodds.metrics._bands import binned_band
from trueodds.metrics._calibration_error import (
    debiased_calibration_error,
    expected_calibration_error,
    maximum_calibration_error,
)
from trueodds.metrics._calibration_test import CalibrationTest, calibration_test
from trueodds.metrics._curve import HISTOGRAM_BINS, ReliabilityCurve
from trueodds.metrics._evaluate_cells import DEBIASED_BINS, MetricCells, auc
from trueodds.metrics._interval import _defined, _interval
from trueodds.metrics._interval_result import MetricInterval
from trueodds.metrics._label_draws import FINEST, Cells
from trueodds.metrics._losses import brier_score, log_loss
from trueodds.metrics._plain_words import TOLERANCE, finding
from trueodds.numerics.binning import equal_mass_edges
from trueodds.numerics.reliability_bins import bin_sums, uniform_edges
from trueodds.table import ScoreTable
from trueodds.validation import (
    Floats,
    as_seed,
    check_integer,
    check_level,
    check_number,
)

__all__ = ["Evaluation", "evaluate_table", "interval_of"]

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
    test : CalibrationTest
        Spiegelhalter's.
    mean_test : CalibrationTest
        Whether positives are as many as the mean probability says, which Spiegelhalter's test does
        not see near one half. It errs on the safe side.
    slope_test : CalibrationTest or None
        Cox's, of intercept and slope of the log-odds, which sees what the others average out. None
        if the rows do not determine a slope.
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
    test: CalibrationTest
    mean_test: CalibrationTest
    slope_test: CalibrationTest | None
    n: float
    prevalence: float
    mean_score: float

    @property
    def p_value(self) -> float:
        """How often a calibrated model would be at least as far off: all tests (Bonferroni)."""
        return min(1.0, len(self.tests) * min(test.p_value for test in self.tests))

    @property
    def tests(self) -> list[CalibrationTest]:
        """The tests that the p-value is of."""
        slope = [] if self.slope_test is None else [self.slope_test]
        return [self.mean_test, self.test, *slope]

    def finding(self, tolerance: float = TOLERANCE) -> str:
        """What was found, in words and with its size.

        Parameters
        ----------
        tolerance : float, default=0.02
            What is significant is called small if the expected number of positives is within this
            share of what happened, and the debiased error within this share of the standard
            deviation of the labels.

        Examples
        --------
        >>> from trueodds import ScoreTable
        >>> from trueodds.metrics import evaluate_table
        >>> evaluate_table(ScoreTable([0.3], [750], [250])).finding()
        'It promises 20 % too many: 300 expected, 250 happened. Where it says 30 %, 25 % happen \
(p = 0.001).'
        """
        return finding(self, check_number(tolerance, "tolerance"))

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as plain JSON values; None stands for what is infinite or undefined."""
        return {
            "n": self.n,
            "prevalence": self.prevalence,
            "mean_score": self.mean_score,
            "metrics": {name: found.to_dict() for name, found in self.metrics.items()},
            "test": self.test.to_dict(),
            "curve": self.curve.to_dict(),
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
    random_state : int or Generator, default=0

    Returns
    -------
    Evaluation

    Notes
    -----
    Weights are taken as counts of independent rows, unlike in :func:`confidence_interval`, which
    sees the rows. If they are importance weights, the point values hold, but the intervals, the
    band and the test assume as many rows as the weights sum to: scale them to sum to the number
    of rows, or better, to the effective number (Σw)²/Σw².

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
    if not isinstance(table, ScoreTable):
        raise InputError(f"evaluate_table needs a ScoreTable; got {type(table).__name__}.")
    if table.score[0] < 0 or table.score[-1] > 1:
        raise InputError(
            f"the table's scores must be probabilities in [0, 1]; they reach from "
            f"{table.score[0]:.6g} to {table.score[-1]:.6g}."
        )
    if np.rint(table.total) < 2:
        raise InputError(f"resampling needs at least 2 rows; the table has {table.total:.6g}.")
    rng = np.random.default_rng(as_seed(random_state))
    estimates = _estimates(table, n_bins)
    cells = MetricCells.of(table, n_bins)
    in_cells = cells.metrics(cells.counts[None])
    drawn, left_out = cells.bootstrap(n_resamples, rng), cells.jackknife(rng)
    metrics = {}
    for name, estimate in estimates.items():
        moved = estimate - in_cells[name][0]
        values, jackknife = drawn[name] + moved, left_out[name] + moved
        metrics[name] = interval_of(estimate, values, jackknife, level, name)
    return Evaluation(
        metrics=metrics,
        curve=_curve(table, level, n_resamples, rng),
        test=_spiegelhalter(table),
        mean_test=_mean_test(table),
        slope_test=_slope_test(table),
        n=table.total,
        prevalence=table.total_pos / table.total,
        mean_score=float(table.score @ table.weight / table.total),
    )


def _estimates(table: ScoreTable, n_bins: int) -> dict[str, float]:
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
    if not np.isfinite(estimate):
        # What has happened can happen, so an infinite loss is certain; an undefined AUC stays so.
        nothing = np.empty(0)
        return MetricInterval(estimate, estimate, estimate, level, np.nan, method, nothing)
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
    top = float((table.n_pos * (1 - p) * (1 - 2 * p) - table.n_neg * p * (1 - 2 * p)).sum())
    variance = float((n * p * (1 - p) * (1 - 2 * p) ** 2).sum())
    rounding = 1e-12 * table.total
    if variance <= rounding**2:
        z = 0.0 if abs(top) <= rounding else float(np.copysign(np.inf, top))
    else:
        z = top / np.sqrt(variance)
    return CalibrationTest(float(z), float(2 * ndtr(-abs(z))), "spiegelhalter", 0.0)


def _slope_test(table: ScoreTable) -> CalibrationTest | None:
    """Cox's test; None where the likelihood has no optimum, or any slope is as good."""
    score, positive, weight = table.as_rows()
    try:
        return calibration_test(
            positive, score, method="cox", sample_weight=weight, classes=[False, True]
        )
    except InputError:
        return None


def _mean_test(table: ScoreTable) -> CalibrationTest:
    """Whether the number of positives is what the mean probability says.

    A binomial count with the mean probability is spread more than independent events of unequal
    probabilities are (Hoeffding, 1956), so the test errs on the safe side.
    """
    n, mean = round(table.total), float(table.score @ table.weight / table.total)
    hits = round(n * (table.total_pos / table.total))
    above = float(bdtrc(hits - 1, n, mean)) if hits > 0 else 1.0
    p_value = min(1.0, 2 * min(float(bdtr(hits, n, mean)), above))
    return CalibrationTest(float(hits), p_value, "binomial", n * mean)


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
