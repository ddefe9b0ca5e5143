"""Colors, markers and words that all pictures share."""

from __future__ import annotations

from typing import Any

from trueodds.basics.files import as_path
from trueodds.basics.imports import require
from trueodds.exceptions import InputError
from trueodds.maps import CalibrationMap

__all__ = [
    "GAP",
    "LANDSCAPE",
    "NEUTRAL",
    "Picture",
    "axes_or_new",
    "color_of",
    "fitted_map",
    "line_of",
    "marker_of",
    "pyplot",
    "settle",
]

# Okabe and Ito (2008), without black and without yellow, which one of the backgrounds swallows.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7")
MARKERS = ("o", "s", "^", "D", "v", "P")
LINES: tuple[Any, ...] = ("-", "--", "-.", (0, (5, 1, 1, 1, 1, 1)), ":", (0, (8, 2)))
NEUTRAL = "0.5"
"""Mid gray, which shows on white paper and on dark backgrounds alike."""
GAP = "#D55E00"
LANDSCAPE = (7.6, 4.6)
"""Inches of a picture for a slide."""


def color_of(index: int) -> str:
    """The color of a picture's ``index``-th curve."""
    return COLORS[index % len(COLORS)]


def marker_of(index: int) -> str:
    """Its marker, so that curves differ in print without colors too."""
    return MARKERS[index % len(MARKERS)]


def line_of(index: int) -> Any:
    """Its line style."""
    return LINES[index % len(LINES)]


def pyplot() -> Any:
    """Import matplotlib.pyplot, or raise an error that shows how to install it."""
    return require("matplotlib.pyplot", "drawing", "trueodds[plot]")


class Picture:
    """What every display has: its figure as a file."""

    figure_: Any

    def plot(self, ax: Any = None) -> Any:
        """Draw."""
        raise NotImplementedError

    def save(self, path: Any, **options: Any) -> None:
        """Save the picture, drawn before or by default; nothing is cut off.

        The fonts of PDF and PostScript files are of Type 42, which journals require.

        Parameters
        ----------
        path : path, or file that is open for bytes
        **options
            Options of matplotlib's ``savefig``, such as ``dpi=300``.
        """
        if self.figure_ is None:
            self.plot()
        matplotlib = require("matplotlib", "drawing", "trueodds[plot]")
        with matplotlib.rc_context({"pdf.fonttype": 42, "ps.fonttype": 42}):
            file = path if hasattr(path, "write") else as_path(path)
            try:
                self.figure_.savefig(file, **({"bbox_inches": "tight"} | options))
            except ValueError as error:  # matplotlib names the formats
                raise InputError(f"the picture was not saved: {error}.") from None


def settle(figure: Any) -> None:
    """Lay a new figure out until nothing moves, which takes three passes if axes are square."""
    for _ in range(3):
        figure.draw_without_rendering()


def fitted_map(calibrator: Any) -> CalibrationMap:
    """The map of a fitted calibrator."""
    learned = getattr(calibrator, "map_", None)
    if not isinstance(learned, CalibrationMap):
        raise InputError(
            f"calibrator must be a fitted calibrator; got {type(calibrator).__name__} without a "
            "map. Call fit first."
        )
    return learned


def axes_or_new(ax: Any, size: tuple[float, float]) -> Any:
    """The given axes, or those of a new figure."""
    if ax is not None:
        pyplot()
        if not (hasattr(ax, "set_xlim") and hasattr(ax, "figure")):
            raise InputError(f"ax must be axes of matplotlib; got {type(ax).__name__}.")
        return ax
    return pyplot().subplots(figsize=size, layout="constrained")[1]
