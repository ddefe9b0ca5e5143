"""What a monitor remembers of its stream."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.exceptions import InputError
from trueodds.inputs import Floats, Labels
from trueodds.monitoring._bets import N_PARTS, SHAPES, shares
from trueodds.monitoring._history import History, Moment

__all__ = ["MAX_CLASSES", "Stream", "n_places"]

MAX_CLASSES = 100
"""Of classes, and of groups."""

MISSING = "(missing)"


def n_places(n_classes: int, n_groups: int) -> int:
    """How many places are bet on."""
    return SHAPES + 2 * (N_PARTS + n_classes + n_groups)


@dataclass(eq=False)
class Stream:
    """The arrays that the kernel works on, and the names that belong to them.

    Parameters
    ----------
    n_classes : int
        0 for two classes.
    n_groups : int
        How many groups have a place; 0 if rows have no groups.
    clock : ndarray of shape (5,)
        Rows, mean log-odds, evidence, its peak, and the row of the alarm.
    stakes : ndarray of shape (n_places, 8)
        Of each bet, over all start rows.
    open_share, value : ndarray of shape (n_places,)
        What is kept for later starts, and the evidence of each place.
    named : ndarray of shape (n_places,)
        The row at which a place was named; 0 if it was not.
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
    n_unlabelled: int = 0
    alarm_time: Moment = None
    last_time: Moment = None

    def __post_init__(self) -> None:
        self.share = shares(self.n_classes, self.n_groups)
        self._codes = {name: code for code, name in enumerate(self.groups)}

    @classmethod
    def new(cls, n_classes: int, n_groups: int) -> Stream:
        """Before the first row."""
        if n_classes > MAX_CLASSES:
            raise InputError(
                f"scores have {n_classes} columns, more than the {MAX_CLASSES} classes that can be "
                "watched; pass the probability of the most probable one and whether it was right."
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

    def check_kind(self, n_classes: int, grouped: bool) -> None:
        """Refuse rows of another kind than those before."""
        if n_classes != self.n_classes:
            seen, now = (max(2, count) for count in (self.n_classes, n_classes))
            raise InputError(f"scores are of {now} classes; those before were of {seen}.")
        if grouped != (self.n_groups > 0):
            before = "had" if self.n_groups else "had no"
            raise InputError(f"group must be given always or never; rows before {before} groups.")

    def group_codes(self, names: npt.NDArray[Any]) -> Labels:
        """Groups as numbers in the order in which they appeared; −1 where there is no room."""
        found, inverse = np.unique(
            np.array([_name(v) for v in names.tolist()]), return_inverse=True
        )
        first = np.full(len(found), len(names))
        np.minimum.at(first, inverse, np.arange(len(names)))
        codes = np.full(len(found), -1, dtype=np.intp)
        for place in np.argsort(first):
            name = str(found[place])
            if name not in self._codes and len(self.groups) < self.n_groups:
                self._codes[name] = len(self.groups)
                self.groups.append(name)
            codes[place] = self._codes.get(name, -1)
        return np.ascontiguousarray(codes[inverse])

    def arrays(
        self,
    ) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats, Floats, Floats]:
        """In the order in which the kernel takes them."""
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
        """Rows so far."""
        return int(self.clock[0])

    @property
    def centre(self) -> float:
        """Mean log-odds."""
        return float(self.clock[1])

    @property
    def evidence(self) -> float:
        """After the last row."""
        return float(self.clock[2])

    @property
    def peak(self) -> float:
        """The greatest so far."""
        return float(self.clock[3])

    @property
    def alarm_row(self) -> int:
        """0 if there was no alarm."""
        return int(self.clock[4])


def _name(value: Any) -> str:
    return MISSING if value is None or value != value else str(value)[:200]
