"""Which groups of rows are miscalibrated, and which is the worst: one test and one rule.

The command line, the report and the Python functions all come here, so that they flag the same
groups and name the same one as the worst. Groups that are off by more than chance come first.
Among them, the worst is the one whose odds are off by the largest factor that the rows support.
The factor is odds(frequency) / odds(mean probability), of the whole group or of a bin of its
probabilities, and the end of its interval nearest to 1 counts. A gap would hide a ratio of six at
a small rate, and a ratio of frequencies would hide one of non-events. A p-value ranks by the size
of the group. Odds are the same whichever class is called positive, and a lower bound does not
reward small groups for chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, logit

from trueodds.basics.shown import shown
from trueodds.basics.wording import percent_text, times_text
from trueodds.exceptions import InputError
from trueodds.inputs import (
    Band,
    Floats,
    GroupColumn,
    Labels,
    as_dense,
    band_ends,
    check_instance,
    check_integer,
    check_level,
    group_columns,
    read_groups,
)
from trueodds.metrics._clusters import ClusteredTest, clustered_test, read_clusters
from trueodds.metrics._evaluation import check_probabilities, table_estimates
from trueodds.metrics._exact_test import ExactTest, bin_tests, exact_test
from trueodds.metrics._finding import ALPHA, NAMES_OF_EVENTS
from trueodds.metrics._sample import Forecasts, finite_or_none, read_kept, top_label
from trueodds.numerics.standard_errors import wilson
from trueodds.stats import holm_adjust
from trueodds.table import ScoreTable

__all__ = [
    "Excess",
    "GroupCounts",
    "GroupTest",
    "WorstGroupError",
    "evaluate_groups",
    "group_counts",
    "group_test",
    "groups_before_and_after",
    "judge_groups",
    "read_grouped",
    "worst_group_error",
]

MAX_VALUES = 100
"""Most frequent values of a column that are tested."""
Event = Literal["positive", "right"]


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """The rows of one group.

    Parameters
    ----------
    column, value : str
        What the group is called: ``column`` has this ``value``.
    rows : int
    table : ScoreTable
        A table of probabilities, of counts or of importances.
    band : Band, default=None
        The edges of a band of numbers.
    event : {"positive", "right"}, default="positive"
        What the probabilities are of: the positive class, or that the most probable one is right.
    clustered : ClusteredTest, default=None
        The tests of these rows if they belong to clusters; by default rows are independent.

    Examples
    --------
    >>> from trueodds import ScoreTable
    >>> from trueodds.metrics import GroupCounts
    >>> group = GroupCounts("town", "A", 3, ScoreTable.from_arrays([0.1, 0.4, 0.8], [0, 1, 1]))
    >>> group.column, group.value, group.rows
    ('town', 'A', 3)
    """

    column: str
    value: str
    rows: int
    table: ScoreTable
    band: Band | None = None
    event: Event = "positive"
    clustered: ClusteredTest | None = None


@dataclass(frozen=True)
class Excess:
    """How far the frequency of a group, or of a part of it, is from its mean probability.

    Attributes
    ----------
    between : tuple of float or None
        The bin of probabilities that it is about; None for the whole group.
    predicted, observed : float
        Mean probability, and frequency of the event.
    low, high : float
        Clopper and Pearson's interval of the mean true probability. Those of all groups that are
        not too small hold together, and so do those of all their bins.
    level : float
        Confidence level of all these intervals together.

    Examples
    --------
    >>> from trueodds.metrics import group_test
    >>> found = group_test([0] * 90 + [1] * 10, [0.02] * 100, ["a"] * 100)[0].worst
    >>> round(found.ratio, 2), round(found.ratio_low, 2), round(found.ratio_high, 2)
    (5.0, 2.76, 8.19)
    >>> found.between is None, round(found.odds_at_least, 2)
    (True, 2.87)
    """

    between: tuple[float, float] | None
    predicted: float
    observed: float
    low: float
    high: float
    level: float

    @property
    def ratio(self) -> float:
        """Observed divided by predicted."""
        return _ratio(self.observed, self.predicted)

    @property
    def ratio_low(self) -> float:
        """The lower end of the interval of ``ratio``."""
        return _ratio(self.low, self.predicted)

    @property
    def ratio_high(self) -> float:
        """The upper end of the interval of ``ratio``."""
        return _ratio(self.high, self.predicted)

    @property
    def odds_at_least(self) -> float:
        """The factor by which the odds are off at least, in either direction; 1 if none is sure."""
        with np.errstate(over="ignore", invalid="ignore"):
            too_low = logit(self.low) - logit(self.predicted)
            too_high = logit(self.predicted) - logit(self.high)
            return float(np.exp(np.fmax(0.0, np.fmax(too_low, too_high))))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        ends = None if self.between is None else list(self.between)
        names = ("ratio", "ratio_low", "ratio_high", "odds_at_least")
        factors = {name: finite_or_none(getattr(self, name)) for name in names}
        return {**asdict(self), "between": ends, **factors}


def _ratio(observed: float, predicted: float) -> float:
    if predicted == 0:
        return math.inf if observed > 0 else math.nan
    return observed / predicted


@dataclass(frozen=True)
class GroupTest:
    """The result of :func:`group_test` for one group.

    Attributes
    ----------
    column, value : str
        What the group is called: ``column`` has this ``value``.
    rows : int
    predicted : float
        Mean probability.
    observed, observed_low, observed_high : float
        Frequency of the event, and its Wilson interval.
    whole, worst : Excess
        How far the group is off as a whole, and where it is off most: in a bin of its
        probabilities, or as a whole.
    p_value : float
        P-value of ``calibration_test(method="exact")`` in the group alone.
    p_adjusted : float or None
        Corrected for the number of groups; None if the group is too small.
    too_small : bool
        Whether no labels that are possible could have flagged the group.
    flagged : bool
        Whether the group is miscalibrated by more than chance.
    band : Band or None
        The edges of a band of numbers: ``low`` belongs to it, ``high`` does not.
    event : {"positive", "right"}
        What the probabilities are of: the positive class, or, of several classes, that the most
        probable one is right.

    Examples
    --------
    >>> from trueodds.metrics import group_test
    >>> found = group_test([0] * 40 + [1], [0.5] * 40 + [0.6], ["a"] * 40 + ["b"])
    >>> [(group.value, group.flagged, group.too_small) for group in found]
    [('a', True, False), ('b', False, True)]
    """

    column: str
    value: str
    rows: int
    predicted: float
    observed: float
    observed_low: float
    observed_high: float
    whole: Excess
    worst: Excess
    p_value: float
    p_adjusted: float | None = None
    too_small: bool = False
    flagged: bool = False
    band: Band | None = None
    event: Event = "positive"

    @property
    def gap(self) -> float:
        """Mean probability less frequency: above 0 if the probabilities are too high."""
        return self.predicted - self.observed

    @property
    def gap_low(self) -> float:
        """The lower end of the interval of ``gap``; those of all groups hold together."""
        return self.predicted - self.whole.high

    @property
    def gap_high(self) -> float:
        """The upper end of the interval of ``gap``."""
        return self.predicted - self.whole.low

    @property
    def gap_at_least(self) -> float:
        """The least size of the gap in its interval."""
        return max(0.0, self.gap_low, -self.gap_high)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        gaps = {k: getattr(self, k) for k in ("gap", "gap_low", "gap_high", "gap_at_least")}
        parts = {"whole": self.whole.to_dict(), "worst": self.worst.to_dict()}
        return {**asdict(self), **parts, "band": band_ends(self.band), **gaps}


def group_test(
    y_true: Any,
    y_prob: Any,
    groups: Any,
    *,
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
    clusters: Any = None,
    level: float = 0.9,
    alpha: float = ALPHA,
) -> list[GroupTest]:
    """Find the groups of rows whose probabilities are off by more than chance.

    Use it to check a model in regions, sites or age bands. The chance that any calibrated group is
    flagged is at most ``alpha``, for groups of any size, however they overlap. It does not see an
    error that leaves the mean, the slope of the log-odds and the frequency in five bins right.

    Parameters
    ----------
    y_true, y_prob, sample_weight, counts, classes
        As in :func:`log_loss`. Of several classes, the event is that the most probable one is
        right. A row of any importance is one observation, and a count of k is k.
    groups : array-like of shape (n,), dict of str to array-like, or data frame
        Columns that part the rows. A column of numbers with more than ten distinct values is cut
        into five bands of about equal mass; of any other column, such as texts or categories, each
        value is a group. Missing values are one group.
    clusters : array-like of shape (n,), default=None
        Rows that depend on each other (labels of one post, visits of one patient) have the same
        value. The p-value of a test is then the larger of the exact one and of a t-test with
        clusters as observations; intervals use the number of independent rows that these are worth.
    level : float, default=0.9
        Confidence level of the intervals: of the frequency in each group, and of ``whole`` and
        ``worst`` in all groups together.
    alpha : float, default=0.05
        Chance of any false alarm.

    Returns
    -------
    list of GroupTest
        Flagged groups first, by the factor that the odds are off by at least in the whole group
        or in a bin of its probabilities (``worst.odds_at_least``); those too small last. Reports
        and commands name the first as the worst.

    Notes
    -----
    The p-value of a group is that of ``calibration_test(method="exact")``. Groups in which not even
    the most extreme labels could give a small enough p-value are left out of the correction
    (Tarone), and Holm's method corrects for the others. Which groups are too small follows from
    their probabilities alone, so the selection costs nothing.

    A gap of 1 percentage point is small at a rate of 30% and a ratio of six at 0.2%, so groups are
    ranked by odds; these do not depend on which class is positive. The end of the interval nearest
    to no error counts, not the estimate, since the estimate favors small groups.

    References
    ----------
    Clopper and Pearson (1934), The use of confidence or fiducial limits illustrated in the case
    of the binomial.
    Holm (1979), A simple sequentially rejective multiple test procedure.
    Tarone (1990), A modified Bonferroni method for discrete data.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.metrics import group_test
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(4000)
    >>> town = rng.choice(["Bern", "Graz", "Linz"], 4000)
    >>> y = rng.random(4000) < np.where(town == "Graz", 0.7 * p, p)
    >>> found = group_test(y, p, town)
    >>> [group.value for group in found if group.flagged]
    ['Graz']
    """
    level, alpha = check_level(level), check_level(alpha, "alpha")
    view, columns, kept, event = read_grouped(
        y_true, y_prob, groups, sample_weight, counts, classes
    )
    cluster = None if clusters is None else read_clusters(clusters, y_prob, kept)
    found = [
        group
        for column in columns
        for group in group_counts(column, column.codes[kept], view, event, cluster=cluster)
    ]
    return judge_groups(found, level=level, alpha=alpha)


def judge_groups(
    groups: Iterable[GroupCounts], *, level: float = 0.9, alpha: float = ALPHA
) -> list[GroupTest]:
    """Test groups that are given as counts; see :func:`group_test`."""
    return [test for _, test in _judged(groups, level, alpha)]


def _judged(
    groups: Iterable[GroupCounts], level: float, alpha: float
) -> list[tuple[int, GroupTest]]:
    """The tests in their order, each with the place of its group: names may be equal."""
    measured, least = [], []
    for group in groups:
        check_instance(group, GroupCounts, "a group")
        check_probabilities(group.table, "a group")
        table = group.table.scaled()
        found, rows = exact_test(table), table.effective
        if group.clustered is not None:
            found, rows = group.clustered.tests, group.clustered.effective
        measured.append((_test(group, table, found, rows, level), _parts(table, found, rows)))
        least.append(found.least)
    testable = _testable(np.array(least), alpha)
    adjusted = np.full(len(measured), np.nan)
    if testable.any():
        p_values = np.array([test.p_value for test, _ in measured])
        adjusted[testable] = holm_adjust(p_values[testable])
    n_joint = int(testable.sum()) or len(measured)
    judged = []
    for (test, parts), p, can in zip(measured, adjusted, testable.tolist(), strict=True):
        whole, worst = _excess(parts, level, n_joint)
        judged.append(
            replace(
                test,
                whole=whole,
                worst=worst,
                p_adjusted=float(p) if can else None,
                too_small=not can,
                # What had probability 0 and happened is proof, in a group of any size.
                flagged=bool(can and p < alpha) or test.p_value == 0,
            )
        )
    return sorted(enumerate(judged), key=lambda placed: _badness(placed[1]))


@dataclass(frozen=True, eq=False)
class _Parts:
    """The whole of a group and its bins, as arrays with the whole first."""

    low: Floats
    high: Floats
    predicted: Floats
    observed: Floats
    rows: Floats
    fallback: int
    """The part that is named if none is surely off: the one with the smallest p-value."""


def _parts(table: ScoreTable, found: ExactTest, n_rows: float) -> _Parts:
    bins = found.bins
    if bins is None and len(table) > 1:
        bins = bin_tests(table, 2)  # too few rows to be tested, but they show a wrong slope
    predicted = float(table.score @ table.weight / table.total)
    observed = table.total_pos / table.total
    if bins is None or len(bins.p_value) == 1:
        ends, means = (np.zeros(1), np.ones(1)), (np.array([predicted]), np.array([observed]))
        return _Parts(*ends, *means, np.array([n_rows]), 0)
    slope = 1.0 if found.slope is None else found.slope
    together = bins.together if found.bins is not None else 1.0
    by_part = min(slope, together) < found.mean
    rows = bins.weight * (n_rows / table.total)
    return _Parts(
        np.append(0.0, bins.low),
        np.append(1.0, bins.high),
        np.append(predicted, bins.mean_prob),
        np.append(observed, np.clip(bins.frequency, 0.0, 1.0)),
        np.append(n_rows, rows),
        1 + int(np.argmin(bins.p_value)) if by_part else 0,
    )


def _excess(parts: _Parts, level: float, n_joint: int) -> tuple[Excess, Excess]:
    """The excess of the whole group, and that of the part where it is largest."""
    tail = np.full(len(parts.rows), (1 - level) / n_joint / 2)
    tail[1:] /= max(1, len(tail) - 1)
    low, high = clopper_pearson(parts.observed, parts.rows, tail)
    every = [
        Excess(
            (float(parts.low[k]), float(parts.high[k])),
            predicted=float(parts.predicted[k]),
            observed=float(parts.observed[k]),
            low=float(low[k]),
            high=float(high[k]),
            level=level,
        )
        for k in range(len(tail))
    ]
    every[0] = replace(every[0], between=None)
    sizes = [one.odds_at_least for one in every]
    at = int(np.argmax(sizes))
    return every[0], every[at if sizes[at] > 1 else parts.fallback]


def clopper_pearson(frequency: Floats, n_rows: Floats, tail: Floats) -> tuple[Floats, Floats]:
    """Clopper and Pearson's interval with this probability beyond each end."""
    events = frequency * n_rows
    others = n_rows - events
    with np.errstate(invalid="ignore"):
        low = np.where(events > 0, betaincinv(np.maximum(events, 1e-300), others + 1, tail), 0.0)
        high = np.where(
            others > 0, betaincinv(events + 1, np.maximum(others, 1e-300), 1 - tail), 1.0
        )
    return low, high


