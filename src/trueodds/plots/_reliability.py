"""The reliability diagram."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from trueodds.basics.optional import require
from trueodds.exceptions import InputError
from trueodds.inputs import (
    check_choice,
    check_flag,
    check_integer,
    check_text,
    is_choice,
)
from trueodds.metrics import ReliabilityCurve, reliability_curve
from trueodds.plots._look import LANDSCAPE, NEUTRAL, axes_or_new, pyplot
from trueodds.plots._reliability_drawing import (
    FEWEST_BARS,
    axis_ends,
    default_title,
    draw_gaps,
    draw_histograms,
    draw_legend,
    draw_line,
)

__all__ = ["ReliabilityDisplay"]


class ReliabilityDisplay:
    """Frequencies against probabilities, with bands, for one model or several.

    Make one with :meth:`from_predictions`, :meth:`from_estimator` or :meth:`from_curves`; then
    call :meth:`plot` or :meth:`plot_grid`. The numbers are in ``curves``. It has the methods that
    skore asks of a display.

    Parameters
    ----------
    curves : sequence of ReliabilityCurve

    Attributes
    ----------
    curves : tuple of ReliabilityCurve
    ax_, hist_ax_ : matplotlib Axes
        What was drawn on last; ``hist_ax_`` is None without histogram.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from trueodds.plots import ReliabilityDisplay
    >>> y, p = [0, 1, 0, 1], [0.2, 0.3, 0.6, 0.9]
    >>> display = ReliabilityDisplay.from_predictions(y, {"model": p}, n_bins=2, random_state=0)
    >>> display.curves[0].prob_true
    array([0.5, 0.5])
    >>> display.plot().ax_.get_xlabel()  # doctest: +SKIP
    """

    def __init__(self, curves: Sequence[ReliabilityCurve]) -> None:
        self.curves = tuple(curves)
        if not self.curves or not all(isinstance(c, ReliabilityCurve) for c in self.curves):
            raise InputError("curves must be one or more ReliabilityCurve.")
        self._ref_line = True
        self._line: dict[str, Any] = {}
        self.ax_: Any = None
        self.hist_ax_: Any = None
        self.figure_: Any = None

    @classmethod
    def from_curves(cls, *curves: ReliabilityCurve) -> ReliabilityDisplay:
        """A display of curves that were computed before."""
        return cls(curves)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        ax: Any = None,
        name: str | None = None,
        pos_label: Any = None,
        multiclass: Literal["top_label", "pooled", "classwise"] = "top_label",
        ref_line: bool = True,
        **options: Any,
    ) -> ReliabilityDisplay:
        """Compute the curves of one model, or of several if ``y_prob`` is a dict of names.

        With ``ax`` they are drawn at once, as scikit-learn's displays do; without it, when
        :meth:`plot` is called.

        Parameters
        ----------
        y_true : array-like of shape (n,)
        y_prob : array-like, or dict of str to array-like
        ax : matplotlib Axes, default=None
            Draw on these.
        name : str, default=None
            What to call the model in the legend.
        pos_label : label, default=None
            The class whose probabilities these are.
        multiclass : {"top_label", "pooled", "classwise"}, default="top_label"
            As in :func:`trueodds.metrics.reliability_curve`; or ``"classwise"``: a curve for each
            class against the rest, which :meth:`plot_grid` draws side by side.
        ref_line : bool, default=True
            Draw the diagonal.
        **options
            Of :func:`trueodds.metrics.reliability_curve`; others go to matplotlib's ``plot`` for
            the line of each curve, such as ``color=`` and ``linewidth=``.

        Returns
        -------
        ReliabilityDisplay
        """
        name = None if name is None else check_text(name, "name", "None or ")
        models = y_prob if isinstance(y_prob, Mapping) else {name: y_prob}
        own, line = _parted(options)
        if is_choice(multiclass, "classwise"):
            curves = [
                curve for n, p in models.items() for curve in _class_curves(y_true, p, n, own)
            ]
            return cls(curves)._drawn(ax, ref_line, line)
        own |= {"pos_label": pos_label, "multiclass": multiclass}
        curves = [
            reliability_curve(y_true, p, name=None if n is None else str(n), **own)
            for n, p in models.items()
        ]
        return cls(curves)._drawn(ax, ref_line, line)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        ax: Any = None,
        name: str | None = None,
        ref_line: bool = True,
        **options: Any,
    ) -> ReliabilityDisplay:
        """Predict with a fitted classifier (or a dict of names to classifiers), then as above."""
        name = None if name is None else check_text(name, "name", "None or ")
        models = estimator if isinstance(estimator, Mapping) else {name: estimator}
        options, line = _parted(options)
        curves = []
        for label, model in models.items():
            own = {"classes": model.classes_, **options}
            own["name"] = type(model).__name__ if label is None else str(label)
            curves.append(reliability_curve(y, model.predict_proba(X), **own))
        return cls(curves)._drawn(ax, ref_line, line)

    def _drawn(self, ax: Any, ref_line: bool, line: dict[str, Any]) -> ReliabilityDisplay:
        """Keep how it is to be drawn, and draw it if there is a place to draw on."""
        self._ref_line, self._line = ref_line, line
        return self if ax is None else self.plot(ax)

    def plot(
        self,
        ax: Any = None,
        *,
        style: Literal["lines", "gaps"] = "lines",
        scale: Literal["linear", "log"] = "linear",
        histogram: bool = True,
        legend: bool = True,
        title: str | None = None,
    ) -> ReliabilityDisplay:
        """Draw all curves in one picture.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            By default those of a new figure. With a histogram, room for it is taken from them.
        style : {"lines", "gaps"}, default="lines"
            Points and lines; or bars with the gap to the diagonal in red, in the manner of the
            charcoal grill paper, for a single curve made of bins.
        scale : {"linear", "log"}, default="linear"
            With rare positives nearly everything happens near 0: use ``"log"`` there. A
            frequency of 0 is then at the lower edge, and no histogram is drawn.
        histogram : bool, default=True
            Draw the distribution of the probabilities beneath, unless the axes end so early that
            they would show fewer than five of its bars.
        legend : bool, default=True
            Beside the diagram in a new figure, inside it on given axes.
        title : str, default=None
            By default what is drawn, unless the axes have a title already.

        Returns
        -------
        self
        """
        check_choice(style, ("lines", "gaps"), "style")
        check_choice(scale, ("linear", "log"), "scale")
        check_flag(histogram, "histogram")
        check_flag(legend, "legend")
        title = None if title is None else check_text(title, "title", "None or ")
        histogram = histogram and scale == "linear"
        if style == "gaps" and (len(self.curves) > 1 or self.curves[0].edges is None):
            raise InputError(
                'style="gaps" draws one curve made of bins; use plot_grid for several, and '
                'strategy="uniform" or "quantile".'
            )
        beside = ax is None
        ax = axes_or_new(ax, LANDSCAPE)
        ends = axis_ends(self.curves, scale, style)
        histogram = histogram and ends[1] - ends[0] >= FEWEST_BARS / len(self.curves[0].hist_weight)
        if self._ref_line:
            ax.plot(ends, ends, color=NEUTRAL, linewidth=1, linestyle=(0, (4, 3)), zorder=1.5)
        for index, curve in enumerate(self.curves):
            if style == "gaps":
                draw_gaps(ax, curve)
            else:
                draw_line(ax, curve, index, self._line)
        event = self.curves[0].event
        rim = 0.01 * (ends[1] - ends[0]) if scale == "linear" else 0.0
        limits = (ends[0] - rim, ends[1] + rim)
        ax.set(xscale=scale, yscale=scale, xlim=limits, ylim=limits)
        words = "how often it is right" if "most probable" in event else f"frequency of the {event}"
        ax.set_ylabel(words)
        ax.set_aspect("equal")
        self.ax_, self.hist_ax_, self.figure_ = ax, None, ax.figure
        lowest = ax
        if histogram:
            lowest = self.hist_ax_ = draw_histograms(ax, self.curves)
        lowest.set_xlabel(f"probability of the {event}")
        if title is not None or not ax.get_title():
            ax.set_title(default_title(self.curves) if title is None else title)
        if legend:
            draw_legend(ax, self.curves, beside=beside)
        return self

    def frame(self) -> Any:
        """The points of all curves as a pandas frame.

        Returns
        -------
        pandas.DataFrame
            With the columns ``name``, ``prob_pred``, ``prob_true`` and ``weight``.
        """
        pandas = require("pandas", "a frame of the curves", "pandas")
        points = [
            {"name": c.name, "prob_pred": p, "prob_true": t, "weight": w}
            for c in self.curves
            for p, t, w in zip(c.prob_pred, c.prob_true, c.weight, strict=True)
        ]
        return pandas.DataFrame(points)

    def set_style(
        self, *, policy: Literal["override", "update"] = "update", **line: Any
    ) -> ReliabilityDisplay:
        """Set how the lines are drawn from now on.

        Parameters
        ----------
        policy : {"override", "update"}, default="update"
            Whether what was set before is dropped.
        **line
            Of matplotlib's ``plot``, such as ``color=`` and ``linewidth=``.

        Returns
        -------
        self
        """
        check_choice(policy, ("override", "update"), "policy")
        before = self._line if policy == "update" else {}
        self._line = before | _line_options(line)
        return self

    def help(self) -> None:
        """Write what this display is, and what it can do, to the screen."""
        methods = ("plot", "plot_grid", "frame", "set_style")
        lines = [f".{name}(): {inspect.getdoc(getattr(self, name))}" for name in methods]
        words = [str(inspect.getdoc(type(self))), *lines]
        sys.stdout.write("\n".join(text.partition("\n")[0] for text in words) + "\n")

    def plot_grid(
        self,
        *,
        n_columns: int = 3,
        style: Literal["lines", "gaps"] = "lines",
        histogram: bool = True,
    ) -> ReliabilityDisplay:
        """Draw each curve in a picture of its own, side by side in a new figure.

        Returns
        -------
        self
            ``figure_`` is the figure, ``ax_`` the array of its axes.
        """
        count = len(self.curves)
        check_flag(histogram, "histogram")
        columns = min(check_integer(n_columns, "n_columns", 1), count)
        rows = -(-count // columns)
        figure, axes = pyplot().subplots(
            rows,
            columns,
            figsize=(3.6 * columns, (4.3 if histogram else 3.7) * rows + 0.5),
            squeeze=False,
            layout="constrained",
        )
        figure.get_layout_engine().set(h_pad=0.08)
        for index, (ax, curve) in enumerate(zip(axes.flat, self.curves, strict=False)):
            one = ReliabilityDisplay([curve]).plot(
                ax, style=style, histogram=histogram, legend=False
            )
            ax.set_title(curve.name or f"model {index + 1}")
            if index % columns:
                ax.set_ylabel("")
            if index + columns < count:
                (one.hist_ax_ or ax).set_xlabel("")
        for ax in axes.flat[count:]:
            ax.set_visible(False)
        handles, labels = axes.flat[0].get_legend_handles_labels()
        # Names stand above the pictures, so the legend says what all of them have in common.
        labels = ["observed frequency" if n == self.curves[0].name else n for n in labels]
        figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
        self.figure_, self.ax_, self.hist_ax_ = figure, axes, None
        return self


def _class_curves(
    y_true: Any, y_prob: Any, model: str | None, own: dict[str, Any]
) -> list[ReliabilityCurve]:
    """A curve for each class against the rest, named after the class and the model."""
    given = own.get("classes")
    classes = np.unique(np.asarray(y_true)) if given is None else np.asarray(given)
    before = "" if model is None else f"{model}, "
    return [
        reliability_curve(
            y_true, y_prob, **{**own, "pos_label": label, "name": f"{before}class {label}"}
        )
        for label in classes.tolist()
    ]


def _parted(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of the curve, and those of the line that draws it."""
    known = inspect.signature(reliability_curve).parameters
    own = {name: value for name, value in options.items() if name in known}
    return own, _line_options({k: value for k, value in options.items() if k not in known})


def _line_options(given: dict[str, Any]) -> dict[str, Any]:
    """Options of a line by their full names: "lw" is "linewidth"."""
    if not given:
        return {}
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return dict(normalize_kwargs(given, Line2D))
