"""The result of a validation, as one table for a paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueodds.basics.optional import require
from trueodds.basics.wording import p_text
from trueodds.inputs import check_integer
from trueodds.metrics._calibration_test import CalibrationTest
from trueodds.metrics._interval_result import MetricInterval

__all__ = ["ValidationTable"]

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


@dataclass(frozen=True, eq=False)
class ValidationTable:
    """The result of :func:`validation_table`.

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
        Of the intervals.
    notes : tuple of str
        Why a figure has no value.

    Examples
    --------
    >>> from trueodds.metrics import validation_table
    >>> y, p = [0, 1, 0, 1, 1, 0] * 10, [0.2, 0.9, 0.4, 0.6, 0.7, 0.3] * 10
    >>> table = validation_table(y, p, n_resamples=20, random_state=0)
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
        }

    def to_frame(self) -> Any:
        """:meth:`rows` as a pandas frame."""
        return require("pandas", "a frame of results", "pandas").DataFrame(self.rows())

    def to_markdown(self, digits: int = 3) -> str:
        """The table in Markdown."""
        header, cells = self._cells(digits)
        lines = [f"| {' | '.join(row)} |" for row in [header, *cells]]
        return "\n".join([lines[0], "|---|---|---|", *lines[1:]])

    def to_latex(self, digits: int = 3) -> str:
        """The table in LaTeX, for the package booktabs."""
        header, cells = self._cells(digits)
        rows = [" & ".join(row).replace("%", r"\%") for row in [header, *cells]]
        body = "".join(f"{row.replace('−', '$-$')} \\\\\n" for row in rows[1:])
        return (
            "\\begin{tabular}{lrr}\n\\toprule\n"
            f"{rows[0]} \\\\\n\\midrule\n{body}\\bottomrule\n\\end{{tabular}}"
        )

    def _cells(self, digits: int) -> tuple[list[str], list[list[str]]]:
        digits = check_integer(digits, "digits", 0, most=MOST_DIGITS)
        header = ["Measure", "Estimate", f"{100 * self.level:g}% interval"]
        cells = [["Rows (with event)", f"{self.n} ({self.events})", ""]]
        for row in self.rows():
            ends = f"{_text(row['low'], digits)} to {_text(row['high'], digits)}"
            shown = np.isfinite(row["low"]) and np.isfinite(row["high"])
            cells.append([row["title"], _text(row["estimate"], digits), ends if shown else "–"])
        return header, cells

    def __str__(self) -> str:
        """A table for reading, with the notes beneath."""
        header, cells = self._cells(3)
        widths = [max(len(row[i]) for row in [header, *cells]) for i in range(3)]
        lines = [
            f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}".rstrip()
            for row in [header, *cells]
        ]
        tests = (
            f"Cox's test: {p_text(self.cox_test.p_value)}; Hosmer–Lemeshow: "
            f"{p_text(self.hosmer_lemeshow.p_value)}."
        )
        return "\n".join([*lines, tests, *self.notes])


MOST_DIGITS = 17
"""Float64 has no more."""


def _text(value: float, digits: int) -> str:
    if np.isnan(value):
        return "–"
    return "∞" if np.isinf(value) else f"{value:.{digits}f}".replace("-", "−")


def _test(test: CalibrationTest) -> dict[str, Any]:
    defined = np.isfinite(test.p_value)
    return {**test.to_dict(), "p_value": test.p_value if defined else None}