def _badness(group: GroupTest) -> tuple[Any, ...]:
    p = 1.0 if group.p_adjusted is None else group.p_adjusted
    size = -group.worst.odds_at_least
    return (not group.flagged, group.too_small, size, p, group.column, group.value)


def _testable(least: Floats, alpha: float) -> npt.NDArray[np.bool_]:
    """Tarone's set: the groups that could be flagged if corrected for those that could be."""
    for number in range(1, len(least) + 1):
        can = least <= alpha / number
        if can.sum() <= number:
            return np.asarray(can)
    return np.ones(len(least), dtype=bool)


def _test(
    group: GroupCounts, table: ScoreTable, found: ExactTest, n_rows: float, level: float
) -> GroupTest:
    """The test of a group alone; its intervals follow when all groups are known."""
    observed = table.total_pos / table.total
    predicted = float(table.score @ table.weight / table.total)
    low, high = wilson(np.array([observed]), np.array([n_rows]), level)
    nothing = Excess(None, predicted, observed, 0.0, 1.0, level)
    return GroupTest(
        column=group.column,
        value=group.value,
        rows=group.rows,
        predicted=predicted,
        observed=observed,
        observed_low=float(low[0]),
        observed_high=float(high[0]),
        whole=nothing,
        worst=nothing,
        p_value=found.p_value,
        band=group.band,
        event=group.event,
    )


