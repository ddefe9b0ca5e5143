"""The figures that a paper on a prediction model reports, each with its interval."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueodds.basics.tables import Tabular
from trueodds.basics.wording import NOTHING, aligned_table, decimal_text, p_text
from trueodds.exceptions import InputError
from trueodds.inputs import Labels, check_integer, check_level
from trueodds.metrics._curve_errors import curve_error_intervals
from trueodds.metrics._curves import Smoother, read_options
from trueodds.metrics._estimates import (
    MetricInterval,
    few_events,
    measure,
    undefined,
    warn_if_few,
)
from trueodds.metrics._groups import read_grouped
from trueodds.metrics._intervals import read_clustered
from trueodds.metrics._losses import brier_score, c_statistic, scaled_brier_score
from trueodds.metrics._recalibration import (
    calibration_intercept,
    calibration_slope,
    observed_expected_ratio,
)
from trueodds.metrics._resampling import Units
from trueodds.metrics._sample import Forecasts, read_two_classes
from trueodds.metrics._tests import CalibrationTest, calibration_test
from trueodds.numerics.local_regression import Kernel

__all__ = ["GroupValidation", "ValidationReport", "validation_report"]

TITLES = {
    "observed_expected": "O:E ratio",
    "intercept": "Calibration intercept",
    "slope": "Calibration slope",
    "ici": "ICI",
    "e50": "E50",
    "e90": "E90",
    "emax": "Emax",
    "eci": "ECI",
    "c_statistic": "C statistic",
    "brier_score": "Brier score",
    "scaled_brier": "Scaled Brier score",
}


FIGURES_OF_GROUPS = {
    "observed_expected": "O:E",
    "intercept": "Intercept",
    "slope": "Slope",
    "ici": "ICI",
    "c_statistic": "C",
}


@dataclass(frozen=True, eq=False)
class GroupValidation:
    """The figures of one group of rows in :func:`validation_report`.

    Attributes
    ----------
    column, value : str
        What the group is called: ``column`` has this ``value``.
    n, events : int
        Rows of positive weight, and those of them with the event.
    observed_expected, intercept, slope, ici, c_statistic : MetricInterval
        As in :class:`ValidationReport`. All but O:E are NaN with fewer than ten events or
        non-events.

    Examples
    --------
    >>> from trueodds.metrics import validation_report
    >>> y, p = [0, 1, 0, 1, 1, 0] * 20, [0.2, 0.9, 0.4, 0.6, 0.7, 0.3] * 20
    >>> ward = ["a"] * 60 + ["b"] * 60
    >>> table = validation_report(y, p, groups={"ward": ward}, n_resamples=20)
    >>> [(group.value, round(group.observed_expected.estimate, 2)) for group in table.groups]
    [('a', 0.97), ('b', 0.97)]
    """

    column: str
    value: str
    n: int
    events: int
    observed_expected: MetricInterval
    intercept: MetricInterval
    slope: MetricInterval
    ici: MetricInterval
    c_statistic: MetricInterval

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; None for what has no finite value."""
        figures = {name: getattr(self, name).to_dict() for name in FIGURES_OF_GROUPS}
        own = {"column": self.column, "value": self.value, "n": self.n, "events": self.events}
        return {**own, **figures}


