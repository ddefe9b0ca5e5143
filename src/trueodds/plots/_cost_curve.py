"""Drawing cost curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueodds.decisions import CostCurve, cost_curve
from trueodds.exceptions import InputError
from trueodds.inputs import check_flag
from trueodds.plots._look import LANDSCAPE, NEUTRAL, Picture, axes_or_new, color_of, line_of

__all__ = ["CostCurveDisplay"]

MARGIN = 3.0
"""How far beyond the thresholds of interest the picture reaches, as a factor."""


class CostCurveDisplay(Picture):
    """Mean cost against the threshold from which one acts, for one model or several.

    A dashed line marks the threshold that is best for calibrated probabilities, a dot the one that
    was cheapest on these rows. If they lie far apart, calibrate. Make one with
    :meth:`from_predictions` or from curves that were computed before, then call :meth:`plot`.

    Parameters
    ----------
    curves : CostCurve, or dict of str to CostCurve

    Attributes
    ----------
    curves : dict of str to CostCurve
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on last.

    Examples
    --------
    >>> from trueodds.plots import CostCurveDisplay
    >>> y, p = [0, 0, 1], [0.1, 0.4, 0.3]
    >>> display = CostCurveDisplay.from_predictions(y, p, cost_fp=1, cost_fn=3)
    >>> display.curves["model"].theoretical_threshold
    0.25
    """

    def __init__(self, curves: CostCurve | Mapping[str, CostCurve]) -> None:
        named = dict(curves) if isinstance(curves, Mapping) else {"model": curves}
        if not named or not all(isinstance(curve, CostCurve) for curve in named.values()):
            raise InputError("curves must be a CostCurve, or a dict of names to CostCurve.")
        self.curves = named
        self.ax_: Any = None
        self.figure_: Any = None

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_prob: Any, *, ax: Any = None, **options: Any
    ) -> CostCurveDisplay:
        """Compute the curves of one model, or of several if ``y_prob`` is a dict of names.

        Parameters
        ----------
        y_true : array-like of shape (n,)
        y_prob : array-like, or dict of str to array-like
        ax : matplotlib Axes, default=None
            Draw on these at once; without it, when :meth:`plot` is called.
        **options
            Options of :func:`trueodds.decisions.cost_curve`.

        Returns
        -------
        CostCurveDisplay
        """
        models = y_prob if isinstance(y_prob, Mapping) else {"model": y_prob}
        display = cls({str(name): cost_curve(y_true, p, **options) for name, p in models.items()})
        return display if ax is None else display.plot(ax)

    def plot(self, ax: Any = None, *, legend: bool = True) -> CostCurveDisplay:
        """Draw all models in one picture.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            By default those of a new figure in landscape.
        legend : bool, default=True
            Whether to name the models and the lines.

        Returns
        -------
        self
        """
        check_flag(legend, "legend")
        ax = axes_or_new(ax, LANDSCAPE)
        end = min(1.0, MARGIN * max(_furthest(curve) for curve in self.curves.values()))
        highest = 0.0
        for index, (name, curve) in enumerate(self.curves.items()):
            x, y = _steps(curve, end)
            look = {"color": color_of(index), "zorder": 3}
            ax.step(x, y, where="pre", ls=line_of(index), lw=1.8, label=name, **look)
            best = min(curve.empirical_threshold, end)
            ax.plot(best, curve.empirical_cost, "o", ms=6, clip_on=False, **look)
            highest = max(highest, float(y.max()))
        optimal = next(iter(self.curves.values())).theoretical_threshold
        words = f"best if calibrated: {optimal:.3g}"
        ax.axvline(optimal, color=NEUTRAL, lw=1.4, ls="--", zorder=2, label=words)
        ax.set(
            xlabel="act from this probability up",
            ylabel="mean cost per row",
            xlim=(0, end),
            ylim=(0, 1.05 * highest or 1.0),
        )
        if not ax.get_title():
            ax.set_title("Cost by threshold; a dot marks the cheapest")
        if legend:
            ax.legend(frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _furthest(curve: CostCurve) -> float:
    """The greater of the two thresholds that matter; never to act has none."""
    known = [curve.theoretical_threshold, curve.empirical_threshold]
    return max([t for t in known if 0 < t <= 1], default=1.0)


def _steps(curve: CostCurve, end: float) -> tuple[Any, Any]:
    """Thresholds and costs up to ``end``: acting from t up costs what the next threshold does."""
    inside = curve.threshold <= end
    beyond = int(np.count_nonzero(inside))
    last = curve.cost[min(beyond, len(curve.cost) - 1)]
    return np.append(curve.threshold[inside], end), np.append(curve.cost[inside], last)
