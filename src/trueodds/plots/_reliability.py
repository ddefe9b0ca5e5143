"""The reliability diagram."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from trueodds.exceptions import InputError
from trueodds.inputs import (
    check_choice,
    check_flag,
    check_integer,
    check_text,
    encode_labels,
    is_choice,
)
from trueodds.metrics import ReliabilityCurve, reliability_curve
from trueodds.plots._look import (
    GAP,
    LANDSCAPE,
    NEUTRAL,
    Picture,
    axes_or_new,
    color_of,
    line_of,
    marker_of,
    pyplot,
    settle,
)

__all__ = ["ReliabilityDisplay"]

BAND_WORDS = {
    "consistency": "where a calibrated model would lie",
    "confidence": "where this curve may lie",
    "guaranteed": "holds the whole true curve if that never falls",
}

# A new figure has room at its right; on given axes, near-diagonal curves leave this corner free.
BESIDE: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.02, 1.0), "frameon": False}
HISTOGRAM_DEPTH = 0.2
FEWEST_BARS = 5
"""In a fitted range that shows fewer of the bars of [0, 1], the histogram would show nothing."""
ROOM = 1.5
"""Factor between the data and the ends of logarithmic axes."""
MOST_IN_TITLE = 34
"""Characters in a line of the title of one of several pictures."""
INSIDE: dict[str, Any] = {"loc": "upper left", "framealpha": 0.8}


class ReliabilityDisplay(Picture):
    """Frequencies against probabilities, with bands, for one model or several.

    Make one with :meth:`from_predictions`, :meth:`from_estimator` or :meth:`from_curves`; then
    call :meth:`plot` or :meth:`plot_grid`. The numbers are in ``curves``.

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
            Options of :func:`trueodds.metrics.reliability_curve`; others go to ``plot`` of
            matplotlib for the line of each curve, such as ``color=`` and ``linewidth=``.

        Returns
        -------
        ReliabilityDisplay
        """
        name = None if name is None else check_text(name, "name", "None or ")
        models = y_prob if isinstance(y_prob, Mapping) else {name: y_prob}
        own, line = _split_options(options)
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
        options, line = _split_options(options)
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
            Draw a legend: next to the diagram in a new figure, inside it on given axes.
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
        return self._draw(
            ax, _axis_ends(self.curves, scale, style), style, scale, histogram, legend, title
        )

    def _draw(
        self,
        ax: Any,
        ends: tuple[float, float],
        style: str,
        scale: str,
        histogram: bool,
        legend: bool,
        title: str | None,
    ) -> ReliabilityDisplay:
        """Draw on axes with these ends."""
        histogram = histogram and scale == "linear"
        if style == "gaps" and (len(self.curves) > 1 or self.curves[0].edges is None):
            raise InputError(
                'style="gaps" draws one curve made of bins; use plot_grid for several, and '
                'strategy="uniform" or "quantile".'
            )
        beside = ax is None
        ax = axes_or_new(ax, LANDSCAPE)
        histogram = histogram and ends[1] - ends[0] >= FEWEST_BARS / len(self.curves[0].hist_weight)
        if self._ref_line:
            ax.plot(ends, ends, color=NEUTRAL, linewidth=1, linestyle=(0, (4, 3)), zorder=1.5)
        for index, curve in enumerate(self.curves):
            if style == "gaps":
                _draw_gaps(ax, curve)
            else:
                _draw_line(ax, curve, index, self._line)
        event = self.curves[0].event
        rim = 0.01 * (ends[1] - ends[0]) if scale == "linear" else 0.0
        limits = (ends[0] - rim, ends[1] + rim)
        ax.set(xscale=scale, yscale=scale, xlim=limits, ylim=limits)
        words = "accuracy" if "most probable" in event else f"frequency of the {event}"
        ax.set_ylabel(words)
        ax.set_aspect("equal")
        self.ax_, self.hist_ax_, self.figure_ = ax, None, ax.figure
        lowest = ax
        if histogram:
            lowest = self.hist_ax_ = _draw_histograms(ax, self.curves)
        lowest.set_xlabel(f"probability of the {event}")
        if title is not None or not ax.get_title():
            ax.set_title(_default_title(self.curves) if title is None else title)
        if legend:
            _draw_legend(ax, self.curves, beside=beside)
        if beside:
            ax.set_anchor("W")  # the legend is at the right
            settle(ax.figure)
        return self

    def plot_grid(
        self,
        *,
        n_columns: int = 3,
        style: Literal["lines", "gaps"] = "lines",
        histogram: bool = True,
    ) -> ReliabilityDisplay:
        """Draw each curve on separate axes, side by side in a new figure.

        All axes have the same ends, so that pictures can be compared.

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
        ends = _axis_ends(self.curves, "linear", style)
        below = []
        for index, (ax, curve) in enumerate(zip(axes.flat, self.curves, strict=False)):
            title = "\n".join(textwrap.wrap(curve.name or f"model {index + 1}", MOST_IN_TITLE))
            one = ReliabilityDisplay([curve])._draw(
                ax, ends, style, "linear", histogram, False, title
            )
            below += [one.hist_ax_] if one.hist_ax_ is not None else []
            if index % columns:
                ax.set_ylabel("")
            if index + columns < count:
                (one.hist_ax_ or ax).set_xlabel("")
        for ax in axes.flat[count:]:
            ax.set_visible(False)
        highest = max((ax.get_ylim()[1] for ax in below), default=1.0)
        for ax in below:
            ax.set_ylim(top=highest)
        handles, labels = axes.flat[0].get_legend_handles_labels()
        # Names stand above the pictures, so the legend says what all of them have in common.
        labels = ["observed frequency" if n == self.curves[0].name else n for n in labels]
        words = [text if columns > 1 else text.replace(": ", ":\n") for text in labels]
        figure.legend(
            handles,
            words,
            loc="outside lower center",
            ncols=2 if columns > 2 else 1,
            fontsize="small",
            frameon=False,
        )
        settle(figure)
        self.figure_, self.ax_, self.hist_ax_ = figure, axes, None
        return self


