"""Metrics with intervals, curve and tests: of a table of counts, or of rows of several classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from trueodds.engines.cells import ScoreCells
from trueodds.exceptions import InputError
from trueodds.inputs import (
    Floats,
    Labels,
    as_floats,
    as_generator,
    as_seed,
    check_integer,
    check_level,
    check_number,
)
from trueodds.metrics._bands import binned_band, effective_rows, make_cells
from trueodds.metrics._clusters import clustered_test
from trueodds.metrics._curves import ReliabilityCurve, binned_points, curve_of, mass_bins
from trueodds.metrics._errors import bin_edges, binned
from trueodds.metrics._exact_test import CELL_BITS, ExactTest, exact_test
from trueodds.metrics._finding import SMALL_ERROR, class_finding, finding
from trueodds.metrics._intervals import (
    JACKKNIFE_BLOCKS,
    MetricInterval,
    _defined,
    _interval,
    confidence_interval,
)
from trueodds.metrics._losses import accuracy, brier_score, c_statistic, log_loss
from trueodds.metrics._sample import Forecasts, read_sample, top_label
from trueodds.metrics._tests import CalibrationTest, cox, spiegelhalter
from trueodds.numerics.binning import equal_mass_edges, run_starts
from trueodds.numerics.losses import Loss, loss_sum, row_losses
from trueodds.numerics.reliability_bins import BinSums, ratio_or_zero, uniform_edges
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
MASS_BINS = 15
"""Bins of equal mass, of the debiased calibration error."""
FEW_ROWS = 4096
"""A table of no more rows is resampled row by row."""
SHARES = 2048
MOST_BLOCKS = 2048
"""Blocks of rows that are resampled, of several classes."""
MOST_DEALT = 2**20
"""Rows that are dealt to blocks at most, if rows are counted."""
MOST_DRAWN = 2.0**62
"""Rows of a bootstrap sample, as a 64-bit integer holds them."""
CHUNK_VALUES = 2**21
"""Numbers drawn at once: 16 MB."""
LOSSES: tuple[Loss, Loss] = ("log_loss", "brier_score")
ERRORS = ("expected_calibration_error", "debiased_calibration_error")
TABLE_METRICS = (*LOSSES, "roc_auc", *ERRORS, "maximum_calibration_error")
CLASS_METRICS = (*LOSSES, "accuracy", *ERRORS)


@dataclass(frozen=True, eq=False)
class MetricSums:
    """Sums over rows that determine the metrics: of one sample, or of many along a leading axis.

    Parameters
    ----------
    weight, log_loss, squared_error : ndarray of shape (...)
        Σw, and the sums of both losses times w.
    even, massed : BinSums
        Sums for the positive class, or for the most probable one: in bins of equal width, and in
        bins of equal mass with the spread.
    """

    weight: Floats
    log_loss: Floats
    squared_error: Floats
    even: BinSums
    massed: BinSums

    @classmethod
    def of(cls, sample: Forecasts, n_bins: int = EVEN_BINS) -> MetricSums:
        """The sums of rows."""
        view = top_label(sample)
        rows = (sample.codes, sample.prob, sample.mass)
        return cls(
            np.asarray(sample.total),
            np.asarray(loss_sum("log_loss", *rows)),
            np.asarray(loss_sum("brier_score", *rows)),
            binned(view, n_bins, "uniform"),
            binned(view, MASS_BINS, "quantile", spread=True),
        )

    def metrics(self) -> dict[str, Floats]:
        """The metrics of each sample; the debiased error squared."""
        # A sample without rows has no mean, and one infinite loss makes the sum infinite.
        with np.errstate(invalid="ignore", divide="ignore"):
            return {
                "log_loss": self.log_loss / self.weight,
                "brier_score": self.squared_error / self.weight,
                "accuracy": self.even.positive.sum(axis=-1) / self.weight,
                "expected_calibration_error": self.even.expected_error(),
                "debiased_calibration_error": self.massed.debiased_square(),
                "maximum_calibration_error": self.even.maximum_error(),
            }


def auc(n_neg: Floats, n_pos: Floats) -> Floats:
    """Share of ⟨positive, negative⟩ pairs in the right order, along the last axis."""
    below = np.cumsum(n_neg, axis=-1) - n_neg / 2
    pairs = n_neg.sum(axis=-1) * n_pos.sum(axis=-1)
    right = np.einsum("...j,...j->...", n_pos, below)
    return np.asarray(np.divide(right, pairs, out=np.full_like(right, np.nan), where=pairs > 0))


@dataclass(frozen=True, eq=False)
class Resampler:
    """Units of rows that a resample repeats or leaves out, with what each adds to the sums.

    A resample is a count for each unit, and its sums are the counts times ``worth`` times ``sums``.
    The units of a table are the rows of one class in a cell of neighboring scores: all cells of
    negatives in the order of their scores, then all of positives. Importances in a
    cell are (Σw)²/Σw² rows of equal importance, so that a sum has their variance. The units of
    several classes are random blocks.

    Parameters
    ----------
    sizes : ndarray of shape (n_units,)
        How often each unit occurs in the sample.
    worth : ndarray of shape (n_units,)
        The weight of one occurrence.
    sums : dense or sparse matrix of shape (n_units, 2 + 5·n_bins)
        Log-loss, squared error, and the five sums of :class:`BinSums` in each bin, for a weight of
        one. The bins are cut at the edges of both kinds of bins and are not empty.
    even, massed : ndarray
        Where the bins of equal width and those of equal mass begin among these.
    is_table : bool
    """

    sizes: Floats
    worth: Floats
    sums: Any
    even: Labels
    massed: Labels
    is_table: bool

    @classmethod
    def of_table(cls, table: ScoreTable, n_bins: int) -> Resampler:
        """Cells of relative width, of equal shares, and between edges; each score if few."""
        score, weight = table.score, table.weight
        even, massed = _bins(score, weight, n_bins)
        start = np.arange(len(table))
        if len(table) > FEW_ROWS:
            share = np.floor((np.cumsum(weight) - weight / 2) / weight.sum() * SHARES)
            near = ScoreCells("probability", CELL_BITS).of_array(score)
            start = run_starts(near, share, even, massed)
        counts = np.stack([table.n_neg, table.n_pos])
        weights = np.add.reduceat(counts, start, axis=1)
        squares = np.add.reduceat(np.stack(table.columns[-2:]), start, axis=1)
        sizes = effective_rows(weights, squares)
        losses, errors = (
            np.stack([row_losses(loss, np.array(label), score) for label in (0, 1)])
            for loss in LOSSES
        )
        # Where nothing was seen, nothing is drawn. Where the impossible was seen, the loss of the
        # whole is infinite, and its replicates do not matter.
        losses[(counts == 0) | np.isinf(losses)] = 0.0

        def means(values: Floats) -> Floats:
            return ratio_or_zero(np.add.reduceat(values * counts, start, axis=1), weights).ravel()

        place, even_starts, mass_starts = _common_bins(even[start], massed[start])
        size = int(place.max()) + 1
        loss, square, prob = means(losses), means(errors), means(np.stack([score, score]))
        label = np.repeat([0.0, 1.0], len(start))
        worth = ratio_or_zero(weights, sizes).ravel()
        sums = _sparse_sums(
            [loss, square],
            [np.ones(len(loss)), prob, label, square, worth],
            np.tile(place, 2),
            size,
        )
        return cls(sizes.ravel(), worth, sums, even_starts, mass_starts, is_table=True)

    @classmethod
    def of_rows(cls, sample: Forecasts, rng: np.random.Generator) -> Resampler:
        """Deal the rows to blocks at random; each of few rows is a block.

        If counts are large, the repetitions of a row are a unit that is drawn that often.
        """
        view, n_rows = top_label(sample), sample.n_rows
        place, even, massed = _common_bins(*_bins(view.prob, view.mass, EVEN_BINS))
        size = int(place.max()) + 1
        spread = row_losses("brier_score", view.codes, view.prob)
        losses = [row_losses(loss, sample.codes, sample.prob) for loss in LOSSES]
        one: Floats = np.ones(len(sample))
        importance = one
        sizes = one if sample.weight is None else sample.weight.row_counts
        if sample.weight is not None and sample.weight.importance is not None:
            importance = sample.weight.importance
        in_bins = [one, view.prob, view.hit, spread, importance]
        if n_rows > max(MOST_DEALT, len(sample)):
            sums = _sparse_sums(losses, in_bins, place, size)
            return cls(sizes, importance, sums, even, massed, is_table=False)
        row = np.repeat(np.arange(len(sample)), sizes.astype(np.intp))
        n_blocks = min(n_rows, MOST_BLOCKS)
        block = rng.permutation(n_rows) % n_blocks if n_rows > n_blocks else np.arange(n_rows)

        def dealt(index: Labels, values: Any, length: int) -> Floats:
            sums = np.bincount(index, (importance * values)[row], n_blocks * length)
            return sums.reshape(-1, length).astype(np.float64, copy=False)

        parts = [dealt(block, values, 1) for values in losses]
        parts += [dealt(block * size + place[row], values, size) for values in in_bins]
        each = np.ones(n_blocks)
        return cls(each, each, np.concatenate(parts, axis=1), even, massed, is_table=False)

    def bootstrap(self, n_resamples: int, rng: np.random.Generator) -> dict[str, Floats]:
        """The metrics of samples of as many units as there are, drawn with replacement."""
        total = int(np.clip(np.rint(self.sizes.sum()), 1, MOST_DRAWN))
        share = self.sizes / self.sizes.sum()
        step = max(1, CHUNK_VALUES // len(share))
        sizes = [min(step, n_resamples - begin) for begin in range(0, n_resamples, step)]
        parts = [self.metrics(rng.multinomial(total, share, size)) for size in sizes]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def jackknife(self, rng: np.random.Generator) -> dict[str, Floats]:
        """The metrics without one of 100 random parts of the sample; fractions of rows stay."""
        whole = np.rint(np.minimum(self.sizes, MOST_DRAWN)).astype(np.int64)
        parts = int(min(JACKKNIFE_BLOCKS, max(1, whole.sum())))
        if self.is_table:
            left_out = rng.multinomial(whole, np.full(parts, 1 / parts)).T
        elif (whole == 1).all():
            left_out = rng.permutation(len(whole)) % parts == np.arange(parts)[:, None]
        else:  # one part after the other, as there may be many units
            found = []
            for part in range(parts):
                own = rng.binomial(whole, 1 / (parts - part))
                whole -= own
                found.append(self.metrics((self.sizes - own)[None]))
            return {name: np.concatenate([one[name] for one in found]) for name in found[0]}
        return self.metrics(np.maximum(self.sizes - left_out, 0.0))

    def metrics(self, counts: npt.NDArray[Any]) -> dict[str, Floats]:
        """The metrics of samples with these counts of the units, of shape (samples, n_units)."""
        mass = counts * self.worth
        with np.errstate(invalid="ignore"):  # an infinite loss that is not drawn
            sums = mass @ self.sums
        bins = BinSums(*sums[:, 2:].reshape(len(counts), 5, -1).swapaxes(0, 1))
        even, massed = bins.merged(self.even), bins.merged(self.massed)
        total = bins.weight.sum(axis=1)
        found = MetricSums(total, sums[:, 0], sums[:, 1], even, massed).metrics()
        if self.is_table:
            found["roc_auc"] = auc(*np.split(mass, 2, axis=1))
        return found


def _sparse_sums(losses: list[Floats], in_bins: list[Any], place: Labels, size: int) -> csr_array:
    """The sums of units that lie in one bin each."""
    values = np.stack([*losses, *in_bins], axis=1, dtype=np.float64)
    first = np.zeros(len(place), dtype=np.intp)
    columns = [first, first + 1, *(2 + k * size + place for k in range(len(in_bins)))]
    rows = np.arange(0, values.size + 1, values.shape[1])
    shape = (len(place), 2 + len(in_bins) * size)
    return csr_array((values.ravel(), np.stack(columns, axis=1).ravel(), rows), shape)


def _bins(prob: Floats, mass: Floats | None, n_bins: int) -> tuple[Labels, Labels]:
    """The bin of equal width and the bin of equal mass of each probability."""
    even, massed = uniform_edges(n_bins), equal_mass_edges(prob, mass, MASS_BINS)
    return np.searchsorted(even, prob, side="right"), np.searchsorted(massed, prob, side="right")


def _common_bins(even: Labels, massed: Labels) -> tuple[Labels, Labels, Labels]:
    """The bin of each probability among those cut at both kinds of edges; where either begins."""
    both, place = np.unique(even * MASS_BINS + massed, return_inverse=True)
    return place, run_starts(both // MASS_BINS), run_starts(both % MASS_BINS)


def metric_intervals(
    estimates: dict[str, float],
    resampler: Resampler,
    n_resamples: int,
    level: float,
    rng: np.random.Generator,
) -> dict[str, MetricInterval]:
    """Each estimate with its bootstrap interval."""
    coarse = resampler.metrics(resampler.sizes[None])
    drawn, left_out = resampler.bootstrap(n_resamples, rng), resampler.jackknife(rng)
    found = {}
    for name, estimate in estimates.items():
        # Cells change a metric a little, and its replicates by about as much.
        moved = estimate - float(coarse[name][0])
        found[name] = interval_of(
            estimate, drawn[name] + moved, left_out[name] + moved, level, name
        )
    return found


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The result of :func:`evaluate_counts`.

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
        The number of rows; of importances the effective one, (Σw)²/Σw².
    prevalence : float
        Share of positives.
    mean_score : float
    n_independent : float or None
        The rows divided by the design effect, if they belong to clusters.

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
    n_resamples: int = 200,
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
    n_resamples : int, default=200
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

    Intervals are those of :func:`confidence_interval` (BCa; centered for the debiased error), but
    that bins of equal mass keep the edges of the sample. Cost: one sort of the table, and
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
    resampler = Resampler.of_table(table, n_bins)
    if np.rint(resampler.sizes.sum()) < 2:
        raise InputError(f"resampling needs at least 2 rows; the table has {table.total:.6g}.")
    rng = np.random.default_rng(as_seed(random_state))
    estimates = table_estimates(table, n_bins)
    metrics = metric_intervals(estimates, resampler, n_resamples, level, rng)
    exact = exact_test(table)
    expected = float(table.score @ table.weight)
    return Evaluation(
        metrics=metrics,
        curve=_curve(view, level, n_resamples, rng),
        exact_test=exact,
        mean_test=CalibrationTest(table.total_pos, exact.mean, "poisson_binomial", expected),
        test=spiegelhalter(view),
        slope_test=_slope_test(view),
        n=table.total,
        prevalence=table.total_pos / table.total,
        mean_score=expected / table.total,
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
    """The metrics of a table; the debiased error squared."""
    found = MetricSums.of(_rows_of(table), n_bins).metrics()
    found["roc_auc"] = auc(table.n_neg, table.n_pos)
    return {name: float(found[name]) for name in TABLE_METRICS}


def _rows_of(table: ScoreTable) -> Forecasts:
    """A row for each score and class, with its count; of importances the effective rows."""
    return Forecasts(*table.as_rows())


def interval_of(
    estimate: float, values: Floats, jackknife: Floats, level: float, name: str
) -> MetricInterval:
    """The interval of a metric by its name; that of the debiased error is given squared."""
    debiased = name == "debiased_calibration_error"
    method = "centered" if debiased else "bca"
    nothing = np.empty(0)
    if not np.isfinite(estimate):
        # What has happened can happen, so an infinite loss is certain; an undefined AUC stays so.
        return MetricInterval(estimate, estimate, estimate, level, np.nan, method, nothing)
    if 2 * np.isfinite(values).sum() <= len(values):
        # So few rows that most resamples lack a class: the other metrics are worth showing.
        return MetricInterval(estimate, np.nan, np.nan, level, np.nan, method, nothing)
    values = _defined(values)
    low, high = _interval(estimate, values, jackknife, level, method)
    if debiased:  # as confidence_interval does: centered as a square, shown as its root
        values = np.sqrt(np.maximum(values, 0.0))
        estimate, low, high = (float(np.sqrt(max(v, 0.0))) for v in (estimate, low, high))
    return MetricInterval(estimate, low, high, level, float(values.std(ddof=1)), method, values)


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
class ClassEvaluation:
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

    Examples
    --------
    >>> from trueodds.metrics import evaluate_classes
    >>> scores = [[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7]] * 10
    >>> found = evaluate_classes([0, 1, 2] * 10, scores, n_resamples=50)
    >>> found.n, round(found.mean_confidence, 3), found.metrics["accuracy"].estimate
    (30, 0.667, 1.0)
    """

    metrics: dict[str, MetricInterval]
    test: CalibrationTest
    n: int
    mean_confidence: float

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
    n_resamples: int = 200,
    random_state: Any = 0,
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
        Confidence level of the intervals.
    n_resamples : int, default=200
    random_state : int or Generator, default=0

    Returns
    -------
    ClassEvaluation

    Notes
    -----
    In addition to the probabilities, memory is needed for a few numbers per row. Intervals come
    from a bootstrap of at most 2,048 random blocks of rows, whose sums are all that a resample
    needs; bins of equal mass keep the edges that all rows give them.

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
    check_level(level)
    rng = as_generator(random_state)
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
    blocks = Resampler.of_rows(sample, rng)
    found = MetricSums.of(sample).metrics()
    estimates = {name: float(found[name]) for name in CLASS_METRICS}
    n_resamples = check_integer(n_resamples, "n_resamples", 2)
    return ClassEvaluation(
        metric_intervals(estimates, blocks, n_resamples, level, rng),
        spiegelhalter(sample),
        sample.n_rows,
        mean_confidence=sample.mean(top_label(sample).prob),
    )


