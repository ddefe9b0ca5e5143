"""Drawing decision curves."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from trueodds.decisions import BenefitCurve, DecisionCurve, decision_curve
from trueodds.exceptions import InputError
from trueodds.inputs import (
    check_choice,
    check_flag,
)
from trueodds.plots._look import NEUTRAL, Picture, axes_or_new, color_of, line_of

__all__ = ["DecisionCurveDisplay"]

LOWEST = -0.05
"""Of the best that can be: lines fall far below 0 where nobody would want them."""


class DecisionCurveDisplay(Picture):
    """Net benefit of models against the threshold, compared with treating all and none.

    Make one with :meth:`from_predictions` or :meth:`from_curve`, then call :meth:`plot`.

    Parameters
    ----------
    curve : DecisionCurve

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on last.

    Examples
    --------
    >>> from trueodds.plots import DecisionCurveDisplay
    >>> y, p = [0, 0, 1, 1], [0.1, 0.6, 0.2, 0.9]
    >>> display = DecisionCurveDisplay.from_predictions(y, {"model": p}, thresholds=[0.1, 0.5])
    >>> display.curve.models["model"].net_benefit.round(3)
    array([0.444, 0.   ])
    """

    def __init__(self, curve: DecisionCurve) -> None:
        if not isinstance(curve, DecisionCurve):
            raise InputError(f"curve must be a DecisionCurve; got {type(curve).__name__}.")
        self.curve = curve
        self.ax_: Any = None
        self.figure_: Any = None

    @classmethod
    def from_curve(cls, curve: DecisionCurve) -> DecisionCurveDisplay:
        """A display of a curve that was computed before."""
        return cls(curve)

    @classmethod
    def from_predictions(cls, y_true: Any, y_prob: Any, **options: Any) -> DecisionCurveDisplay:
        """Compute the curves of one model, or of several if ``y_prob`` is a dict of names.

        Parameters
        ----------
        y_true : array-like of shape (n,)
        y_prob : array-like, or dict of str to array-like
        **options
            Options of :func:`trueodds.decisions.decision_curve`.

        Returns
        -------
        DecisionCurveDisplay
        """
        return cls(decision_curve(y_true, y_prob, **options))

    def plot(
        self,
        ax: Any = None,
        *,
        what: Literal["net_benefit", "avoided"] = "net_benefit",
        band: bool = True,
        legend: bool = True,
    ) -> DecisionCurveDisplay:
        """Draw all models in one picture.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            By default those of a new figure.
        what : {"net_benefit", "avoided"}, default="net_benefit"
            Net benefit; or interventions avoided per 100 rows, against treating all.
        band : bool, default=True
            Draw the intervals of the models.
        legend : bool, default=True

        Returns
        -------
        self
        """
        check_choice(what, ("net_benefit", "avoided"), "what")
        check_flag(legend, "legend")
        check_flag(band, "band")
        ax = axes_or_new(ax, (6.4, 4.4))
        curve, benefit = self.curve, what == "net_benefit"
        x = curve.threshold
        if benefit:
            ax.plot(
                x, curve.treat_all.net_benefit, color=NEUTRAL, lw=1.4, ls="--", label="treat all"
            )
            ax.plot(x, np.zeros(len(x)), color=NEUTRAL, lw=1.4, label="treat none")
        for index, (name, line) in enumerate(curve.models.items()):
            y, low, high = _ends(line, benefit)
            if band:
                ax.fill_between(x, low, high, color=color_of(index), alpha=0.2, lw=0)
            ax.plot(x, y, color=color_of(index), ls=line_of(index), lw=1.8, label=name)
        if benefit:
            best = 1.0 if curve.standardized else curve.prevalence
            highest = max(best, *(float(m.high.max()) for m in curve.models.values()))
            ax.set_ylim(LOWEST * best, 1.03 * highest)
            words = "standardized net benefit" if curve.standardized else "net benefit"
        else:
            lowest = min(float(np.nanmin(m.avoided, initial=0.0)) for m in curve.models.values())
            ax.set_ylim(max(100 * lowest - 5, -50), 105)
            words = "interventions avoided per 100"
        ax.set(xlabel="threshold probability", ylabel=words)
        if legend:
            _legend(ax, curve.level if band else None)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _ends(line: BenefitCurve, benefit: bool) -> tuple[Any, Any, Any]:
    if benefit:
        return line.net_benefit, line.low, line.high
    return 100 * line.avoided, 100 * line.avoided_low, 100 * line.avoided_high


def _legend(ax: Any, level: float | None) -> None:
    handles, labels = ax.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda i: labels[i] in ("treat all", "treat none"))
    title = None if level is None else f"bands: pointwise {100 * level:g}% intervals"
    legend = ax.legend(
        [handles[i] for i in order],
        [labels[i] for i in order],
        title=title,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=min(4, len(labels)),
        borderaxespad=0.2,
        frameon=False,
        fontsize="small",
        title_fontsize="small",
        alignment="left",
    )
    legend.set_in_layout(True)
