"""How far off the worst segment of several columns is: multicalibration error."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.basics.wording import p_text, percent_text
from trueodds.inputs import (
    Floats,
    GroupColumn,
    as_generator,
    check_integer,
)
from trueodds.metrics._clusters import read_clusters
from trueodds.metrics._groups import read_grouped
from trueodds.metrics._sample import Forecasts, finite_or_none
from trueodds.numerics.binning import run_starts

__all__ = [
    "MulticalibrationError",
    "Segment",
    "multicalibration_error",
]

BLOCK_VALUES = 1 << 21
"""Numbers in a block of simulated labels: 16 MB."""
Codes = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Segment:
    """Rows with the same values of up to three columns.

    Attributes
    ----------
    values : dict of str to str
        Value of each column; empty for all rows.
    rows : int
    predicted, observed : float
        Mean probability, and frequency of the event.
    error : float
        Largest absolute difference between events and their probabilities over an interval of
        probabilities, as a share of the segment's rows.
    deviations : float
        ``error`` divided by its standard deviation if the probabilities were right.
    between : tuple of float
        The probabilities at the ends of that interval.
    too_high : bool
        Whether the probabilities there exceed the frequency.

    Examples
    --------
    >>> from trueodds.metrics import multicalibration_error
    >>> found = multicalibration_error([0] * 40, [0.5] * 40, ["a"] * 40)
    >>> found.worst.error, found.worst.between
    (0.5, (0.5, 0.5))
    """

    values: dict[str, str]
    rows: int
    predicted: float
    observed: float
    error: float
    deviations: float
    between: tuple[float, float]
    too_high: bool

    @property
    def name(self) -> str:
        """The values in words."""
        if not self.values:
            return "all rows"
        return " and ".join(f"{column} = {value}" for column, value in self.values.items())

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            **asdict(self),
            "name": self.name,
            "deviations": finite_or_none(self.deviations),
            "between": list(self.between),
        }


@dataclass(frozen=True)
class MulticalibrationError:
    """The result of :func:`multicalibration_error`.

    Attributes
    ----------
    error : float
        ``deviations`` on the scale of probabilities: times the standard deviation for all rows.
    deviations : float
        The largest ``deviations`` of any segment.
    p_value : float
        Chance of ``deviations`` at least this large if all probabilities are right, whatever
        the number of segments.
    n_segments : int
        Segments that were measured.
    worst : Segment
        The segment with the largest ``deviations``, which is where the evidence is strongest.

    Examples
    --------
    >>> from trueodds.metrics import multicalibration_error
    >>> found = multicalibration_error([0] * 40, [0.5] * 40, ["a"] * 40)
    >>> print(found)
    Multicalibration error 0.5 (6.3 standard deviations, p = 0.005). Strongest evidence of 2
    segments: all rows, 40 rows, where probabilities of 50% are too high.
    """

    error: float
    deviations: float
    p_value: float
    n_segments: int
    worst: Segment

    def __str__(self) -> str:
        worst = self.worst
        low, high = (percent_text(end) for end in worst.between)
        where = f"of {low}" if low == high else f"from {low} to {high}"
        return (
            f"Multicalibration error {self.error:.2g} ({self.deviations:.1f} standard deviations, "
            f"{p_text(self.p_value)}). Strongest evidence of {self.n_segments:,} segments: "
            f"{worst.name}, {worst.rows:,} rows, where probabilities {where} are too "
            f"{'high' if worst.too_high else 'low'}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "error": finite_or_none(self.error),
            "deviations": finite_or_none(self.deviations),
            "p_value": self.p_value,
            "n_segments": self.n_segments,
            "worst": self.worst.to_dict(),
        }


def multicalibration_error(
    y_true: Any,
    y_prob: Any,
    groups: Any,
    *,
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
    clusters: Any = None,
    max_columns: int = 3,
    max_values: int = 3,
    min_rows: int = 10,
    max_segments: int = 1000,
    n_resamples: int = 200,
    random_state: int = 0,
) -> MulticalibrationError:
    """Measure the worst calibration error in any segment of up to three columns.

    Use it to compare models or calibrators in all subpopulations together. It uses no bins of
    probabilities. :func:`group_test` lists the groups that are off; this function also combines
    columns. It cannot see a segment with fewer than ``min_rows`` rows.

    Parameters
    ----------
    y_true, y_prob, sample_weight, counts, classes
        As in :func:`log_loss`. Of several classes, the event is that the most probable one is
        right.
    groups : array-like of shape (n,), dict of str to array-like, or data frame
        Columns that define the segments. Missing values count as a separate value.
    clusters : array-like of shape (n,), default=None
        Rows that depend on each other (labels of one post) have the same value. The p-value is
        then approximate: each sample reverses the residuals of random clusters.
    max_columns : int, default=3
        Most columns that a segment combines.
    max_values : int, default=3
        Values of a column. Numbers with more are cut into this many bands, as
        :func:`group_test` does; of other columns with more, the most frequent values remain and the
        others become one.
    min_rows : int, default=10
        Fewest rows of a segment.
    max_segments : int, default=1000
        Segments of fewer columns come first, and columns in the given order.
    n_resamples : int, default=200
        Simulated samples of labels for the p-value, whose lowest value is 1 / (n_resamples + 1).
    random_state : int, default=0
        Seed of the simulated labels.

    Returns
    -------
    MulticalibrationError

    Notes
    -----
    In a segment, let C(s) be the sum of weight · (y − p) over rows with p ≤ s. The range of C,
    with 0 included, is the largest difference between events and their probabilities over any
    interval of probabilities. The range divided by √Σ w² p (1 − p) is the segment's
    ``deviations``, and the largest of them is the result. ``error`` multiplies it by
    √Σ w² p (1 − p) / Σ w of all rows. These are MCGrad's definitions. In two points we differ: rows
    of equal probability enter C together, so the result does not depend on their order, and the
    p-value allows for the number of segments.

    The p-value is exact: labels are drawn from the probabilities, and it is the share of samples,
    the given one included, with ``deviations`` at least as large. It is 0 if something happened
    that had probability 0. Cost: one pass over the rows for each set of columns and each sample.

    References
    ----------
    Guy, Haimovich, Linder, Okati, Perini, Tax and Tygert (2025), Measuring multi-calibration.
    Arrieta-Ibarra, Gujral, Tannen, Tygert and Xu (2022), Metrics of calibration for probabilistic
    predictions.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.metrics import multicalibration_error
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(4000)
    >>> town, sex = rng.choice(["Bern", "Graz", "Linz"], 4000), rng.choice(["f", "m"], 4000)
    >>> y = rng.random(4000) < np.where((town == "Graz") & (sex == "f"), 0.7 * p, p)
    >>> found = multicalibration_error(y, p, {"town": town, "sex": sex})
    >>> found.worst.name, round(found.p_value, 3)
    ('town = Graz and sex = f', 0.005)
    """
    max_columns = check_integer(max_columns, "max_columns", 0)
    max_values = check_integer(max_values, "max_values", 1)
    min_rows = check_integer(min_rows, "min_rows", 1)
    max_segments = check_integer(max_segments, "max_segments", 1)
    n_resamples = check_integer(n_resamples, "n_resamples", 1)
    view, columns, kept, _ = read_grouped(
        y_true,
        y_prob,
        groups,
        sample_weight,
        counts,
        classes,
        most_values=max_values,
        n_bands=max_values,
    )
    times = view.times(kept, len(columns[0].codes))
    columns = [column.most_frequent(max_values, times) for column in columns]
    codes = np.stack([column.codes[kept] for column in columns], axis=1)
    cluster = None if clusters is None else read_clusters(clusters, y_prob, kept)
    cells = _Cells(view, codes, cluster)
    sizes = list(map(len, columns))
    segments = list(_partitions(cells, sizes, max_columns, min_rows, max_segments))
    observed = cells.residual[None, :]
    largest = [part.deviations(observed)[0] for part in segments]
    best = max(range(len(segments)), key=lambda i: float(largest[i].max()))
    own = int(largest[best].argmax())
    worst = _segment(segments[best], own, cells, columns, float(largest[best][own]))
    deviations = worst.deviations
    scale = math.sqrt(cells.variance.sum()) / cells.weight.sum()
    if cells.is_impossible:
        p_value = 0.0
    else:
        p_value = _p_value(cells, segments, deviations, n_resamples, random_state)
    n_segments = sum(len(part.spread) for part in segments)
    error = deviations * scale if scale else worst.error
    return MulticalibrationError(error, deviations, p_value, n_segments, worst)


class _Cells:
    """Rows that are alike in probability, importance and columns, by increasing probability."""

    def __init__(self, view: Forecasts, codes: Codes, cluster: Codes | None) -> None:
        finest = np.unique(codes, axis=0, return_inverse=True)[1].ravel()
        if cluster is not None:
            finest = finest * (int(cluster.max()) + 1) + cluster
        importance = np.ones(len(view))
        if view.weight is not None and view.weight.importance is not None:
            importance = view.weight.importance
        order = np.lexsort((importance, finest, view.prob))
        counts = np.ones(len(view)) if view.row_counts is None else view.row_counts[order]
        starts = run_starts(view.prob[order], finest[order], importance[order])
        first = order[starts]
        self.rows = np.add.reduceat(counts, starts).astype(np.int64)
        self.cluster = None if cluster is None else cluster[first]
        self.prob, self.codes, self.importance = view.prob[first], codes[first], importance[first]
        events = np.add.reduceat(counts * view.hit[order], starts)
        self.weight = self.rows * self.importance
        self.events = events * self.importance
        self.residual = self.events - self.weight * self.prob
        self.variance = self.rows * self.importance**2 * self.prob * (1 - self.prob)
        self.is_impossible = bool(
            ((self.prob == 0) & (events > 0)).any()
            or ((self.prob == 1) & (events < self.rows)).any()
        )

    def simulated(self, number: int, rng: np.random.Generator) -> Floats:
        """Residuals of labels that are drawn from the probabilities, one row for each sample.

        Labels of one cluster depend on each other in a way that is not known, so there the
        residuals of random clusters are reversed (the wild bootstrap).
        """
        if self.cluster is not None:
            sign = rng.choice([-1.0, 1.0], (number, int(self.cluster.max()) + 1))
            return np.asarray(self.residual * sign[:, self.cluster])
        events = rng.binomial(self.rows, self.prob, (number, len(self.prob))).astype(np.float64)
        return np.asarray(events * self.importance - self.weight * self.prob)


class _Partition:
    """The segments of one set of columns."""

    def __init__(
        self, cells: _Cells, columns: tuple[int, ...], sizes: list[int], min_rows: int, most: int
    ) -> None:
        code = np.zeros(len(cells.prob), dtype=np.intp)
        for column in columns:
            code = code * sizes[column] + cells.codes[:, column]
        self.columns = columns
        order = np.argsort(code, kind="stable")
        code = code[order]
        starts = np.flatnonzero(np.append(True, code[1:] != code[:-1]))
        rows = np.add.reduceat(cells.rows[order], starts)
        large = np.flatnonzero(rows >= min_rows)[:most]
        ends = np.append(starts[1:], len(code))
        # Cells of the segments that are kept, one segment after the other.
        self.order = np.concatenate(
            [order[starts[i] : ends[i]] for i in large] or [np.empty(0, dtype=np.intp)]
        )
        lengths = (ends - starts)[large]
        self.starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.intp)[: len(large)]
        self.lengths = lengths
        prob = cells.prob[self.order]
        last = np.append(prob[1:] > prob[:-1], True)  # of its probability in the segment
        last[np.cumsum(lengths) - 1] = True
        self.last = np.flatnonzero(last)
        self.first_last = np.searchsorted(self.last, self.starts)
        self.spread = (
            np.sqrt(np.add.reduceat(cells.variance[self.order], self.starts))
            if len(large)
            else np.empty(0)
        )

    def ranges(self, residuals: Floats) -> Floats:
        """Range of the cumulative residuals in each segment, for each sample."""
        sums = np.cumsum(residuals[:, self.order], axis=1)
        before = np.where(self.starts > 0, sums[:, self.starts - 1], 0.0)
        at = sums[:, self.last]
        highest = np.maximum.reduceat(at, self.first_last, axis=1)
        lowest = np.minimum.reduceat(at, self.first_last, axis=1)
        return np.asarray(np.maximum(highest, before) - np.minimum(lowest, before))

    def deviations(self, residuals: Floats) -> Floats:
        """Ranges in standard deviations; infinite if something impossible happened."""
        ranges = self.ranges(residuals)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = ranges / self.spread
        # Sums of segments whose probabilities are all 0 or 1 may leave rounding errors.
        rounding = 1e-9
        return np.where(self.spread > 0, found, np.where(ranges > rounding, np.inf, 0.0))


def _partitions(
    cells: _Cells, sizes: list[int], max_columns: int, min_rows: int, max_segments: int
) -> Iterator[_Partition]:
    """All rows, then the values of each column, then of each pair, and so on."""
    left = max_segments
    for depth in range(min(max_columns, len(sizes)) + 1):
        for columns in combinations(range(len(sizes)), depth):
            part = _Partition(cells, columns, sizes, min_rows if depth else 1, left)
            if len(part.spread):
                yield part
            left -= len(part.spread)
            if left <= 0:
                return


def _segment(
    part: _Partition,
    own: int,
    cells: _Cells,
    columns: list[GroupColumn],
    deviations: float,
) -> Segment:
    start = part.starts[own]
    at = part.order[start : start + part.lengths[own]]
    values = {columns[k].name: columns[k].names[cells.codes[at[0], k]] for k in part.columns}
    prob = cells.prob[at]
    sums = np.append(0.0, np.cumsum(cells.residual[at]))
    ends = np.append(0, np.flatnonzero(np.append(prob[1:] > prob[:-1], True)) + 1)
    least, most = int(ends[sums[ends].argmin()]), int(ends[sums[ends].argmax()])
    low, high = sorted((least, most))
    weight = cells.weight[at].sum()
    return Segment(
        values=values,
        rows=int(cells.rows[at].sum()),
        predicted=float(prob @ cells.weight[at] / weight),
        observed=float(cells.events[at].sum() / weight),
        error=float(np.ptp(sums[ends]) / weight),
        deviations=deviations,
        between=(float(prob[min(low, len(prob) - 1)]), float(prob[max(high - 1, 0)])),
        too_high=most < least,
    )


def _p_value(
    cells: _Cells,
    segments: list[_Partition],
    deviations: float,
    n_resamples: int,
    random_state: int,
) -> float:
    rng = as_generator(random_state)
    block = max(1, BLOCK_VALUES // len(cells.prob))
    reached = 0
    # Sums in another order may differ in the last bits.
    least = deviations * (1 - 1e-9)
    for start in range(0, n_resamples, block):
        residuals = cells.simulated(min(block, n_resamples - start), rng)
        largest = np.zeros(len(residuals))
        for part in segments:
            np.maximum(largest, part.deviations(residuals).max(axis=1), out=largest)
        reached += int((largest >= least).sum())
    return (reached + 1) / (n_resamples + 1)