@dataclass(frozen=True, eq=False)
class ValidationReport(Tabular):
    """The result of :func:`validation_report`.

    Attributes
    ----------
    n, events : int
        Rows of positive weight, and those of them with the event.
    observed_expected, intercept, slope : MetricInterval
        Calibration on average and of the spread; 1, 0 and 1 are best.
    ici, e50, e90, emax, eci : MetricInterval
        Distances between a flexible curve and the diagonal; ECI is the scaled one.
    c_statistic, brier_score, scaled_brier : MetricInterval
    cox_test, hosmer_lemeshow : CalibrationTest
    curve : {"loess", "splines"}
    level : float
        Confidence level of the intervals.
    notes : tuple of str
        Why a figure has no value.
    groups : tuple of GroupValidation
        Some of these figures for each group.

    Examples
    --------
    >>> from trueodds.metrics import validation_report
    >>> y, p = [0, 1, 0, 1, 1, 0] * 10, [0.2, 0.9, 0.4, 0.6, 0.7, 0.3] * 10
    >>> table = validation_report(y, p, n_resamples=20, random_state=0)
    >>> round(table.rows()[0]["estimate"], 4)
    0.9677
    """

    n: int
    events: int
    observed_expected: MetricInterval
    intercept: MetricInterval
    slope: MetricInterval
    ici: MetricInterval
    e50: MetricInterval
    e90: MetricInterval
    emax: MetricInterval
    eci: MetricInterval
    c_statistic: MetricInterval
    brier_score: MetricInterval
    scaled_brier: MetricInterval
    cox_test: CalibrationTest
    hosmer_lemeshow: CalibrationTest
    curve: str
    level: float
    notes: tuple[str, ...]
    groups: tuple[GroupValidation, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """One plain dict for each figure, with ``title``, ``estimate``, ``low`` and ``high``."""
        found = []
        for name, title in TITLES.items():
            figure: MetricInterval = getattr(self, name)
            ends = {"estimate": figure.estimate, "low": figure.low, "high": figure.high}
            found.append({"figure": name, "title": title, **ends, "method": figure.method})
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; None for what has no finite value."""
        return {
            "n": self.n,
            "events": self.events,
            "level": self.level,
            "curve": self.curve,
            **{name: getattr(self, name).to_dict() for name in TITLES},
            "cox_test": _test(self.cox_test),
            "hosmer_lemeshow": _test(self.hosmer_lemeshow),
            "notes": list(self.notes),
            "groups": [group.to_dict() for group in self.groups],
        }

    def _printed(self, digits: int) -> list[tuple[list[str], list[list[str]]]]:
        """Header and rows of the whole, and those of the groups if there are any."""
        whole = self._table_rows(digits)
        return [whole, self.group_table(digits)] if self.groups else [whole]

    def group_table(self, digits: int = 3) -> tuple[list[str], list[list[str]]]:
        """The header and the rows of a table of the groups: estimates with their intervals."""
        header = ["Group", "Rows (with event)", *FIGURES_OF_GROUPS.values()]
        return header, [
            [
                f"{group.column} = {group.value}",
                f"{group.n} ({group.events})",
                *(_with_interval(getattr(group, name), digits) for name in FIGURES_OF_GROUPS),
            ]
            for group in self.groups
        ]

    def _table_rows(self, digits: int) -> tuple[list[str], list[list[str]]]:
        digits = check_integer(digits, "digits", 0, most=MOST_DIGITS)
        header = ["Measure", "Estimate", f"{100 * self.level:g}% interval"]
        cells = [["Rows (with event)", f"{self.n} ({self.events})", ""]]
        for row in self.rows():
            figure = getattr(self, row["figure"])
            value = decimal_text(figure.estimate, digits)
            cells.append([row["title"], value, _ends(figure, digits)])
        return header, cells

    def __str__(self) -> str:
        """A table for reading, with the notes beneath."""
        whole, *groups = (aligned_table(*table) for table in self._printed(3))
        tests = (
            f"Cox's test: {p_text(self.cox_test.p_value)}; Hosmer–Lemeshow: "
            f"{p_text(self.hosmer_lemeshow.p_value)}."
        )
        return "\n".join([whole, tests, *self.notes, *groups])


MOST_DIGITS = 17
"""Float64 has no more."""


def _ends(figure: MetricInterval, digits: int) -> str:
    if not (np.isfinite(figure.low) and np.isfinite(figure.high)):
        return NOTHING
    return f"{decimal_text(figure.low, digits)} to {decimal_text(figure.high, digits)}"


def _with_interval(figure: MetricInterval, digits: int) -> str:
    if not np.isfinite(figure.estimate):
        return NOTHING
    ends = _ends(figure, digits)
    value = decimal_text(figure.estimate, digits)
    return value if ends == NOTHING else f"{value} ({ends})"


def _test(test: CalibrationTest) -> dict[str, Any]:
    defined = np.isfinite(test.p_value)
    return {**test.to_dict(), "p_value": test.p_value if defined else None}


METRICS: dict[str, Any] = {
    "observed_expected": observed_expected_ratio,
    "intercept": calibration_intercept,
    "slope": calibration_slope,
    "c_statistic": c_statistic,
    "brier_score": brier_score,
    "scaled_brier": scaled_brier_score,
}


def validation_report(
    y_true: Any,
    y_prob: Any,
    *,
    level: float = 0.9,
    curve: Smoother = "loess",
    span: float = 0.75,
    kernel: Kernel = "epanechnikov",
    n_knots: int = 5,
    n_bins: int = 10,
    n_resamples: int = 1000,
    sample_weight: Any = None,
    counts: Any = None,
    groups: Any = None,
    clusters: Any = None,
    classes: Any = None,
    random_state: Any = 0,
) -> ValidationReport:
    """Validate a prediction model on new rows: calibration, discrimination, overall accuracy.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels of two classes.
    y_prob : array-like of shape (n,) or (n, 2)
        Probabilities that the model gave to rows that it was not made from.
    level : float, default=0.9
        Level of all intervals.
    curve, span, kernel, n_knots
        The flexible curve of ICI, E50, E90, Emax and ECI, as in
        :func:`curve_errors`.
    n_bins : int, default=10
        Groups of Hosmer and Lemeshow's test.
    n_resamples : int, default=1000
        Bootstrap samples for ICI and ECI; the other figures need none.
    sample_weight : array-like of shape (n,), default=None
        Importance of each row, which stays one observation; a common factor changes nothing.
    counts : array-like of shape (n,), default=None
        How often each row occurred.
    groups : array-like of shape (n,), dict of str to array-like, or data frame, default=None
        Groups of rows, such as sex, hospital or age. Each value has its own O:E, intercept, slope,
        ICI and C statistic; numbers with more than ten values are cut into five bands.
    clusters : array-like of shape (n,), default=None
        Rows that belong together (one patient, one hospital) count as one observation in every
        interval.
    classes : array-like, default=None
        Both labels, the event last, if one may be absent.
    random_state : int or Generator, default=0

    Returns
    -------
    ValidationReport

    Notes
    -----
    Intervals are those of :func:`confidence_interval`: standard errors of means and ratios with a
    correction for skewness (O:E, intercept, Brier scores), DeLong's on the scale of log-odds (C
    statistic), Wald's (slope). Chance adds to ICI, E50, E90, Emax and ECI. The intervals of ICI and
    ECI hold every size of the error for which the estimate is not unusual; 0 is included unless the
    estimate is more than chance. E50, E90 and Emax have no interval. A figure that has no finite
    value is NaN, and ``notes`` gives the reason.

    References
    ----------
    Van Calster et al. (2019), Calibration: the Achilles heel of predictive analytics.
    Collins et al. (2024), TRIPOD+AI statement.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.metrics import validation_report
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=2000)
    >>> y = rng.random(2000) < 1 / (1 + np.exp(-z))
    >>> table = validation_report(y, 1 / (1 + np.exp(-2 * z)), n_resamples=50)
    >>> table.slope.low < 0.5 < table.slope.high
    True
    """
    level = check_level(level)
    n_bins = check_integer(n_bins, "n_bins", 2)
    n_resamples = check_integer(n_resamples, "n_resamples", 20)
    options = read_options(curve, span, kernel, n_knots)
    read_two_classes(y_true, y_prob, sample_weight, counts, classes)
    view, cluster = read_clustered(y_true, y_prob, sample_weight, counts, clusters, classes)
    Units.of(view, cluster)  # refuses fewer than two
    few = warn_if_few(view)
    notes: list[str] = [] if few is None else [few]

    def curve_errors_of(part: Forecasts, own: Labels | None) -> dict[str, MetricInterval]:
        drawn: dict[str, Any] = {"n_resamples": n_resamples, "random_state": random_state}
        return curve_error_intervals(part, options, level, cluster=own, **drawn)

    given = y_true, y_prob, sample_weight, counts, classes
    rows: dict[str, Any] = {"sample_weight": view.weight, "classes": [False, True]}
    return ValidationReport(
        n=view.n_rows,
        events=view.take(view.hit).n_rows,
        cox_test=_cox(view, rows, notes),
        hosmer_lemeshow=calibration_test(
            view.hit, view.prob, method="hosmer_lemeshow", n_bins=n_bins, **rows
        ),
        curve=options.method,
        level=level,
        groups=_groups(groups, given, clusters, level, curve_errors_of),
        **_measured(view, METRICS, level, cluster, notes),
        **curve_errors_of(view, cluster),
        notes=tuple(notes),
    )


def _groups(
    groups: Any,
    rows: tuple[Any, ...],
    clusters: Any,
    level: float,
    curve_errors_of: Callable[[Forecasts, Labels | None], dict[str, MetricInterval]],
) -> tuple[GroupValidation, ...]:
    """The figures of each group, which are measured as those of all rows."""
    if groups is None:
        return ()
    y_true, y_prob, sample_weight, counts, classes = rows
    view, columns, kept, _ = read_grouped(y_true, y_prob, groups, sample_weight, counts, classes)
    belongs = None if clusters is None else np.asarray(clusters)[kept]
    found = []
    for column in columns:
        codes = column.codes[kept]
        for code in np.flatnonzero(np.bincount(codes, minlength=len(column))):
            own = np.flatnonzero(codes == code)
            part = view.take(own)
            rows = part.hit, part.prob, part.weight, None
            same = None if belongs is None else belongs[own]
            # Importances are scaled again.
            part, cluster = read_clustered(*rows, same, [False, True])
            events = part.take(part.hit).n_rows
            figures = dict.fromkeys(FIGURES_OF_GROUPS, undefined(level, "wald"))
            names = ["observed_expected"]
            if few_events(part) is None:
                names = [name for name in FIGURES_OF_GROUPS if name != "ici"]
                figures["ici"] = curve_errors_of(part, cluster)["ici"]
            figures |= _measured(part, names, level, cluster, [])
            name = column.names[code]
            found.append(GroupValidation(column.name, name, part.n_rows, events, **figures))
    return tuple(found)


def _measured(
    view: Forecasts,
    names: Iterable[str],
    level: float,
    cluster: Labels | None,
    notes: list[str],
) -> dict[str, MetricInterval]:
    """Figures whose intervals need no resamples."""
    found = {}
    for name in names:
        try:
            interval = measure(METRICS[name], view, level, cluster)
        except InputError as error:
            notes.append(f"{name}: {error}")
            interval = undefined(level, "wald")
        if name == "c_statistic" and interval is not None and not np.isfinite(interval.estimate):
            notes.append("c_statistic: there is one class only, so nothing can be ranked.")
        found[name] = undefined(level) if interval is None else interval
    return found


def _cox(view: Forecasts, rows: dict[str, Any], notes: list[str]) -> CalibrationTest:
    try:
        return calibration_test(view.hit, view.prob, method="cox", **rows)
    except InputError as error:
        notes.append(f"cox_test: {error}")
        return CalibrationTest(np.nan, np.nan, "cox", 2.0)
