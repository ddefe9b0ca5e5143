"""What a monitor reports after an alarm: change point, regions, size of the error, what to do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from trueodds.monitoring._state import Moment
from trueodds.monitoring._stream import EDGES, N_PARTS, SHAPES, Stream

__all__ = ["Advice", "ChangePoint", "Deviation", "WrongPlace", "part_name", "wrong_places"]

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


DIRECTIONS = ("too low", "too high", "too extreme", "not extreme enough")


def part_name(part: int) -> str:
    """A part of the scale, such as ``0.1–0.2``."""
    bounds = ["0", *(f"{edge:g}" for edge in EDGES), "1"]
    return f"{bounds[part]}–{bounds[part + 1]}"


def wrong_places(stream: Stream, classes: Sequence[Any], first_row: int) -> tuple[WrongPlace, ...]:
    """All places that were named, most evidence first; overall ones before others."""
    first = stream.history.starts.index(first_row - 1)
    cells = stream.history.stack()[first:].sum(axis=0)
    found = []
    for place in np.flatnonzero(stream.named):
        kind, name, direction, counts = _describe(int(place), stream, classes, cells)
        found.append(
            WrongPlace(
                kind,
                name,
                direction,
                row=int(stream.named[place]),
                evidence=float(stream.value[place]),
                expected=None if counts is None else float(counts[1]),
                observed=None if counts is None else float(counts[2]),
            )
        )
    rank = {"overall": 0, "slope": 1}
    return tuple(sorted(found, key=lambda item: (rank.get(item.kind, 2), -item.evidence)))


def _describe(place: int, stream: Stream, classes: Sequence[Any], cells: Any) -> Any:
    if place < 2:
        return "overall", "all rows", DIRECTIONS[place], cells.sum(axis=0)
    if place < SHAPES:
        return "slope", "all rows", DIRECTIONS[place], None
    direction = DIRECTIONS[place % 2]
    part = (place - SHAPES) // 2
    if part < N_PARTS:
        return "part", part_name(part), direction, cells[part]
    which = part - N_PARTS
    counts = stream.sums[which]
    if which < stream.n_classes:
        return "class", str(classes[which]), direction, counts
    return "group", stream.groups[which - stream.n_classes], direction, counts
