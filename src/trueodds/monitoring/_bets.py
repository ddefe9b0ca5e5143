"""The running state of a monitor: bets, stakes, and counts over time."""

from __future__ import annotations

import math
from bisect import bisect_right
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.basics.shown import shown
from trueodds.exceptions import InputError, StateFormatError
from trueodds.inputs import (
    LONGEST_LABEL,
    MOST_COUNT,
    Floats,
    Labels,
    as_tuple,
    bands_between,
    category_text,
    group_names,
    is_missing,
    plain_number,
)
from trueodds.state_file import MOST_ROWS, Fields, Moment, is_moment

__all__ = [
    "EDGES",
    "MAX_CLASSES",
    "MAX_STRETCHES",
    "N_PARTS",
    "SHAPES",
    "SHIFTS",
    "SLOPES",
    "TILTS",
    "Bets",
    "History",
    "check_cuts",
    "kept_for_later",
    "shares",
]

# ----- what is bet on ---------------------------------------------------------------------------

SHIFTS: Floats = np.array([2.0**power for power in range(-6, 2)])
"""Shifts of the log-odds. Betting on one that is off by √2 costs a sixth of the growth at most."""
TILTS: Floats = np.exp(np.concatenate([SHIFTS, -SHIFTS]))
"""Factors of the odds: eight above 1, eight below."""
_FACTORS = np.exp(np.geomspace(1 / 32, 1, 8))
SLOPES: Floats = np.concatenate([1 / _FACTORS, _FACTORS]) - 1.0
"""Slopes of the log-odds minus 1: eight below 0, eight above."""

EDGES: Floats = np.array(
    [0.001, 0.01, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.99, 0.999]
)
"""Bounds between the score ranges."""
N_PARTS = len(EDGES) + 1
SHAPES = 4
"""Too low, too high, too extreme, not extreme enough: places 0 to 3."""

EARLY_ROWS = 100.0


def kept_for_later(rows: Floats) -> Floats:
    """Return the share of the stake that is left for a start after this many rows.

    As in the kernel: 1 before the first row, 0.5 after it, then 0.5/(1 + ln(1 + (rows − 1)/100)).
    """
    rows = np.asarray(rows, dtype=np.float64)
    later = 0.5 / (1.0 + np.log1p(np.maximum(rows - 1.0, 0.0) / EARLY_ROWS))
    return np.where(rows < 1, 1.0, later)


def shares(n_classes: int, n_groups: int) -> Floats:
    """Return the share of each place in the e-value; they sum to 1.

    Parameters
    ----------
    n_classes : int
        0 for forecasts of two classes.
    n_groups : int
        Number of groups that have a place; 0 if rows have no groups.
    """
    families = (n_classes > 0) + (n_groups > 0)
    # Parts of the scale get little: one that is wrong soon makes up for it, and most are right.
    shapes, parts = ((0.95, 0.05), (0.65, 0.05), (0.55, 0.05))[families]
    rest = (1.0 - shapes - parts) / max(families, 1)
    return np.concatenate(
        [
            np.full(SHAPES, shapes / SHAPES),
            np.full(2 * N_PARTS, parts / (2 * N_PARTS)),
            np.full(2 * n_classes, rest / (2 * max(n_classes, 1))),
            np.full(2 * n_groups, rest / (2 * max(n_groups, 1))),
        ]
    )


# ----- counts over time -------------------------------------------------------------------------

MAX_STRETCHES = 48
SHORTEST = 64
"""Return the number of rows of a new stretch; in a long stream, one row in 512."""