def _class_curves(
    y_true: Any, y_prob: Any, model: str | None, own: dict[str, Any]
) -> list[ReliabilityCurve]:
    """A curve for each class against the rest, named after the class and the model."""
    given = own.get("classes")
    classes = encode_labels(y_true)[1] if given is None else np.asarray(given)
    before = "" if model is None else f"{model}, "
    return [
        reliability_curve(
            y_true, y_prob, **{**own, "pos_label": label, "name": f"{before}class {label}"}
        )
        for label in classes.tolist()
    ]


def _split_options(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
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


def _axis_ends(curves: tuple[ReliabilityCurve, ...], scale: str, style: str) -> tuple[float, float]:
    """Where both axes begin and end.

    Logarithmic ones show the data, and at least a power of ten. Linear ones reach from 0 to 1, or,
    if one half would be empty, as far as the data: to the end of a bar of the histogram, if there
    is room for one.
    """
    shown = np.concatenate([np.append(c.prob_pred, c.prob_true) for c in curves])
    if scale == "log":
        shown = shown[shown > 0]
        if not len(shown):
            return 0.1, 1.0
        high = min(1.0, ROOM * float(shown.max()))
        return min(float(shown.min()) / ROOM, high / 10), high
    low, high = float(shown.min()), float(shown.max())
    if style == "gaps" or low < 0.5 < high:
        return 0.0, 1.0
    reach = max(1.1 * (high if high <= 0.5 else 1 - low), 1e-6)
    bars = len(curves[0].hist_weight)
    if reach * bars >= FEWEST_BARS:
        reach = float(np.ceil(reach * bars) / bars)
    return (0.0, reach) if high <= 0.5 else (1 - reach, 1.0)


def _default_title(curves: tuple[ReliabilityCurve, ...]) -> str:
    """What is drawn."""
    name = curves[0].name
    return "Reliability diagram" if len(curves) > 1 or not name else f"Reliability of {name}"


def _band_label(curve: ReliabilityCurve) -> str:
    words = BAND_WORDS[str(curve.band_kind)]
    return f"{100 * float(curve.level or 0):g}% {curve.band_kind} band: {words}"


def _draw_band(ax: Any, curve: ReliabilityCurve, color: str, label: str | None) -> None:
    if curve.band_x is None:
        return
    if len(curve.band_x) == 1:  # a single bin has a bar, not an area
        ax.vlines(curve.band_x, curve.band_low, curve.band_high, color=color, alpha=0.5, lw=6)
        return
    ax.fill_between(
        curve.band_x,
        curve.band_low,
        curve.band_high,
        color=color,
        alpha=0.3,
        linewidth=0,
        zorder=1,
        label=label,
    )


def _draw_line(ax: Any, curve: ReliabilityCurve, index: int, line: dict[str, Any]) -> None:
    """A curve with its band; ``line`` are options of matplotlib's ``plot``."""
    color = line.get("color", color_of(index))
    _draw_band(ax, curve, color, _band_label(curve) if curve.band_kind else None)
    binned = curve.edges is not None
    drawn = {
        "color": color,
        "linestyle": line_of(index),
        "linewidth": 1.6,
        "marker": marker_of(index) if binned else None,
        "markersize": 4,
        "zorder": 3,
        "label": curve.name or "observed frequency",
    }
    ax.plot(curve.prob_pred, curve.prob_true, **(drawn | line))


def _draw_gaps(ax: Any, curve: ReliabilityCurve) -> None:
    """Bars of the frequencies, with the gap to the mean probability hatched."""
    inner = np.asarray(curve.edges)
    edges = np.concatenate([[0.0], inner, [1.0]])
    left, width = edges[curve.filled], np.diff(edges)[curve.filled]
    low = np.minimum(curve.prob_true, curve.prob_pred)
    gap = np.abs(curve.prob_pred - curve.prob_true)
    ax.bar(left, low, width, align="edge", color=color_of(0), alpha=0.55, ec=NEUTRAL, lw=0.6)
    ax.bar(
        left,
        gap,
        width,
        bottom=low,
        align="edge",
        color=GAP,
        alpha=0.45,
        edgecolor=GAP,
        hatch="///",
        linewidth=0.6,
        label="gap to the mean probability",
    )
    ax.hlines(
        curve.prob_true,
        left,
        left + width,
        color=color_of(0),
        linewidth=2.5,
        zorder=3,
        label="observed frequency",
    )
    if curve.band_kind == "guaranteed":
        _draw_band(ax, curve, NEUTRAL, _band_label(curve))
    elif curve.band_low is not None and curve.band_high is not None:
        ax.errorbar(
            curve.band_x,
            (curve.band_low + curve.band_high) / 2,
            yerr=(curve.band_high - curve.band_low) / 2,
            fmt="none",
            ecolor=NEUTRAL,
            elinewidth=1.4,
            capsize=3,
            zorder=4,
            label=_band_label(curve),
        )


def _draw_histograms(ax: Any, curves: tuple[ReliabilityCurve, ...]) -> Any:
    """How the probabilities are spread, beneath the diagram."""
    # Inset, so that any layout engine counts it as a part of the axes above. Without an engine
    # they are made smaller, once.
    if ax.figure.get_layout_engine() is None and not ax.child_axes:
        box = ax.get_position()
        depth = box.height * HISTOGRAM_DEPTH
        ax.set_position([box.x0, box.y0 + depth, box.width, box.height - depth])
    below = ax.inset_axes([0.0, -0.21, 1.0, 0.17], sharex=ax)
    for index, curve in enumerate(curves):
        share = curve.hist_weight / curve.hist_weight.sum()
        single = len(curves) == 1
        below.stairs(
            share,
            curve.hist_edges,
            color=color_of(index),
            linestyle="-" if single else line_of(index),
            fill=single,
            alpha=0.75 if single else 1.0,
        )
    below.set_ylabel("share")
    below.set_ylim(bottom=0)
    below.locator_params(axis="y", nbins=2)
    ax.tick_params(labelbottom=False)
    return below


def _draw_legend(ax: Any, curves: tuple[ReliabilityCurve, ...], *, beside: bool) -> None:
    """The names of the curves, and what the bands mean, once for bands of one kind."""
    handles, labels = ax.get_legend_handles_labels()
    shown: dict[str, Any] = {}
    for handle, label in zip(handles, labels, strict=True):
        shown.setdefault(label, handle)
    # Names first, bands last; two lines for the long words of a band.
    bands = {_band_label(c) for c in curves if c.band_kind}
    order = sorted(shown, key=lambda label: label in bands)
    ax.legend(
        [shown[label] for label in order],
        [label.replace(": ", ":\n") if label in bands else label for label in order],
        fontsize="small",
        **(BESIDE if beside else INSIDE),
    )
