"""Exact tests of whether events happen as often as their probabilities say.

If the probabilities are right, the number of positives is a sum of independent events: a Poisson
binomial variable. Sums of events that each count a whole number have a distribution on the whole
numbers as well, which one Fourier transform gives exactly. So the mean, the slope of the log-odds
and the frequency in a bin are tested by one function, for a handful of rows as for millions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_ndtr, logit, ndtr

from trueodds.engines.cells import ScoreCells
from trueodds.inputs import Floats
from trueodds.numerics.binning import equal_mass_edges, run_starts
from trueodds.stats import holm_adjust
from trueodds.table import ScoreTable

__all__ = [
    "BinTests",
    "ExactTest",
    "Region",
    "bin_tests",
    "exact_test",
    "miscalibrated_regions",
    "sum_p_value",
]

EXACT_VALUES = 2**21
"""Terms of the characteristic function that are computed at most; beyond, a saddlepoint serves."""
MANY_EVENTS = 100.0
NEAR_MEAN = 0.01
SQRT_2_PI = float(np.sqrt(2 * np.pi))
SMALLEST_EXACT = 1e-9
"""Smaller p-values are below the rounding of a Fourier transform."""
STEPS_PER_DEVIATION = 2
"""Whole numbers for each standard deviation of the log-odds, in the test of their slope."""
LARGEST_GAIN = 8
ROWS_PER_BIN = 100
MAX_BINS = 5
ROWS_PER_REGION_BIN = 50
MAX_REGION_BINS = 20
BIN_COLUMNS = ("low", "high", "weight", "mean_prob", "frequency", "p_value")
FEW_SCORES = 4096
CELL_BITS = 6
"""Scores of one cell differ by less than 1/32 of their distance from the nearer end."""


@dataclass(frozen=True, eq=False)
class BinTests:
    """Bins of equal mass, each with a test of its frequency.

    Attributes
    ----------
    low, high : ndarray
        The ends of the bins, from 0 to 1.
    weight, mean_prob, frequency : ndarray
        Rows, mean probability and share of positives in each bin.
    p_value : ndarray
        P-value of the number of positives in each bin alone.

    Examples
    --------
    >>> from trueodds import ScoreTable
    >>> from trueodds.metrics import evaluate_counts
    >>> table = ScoreTable([0.2, 0.6], [170, 80], [30, 120])
    >>> evaluate_counts(table, n_resamples=20).exact_test.bins.p_value.round(2)
    array([0.09, 1.  ])
    """

    low: Floats
    high: Floats
    weight: Floats
    mean_prob: Floats
    frequency: Floats
    p_value: Floats

    @property
    def together(self) -> float:
        """The p-value of all bins: the smallest times their number, at most 1."""
        return min(1.0, len(self.p_value) * float(self.p_value.min()))


@dataclass(frozen=True, eq=False)
class ExactTest:
    """The tests of one set of rows, and what they give together.

    Attributes
    ----------
    mean : float
        p-value of the number of positives.
    slope : float or None
        p-value of positives at high scores against positives at low scores; None if all scores
        are equal.
    bins : BinTests or None
        Up to five bins of at least 100 rows; None below 200 rows.
    p_value : float
        The smallest of the p-values of mean, slope and bins, times their number, 1 to 3
        (Bonferroni); that of the bins is the smallest times the number of bins. 0 if an event of
        probability 0 happened, or one of probability 1 did not.
    least : float
        The smallest p-value that any labels could have given, but for impossible ones.

    Examples
    --------
    >>> from trueodds import ScoreTable
    >>> from trueodds.metrics import evaluate_counts
    >>> found = evaluate_counts(ScoreTable([0.2, 0.6], [17, 8], [3, 12])).exact_test
    >>> round(found.mean, 2), found.n_tests
    (0.86, 2)
    """

    mean: float
    slope: float | None
    bins: BinTests | None
    p_value: float
    least: float

    @property
    def n_tests(self) -> int:
        """How many of mean, slope and bins were tested."""
        return 1 + (self.slope is not None) + (self.bins is not None)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        bins = None
        if self.bins is not None:
            columns = {name: getattr(self.bins, name).tolist() for name in BIN_COLUMNS}
            bins = [
                dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
            ]
        return {"p_value": self.p_value, "mean": self.mean, "slope": self.slope, "bins": bins}


def exact_test(table: ScoreTable) -> ExactTest:
    """Test the mean, the slope and up to five bins of a table of probabilities.

    Parameters
    ----------
    table : ScoreTable
        A table of probabilities. The tests of importances are normal.

    Notes
    -----
    Each test doubles the smaller tail. The test of the slope is the score test of Cox's
    slope, rounded so that its distribution is exact. It sums the labels with whole numbers from −8
    to 8 that are proportional to the log-odds. These are centered, so that the sum does not depend
    on the mean.
    """
    impossible = (table.n_pos[table.score == 0].sum() > 0) or (
        table.n_neg[table.score == 1].sum() > 0
    )
    cells = _in_cells(table)
    gain = _slope_gain(cells)
    mean = _p_value(cells, _ones(cells))
    slope = _p_value(cells, gain) if gain.any() else None
    n_bins = int(min(table.effective // ROWS_PER_BIN, MAX_BINS))
    bins = bin_tests(table, n_bins) if n_bins > 1 else None
    if bins is not None and len(bins.p_value) == 1:
        bins = None  # one score holds nearly all rows: the bin is the whole
    found = [mean]
    found += [] if slope is None else [slope]
    found += [] if bins is None else [bins.together]
    p_value = 0.0 if impossible else min(1.0, len(found) * min(found))
    least = 0.0
    if bins is None and table.are_counts:
        least = min(1.0, 2 * len(found) * min(_extreme(cells, gain), _extreme(cells, _ones(cells))))
    return ExactTest(mean, slope, bins, p_value, least)


def bin_tests(table: ScoreTable, n_bins: int) -> BinTests:
    """Test up to ``n_bins`` bins of equal mass; equal probabilities stay together."""
    edges = equal_mass_edges(table.score, table.weight, n_bins)
    index = np.searchsorted(edges, table.score, side="right")
    size = len(edges) + 1
    weight, hits, expected = (
        np.bincount(index, values, size).astype(np.float64, copy=False)
        for values in (table.weight, table.n_pos, table.weight * table.score)
    )
    p_value = np.empty(size)
    for i in range(size):
        own = slice(*np.searchsorted(index, [i, i + 1]))
        part = ScoreTable(table.score[own], *(column[own] for column in table.columns))
        cells = _in_cells(part)
        p_value[i] = _p_value(cells, _ones(cells))
    return BinTests(
        low=np.concatenate([[0.0], edges]),
        high=np.concatenate([edges, [1.0]]),
        weight=weight,
        mean_prob=np.clip(expected / weight, 0.0, 1.0),
        frequency=hits / weight,
        p_value=p_value,
    )


@dataclass(frozen=True)
class Region:
    """A part of the scale where probabilities are off the same way.

    ``low`` and ``high`` are its ends; ``share`` is its part of the rows; ``predicted`` and
    ``observed`` are the mean probability and the frequency in it.
    """

    low: float
    high: float
    share: float
    predicted: float
    observed: float

    @property
    def too_high(self) -> bool:
        """Whether the probabilities exceed the frequency."""
        return self.predicted > self.observed


def miscalibrated_regions(table: ScoreTable, *, alpha: float = 0.05) -> list[Region]:
    """Where a table of probabilities is off by more than chance, from low to high.

    Up to 20 bins of equal mass, with 50 or more effective rows each, are tested exactly; Holm's
    method corrects for their number. A region is a run of bins that are off the same way, from the
    first proven bin to the last.
    """
    n_bins = int(np.clip(table.effective // ROWS_PER_REGION_BIN, 1, MAX_REGION_BINS))
    bins = bin_tests(table, n_bins)
    return _runs_of_bins(bins, holm_adjust(bins.p_value) < alpha)


def _runs_of_bins(bins: BinTests, proven: npt.NDArray[np.bool_]) -> list[Region]:
    sign = np.sign(bins.mean_prob - bins.frequency)
    regions = []
    begin = 0
    for i in range(1, len(sign) + 1):
        if i < len(sign) and sign[i] == sign[begin]:
            continue
        inside = np.flatnonzero(proven[begin:i]) + begin
        if len(inside) and sign[begin]:
            part = slice(inside[0], inside[-1] + 1)
            weight = bins.weight[part]
            regions.append(
                Region(
                    low=float(bins.low[inside[0]]),
                    high=float(bins.high[inside[-1]]),
                    share=float(weight.sum() / bins.weight.sum()),
                    predicted=float(np.average(bins.mean_prob[part], weights=weight)),
                    observed=float(np.average(bins.frequency[part], weights=weight)),
                )
            )
        begin = i
    return regions


def _ones(table: ScoreTable) -> npt.NDArray[np.int64]:
    return np.ones(len(table), dtype=np.int64)


def _p_value(table: ScoreTable, gain: npt.NDArray[np.int64]) -> float:
    """P-value of Σ gain·positives: exact for counts, normal for importances."""
    observed = float(gain @ table.n_pos)
    if table.are_counts:
        return sum_p_value(table.score, table.weight, gain, observed)
    excess = observed - float((gain * table.weight) @ table.score)
    variance = float((gain**2 * table.square_weight) @ (table.score * (1 - table.score)))
    rounding = 1e-12 * float(np.abs(gain) @ table.weight)
    if variance <= rounding**2:
        return float(abs(excess) <= 1e3 * rounding)
    return float(2 * ndtr(-abs(excess) / np.sqrt(variance)))


def _extreme(table: ScoreTable, gain: npt.NDArray[np.int64]) -> float:
    """The smaller of the chances that the sum is the greatest and the least possible."""
    free = (table.score > 0) & (table.score < 1)
    prob, count, gain = table.score[free], table.weight[free], gain[free]
    hit, miss = np.log(prob), np.log1p(-prob)
    up = np.where(gain > 0, hit, np.where(gain < 0, miss, 0.0)) @ count
    down = np.where(gain > 0, miss, np.where(gain < 0, hit, 0.0)) @ count
    return float(np.exp(min(up, down)))


def _in_cells(table: ScoreTable) -> ScoreTable:
    """Each score separately if they are few, else narrow cells.

    A binomial with the mean probability of a cell is spread more than the events in it are
    (Hoeffding, 1956), here by less than one part in ten thousand.
    """
    if len(table) <= FEW_SCORES:
        return table
    start = run_starts(ScoreCells("probability", CELL_BITS).of_array(table.score))
    return ScoreTable.of_runs(table.score, *table.columns, starts=start)


def _slope_gain(table: ScoreTable) -> npt.NDArray[np.int64]:
    """What a positive counts at each score: its log-odds less their mean, in whole steps."""
    prob = table.score
    variance = table.weight * prob * (1 - prob)
    uncertain = variance > 0
    gain = np.zeros(len(prob), dtype=np.int64)
    if uncertain.sum() < 2:
        return gain
    z, variance = logit(prob[uncertain]), variance[uncertain] / variance[uncertain].sum()
    # Scores that hardly can come true must not set the scale.
    z = z - variance @ z
    spread = float(np.sqrt(variance @ z**2))
    if spread <= 1e-9:
        return gain
    step = min(spread / STEPS_PER_DEVIATION, float(np.abs(z).max()))
    steps = np.clip(np.rint(z / step), -LARGEST_GAIN, LARGEST_GAIN).astype(np.int64)
    gain[uncertain] = steps // max(1, int(np.gcd.reduce(steps)))
    return gain


def sum_p_value(prob: Floats, count: Floats, gain: npt.NDArray[np.int64], observed: float) -> float:
    """Two-sided p-value of Σ gain·positives, with ``count`` independent events at each ``prob``.

    Parameters
    ----------
    prob, count : ndarray of shape (m,)
        Probabilities and whole numbers of rows. If counts are fractions, the sum is rounded.
    gain : ndarray of int of shape (m,)
        What a positive adds to the sum.
    observed : float
        The sum that was seen.

    Returns
    -------
    float
        Twice the smaller tail, at most 1: exact by a Fourier transform where that is cheap,
        otherwise Lugannani and Rice's saddlepoint approximation with Daniels' continuity
        correction.
    """
    certain = float((gain * count)[prob == 1].sum())
    free = (prob > 0) & (prob < 1) & (gain != 0) & (count > 0)
    prob, count, gain = prob[free], count[free], gain[free]
    seen = float(np.rint(observed - certain))
    most = float((count * np.maximum(gain, 0)).sum())
    least = float((count * np.minimum(gain, 0)).sum())
    if not len(prob):
        return float(abs(observed - certain) <= 0.5)
    if seen > most + 0.5 or seen < least - 0.5:
        return 0.0
    exact = _by_transform(prob, count, gain, seen, least, most)
    if exact is not None and exact >= SMALLEST_EXACT:
        return min(1.0, exact)
    above = _upper_tail(prob, count, gain, seen, least, most)
    below = _upper_tail(prob, count, -gain, -seen, -most, -least)
    return min(1.0 if exact is None else SMALLEST_EXACT, 2 * min(above, below))


def _by_transform(
    prob: Floats,
    count: Floats,
    gain: npt.NDArray[np.int64],
    seen: float,
    least: float,
    most: float,
) -> float | None:
    """Twice the smaller tail, or None where it would cost too much."""
    mean = float((count * gain) @ prob)
    variance = float((count * gain**2) @ (prob * (1 - prob)))
    # With this many events that matter, the saddlepoint is right to 0.2% of a p-value.
    if variance**2 >= MANY_EVENTS * float((count * gain**4) @ (prob * (1 - prob))):
        return None
    # Bernstein's inequality: beyond these ends lies less than 1e-13.
    reach = 10 * float(np.abs(gain).max())
    reach += float(np.sqrt(reach**2 + 60 * variance))
    first = int(max(least, np.floor(mean - reach)))
    size = int(min(most, np.ceil(mean + reach))) - first + 1
    size += size % 2
    if size * len(prob) > EXACT_VALUES or (count != np.rint(count)).any():
        return None
    if not first <= seen < first + size:
        return 0.0
    angle = 2j * np.pi / size * np.arange(size // 2 + 1)
    values, of = np.unique(gain, return_inverse=True)
    factors = 1 + prob[:, None] * (np.exp(values[:, None] * angle) - 1)[of]
    often = count > 1
    with np.errstate(divide="ignore"):
        logs = np.log(factors[often])
    wave = np.prod(factors[~often], axis=0) * np.exp(count[often] @ logs - first * angle)
    mass = np.fft.irfft(np.conj(wave), size)
    place = int(seen) - first
    return 2 * max(0.0, min(float(mass[: place + 1].sum()), float(mass[place:].sum())))


def _upper_tail(
    prob: Floats,
    count: Floats,
    gain: npt.NDArray[np.int64],
    seen: float,
    least: float,
    most: float,
) -> float:
    """P(sum ≥ seen) by a saddlepoint: Daniels (1987), equation 6.5 with his second correction."""
    target = seen - 0.5
    if target <= least:
        return 1.0
    if target >= most:
        return 0.0
    odds = logit(prob)

    def moments(t: float) -> tuple[float, float]:
        p = expit(gain * t + odds)
        weighted = count * gain
        return float(weighted @ p), float((weighted * gain) @ (p * (1 - p)))

    low, high = -1.0, 1.0
    while moments(low)[0] > target:
        low *= 2
    while moments(high)[0] < target:
        high *= 2
    t = 0.0
    for _ in range(200):
        mean, variance = moments(t)
        low, high = (t, high) if mean < target else (low, t)
        if abs(mean - target) <= 1e-9 * max(1.0, np.sqrt(variance)):
            break
        newton = t + (target - mean) / variance if variance > 0 else np.inf
        t = newton if low < newton < high else (low + high) / 2
    mean, variance = moments(0.0)
    z = (target - mean) / np.sqrt(variance)
    if abs(z) < NEAR_MEAN:
        # The two terms below cancel at the mean; Edgeworth's expansion is their limit.
        third = float((count * gain**3) @ (prob * (1 - prob) * (1 - 2 * prob)))
        skewness = third / variance**1.5
        return float(ndtr(-z) + skewness / 6 * (z**2 - 1) * np.exp(-(z**2) / 2) / SQRT_2_PI)
    variance = moments(t)[1]
    # log(1 + p(eˢ − 1)), for which eˢ must not overflow.
    step = gain * t
    small = np.log1p(prob * np.expm1(np.minimum(step, 30.0)))
    logs = np.where(step < 30, small, np.log1p(-prob) + np.logaddexp(0.0, step + odds))
    cumulant = float(count @ logs)
    w = np.sign(t) * np.sqrt(max(0.0, 2 * (t * target - cumulant)))
    u = 2 * np.sinh(t / 2) * np.sqrt(variance)
    density = np.exp(-(w**2) / 2) / SQRT_2_PI
    return float(np.clip(np.exp(log_ndtr(-w)) + density * (1 / u - 1 / w), 0.0, 1.0))
