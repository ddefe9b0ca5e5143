"""Times, periods, and rows as a run hands them to a sink."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.inputs import Floats, Labels

__all__ = [
    "MOST_SEEN",
    "STEPS",
    "Piece",
    "is_stamp",
    "later",
    "missing_periods",
    "moment_number",
    "moment_text",
]

STEPS = ("hour", "day", "week", "month", "quarter", "year")
CYCLE = {"hour": timedelta(days=1), "day": timedelta(days=7)}
"""Interval after which the same hours or days recur."""
MOST_SEEN = 1_000
"""Maximum number of periods that are remembered."""
EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True, eq=False)
class Piece:
    """Rows of one period, as far as they came in one batch.

    Parameters
    ----------
    period : str
    late : bool
        Whether rows of later periods were counted before.
    times, moments : ndarray or None
        Times as texts, and as numbers.
    scores : ndarray or None
        None for labels alone.
    codes : ndarray
        Codes of the labels; −1 where there is none.
    counts, groups, ids : ndarray or None
        How often each row occurred; its group; its id.
    features : pyarrow.Table or None
        The features of the map.
    positions, files : ndarray
        Place of each row in the run, and of its file among those that are read.
    held, expired : ndarray of bool
        Rows after ``--until``, and rows too old for a file that is not known.
    """

    period: str
    late: bool
    times: npt.NDArray[Any] | None
    moments: npt.NDArray[Any] | None
    scores: Floats | None
    codes: Labels
    counts: Floats | None
    groups: npt.NDArray[Any] | None
    ids: npt.NDArray[Any] | None
    features: Any
    positions: npt.NDArray[Any]
    files: npt.NDArray[Any]
    held: npt.NDArray[np.bool_]
    expired: npt.NDArray[np.bool_]

    @classmethod
    def of_labels(cls, period: str, ids: npt.NDArray[Any], codes: Labels, first: int) -> Piece:
        """Labels without scores; ``first`` is the place of the first one."""
        n, no = len(ids), np.zeros(len(ids), dtype=bool)
        at, file = np.arange(first, first + n), np.zeros(n, dtype=np.int32)
        return cls(period, False, None, None, None, codes, None, None, ids, None, at, file, no, no)

    def part(self, rows: Any, period: str = "", late: bool = False) -> Piece:
        """Return some of the rows, selected by a slice or by their numbers."""
        own = {name: value for name, value in vars(self).items() if name not in ("period", "late")}
        for name, value in own.items():
            if name == "features" and value is not None:
                whole = isinstance(rows, slice)
                own[name] = value[rows] if whole else value.take(np.asarray(rows))
            elif value is not None:
                own[name] = value[rows]
        return Piece(period, late, **own)


def moment_number(text: str, kind: str | None) -> float:
    """Return a time as a number that increases with time."""
    if kind == "number":
        return float(text)
    return (datetime.fromisoformat(text) - EPOCH) / timedelta(microseconds=1)


def moment_text(number: float, kind: str | None) -> str:
    """Return such a number as the state keeps it."""
    if kind == "number":
        return repr(number)
    return (EPOCH + timedelta(microseconds=number)).isoformat(" ")


def later(one: str | None, other: str, kind: str | None) -> str:
    """Return the later of two times."""
    if one is None or moment_number(other, kind) > moment_number(one, kind):
        return other
    return one


def is_stamp(text: str) -> bool:
    """Whether a text is a time as the engine writes it, to the second."""
    try:
        return datetime.fromisoformat(text).isoformat(" ", "seconds") == text
    except ValueError:
        return False


def missing_periods(seen: Sequence[str], step: str) -> list[str]:
    """Return the newest 1,000 periods without rows between the first and the last period.

    An hour of the day or a day of the week that had no rows twice before is not missing: shops
    close on Sundays.

    Examples
    --------
    >>> days = [f"2026-10-{day:02d} 00:00:00" for day in (1, 2, 4, 5)]
    >>> missing_periods(days, "day")
    ['2026-10-03 00:00:00']
    """
    if len(seen) < 2:
        return []
    present = set(seen)
    first, last = (datetime.fromisoformat(text) for text in (seen[0], seen[-1]))
    cycle = CYCLE.get(step)
    absent: list[str] = []
    off: set[str] = set()
    for moment in _from_to(first, last, step):
        text = moment.isoformat(" ")
        if text in present:
            continue
        off.add(text)
        if cycle is not None and moment - first >= 2 * cycle:
            before = {(moment - k * cycle).isoformat(" ") for k in (1, 2)}
            if before <= off:
                continue
        absent.append(text)
    return absent[-MOST_SEEN:]


def _from_to(first: datetime, last: datetime, step: str) -> Iterator[datetime]:
    """Return the starts of periods, at most the last 100,000."""
    hours = {"hour": 1, "day": 24, "week": 168}.get(step)
    if hours is not None:
        length = timedelta(hours=hours)
        count = (last - first) // length
        for number in range(max(0, count - 100_000), count + 1):
            yield first + number * length
        return
    months = {"month": 1, "quarter": 3, "year": 12}[step]
    begin, end = (12 * moment.year + moment.month - 1 for moment in (first, last))
    for month in range(begin, end + 1, months):
        yield datetime(month // 12, month % 12 + 1, 1)