def evaluate_groups(
    groups: Iterable[GroupCounts], *, level: float = 0.9, alpha: float = ALPHA
) -> dict[str, Any]:
    """Measure every group given as counts, and find those that are off by more than chance.

    Parameters
    ----------
    groups : iterable of GroupCounts
        Taken one at a time, so that they need not be in memory together.
    level, alpha
        As in :func:`group_test`, which is the same test for rows in memory.

    Returns
    -------
    dict
        ``correction``, ``significance``, ``groups`` and ``worst_group``, as plain JSON values.
        There is one dict for each group, in the order of :func:`group_test`, with the fields of
        :class:`GroupTest` and each metric of :class:`Evaluation`. The worst group has those of
        :class:`WorstGroupError` but the list of groups, and a sentence, the ``finding``.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds import ScoreTable
    >>> from trueodds.metrics import GroupCounts, evaluate_groups
    >>> p = np.arange(1, 100) / 100
    >>> fair = ScoreTable(p, np.rint(10 * (1 - p)), np.rint(10 * p))
    >>> off = ScoreTable(p, np.rint(10 * (1 - p / 2)), np.rint(5 * p))
    >>> groups = [GroupCounts("g", "a", 990, fair), GroupCounts("g", "b", 990, off)]
    >>> [(e["value"], e["flagged"]) for e in evaluate_groups(groups)["groups"]]
    [('b', True), ('a', False)]
    """
    measures: list[dict[str, Any]] = []

    def measured() -> Iterable[GroupCounts]:
        for group in _each(groups):
            check_instance(group, GroupCounts, "a group")
            estimates = table_estimates(group.table.scaled())
            measures.append({name: finite_or_none(value) for name, value in estimates.items()})
            yield group

    judged = _judged(measured(), check_level(level), check_level(alpha, "alpha"))
    entries = [{**test.to_dict(), **measures[place]} for place, test in judged]
    worst = None
    if judged:
        found = worst_of_tests([test for _, test in judged], level=level)
        worst = {**found.to_dict(), "finding": str(found)}
        del worst["groups"]
    return {
        "correction": "Holm",
        "significance": alpha,
        "worst_group": worst,
        "groups": entries,
    }


