"""What a monitor reports: the change point, regions, size of the error, and a recommendation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from trueodds.monitoring._bets import EDGES, N_PARTS, SHAPES, Bets
from trueodds.state_file import Moment

__all__ = [
    "ChangePoint",
    "MiscalibratedRegion",
    "Miscalibration",
    "Recommendation",
    "miscalibrated_regions",
    "part_name",
]

Action = Literal["keep", "shift", "refit"]


@dataclass(frozen=True)
class ChangePoint:
    """The first row at which forecasts were miscalibrated, with an interval.

    Parameters
    ----------
    row : int
        The most probable first miscalibrated row, counted from 1.
    low, high : int
        95% interval of the row, assuming one permanent change of a kind that the monitor bets on.
    time, time_low, time_high
        Times of these rows, if they were passed to ``update``.
    from_start : bool
        Whether the forecasts may have been miscalibrated from the first row.
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
class MiscalibratedRegion:
    """A region whose own e-value shows that its forecasts are miscalibrated.

    The chance that any region is ever listed wrongly is at most alpha.

    Parameters
    ----------
    kind : {"overall", "slope", "range", "group", "class"}
    name : str
        The score range, group or class.
    direction : str
        "too low", "too high", "too extreme" or "not extreme enough".
    row : int
        Row at which the e-value reached the threshold.
    e_value : float
    expected, observed : float or None
        Expected and observed positives in this region: since the change point for score ranges and
        overall, since the first row for groups and classes.
    """

    kind: str
    name: str
    direction: str
    row: int
    e_value: float
    expected: float | None
    observed: float | None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    def __str__(self) -> str:
        everywhere = self.kind in ("overall", "slope")
        return self.direction if everywhere else f"{self.name}: {self.direction}"


@dataclass(frozen=True)
class Miscalibration:
    """The size of the error, over the rows since ``first_row``.

    Each pair of low and high is a confidence sequence. With probability 1 − alpha or more, it is
    valid at all times and for all first rows at once. So it is valid for a first row that was
    chosen by looking at the data.

    Parameters
    ----------
    first_row : int
    rows : int
    weight, expected, observed : float
        Sum of the weights, and expected and observed positives.
    ratio, ratio_low, ratio_high : float
        Observed over expected (O:E), without assumptions about the true probabilities.
    intercept, intercept_low, intercept_high : float
        The best-fitting shift of the log-odds.
    slope, slope_low, slope_high : float
        The best-fitting slope of the log-odds, with its own intercept.
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
        """Return plain JSON values; the ratio is null if no positives were expected."""
        return {key: value if math.isfinite(value) else None for key, value in asdict(self).items()}


@dataclass(frozen=True)
class Recommendation:
    """The recommended action and its expected gain.

    Parameters
    ----------
    action : {"keep", "shift", "refit"}
        Keep the forecasts, shift their log-odds by ``shift``, or fit a new map.
    gain : float
        Expected reduction of the log-loss per row, net of the estimation cost.
    refit_gain : float
        Expected reduction with a new map, for any action.
    shift : float
    rows : int
        Rows since the change.
    rows_needed : int or None
        Rows at which estimation costs at most a tenth of the gain; None if there is no gain.
    sentence : str
        The recommendation in words.
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
    """Return the name of a score range, such as ``0.1–0.2``."""
    bounds = ["0", *(f"{edge:g}" for edge in EDGES), "1"]
    return f"{bounds[part]}–{bounds[part + 1]}"


def miscalibrated_regions(
    bets: Bets, classes: Sequence[Any], first_row: int
) -> tuple[MiscalibratedRegion, ...]:
    """Return all miscalibrated regions by e-value, overall ones first."""
    first = bets.history.starts.index(first_row - 1)
    cells = bets.history.stack()[first:].sum(axis=0)
    found = []
    for place in np.flatnonzero(bets.named):
        kind, name, direction, counts = _describe(int(place), bets, classes, cells)
        found.append(
            MiscalibratedRegion(
                kind,
                name,
                direction,
                row=int(bets.named[place]),
                e_value=float(bets.value[place]),
                expected=None if counts is None else float(counts[1]),
                observed=None if counts is None else float(counts[2]),
            )
        )
    rank = {"overall": 0, "slope": 1}
    return tuple(sorted(found, key=lambda item: (rank.get(item.kind, 2), -item.e_value)))


def _describe(place: int, bets: Bets, classes: Sequence[Any], cells: Any) -> Any:
    if place < 2:
        return "overall", "all rows", DIRECTIONS[place], cells.sum(axis=0)
    if place < SHAPES:
        return "slope", "all rows", DIRECTIONS[place], None
    direction = DIRECTIONS[place % 2]
    part = (place - SHAPES) // 2
    if part < N_PARTS:
        return "range", part_name(part), direction, cells[part]
    which = part - N_PARTS
    counts = bets.sums[which]
    if which < bets.n_classes:
        return "class", str(classes[which]), direction, counts
    return "group", bets.groups[which - bets.n_classes], direction, counts
