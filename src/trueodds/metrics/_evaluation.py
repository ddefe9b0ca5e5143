"""Metrics with intervals, curve and tests: of a table of counts, or of rows of several classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

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
    repeat_rows,
)
from trueodds.metrics._bands import FINEST, Cells, binned_band
from trueodds.metrics._curves import HISTOGRAM_BINS, ReliabilityCurve
from trueodds.metrics._errors import (
    debiased_calibration_error,
    expected_calibration_error,
    maximum_calibration_error,
    ratio_or_zero,
    squared_debiased,
)
from trueodds.metrics._exact_test import ExactTest, exact_test
from trueodds.metrics._finding import TOLERANCE, class_finding, finding
from trueodds.metrics._intervals import JACKKNIFE_BLOCKS, MetricInterval, _defined, _interval
from trueodds.metrics._losses import brier_score, log_loss, row_losses
from trueodds.metrics._sample import Event, Forecasts, binary_views, read_sample
from trueodds.metrics._tests import CalibrationTest, calibration_test, cox, spiegelhalter
from trueodds.numerics.binning import equal_mass_edges
from trueodds.numerics.reliability_bins import bin_sums, uniform_edges
from trueodds.table import ScoreTable

__all__ = [
    "DEBIASED_BINS",
    "BlockSums",
    "ClassEvaluation",
    "Evaluation",
    "MetricCells",
    "auc",
    "check_probabilities",
    "evaluate_classes",
    "evaluate_counts",
    "interval_of",
    "table_estimates",
]

DEBIASED_BINS = 15
FEW_ROWS = 4096
"""A table of at most so many rows is resampled as it is."""
CELL_BITS = 6
"""Scores of one cell differ by less than 1/32 of their distance from the nearer end."""
SHARES = 2048
MOST_DRAWN = 2.0**62
"""Rows of a bootstrap sample, as a 64-bit integer holds them."""
CHUNK_VALUES = 2**21
"""Numbers drawn at once: 16 MB."""


def auc(n_neg: Floats, n_pos: Floats) -> Floats:
    """Share of ⟨positive, negative⟩ pairs in the right order, for each row of counts."""
    below = np.cumsum(n_neg, axis=1) - n_neg / 2
    pairs = n_neg.sum(axis=1) * n_pos.sum(axis=1)
    right = np.einsum("ij,ij->i", n_pos, below)
    out = np.full(len(right), np.nan)
    return np.asarray(np.divide(right, pairs, out=out, where=pairs > 0))


@dataclass(frozen=True, eq=False)
class MetricCells:
    """Neighboring scores in cells that cross no edge of a bin, and what metrics need of them.

    ``loss``, ``prob`` and ``square`` are the means, in each cell and class, of the log-loss, of
    p and of (y − p)²; first all cells of negatives, then all of positives, as in ``counts``.
    ``uniform`` and ``quantile`` are where the bins of each kind begin among the cells.
    """

    counts: Floats
    loss: Floats
    prob: Floats
    square: Floats
    uniform: Labels
    quantile: Labels

    @classmethod
    def of(cls, table: ScoreTable, n_bins: int) -> MetricCells:
        """Cells of relative width, of equal shares, and between edges; each score if few."""
        score, weight = table.score, table.weight
        bins = np.searchsorted(uniform_edges(n_bins), score, side="right")
        edges = equal_mass_edges(score, weight, DEBIASED_BINS)
        masses = np.searchsorted(edges, score, side="right")
        if len(table) <= FEW_ROWS:
            start = np.arange(len(table))
        else:
            share = np.floor((np.cumsum(weight) - weight / 2) / weight.sum() * SHARES)
            near = ScoreCells("probability", CELL_BITS).of_array(score)
            keys = (near, share, bins, masses)
            new = np.any([key[1:] != key[:-1] for key in keys], axis=0)
            start = np.flatnonzero(np.concatenate([[True], new]))
        with np.errstate(divide="ignore"):
            losses = np.stack([-np.log1p(-score), -np.log(score)])
        counts = np.stack([table.n_neg, table.n_pos])
        # Where nothing was seen, nothing is drawn; and where the impossible was seen, the loss of
        # the whole is infinite, and its replicates are not asked for.
        losses[(counts == 0) | np.isinf(losses)] = 0.0
        residual = np.stack([score, 1 - score])
        sums = np.add.reduceat(counts, start, axis=1)

        def means(values: Floats) -> Floats:
            total = np.add.reduceat(values * counts, start, axis=1)
            return np.divide(total, sums, out=np.zeros_like(total), where=sums > 0).ravel()

        return cls(
            counts=sums.ravel(),
            loss=means(losses),
            prob=means(np.stack([score, score])),
            square=means(residual**2),
            uniform=_first_of(bins[start]),
            quantile=_first_of(masses[start]),
        )

    def bootstrap(self, n_resamples: int, rng: np.random.Generator) -> dict[str, Floats]:
        """The metrics of so many bootstrap samples of the rows."""
        total = int(np.clip(np.rint(self.counts.sum()), 1, MOST_DRAWN))
        share = self.counts / self.counts.sum()
        step = max(1, CHUNK_VALUES // len(share))
        sizes = [min(step, n_resamples - begin) for begin in range(0, n_resamples, step)]
        parts = [self.metrics(rng.multinomial(total, share, size)) for size in sizes]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def jackknife(self, rng: np.random.Generator) -> dict[str, Floats]:
        """The metrics without one of 100 random blocks of rows; fractions of rows stay."""
        whole = np.rint(np.minimum(self.counts, MOST_DRAWN)).astype(np.int64)
        blocks = int(min(JACKKNIFE_BLOCKS, max(1, whole.sum())))
        left_out = rng.multinomial(whole, np.full(blocks, 1 / blocks)).T
        return self.metrics(np.maximum(self.counts - left_out, 0.0))

    def metrics(self, counts: npt.NDArray[Any]) -> dict[str, Floats]:
        """The metrics of each row of counts, of shape (resamples, 2·cells)."""
        counts = counts.astype(np.float64, copy=False)
        half = counts.shape[1] // 2
        total = counts.sum(axis=1)
        positive = counts[:, half:]
        weight = counts[:, :half] + positive
        prob = counts * self.prob
        excess = prob[:, :half] + prob[:, half:] - positive
        squares = counts * self.square
        squares = squares[:, :half] + squares[:, half:]
        gap = np.abs(np.add.reduceat(excess, self.uniform, axis=1))
        in_bin = np.add.reduceat(weight, self.uniform, axis=1)
        with np.errstate(invalid="ignore"):  # leaving out the only row leaves nothing
            loss, brier = counts @ self.loss / total, counts @ self.square / total
            error = gap.sum(axis=1) / total
        return {
            "log_loss": loss,
            "brier_score": brier,
            "roc_auc": auc(counts[:, :half], positive),
            "expected_calibration_error": error,
            "debiased_calibration_error": self._debiased(weight, excess, squares),
            "maximum_calibration_error": ratio_or_zero(gap, in_bin).max(axis=1),
        }

    def _debiased(self, weight: Floats, excess: Floats, squares: Floats) -> Floats:
        columns = (weight, excess, squares)
        return squared_debiased(*(np.add.reduceat(c, self.quantile, axis=1) for c in columns))


def _first_of(sorted_keys: Labels) -> Labels:
    return np.flatnonzero(np.concatenate([[True], sorted_keys[1:] != sorted_keys[:-1]]))


CURVE_BINS = 30


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
        Weight of everything: the number of rows, if they have no weights.
    prevalence : float
        Share of positives.
    mean_score : float

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
    """The table in cells whose labels are drawn at once."""
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


MOST_BLOCKS = 2048
UNIFORM_BINS = 10


@dataclass(frozen=True, eq=False)
class BlockSums:
    """Sums over blocks of rows: what a resample of blocks needs, however many rows there are.

    ``totals`` has weight, log-loss, squared error and hits, of shape (blocks, 4). In each bin of
    equal width (``uniform``) the sum of confidence − hit; in each bin of equal mass weight,
    confidence − hit and its square (``quantile``, of shape (3, blocks, bins)).
    """

    totals: Floats
    uniform: Floats
    quantile: Floats

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return len(self.totals)

    @classmethod
    def of(cls, sample: Forecasts, rng: np.random.Generator) -> BlockSums:
        """Deal the rows at random; few rows are blocks of their own."""
        n_rows = len(sample)
        n_blocks = min(n_rows, MOST_BLOCKS)
        block = rng.permutation(n_rows) % n_blocks if n_rows > n_blocks else np.arange(n_rows)
        view = binary_views(sample, "top_label")[0]
        weight = np.ones(n_rows) if sample.weight is None else sample.weight
        gap = view.prob - view.hit

        def sums(values: Floats, bins: Labels, n_bins: int) -> Floats:
            found = np.bincount(block * n_bins + bins, values, n_blocks * n_bins)
            return np.asarray(found.reshape(n_blocks, n_bins), dtype=np.float64)

        everywhere = np.zeros(n_rows, dtype=np.intp)
        losses = row_losses(sample)
        columns = (weight, weight * losses[0], weight * losses[1], weight * view.hit)
        totals = np.concatenate([sums(column, everywhere, 1) for column in columns], axis=1)
        even = np.searchsorted(uniform_edges(UNIFORM_BINS), view.prob, side="right")
        edges = equal_mass_edges(view.prob, sample.weight, DEBIASED_BINS)
        massed = np.searchsorted(edges, view.prob, side="right")
        squares = [sums(v, massed, len(edges) + 1) for v in (weight, weight * gap, weight * gap**2)]
        return cls(totals, sums(weight * gap, even, UNIFORM_BINS), np.stack(squares))

    def bootstrap(self, n_resamples: int, rng: np.random.Generator) -> dict[str, Floats]:
        """The metrics of so many samples of blocks, drawn with replacement."""
        share = np.full(self.n_blocks, 1 / self.n_blocks)
        return self.metrics(rng.multinomial(self.n_blocks, share, n_resamples).astype(np.float64))

    def jackknife(self, rng: np.random.Generator) -> dict[str, Floats]:
        """The metrics without one of 100 random parts of the blocks."""
        parts = min(self.n_blocks, JACKKNIFE_BLOCKS)
        part_of = rng.permutation(self.n_blocks) % parts
        return self.metrics((part_of != np.arange(parts)[:, None]).astype(np.float64))

    def metrics(self, counts: Floats) -> dict[str, Floats]:
        """The metrics where block i counts ``counts[:, i]`` times."""
        # An infinite loss has no interval, nor needs one; nor has a resample without rows.
        with np.errstate(invalid="ignore", divide="ignore"):
            weight, loss, square, hits = (counts @ self.totals).T
            in_bin, gap, spread = counts @ self.quantile
            return {
                "log_loss": loss / weight,
                "brier_score": square / weight,
                "accuracy": hits / weight,
                "expected_calibration_error": np.abs(counts @ self.uniform).sum(axis=1) / weight,
                "debiased_calibration_error": squared_debiased(in_bin, gap, spread),
            }


METRICS = (
    "log_loss",
    "brier_score",
    "accuracy",
    "expected_calibration_error",
    "debiased_calibration_error",
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
        Rows.
    mean_confidence : float
        The mean probability of the most probable class, which is the accuracy that it promises.

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
        self, tolerance: float = TOLERANCE, groups: list[dict[str, Any]] | None = None
    ) -> str:
        """What was found, in words and with its size.

        Parameters
        ----------
        tolerance : float, default=0.02
            What is significant is called small if confidence and accuracy differ by no more.
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
    counts : array-like of shape (n,), default=None
        How often each row occurred: the result is that of the rows written out. ``sample_weight``
        leaves a row one observation, whatever its weight.
    classes : array-like, default=None
        The label of each column; by default the sorted labels.
    level : float, default=0.9
        Of the intervals.
    n_resamples : int, default=200
    random_state : int or Generator, default=0

    Returns
    -------
    ClassEvaluation

    Notes
    -----
    Memory beside the probabilities is that of a few numbers per row. Intervals come from a
    bootstrap of at most 2,048 random blocks of rows, whose sums are all that a resample needs; bins
    of equal mass keep the edges that all rows give them.

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
    rows = repeat_rows(counts, y_true=y_true, y_prob=y_prob, sample_weight=sample_weight)
    prob = as_floats(rows["y_prob"], "y_prob")
    if prob.ndim == 2:
        with np.errstate(all="ignore"):  # a row of zeros is refused below
            prob = prob / prob.sum(axis=1, keepdims=True)
    rows["y_prob"] = prob
    sample = read_sample(**rows, classes=classes)
    if sample.prob.ndim == 1:
        raise InputError(
            "evaluate_classes needs three or more classes, and a column of y_prob for each; got "
            f"y_prob of shape {prob.shape}. For two classes use evaluate_counts."
        )
    blocks = BlockSums.of(sample, rng)
    whole = blocks.metrics(np.ones((1, blocks.n_blocks)))
    drawn = blocks.bootstrap(check_integer(n_resamples, "n_resamples", 2), rng)
    left = blocks.jackknife(rng)
    metrics = {
        name: interval_of(float(whole[name][0]), drawn[name], left[name], level, name)
        for name in METRICS
    }
    top = binary_views(sample, "top_label")[0]
    return ClassEvaluation(
        metrics,
        calibration_test(**rows, classes=classes),
        len(prob),
        mean_confidence=sample.mean(top.prob),
    )