def _each(groups: Iterable[GroupCounts]) -> Iterable[GroupCounts]:
    try:
        each = iter(groups)
        first = next(each, None)
    except TypeError:  # not iterable, or only in name, as lazy frames are
        raise InputError(
            f"groups must be an iterable of GroupCounts; got {shown(groups)}."
        ) from None
    return each if first is None else chain([first], each)


@dataclass(frozen=True)
class WorstGroupError:
    """The result of :func:`worst_group_error`.

    Attributes
    ----------
    worst : GroupTest
        The group that is off most by the rule of :func:`group_test`.
    error : float
        Largest absolute gap between mean probability and frequency of any group.
    low, high : float
        Its interval.
    largest : GroupTest
        The group with that gap.
    groups : list of GroupTest
        All groups, the worst first.
    left_out : int
        Groups with fewer than ``min_rows`` rows, which the largest gap leaves out.
    level : float
        Confidence level of the intervals of all groups together.

    Examples
    --------
    >>> from trueodds.metrics import worst_group_error
    >>> found = worst_group_error([0] * 40 + [1] * 40, [0.5] * 80, ["a"] * 40 + ["b"] * 40)
    >>> found.error, round(found.low, 2), found.high
    (0.5, 0.41, 0.5)
    >>> print(found)
    Worst group: group = a, 40 rows with 50% predicted and 0% observed (0 times as many positives
    as predicted, 90% CI 0–0.18). The largest gap of 2 groups, in the same group, is between 41%
    and 50% (90% confidence).
    """

    worst: GroupTest
    error: float
    low: float
    high: float
    largest: GroupTest
    groups: list[GroupTest]
    left_out: int
    level: float

    def __str__(self) -> str:
        n_groups = len(self.groups) - self.left_out
        same = self.largest is self.worst
        where = "the same group" if same else f"{self.largest.column} = {self.largest.value}"
        return (
            f"{_sentence(self.worst)} The largest gap of {n_groups:,} groups, in {where}, is "
            f"between {percent_text(self.low)} and {percent_text(self.high)} "
            f"({percent_text(self.level)} confidence)."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "worst": self.worst.to_dict(),
            "error": self.error,
            "low": self.low,
            "high": self.high,
            "largest": self.largest.to_dict(),
            "groups": [group.to_dict() for group in self.groups],
            "left_out": self.left_out,
            "level": self.level,
        }


