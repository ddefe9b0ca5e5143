"""Drawing the effects of groups."""

from __future__ import annotations

from typing import Any

from trueodds.calibrators import GroupEffects
from trueodds.exceptions import InputError
from trueodds.inputs import check_integer
from trueodds.plots._look import LANDSCAPE, NEUTRAL, Picture, axes_or_new, color_of

__all__ = ["GroupEffectsDisplay"]


class GroupEffectsDisplay(Picture):
    """Shifts of the log-odds at the levels of features, with 90% intervals, largest first.

    Parameters
    ----------
    effects : GroupEffects
        ``effects_`` of a fitted :class:`~trueodds.GroupCalibrator`, or ``effects_.of(feature)``.

    Attributes
    ----------
    effects : GroupEffects
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on last.

    Examples
    --------
    >>> from trueodds.calibrators import GroupEffect, GroupEffects
    >>> from trueodds.plots import GroupEffectsDisplay
    >>> effects = GroupEffects((GroupEffect("region", "north", 120, 0.4, 0.1, 0.7, 0.0),))
    >>> GroupEffectsDisplay(effects).plot().ax_.get_xlabel()
    'shift of the log-odds'
    """

    def __init__(self, effects: GroupEffects) -> None:
        if not isinstance(effects, GroupEffects):
            raise InputError(f"effects must be GroupEffects; got {type(effects).__name__}.")
        self.effects = effects
        self.ax_: Any = None
        self.figure_: Any = None

    @classmethod
    def from_calibrator(
        cls, calibrator: Any, *, feature: str | None = None, ax: Any = None
    ) -> GroupEffectsDisplay:
        """Draw the effects of a fitted :class:`~trueodds.GroupCalibrator`.

        Parameters
        ----------
        calibrator : GroupCalibrator
        feature : str, default=None
            Draw only the levels of this feature.
        ax : matplotlib Axes, default=None
            Draw on these at once; without it, when :meth:`plot` is called.

        Returns
        -------
        GroupEffectsDisplay
        """
        effects = getattr(calibrator, "effects_", None)
        if not isinstance(effects, GroupEffects):
            raise InputError("calibrator must be a fitted GroupCalibrator. Call fit first.")
        display = cls(effects if feature is None else effects.of(feature))
        return display if ax is None else display.plot(ax)

    def plot(self, ax: Any = None, *, most: int = 20) -> GroupEffectsDisplay:
        """Draw one line per level.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            By default those of a new figure in landscape.
        most : int, default=20
            Largest number of levels; those with the largest shifts are drawn.

        Returns
        -------
        self
        """
        check_integer(most, "most", 1)
        ax = axes_or_new(ax, LANDSCAPE)
        largest = sorted(self.effects, key=lambda effect: -abs(effect.shift))[:most]
        shown = sorted(largest, key=lambda effect: effect.shift)
        places = list(range(len(shown)))
        ends = [[e.shift - e.low for e in shown], [e.high - e.shift for e in shown]]
        ax.axvline(0, color=NEUTRAL, lw=1.0, zorder=1)
        ax.errorbar([e.shift for e in shown], places, xerr=ends, fmt="o", color=color_of(0))
        names = [
            f"{e.feature} = {e.level}" + ("" if e.label is None else f" ({e.label})") for e in shown
        ]
        ax.set(yticks=places, yticklabels=names, xlabel="shift of the log-odds")
        if not ax.get_title():
            ax.set_title("Effects of groups, with 90% intervals")
        self.ax_, self.figure_ = ax, ax.figure
        return self
