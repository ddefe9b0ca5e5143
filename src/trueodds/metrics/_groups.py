"""Which groups of rows are miscalibrated: one test, with control of false alarms.

The command line, the report and the Python functions all come here, so that they flag the same
groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.basics.shown import shown
from trueodds.exceptions import InputError
from trueodds.inputs import (
    Band,
    Floats,
    GroupColumn,
    as_dense,
    band_ends,
    check_instance,
    check_level,
    group_columns,
    read_groups,
)
from trueodds.metrics._evaluation import check_probabilities, table_estimates
from trueodds.metrics._exact_test import exact_test, wilson
from trueodds.metrics._finding import ALPHA
from trueodds.metrics._sample import Forecasts, finite_or_none, read_kept, top_label
from trueodds.stats import holm_adjust
from trueodds.table import ScoreTable

__all__ = [
    "GroupCounts",
    "GroupTest",
    "evaluate_groups",
    "group_counts",
    "group_test",
    "groups_before_and_after",
    "judge_groups",
    "read_grouped",
]

MAX_VALUES = 100
"""Most frequent values of a column that are tested."""


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
    worst_between : tuple of float or None
        The bin of probabilities where it shows most; None if that is the group as a whole.
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
    worst_between: tuple[float, float] | None
    p_value: float
    p_adjusted: float | None = None
    too_small: bool = False
    flagged: bool = False
    band: Band | None = None

    @property
    def gap(self) -> float:
        """Mean probability less frequency: above 0 if the probabilities are too high."""
        return self.predicted - self.observed

    @property
    def gap_at_least(self) -> float:
        """How far the mean probability is outside the interval of the frequency."""
        return max(0.0, self.observed_low - self.predicted, self.predicted - self.observed_high)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        between = None if self.worst_between is None else list(self.worst_between)
        gaps = {"gap": self.gap, "gap_at_least": self.gap_at_least}
        return {**asdict(self), "worst_between": between, "band": band_ends(self.band), **gaps}


def group_test(
    y_true: Any,
    y_prob: Any,
    groups: Any,
    *,
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
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
    level : float, default=0.9
        Confidence level of the intervals of the frequency.
    alpha : float, default=0.05
        Chance of any false alarm.

    Returns
    -------
    list of GroupTest
        Flagged groups first, then by how far off a group is at least; those too small last.

    Notes
    -----
    The p-value of a group is that of ``calibration_test(method="exact")``. Groups in which not even
    the most extreme labels could give a small enough p-value are left out of the correction
    (Tarone), and Holm's method corrects for the others. Which groups are too small follows from
    their probabilities alone, so the selection costs nothing.

    References
    ----------
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
    view, columns, kept = read_grouped(y_true, y_prob, groups, sample_weight, counts, classes)
    found = [
        group for column in columns for group in group_counts(column, column.codes[kept], view)
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
    tests, least = [], []
    for group in groups:
        check_instance(group, GroupCounts, "a group")
        check_probabilities(group.table, "a group")
        test, smallest = _test(group, level)
        tests.append(test)
        least.append(smallest)
    testable = _testable(np.array(least), alpha)
    adjusted = np.full(len(tests), np.nan)
    if testable.any():
        p_values = np.array([test.p_value for test in tests])
        adjusted[testable] = holm_adjust(p_values[testable])
    judged = [
        replace(
            test,
            p_adjusted=float(p) if can else None,
            too_small=not can,
            # What had probability 0 and happened is proof, in a group of any size.
            flagged=bool(can and p < alpha) or test.p_value == 0,
        )
        for test, p, can in zip(tests, adjusted, testable.tolist(), strict=True)
    ]
    return sorted(enumerate(judged), key=lambda placed: _badness(placed[1]))


def _badness(group: GroupTest) -> tuple[Any, ...]:
    p = 1.0 if group.p_adjusted is None else group.p_adjusted
    size = -group.gap_at_least
    return (not group.flagged, group.too_small, size, p, group.column, group.value)


def _testable(least: Floats, alpha: float) -> npt.NDArray[np.bool_]:
    """Tarone's set: the groups that could be flagged if corrected for those that could be."""
    for number in range(1, len(least) + 1):
        can = least <= alpha / number
        if can.sum() <= number:
            return np.asarray(can)
    return np.ones(len(least), dtype=bool)