def _sentence(group: GroupTest) -> str:
    """A group in words: its means, and where it is off most."""
    worst = group.worst
    chance = "" if group.flagged else ", not beyond chance"
    means = f"{percent_text(group.predicted)} predicted and {percent_text(group.observed)} observed"
    where = ""
    if worst.between is not None:
        low, high = (percent_text(end) for end in worst.between)
        where = (
            f"; between {low} and {high}, {percent_text(worst.predicted)} predicted and "
            f"{percent_text(worst.observed)} observed"
        )
    times = times_text(worst.to_dict(), *NAMES_OF_EVENTS[group.event])
    return (
        f"Worst group{chance}: {group.column} = {group.value}, {group.rows:,} rows with "
        f"{means}{where} ({times})."
    )


def worst_group_error(
    y_true: Any,
    y_prob: Any,
    groups: Any,
    *,
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
    clusters: Any = None,
    level: float = 0.9,
    min_rows: int = 30,
) -> WorstGroupError:
    """Measure how far the worst group is off, as a ratio and as a gap.

    Use it to state how wrong the model is in the worst region, subject or site, with intervals for
    all groups together. Errors that cancel are found in five bins of a group;
    :func:`multicalibration_error` uses no bins.

    Parameters
    ----------
    y_true, y_prob, groups, sample_weight, counts, classes, clusters
        As in :func:`group_test`.
    level : float, default=0.9
        Probability that the intervals of all groups hold.
    min_rows : int, default=30
        Groups with fewer rows do not enter the largest gap, unless all have fewer.

    Returns
    -------
    WorstGroupError

    Notes
    -----
    Groups, their order and their intervals are those of :func:`group_test`. If all intervals hold,
    the largest absolute gap is between the largest ``gap_at_least`` and the largest absolute end.
    With importances, the effective number of rows replaces the number of rows, and the intervals
    are approximate. The estimate ``error`` itself is biased upward by chance if groups are small.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.metrics import worst_group_error
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(4000)
    >>> town = rng.choice(["Bern", "Graz", "Linz"], 4000)
    >>> y = rng.random(4000) < np.where(town == "Graz", 0.7 * p, p)
    >>> found = worst_group_error(y, p, town)
    >>> found.worst.value, round(found.low, 2), round(found.high, 2)
    ('Graz', 0.1, 0.15)
    """
    min_rows = check_integer(min_rows, "min_rows", 1)
    options = {"sample_weight": sample_weight, "counts": counts, "classes": classes}
    options["clusters"] = clusters
    tests = group_test(y_true, y_prob, groups, level=level, **options)
    return worst_of_tests(tests, level=level, min_rows=min_rows)


