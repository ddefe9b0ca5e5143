"""The effects of a fitted group map as records that people read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, overload

import numpy as np

from trueodds.basics.tables import Tabular
from trueodds.inputs import Floats, group_names, number_texts
from trueodds.maps import SCORE, GroupMap, GroupTerm

__all__ = ["GroupEffect", "GroupEffects", "effects_of"]

MISSING, NOT_SEEN = "(missing)", "(not seen)"
LEVEL = 0.9
MOST_SHOWN = 30


@dataclass(frozen=True)
class GroupEffect:
    """What the rows at one level of a feature add to the log-odds.

    Attributes
    ----------
    feature, level : str
        The feature, ``"score"`` for the score itself, and its level: a category, a range of
        numbers, or ``"(missing)"``.
    rows : float
        Weight of the rows at this level.
    shift, low, high : float
        What is added to the log-odds, relative to the mean over all rows, with its 90% interval.
        Shifts are shrunk more than intervals, which need not be symmetric around them.
    slope : float
        What is added for each standard deviation of the base map's log-odds.
    label : object
        The class, if there are several; else None.

    Examples
    --------
    >>> from trueodds.calibrators import GroupEffect
    >>> GroupEffect("region", "north", 120, 0.4, 0.1, 0.7, 0.0).shift
    0.4
    """

    feature: str
    level: str
    rows: float
    shift: float
    low: float
    high: float
    slope: float
    label: Any = None


@dataclass(frozen=True)
class GroupEffects(Tabular, Sequence[GroupEffect]):
    """The effects of all levels of all features; a sequence of :class:`GroupEffect`.

    Examples
    --------
    >>> from trueodds.calibrators import GroupEffect, GroupEffects
    >>> north = GroupEffect("region", "north", 120, 0.4, 0.1, 0.7, 0.0)
    >>> print(GroupEffects((north,)))
    feature  level  rows  shift           90%  slope
    region   north   120  +0.40  +0.10, +0.70  +0.00
    """

    effects: tuple[GroupEffect, ...]

    def __len__(self) -> int:
        return len(self.effects)

    @overload
    def __getitem__(self, index: int) -> GroupEffect: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[GroupEffect]: ...

    def __getitem__(self, index: int | slice) -> GroupEffect | Sequence[GroupEffect]:
        return self.effects[index]

    def __iter__(self) -> Iterator[GroupEffect]:
        return iter(self.effects)

    def of(self, feature: str) -> GroupEffects:
        """The effects of one feature."""
        return GroupEffects(tuple(e for e in self.effects if e.feature == feature))

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary per effect."""
        return [asdict(effect) for effect in self.effects]

    def __str__(self) -> str:
        """A table for reading, the largest effects first."""
        largest = sorted(self.effects, key=lambda effect: -abs(effect.shift))[:MOST_SHOWN]
        shown = [
            (
                e.feature,
                e.level,
                f"{e.rows:g}",
                f"{e.shift:+.2f}",
                f"{e.low:+.2f}, {e.high:+.2f}",
                f"{e.slope:+.2f}",
            )
            for e in largest
        ]
        table = [("feature", "level", "rows", "shift", "90%", "slope"), *shown]
        widths = [max(len(line[k]) for line in table) for k in range(6)]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if k < 2 else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in table
        )


def effects_of(fitted: GroupMap, weights: list[Floats], labels: Sequence[Any]) -> GroupEffects:
    """The effects of single features, levels without rows left out.

    ``weights`` holds the weight of the rows at each level of each term; ``labels`` the class of
    each output.
    """
    import scipy  # which a list of methods must not wait for

    reach = float(scipy.special.ndtri(0.5 + LEVEL / 2))
    found = []
    seen: set[tuple[int, ...]] = set()
    for term, weight in zip(fitted.terms, weights, strict=True):
        place = (term.output, *term.features)
        # Of the score, the smooth effect comes first; those of single values are left out.
        if len(place) == 2 and place not in seen:
            seen.add(place)
            means, _, spread = term.for_intervals()
            half = reach * np.sqrt(spread[0])
            low, high = np.minimum(means - half, term.shift), np.maximum(means + half, term.shift)
            slope = term.slope if term.slope.size else np.zeros(term.n_levels)
            name, levels = feature_name(fitted, term.features[0]), level_names(fitted, term)
            found += [
                GroupEffect(
                    name,
                    levels[k],
                    float(weight[k]),
                    float(term.shift[k]),
                    float(low[k]),
                    float(high[k]),
                    float(slope[k]),
                    labels[term.output],
                )
                for k in np.flatnonzero(weight > 0).tolist()
                if levels[k] != NOT_SEEN
            ]
    return GroupEffects(tuple(found))


def feature_name(fitted: GroupMap, feature: int) -> str:
    """Name of a column, ``x0``, ``x1``, … in an array, or ``"score"``."""
    return "score" if feature == SCORE else fitted.space.name(feature)


def level_names(fitted: GroupMap, term: GroupTerm) -> list[str]:
    """What the levels of a term of one feature are called."""
    feature, cut = term.features[0], term.cuts[0]
    known = None if feature == SCORE else fitted.categories[feature]
    if known is not None:
        return [*group_names(known), MISSING, NOT_SEEN]
    ends = number_texts([] if cut is None else cut.tolist())
    if not ends:
        return ["all", MISSING]
    between = [f"{a} to {b}" for a, b in pairwise(ends)]
    return [f"up to {ends[0]}", *between, f"above {ends[-1]}", MISSING]
