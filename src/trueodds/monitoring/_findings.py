"""What a monitor answers: since when, where, how much, and what to do."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from trueodds.monitoring._history import Moment

__all__ = ["Advice", "ChangePoint", "Deviation", "WrongPlace"]

Action = Literal["leave", "shift", "refit"]


@dataclass(frozen=True)
class ChangePoint:
    """Since when forecasts have been wrong.

    Parameters
    ----------
    row : int
        The most probable first wrong row, counted from 1.
    low, high : int
        It lies between them with a probability of 95 %, if there was one change for good, of a
        kind that is bet on.
    time, time_low, time_high
        The times of these rows, if ``update`` was given any.
    from_start : bool
        Whether the forecasts may have been wrong from the first row on.
    """

    row: int
    low: int
    high: int
    time: Moment
    time_low: Moment
    time_high: Moment
    from_start: bool

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True)
class WrongPlace:
    """A place where forecasts are wrong by the evidence of that place alone.

    The chance that a single one of all places named is named wrongly, ever, is at most alpha.

    Parameters
    ----------
    kind : {"overall", "slope", "part", "group", "class"}
    name : str
        Which part of the scale, group or class.
    direction : str
        What the forecasts are: "too low", "too high", "too extreme" or "not extreme enough".
    row : int
        The row at which this became clear.
    evidence : float
    expected, observed : float or None
        Positives forecast and seen in this place: since the change for parts of the scale and
        overall, since the first row for groups and classes.
    """

    kind: str
    name: str
    direction: str
    row: int
    evidence: float
    expected: float | None
    observed: float | None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    def __str__(self) -> str:
        everywhere = self.kind in ("overall", "slope")
        return self.direction if everywhere else f"{self.name}: {self.direction}"


@dataclass(frozen=True)
class Deviation:
    """How far forecasts are off, over the rows from ``first_row`` on.

    Each pair of low and high is a confidence sequence: it holds, with a probability of at least
    1 − alpha, at all times and for all first rows at once, so also for a first row that was
    chosen by looking at the data.

    Parameters
    ----------
    first_row : int
    rows : int
    weight, expected, observed : float
        Σ weight, and the positives forecast and seen.
    ratio, ratio_low, ratio_high : float
        Observed over expected (O:E). Without assumptions on the true probabilities.
    intercept, intercept_low, intercept_high : float
        The shift of the log-odds that fits best.
    slope, slope_low, slope_high : float
        The slope of the log-odds that fits best, with an intercept of its own.
    """

    first_row: int
    rows: int
    weight: float
    expected: float
    observed: float
    ratio: float
    ratio_low: float
    ratio_high: float
    intercept: float
    intercept_low: float
    intercept_high: float
    slope: float
    slope_low: float
    slope_high: float

    def to_dict(self) -> dict[str, Any]:
        """For JSON; null where nothing was expected, so that there is no ratio."""
        return {key: value if math.isfinite(value) else None for key, value in asdict(self).items()}


@dataclass(frozen=True)
class Advice:
    """What to do, and what it is worth.

    Parameters
    ----------
    action : {"leave", "shift", "refit"}
        Leave the forecasts alone, shift their log-odds by ``shift``, or learn a new map.
    gain : float
        Expected fall of the log-loss of a row, after what estimating costs.
    refit_gain : float
        The same for a new map, whatever is advised.
    shift : float
    rows : int
        Rows since the change.
    rows_needed : int or None
        With so many, estimating costs a tenth of the gain at most; None if there is no gain.
    sentence : str
        All of this in words.
    """

    action: Action
    gain: float
    refit_gain: float
    shift: float
    rows: int
    rows_needed: int | None
    sentence: str

    def __str__(self) -> str:
        return self.sentence

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)
