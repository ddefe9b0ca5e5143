"""Which places are named, and what they are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trueodds.monitoring._bets import EDGES, N_PARTS, SHAPES
from trueodds.monitoring._findings import WrongPlace
from trueodds.monitoring._stream import Stream

__all__ = ["part_name", "wrong_places"]

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
