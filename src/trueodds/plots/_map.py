"""Drawing a calibration map with the data that it was learned from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueodds.exceptions import InputError
from trueodds.inputs import (
    Floats,
    InputScale,
    check_flag,
    check_instance,
    validate_scores,
)
from trueodds.maps import CalibrationMap, CharcoalGrillMap, StepMap
from trueodds.metrics import reliability_curve
from trueodds.numerics.log_odds import sigmoid
from trueodds.plots._look import (
    NEUTRAL,
    Picture,
    axes_or_new,
    color_of,
    fitted_map,
)
from trueodds.table import ScoreTable

__all__ = ["CalibrationMapDisplay"]

POINTS = 501
DEFAULT_RANGE = 6.0
"""Log-odds shown if there are no scores: the interval on which charcoal maps are checked."""
HALF = 0.5
"""Axes of probabilities that all lie below this end where they end."""
AXIS_WORDS = {"probability": "uncalibrated probability", "logit": "log-odds", "raw": "score"}


@dataclass(eq=False)
class CalibrationMapDisplay(Picture):
    """A map as a curve, with a band if its method has one, and the frequencies in the data.

    Make one with :meth:`from_map` or :meth:`from_calibrator`, then call :meth:`plot`.

    Attributes
    ----------
    x, y : ndarray
        Scores on a grid, and what the map makes of them.
    scale : {"probability", "logit", "raw"}
    low, high : ndarray or None
        The band of the method, of level ``level``.
    data_x, data_y : ndarray or None
        Mean score and frequency of positives in bins of equal mass.
    rug : ndarray or None
        Up to 400 scores, evenly by rank.
    temperature : ndarray or None
        Temperature that acts on each score, for maps that have such a field.
    name : str or None
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on last.

    Examples
    --------
    >>> from trueodds.maps import LogOddsMap
    >>> from trueodds.plots import CalibrationMapDisplay
    >>> display = CalibrationMapDisplay.from_map(LogOddsMap(a=0.5, b=0.5, c=0.0))
    >>> display.scale, display.low is None
    ('probability', True)
    """

    x: Floats
    y: Floats
    scale: InputScale = "probability"
    low: Floats | None = None
    high: Floats | None = None
    level: float | None = None
    data_x: Floats | None = None
    data_y: Floats | None = None
    rug: Floats | None = None
    temperature: Floats | None = None
    name: str | None = None
    ax_: Any = None
    figure_: Any = None

    @classmethod
    def from_map(
        cls,
        calibration_map: CalibrationMap,
        *,
        scores: Any = None,
        y: Any = None,
        n_bins: int = 20,
        name: str | None = None,
    ) -> CalibrationMapDisplay:
        """Compute the curve of a binary map.

        Parameters
        ----------
        calibration_map : CalibrationMap
            A map of two classes.
        scores, y : array-like of shape (n,), default=None
            The data to show with it.
        n_bins : int, default=20
            Number of points that summarize the data.
        name : str, default=None

        Examples
        --------
        >>> from trueodds.maps import StepMap
        >>> from trueodds.plots import CalibrationMapDisplay
        >>> display = CalibrationMapDisplay.from_map(StepMap(edges=[0.5], values=[0.2, 0.7]))
        >>> display.y[[0, -1]]
        array([0.2, 0.7])
        """
        check_instance(calibration_map, CalibrationMap, "calibration_map")
        if calibration_map.n_classes not in (2, None):
            raise InputError("a map of two classes can be drawn; draw one of its classes' maps.")
        scale = calibration_map.scale
        numbers = None if scores is None else validate_scores(scores, scale, n_columns=1)
        x = _grid(scale, numbers, calibration_map)
        display = cls(x=x, y=calibration_map(x), scale=scale, name=name)
        if isinstance(calibration_map, CharcoalGrillMap):
            display.temperature = calibration_map.temperature(x)
        if numbers is not None:
            display._add_data(numbers, y, n_bins)
        return display

    @classmethod
    def from_calibrator(
        cls,
        calibrator: Any,
        *,
        scores: Any = None,
        y: Any = None,
        n_bins: int = 20,
        level: float | None = 0.9,
        name: str | None = None,
    ) -> CalibrationMapDisplay:
        """The same for a fitted calibrator, with its intervals; without if ``level`` is None."""
        learned = fitted_map(calibrator)
        if name is None:
            name = type(calibrator).__name__.removesuffix("Calibrator")
        display = cls.from_map(learned, scores=scores, y=y, n_bins=n_bins, name=name)
        if level is not None and hasattr(calibrator, "predict_interval"):
            ends = calibrator.predict_interval(display.x, level=level)
            display.low, display.high = _two_ends(ends)
            display.level = level
        return display

    def _add_data(self, scores: Floats, y: Any, n_bins: int) -> None:
        finite = np.sort(scores[np.isfinite(scores)])
        shown = np.unique(np.linspace(0, len(finite) - 1, 400).astype(np.intp))
        self.rug = finite[shown]
        if y is None:
            return
        if self.scale == "probability":
            curve = reliability_curve(y, scores, n_bins=n_bins, band=None)
            self.data_x, self.data_y = curve.prob_pred, curve.prob_true
            return
        table = ScoreTable.from_arrays(scores, y).coarsen(max(3, n_bins))
        inner = np.isfinite(table.score)
        self.data_x = table.score[inner]
        self.data_y = (table.n_pos / table.weight)[inner]

    def plot(self, ax: Any = None, *, legend: bool = True) -> CalibrationMapDisplay:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            By default those of a new figure.
        legend : bool, default=True

        Returns
        -------
        self
        """
        check_flag(legend, "legend")
        ax = axes_or_new(ax, (5.0, 5.2))
        unchanged = self.x if self.scale == "probability" else sigmoid(self.x)
        if self.scale != "raw":
            ax.plot(self.x, unchanged, color=NEUTRAL, lw=1, ls=(0, (4, 3)), label="no change")
        if self.low is not None:
            words = f"{100 * float(self.level or 0):g}% band of the calibrated probability"
            ax.fill_between(
                self.x, self.low, self.high, color=color_of(0), alpha=0.3, lw=0, label=words
            )
        top = self._top(unchanged)
        ax.plot(self.x, self.y, color=color_of(0), lw=1.8, label=self.name or "calibration map")
        if self.data_x is not None:
            words = "frequency of positives, in bins of equal mass"
            ax.plot(self.data_x, self.data_y, "o", color=color_of(3), ms=4, mfc="none", label=words)
        if self.rug is not None:
            ax.plot(
                self.rug,
                np.full(len(self.rug), -0.03 * top),
                "|",
                color=NEUTRAL,
                ms=5,
                alpha=0.6,
                label="scores",
            )
        ax.set(xlabel=AXIS_WORDS[self.scale], ylabel="calibrated probability")
        ax.set_ylim(-0.06 * top, 1.03 * top)
        if self.temperature is not None:
            field = ax.twinx()
            field.plot(self.x, self.temperature, color=color_of(2), lw=1.2, ls="-.")
            field.set_ylabel("temperature", color=color_of(2))
            ax.plot([], [], color=color_of(2), lw=1.2, ls="-.", label="temperature (right)")
        if legend:
            ax.legend(
                loc="lower left",
                bbox_to_anchor=(0.0, 1.0),
                borderaxespad=0.2,
                frameon=False,
                fontsize="small",
            )
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _top(self, unchanged: Floats) -> float:
        """The upper end: 1, or of rare positives the largest probability that is drawn."""
        drawn = [self.y, *([] if self.scale == "raw" else [unchanged])]
        drawn += [part for part in (self.high, self.data_y) if part is not None]
        top = max(float(np.max(part)) for part in drawn)
        return 1.0 if top > HALF or not top > 0 else top


def _grid(scale: InputScale, scores: Floats | None, drawn: CalibrationMap) -> Floats:
    """An even grid as far as the data go.

    It has both sides of each of the map's steps, so that these are upright.
    """
    low, high = (0.0, 1.0) if scale == "probability" else (-DEFAULT_RANGE, DEFAULT_RANGE)
    finite = np.empty(0) if scores is None else scores[np.isfinite(scores)]
    if len(finite) and scale != "probability":
        low, high = float(finite.min()), float(finite.max())
    elif len(finite) and 0 < finite.max() < HALF:
        high = float(finite.max())
    grid = np.linspace(low, high, POINTS)
    if isinstance(drawn, StepMap) and len(drawn.edges) <= 20 * POINTS:
        inside = drawn.edges[(drawn.edges > low) & (drawn.edges < high)]
        grid = np.unique(np.concatenate([grid, inside, np.nextafter(inside, -np.inf)]))
    return grid


def _two_ends(ends: Any) -> tuple[Floats, Floats]:
    """Low and high, from a pair of arrays or from an array of shape (n, 2)."""
    if isinstance(ends, tuple):
        return np.asarray(ends[0]), np.asarray(ends[1])
    array = np.asarray(ends)
    return array[:, 0], array[:, 1]
