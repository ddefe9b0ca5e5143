"""How reliability curves are drawn: lines, bars with gaps, bands, histograms, legends."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds.metrics import ReliabilityCurve
from trueodds.plots._look import GAP, NEUTRAL, color_of, line_of, marker_of

__all__ = [
    "FEWEST_BARS",
    "axis_ends",
    "default_title",
    "draw_gaps",
    "draw_histograms",
    "draw_legend",
    "draw_line",
]

BAND_WORDS = {
    "consistency": "where a calibrated model would lie",
    "confidence": "where this curve may lie",
    "guaranteed": "holds the whole true curve if that never falls",
}


# A new figure has room at its right; on given axes, near-diagonal curves leave this corner free.
BESIDE: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.02, 1.0), "frameon": False}
HISTOGRAM_DEPTH = 0.2
FEWEST_BARS = 5
"""In a fitted range that shows fewer of the bars of [0, 1], the histogram would say nothing."""
INSIDE: dict[str, Any] = {"loc": "upper left", "framealpha": 0.8}


def axis_ends(curves: tuple[ReliabilityCurve, ...], scale: str, style: str) -> tuple[float, float]:
    """Where both axes begin and end.

    Logarithmic ones begin at the power of ten below the smallest probability that is not 0. Linear
    ones reach from 0 to 1, or, if one half would be empty, as far as the data.
    """
    shown = np.concatenate([np.append(c.prob_pred, c.prob_true) for c in curves])
    if scale == "log":
        shown = shown[shown > 0]
        least = float(10 ** np.floor(np.log10(shown.min()))) if len(shown) else 0.1
        return min(least, 0.1), 1.0
    low, high = float(shown.min()), float(shown.max())
    if style == "gaps" or low < 0.5 < high:
        return 0.0, 1.0
    if high <= 0.5:
        return 0.0, max(1.1 * high, 1e-6)
    return 1 - max(1.1 * (1 - low), 1e-6), 1.0


def default_title(curves: tuple[ReliabilityCurve, ...]) -> str:
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


def draw_line(ax: Any, curve: ReliabilityCurve, index: int, line: dict[str, Any]) -> None:
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


def draw_gaps(ax: Any, curve: ReliabilityCurve) -> None:
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


def draw_histograms(ax: Any, curves: tuple[ReliabilityCurve, ...]) -> Any:
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


def draw_legend(ax: Any, curves: tuple[ReliabilityCurve, ...], *, beside: bool) -> None:
    """The names of the curves, and what the bands mean, said once for bands of one kind."""
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