def _test(group: GroupCounts, level: float) -> tuple[GroupTest, float]:
    table = group.table.scaled()
    found = exact_test(table)
    observed = table.total_pos / table.total
    low, high = wilson(np.array([observed]), np.array([table.effective]), level)
    test = GroupTest(
        column=group.column,
        value=group.value,
        rows=group.rows,
        predicted=float(table.score @ table.weight / table.total),
        observed=observed,
        observed_low=float(low[0]),
        observed_high=float(high[0]),
        worst_between=found.worst_between,
        p_value=found.p_value,
        band=group.band,
    )
    return test, found.least


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
        ``correction``, ``significance``, and ``groups``: one dict for each, in the order of
        :func:`group_test`, with the fields of :class:`GroupTest` and each metric of
        :class:`Evaluation`. Plain JSON values.

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
            squared = estimates["debiased_calibration_error"]
            estimates["debiased_calibration_error"] = float(np.sqrt(max(squared, 0.0)))
            measures.append({name: finite_or_none(value) for name, value in estimates.items()})
            yield group

    judged = _judged(measured(), check_level(level), check_level(alpha, "alpha"))
    entries = [{**test.to_dict(), **measures[place]} for place, test in judged]
    return {"correction": "Holm", "significance": alpha, "groups": entries}


def _each(groups: Iterable[GroupCounts]) -> Iterable[GroupCounts]:
    try:
        each = iter(groups)
        first = next(each, None)
    except TypeError:  # not iterable, or only in name, as lazy frames are
        raise InputError(
            f"groups must be an iterable of GroupCounts; got {shown(groups)}."
        ) from None
    return each if first is None else chain([first], each)


def read_grouped(
    y_true: Any,
    y_prob: Any,
    groups: Any,
    sample_weight: Any,
    counts: Any,
    classes: Any,
    **options: int,
) -> tuple[Forecasts, list[GroupColumn], npt.NDArray[np.intp]]:
    """The event, the columns of groups, and the row of a column that each observation is of."""
    sample, kept = read_kept(y_true, y_prob, sample_weight, counts, classes)
    n_rows = len(as_dense(y_prob, "y_prob"))
    columns = read_groups(group_columns(groups), n_rows, sample.times(kept, n_rows), **options)
    return top_label(sample), columns, kept


def group_counts(
    column: GroupColumn,
    codes: npt.NDArray[np.intp],
    view: Forecasts,
    wanted: Sequence[int] | npt.NDArray[np.intp] | None = None,
) -> Iterable[GroupCounts]:
    """The table of each group, if ``codes`` are the groups of the rows.

    ``wanted`` are the groups to make, by default all that have rows.
    """
    sizes = np.bincount(codes, minlength=len(column))
    order = np.argsort(codes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)])
    for code in np.flatnonzero(sizes) if wanted is None else wanted:
        own = view.take(order[starts[code] : starts[code + 1]])
        name, band = column.names[code], column.band(code)
        yield GroupCounts(column.name, name, own.n_rows, own.table, band)


def groups_before_and_after(
    columns: Sequence[GroupColumn],
    before: tuple[Forecasts, npt.NDArray[np.intp]],
    after: tuple[Forecasts, npt.NDArray[np.intp]],
    *,
    level: float,
) -> tuple[list[tuple[GroupTest, GroupTest | None]], int]:
    """Test every group before and after calibration.

    Parameters
    ----------
    columns : list of GroupColumn
    before, after : tuple of Forecasts and ndarray
        The rows of either test, and their places in the columns. Those of ``after`` may be fewer.
    level : float
        Confidence level of the intervals of the frequency.

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
        earlier += group_counts(column, own, before[0], tested)
        later += group_counts(column, kept, after[0], tested[again])
    found = {places[place]: test for place, test in _judged(later, level, ALPHA)}
    return [(test, found.get(place)) for place, test in _judged(earlier, level, ALPHA)], left_out