def evaluate_clusters(
    sample: Forecasts, cluster: Labels, *, level: float, n_resamples: int, random_state: Any
) -> Evaluation | ClassEvaluation:
    """The evaluation of rows that belong to clusters: its intervals and tests count clusters.

    Errors over bins have no interval, since clusters raise them by an amount that is not known.
    The reliability curve's band is left out.
    """
    options: dict[str, Any] = {"level": level, "random_state": random_state}
    rows: dict[str, Any] = {"sample_weight": sample.weight, "classes": np.arange(sample.n_classes)}
    found: Evaluation | ClassEvaluation
    if sample.prob.ndim == 1:
        found = evaluate_counts(sample.table, n_resamples=20, **options)
    else:
        found = evaluate_classes(sample.codes, sample.prob, n_resamples=20, **rows, **options)
    of_name = {"roc_auc": c_statistic, "accuracy": accuracy}
    of_name |= {"log_loss": log_loss, "brier_score": brier_score}
    metrics = {}
    for name, plain in found.metrics.items():
        if name in of_name and np.isfinite(plain.estimate):
            metrics[name] = confidence_interval(
                of_name[name],
                sample.codes,
                sample.prob,
                clusters=cluster,
                n_resamples=n_resamples,
                **rows,
                **options,
            )
        else:
            metrics[name] = replace(plain, low=np.nan, high=np.nan, standard_error=np.nan)
    test = spiegelhalter(sample, cluster)
    if isinstance(found, ClassEvaluation):
        return replace(found, metrics=metrics, test=test)
    clustered = clustered_test(sample, cluster)
    return replace(
        found,
        metrics=metrics,
        curve=replace(found.curve, band_low=None, band_high=None),
        exact_test=clustered.tests,
        mean_test=replace(found.mean_test, p_value=clustered.tests.mean, method="clusters"),
        test=test,
        slope_test=None,
        n_independent=clustered.effective,
    )