@dataclass(eq=False)
class History:
    """Counts of stretches of rows; older stretches are longer.

    Parameters
    ----------
    starts : list of int
        Rows before each stretch; the last one is still open.
    moments : list
        The time of the first row of each.
    cells : list of ndarray of shape (n_parts, 4)
        Σ weight, Σ weight·p, Σ weight·y and Σ weight·p² in each part of the scale.
    """

    starts: list[int] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)
    cells: list[Floats] = field(default_factory=list)

    def room(self, rows: int) -> int:
        """Return the room of the open stretch after ``rows`` rows; 0 if none is open."""
        if not self.starts:
            return 0
        start = self.starts[-1]
        return max(0, start + max(SHORTEST, start // 512) - rows)

    def open(self, rows: int, moment: Moment) -> None:
        """Begin a new stretch, and merge the two old ones that matter least."""
        self.starts.append(rows)
        self.moments.append(moment)
        self.cells.append(np.zeros((N_PARTS, 4)))
        if len(self.starts) > MAX_STRETCHES:
            self._merge(rows)

    def _merge(self, rows: int) -> None:
        """Merge the neighbors that are shortest for their age."""
        starts = np.array(self.starts[:-1], dtype=np.float64)
        ends = np.array([*self.starts[2:-1], rows], dtype=np.float64)
        lengths = ends - starts[:-1]
        first = int(np.argmin(lengths / (rows - starts[:-1])))
        self.cells[first] += self.cells.pop(first + 1)
        del self.starts[first + 1], self.moments[first + 1]

    def stack(self) -> Floats:
        """Return all stretches as one array of shape (n, n_parts, 4)."""
        return np.stack(self.cells)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values; integers without a decimal point take two thirds of the bytes."""
        cells = [
            [[int(v) if float(v).is_integer() else v for v in row] for row in block.tolist()]
            for block in self.cells
        ]
        return {"starts": list(self.starts), "moments": list(self.moments), "cells": cells}

    @classmethod
    def from_dict(cls, content: Any, rows: int) -> History:
        """Check counts of a monitor after ``rows`` rows."""
        fields = Fields(content, {"starts", "moments", "cells"}, "state.stream.history")
        starts = fields.listed("starts", MAX_STRETCHES)
        good = all(type(start) is int for start in starts)
        if not good or starts != sorted(set(starts)) or (starts and starts[-1] >= max(rows, 1)):
            raise StateFormatError("state.stream.history.starts must be increasing row numbers.")
        if bool(starts) != (rows > 0) or (starts and starts[0] != 0):
            raise StateFormatError("state.stream.history.starts must begin with 0.")
        moments = fields.listed("moments", MAX_STRETCHES)
        if len(moments) != len(starts) or not all(is_moment(moment) for moment in moments):
            raise StateFormatError("state.stream.history.moments must be one time for each start.")
        cells = fields.array("cells", (len(starts), N_PARTS, 4), 0.0, rows * MOST_COUNT)
        if bool((cells[..., 1:] > cells[..., :1] * (1 + 1e-9) + 1e-9).any()):
            raise StateFormatError("state.stream.history.cells has more positives than rows.")
        return cls(list(starts), list(moments), [np.ascontiguousarray(block) for block in cells])


# ----- the bets ---------------------------------------------------------------------------------

MAX_CLASSES = 100
"""Maximum number of classes, and of groups."""

ARRAYS = ("clock", "stakes", "open_share", "value", "named", "sums")
KEYS = {"n_classes", "grouped", "groups", "unlabeled", "alarm_time", "last_time", "history"}
LARGEST_STATE = 1e281
"""Largest number that the kernel stores."""


def n_places(n_classes: int, n_groups: int) -> int:
    """Return the number of places that the monitor bets on."""
    return SHAPES + 2 * (N_PARTS + n_classes + n_groups)


@dataclass(eq=False)
class Bets:
    """The arrays of the kernel, and the names of classes and groups.

    Parameters
    ----------
    n_classes : int
        0 for two classes.
    n_groups : int
        How many groups have a place; 0 if rows have no groups.
    clock : ndarray of shape (5,)
        Rows, mean log-odds, e-value, its peak, and the row of the alarm.
    stakes : ndarray of shape (n_places, 8)
        Stake of each bet, over all start rows.
    open_share, value : ndarray of shape (n_places,)
        Share kept for later starts, and the e-value of each place.
    named : ndarray of shape (n_places,)
        Row at which a place reached the threshold; 0 if it did not.
    sums : ndarray of shape (n_classes + n_groups, 3)
        Weight, expected and observed positives.
    """

    n_classes: int
    n_groups: int
    clock: Floats
    stakes: Floats
    open_share: Floats
    value: Floats
    named: Floats
    sums: Floats
    history: History = field(default_factory=History)
    groups: list[str] = field(default_factory=list)
    n_unlabeled: int = 0
    alarm_time: Moment = None
    last_time: Moment = None

    def __post_init__(self) -> None:
        self.share = shares(self.n_classes, self.n_groups)
        self._codes = {category_text(name): code for code, name in enumerate(self.groups)}

    @classmethod
    def new(cls, n_classes: int, n_groups: int) -> Bets:
        """Return the state before the first row."""
        if n_classes > MAX_CLASSES:
            raise InputError(
                f"scores have {n_classes} columns; a monitor takes at most {MAX_CLASSES} classes. "
                "Pass the probability of the most probable class, and whether it was correct."
            )
        places = n_places(n_classes, n_groups)
        return cls(
            n_classes,
            n_groups,
            clock=np.array([0.0, 0.0, 1.0, 1.0, 0.0]),
            stakes=np.zeros((places, 8)),
            open_share=np.ones(places),
            value=np.ones(places),
            named=np.zeros(places),
            sums=np.zeros((n_classes + n_groups, 3)),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values; numbers read back as the same float64."""
        return {
            "n_classes": self.n_classes,
            "grouped": self.n_groups > 0,
            "groups": list(self.groups),
            "unlabeled": self.n_unlabeled,
            "alarm_time": self.alarm_time,
            "last_time": self.last_time,
            **{name: getattr(self, name).tolist() for name in ARRAYS},
            "history": self.history.to_dict(),
        }

    @classmethod
    def from_dict(cls, content: Any, max_groups: int) -> Bets:
        """Check bets that were read from a file."""
        fields = Fields(content, KEYS | set(ARRAYS), "state.stream")
        n_classes = fields.count("n_classes", MAX_CLASSES)
        if n_classes in (1, 2):
            raise StateFormatError("state.stream.n_classes must be 0 or at least 3.")
        n_groups = max_groups if fields.flag("grouped") else 0
        places, sums = n_places(n_classes, n_groups), n_classes + n_groups
        clock = fields.array("clock", (5,), -15.0, LARGEST_STATE)
        rows = clock[0]
        if not (0 <= rows <= MOST_ROWS and rows.is_integer() and 0 <= clock[4] <= rows):
            raise StateFormatError("state.stream.clock must begin with a count of rows.")
        if abs(clock[1]) > 15 or clock[2:].min() < 0 or not float(clock[4]).is_integer():
            raise StateFormatError("state.stream.clock holds impossible numbers.")
        named = fields.array("named", (places,), 0.0, float(rows))
        if not np.array_equal(named, np.round(named)):
            raise StateFormatError("state.stream.named must hold rows.")
        return cls(
            n_classes,
            n_groups,
            clock=clock,
            stakes=fields.array("stakes", (places, 8), 0.0, LARGEST_STATE),
            open_share=fields.array("open_share", (places,), float(kept_for_later(rows + 1)), 1.0),
            value=fields.array("value", (places,), 0.0, LARGEST_STATE),
            named=named,
            sums=fields.array("sums", (sums, 3), 0.0, rows * MOST_COUNT),
            history=History.from_dict(fields.raw("history"), int(rows)),
            groups=fields.texts("groups", n_groups),
            n_unlabeled=fields.count("unlabeled"),
            alarm_time=fields.moment("alarm_time"),
            last_time=fields.moment("last_time"),
        )

    def check_kind(self, n_classes: int, grouped: bool) -> None:
        """Raise if rows differ in kind from earlier ones."""
        if n_classes != self.n_classes:
            seen, now = (max(2, count) for count in (self.n_classes, n_classes))
            raise InputError(f"scores have {now} classes; earlier rows had {seen}.")
        if grouped != (self.n_groups > 0):
            before = "had" if self.n_groups else "had no"
            raise InputError(f"group must be given always or never; rows before {before} groups.")

    def group_codes(self, values: npt.NDArray[Any], cuts: tuple[float, ...] | None) -> Labels:
        """Return groups as numbers in order of appearance; −1 if there is no room."""
        try:
            found = [_named(value, cuts) for value in values.tolist()]
        except TypeError:
            raise InputError(f"group must hold texts or numbers; got {shown(values)}.") from None
        for key, name in found:
            if key not in self._codes and len(self.groups) < self.n_groups:
                self._codes[key] = len(self.groups)
                self.groups.append(name)
        return np.array([self._codes.get(key, -1) for key, _ in found], dtype=np.intp)

    def arrays(
        self,
    ) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats, Floats, Floats]:
        """Return the arrays in the order of the kernel's arguments."""
        return (
            self.stakes,
            self.open_share,
            self.value,
            self.share,
            self.named,
            self.clock,
            self.history.cells[-1],
            self.sums,
        )

    @property
    def rows(self) -> int:
        """Number of rows so far."""
        return int(self.clock[0])

    @property
    def center(self) -> float:
        """Mean log-odds."""
        return float(self.clock[1])

    @property
    def e_value(self) -> float:
        """E-value after the last row."""
        return float(self.clock[2])

    @property
    def peak(self) -> float:
        """Largest e-value so far."""
        return float(self.clock[3])

    @property
    def alarm_row(self) -> int:
        """Row of the alarm; 0 if there was none."""
        return int(self.clock[4])


def check_cuts(cuts: Any) -> tuple[float, ...]:
    """Check the numbers at which groups are cut into bands."""
    numbers = [plain_number(cut) for cut in as_tuple(cuts, "group_cuts")]
    if not all(n is not None and abs(n) < math.inf for n in numbers) or any(
        low >= high for low, high in pairwise(numbers)
    ):
        raise InputError(f"group_cuts must be increasing finite numbers; got {shown(cuts)}.")
    return tuple(numbers)


@lru_cache(maxsize=1024, typed=True)
def _named(value: Any, cuts: tuple[float, ...] | None) -> tuple[str | None, str]:
    """The text by which a value's group is known, and its name; cut numbers are in bands."""
    if cuts is None or is_missing(value):
        name = group_names([None if is_missing(value) else value])[0][:LONGEST_LABEL]
        return category_text(name), name
    number = _number(value)
    if number is None:
        raise InputError(f"group must hold numbers, which group_cuts cut; got {shown(value)}.")
    name = group_names(bands_between(cuts))[bisect_right(cuts, number)]
    return name, name


def _number(value: Any) -> float | None:
    """A number, which files give as a text."""
    kind: type[int] | type[float]
    for kind in (int, float) if isinstance(value, str) else ():
        with suppress(ValueError):
            return kind(value)
    number: float | None = plain_number(value)
    return number