def worst_of_tests(
    tests: Sequence[GroupTest], *, level: float = 0.9, min_rows: int = 30
) -> WorstGroupError:
    """:func:`worst_group_error` of groups in the order of :func:`group_test`."""
    large = [test for test in tests if test.rows >= min_rows] or list(tests)
    largest = max(large, key=lambda test: abs(test.gap))
    return WorstGroupError(
        worst=tests[0],
        error=abs(largest.gap),
        low=max(test.gap_at_least for test in large),
        high=max(max(-test.gap_low, test.gap_high) for test in large),
        largest=largest,
        groups=list(tests),
        left_out=len(tests) - len(large),
        level=level,
    )


def read_grouped(
    y_true: Any,
    y_prob: Any,
    groups: Any,
    sample_weight: Any,
    counts: Any,
    classes: Any,
    **options: int,
) -> tuple[Forecasts, list[GroupColumn], npt.NDArray[np.intp], Event]:
    """The event, the columns of groups, the row of a column of each observation; its name."""
    sample, kept = read_kept(y_true, y_prob, sample_weight, counts, classes)
    n_rows = len(as_dense(y_prob, "y_prob"))
    columns = read_groups(group_columns(groups), n_rows, sample.times(kept, n_rows), **options)
    return top_label(sample), columns, kept, "positive" if sample.n_classes == 2 else "right"


