"""The figures that a paper on a prediction model reports, each with its interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from trueodds.basics.tables import Tabular
from trueodds.basics.wording import NOTHING, aligned_table, decimal_text, p_text
from trueodds.exceptions import InputError
from trueodds.inputs import Weights, as_seed, check_integer, check_level
from trueodds.metrics._curve_errors import CURVE_ERRORS, errors_of_gaps, errors_of_rows
from trueodds.metrics._curves import CurveOptions, FlexibleCurve, Smoother, read_options
from trueodds.metrics._groups import read_grouped
from trueodds.metrics._intervals import MetricInterval, Units, _defined, _interval, read_units
from trueodds.metrics._losses import brier_skill
from trueodds.metrics._recalibration import intercept_model, slope_model
from trueodds.metrics._sample import Forecasts, read_two_classes
from trueodds.metrics._tests import CalibrationTest, calibration_test
from trueodds.numerics.concordance import concordance
from trueodds.numerics.event_ratio import event_ratio
from trueodds.numerics.local_regression import Kernel
from trueodds.numerics.losses import row_losses

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
LEAST_OF_EACH_CLASS = 10
"""With fewer events or non-events, a group has only O:E: other intervals would not hold."""


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
    >>> table.rows()[0]["estimate"]
    0.9677419354838712
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


RESAMPLED = ("brier_score", "scaled_brier", *CURVE_ERRORS)
NO_REPLICATES = np.empty(0)


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
    n_resamples: int = 500,
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
    n_resamples : int, default=500
        Bootstrap samples for the figures that have no formula.
    sample_weight : array-like of shape (n,), default=None
        Importance of each row, which stays one observation; a common factor changes nothing.
    counts : array-like of shape (n,), default=None
        How often each row occurred.
    groups : array-like of shape (n,), dict of str to array-like, or data frame, default=None
        Groups of rows, such as sex, hospital or age. Each value has its own O:E, intercept, slope,
        ICI and C statistic; numbers with more than ten values are cut into five bands.
    clusters : array-like of shape (n,), default=None
        Rows that belong together (one patient, one hospital) are drawn together in the bootstrap;
        the intervals by formula ignore them.
    classes : array-like, default=None
        Both labels, the event last, if one may be absent.
    random_state : int or Generator, default=0

    Returns
    -------
    ValidationReport

    Notes
    -----
    Intervals: O:E by the normal distribution of its logarithm, with the variance (1 − f)/events;
    intercept and slope by maximum likelihood (Wald); the C statistic by DeLong's variance; all
    others by the bootstrap (BCa). ICI and its kin are above 0 by chance alone, and their intervals
    lie rather too high for models that are nearly calibrated. A figure that has no finite value is
    NaN, and ``notes`` gives the reason.

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
    view = read_two_classes(y_true, y_prob, sample_weight, counts, classes)
    units = read_units(y_true, y_prob, sample_weight, counts, clusters, classes)[1]
    notes: list[str] = []
    wald = _wald(view, level, notes)

    def resampled(part: Forecasts, units: Units) -> dict[str, MetricInterval]:
        return _resampled(part, units, options, level, n_resamples, random_state)

    given = y_true, y_prob, sample_weight, counts, classes
    rows: dict[str, Any] = {"sample_weight": view.weight, "classes": [False, True]}
    return ValidationReport(
        n=view.n_rows,
        events=view.take(view.hit).n_rows,
        observed_expected=_observed_expected(view, level),
        intercept=wald["intercept"],
        slope=wald["slope"],
        c_statistic=_delong(view, level, notes),
        cox_test=_cox(view, rows, notes),
        hosmer_lemeshow=calibration_test(
            view.hit, view.prob, method="hosmer_lemeshow", n_bins=n_bins, **rows
        ),
        curve=options.method,
        level=level,
        notes=tuple(notes),
        groups=_groups(groups, given, clusters, level, resampled),
        **resampled(view, units),
    )


def _groups(
    groups: Any,
    rows: tuple[Any, ...],
    clusters: Any,
    level: float,
    resampled: Callable[[Forecasts, Units], dict[str, MetricInterval]],
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
            part = read_two_classes(*rows, [False, True])  # importances are scaled again
            events = part.take(part.hit).n_rows
            figures = dict.fromkeys(FIGURES_OF_GROUPS, _undefined(level, "wald"))
            figures["observed_expected"] = _observed_expected(part, level)
            if min(events, part.n_rows - events) >= LEAST_OF_EACH_CLASS:
                same = None if belongs is None else belongs[own]
                units = read_units(*rows, same, [False, True])[1]
                figures |= _wald(part, level, [])
                figures["c_statistic"] = _delong(part, level, [])
                figures["ici"] = resampled(part, units)["ici"]
            name = column.names[code]
            found.append(GroupValidation(column.name, name, part.n_rows, events, **figures))
    return tuple(found)


def _undefined(level: float, method: str) -> MetricInterval:
    return MetricInterval(np.nan, np.nan, np.nan, level, np.nan, method, NO_REPLICATES)


def _observed_expected(view: Forecasts, level: float) -> MetricInterval:
    ratio, low, high, error = event_ratio(view.hit, view.prob, view.weight, level)
    method = "exact" if np.isnan(error) else "log-normal"
    return MetricInterval(ratio, low, high, level, error, method, NO_REPLICATES)


def _wald(view: Forecasts, level: float, notes: list[str]) -> dict[str, MetricInterval]:
    found = {}
    z = float(ndtri((1 + level) / 2))
    for name, model_of, at in (("intercept", intercept_model, 0), ("slope", slope_model, 1)):
        try:
            model = model_of(view)
        except InputError as error:
            notes.append(f"{name}: {error}")
            found[name] = _undefined(level, "wald")
            continue
        value, half = float(model.coef[at]), float(np.sqrt(model.covariance[at, at]))
        found[name] = MetricInterval(
            value, value - z * half, value + z * half, level, half, "wald", NO_REPLICATES
        )
    return found


def _delong(view: Forecasts, level: float, notes: list[str]) -> MetricInterval:
    c = concordance(view.prob, view.hit, view.weight)
    if not np.isfinite(c.estimate):
        notes.append("c_statistic: there is one class only, so nothing can be ranked.")
        return _undefined(level, "delong")
    error = float(np.sqrt(c.variance))
    half = float(ndtri((1 + level) / 2)) * error
    low, high = max(c.estimate - half, 0.0), min(c.estimate + half, 1.0)
    return MetricInterval(c.estimate, low, high, level, error, "delong", NO_REPLICATES)


def _cox(view: Forecasts, rows: dict[str, Any], notes: list[str]) -> CalibrationTest:
    try:
        return calibration_test(view.hit, view.prob, method="cox", **rows)
    except InputError as error:
        notes.append(f"cox_test: {error}")
        return CalibrationTest(np.nan, np.nan, "cox", 2.0)


def _resampled(
    view: Forecasts,
    units: Units,
    options: CurveOptions,
    level: float,
    n_resamples: int,
    random_state: Any,
) -> dict[str, MetricInterval]:
    """The figures without a formula, by one bootstrap of all of them."""
    curve = FlexibleCurve.of(view, options, rough=True)
    square = row_losses("brier_score", view.codes, view.prob)

    def figures(weights: Weights | None) -> list[float]:
        weight = view.row_weight if weights is None else weights.values
        values = curve.values(weight, fine=False)
        total, events = float(weight.sum()), float(weight @ view.hit)
        mass = curve.sums(weight)
        errors = errors_of_gaps(values - curve.prob, curve.prob, mass, events / total)
        brier = float(weight @ square) / total
        skill = brier_skill(brier, events / total)
        return [brier, skill, *(getattr(errors, name) for name in CURVE_ERRORS)]

    rng = np.random.default_rng(as_seed(random_state))
    drawn = np.array([figures(units.bootstrap(rng)) for _ in range(n_resamples)])
    left_out = np.array([figures(w) for w in units.jackknife(rng)])
    brier = view.mean(square)
    exact = {"brier_score": brier, "scaled_brier": brier_skill(brier, view.mean(view.hit))}
    exact |= asdict(errors_of_rows(view, options))
    rough = figures(None)
    found = {}
    for column, name in enumerate(RESAMPLED):
        estimate = exact[name]
        if not np.isfinite(estimate):
            found[name] = _undefined(level, "bca")
            continue
        # Moved by what cells and interpolation change in the estimate itself.
        moved = estimate - rough[column]
        values = _defined(drawn[:, column] + moved)
        low, high = _interval(estimate, values, left_out[:, column] + moved, level, "bca")
        error = float(values.std(ddof=1))
        found[name] = MetricInterval(estimate, low, high, level, error, "bca", values)
    return found