def group_counts(
    column: GroupColumn,
    codes: npt.NDArray[np.intp],
    view: Forecasts,
    event: Event = "positive",
    *,
    cluster: Labels | None = None,
    wanted: Sequence[int] | npt.NDArray[np.intp] | None = None,
) -> Iterable[GroupCounts]:
    """The table of each group, if ``codes`` are the groups of the rows.

    ``wanted`` are the groups to make, by default all that have rows; ``cluster`` is the cluster
    of each row.
    """
    sizes = np.bincount(codes, minlength=len(column))
    order = np.argsort(codes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)])
    for code in np.flatnonzero(sizes) if wanted is None else wanted:
        at = order[starts[code] : starts[code + 1]]
        own = view.take(at)
        clustered = None if cluster is None else clustered_test(own, cluster[at])
        name, band = column.names[code], column.band(code)
        yield GroupCounts(column.name, name, own.n_rows, own.table, band, event, clustered)


def groups_before_and_after(
    columns: Sequence[GroupColumn],
    before: tuple[Forecasts, npt.NDArray[np.intp]],
    after: tuple[Forecasts, npt.NDArray[np.intp]],
    *,
    level: float,
    event: Event = "positive",
) -> tuple[list[tuple[GroupTest, GroupTest | None]], int]:
    """Test every group before and after calibration.

    Parameters
    ----------
    columns : list of GroupColumn
    before, after : tuple of Forecasts and ndarray
        The rows of either test, and their places in the columns. Those of ``after`` may be fewer.
    level : float
        Confidence level of the intervals.
    event : {"positive", "right"}, default="positive"

    Returns
    -------
    pairs : list of tuple
        The two tests of each group in the order of ``judge_groups``; None where no row is left.
    left_out : int
        Values of columns that were not tested, as there are more than 100 of them.
    """
    earlier: list[GroupCounts] = []
    later: list[GroupCounts] = []
    places: list[int] = []  # in ``earlier``, of the groups in ``later``
    left_out = 0
    for column in columns:
        own, kept = column.codes[before[1]], column.codes[after[1]]
        sizes = np.bincount(own, before[0].row_counts, len(column))
        seen = np.bincount(kept, minlength=len(column))
        frequent = np.argsort(-sizes, kind="stable")
        frequent = frequent[sizes[frequent] > 0]
        tested, again = frequent[:MAX_VALUES], seen[frequent[:MAX_VALUES]] > 0
        left_out += len(frequent) - len(tested)
        places += (len(earlier) + np.flatnonzero(again)).tolist()
        earlier += group_counts(column, own, before[0], event, wanted=tested)
        later += group_counts(column, kept, after[0], event, wanted=tested[again])
    found = {places[place]: test for place, test in _judged(later, level, ALPHA)}
    return [(test, found.get(place)) for place, test in _judged(earlier, level, ALPHA)], left_out
