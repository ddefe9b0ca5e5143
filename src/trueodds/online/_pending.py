"""Rows that wait for their labels: the forecasts of all experts, in 32 bytes each."""

from __future__ import annotations

import base64
import binascii
from itertools import chain, islice
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.basics.shown import shown
from trueodds.exceptions import StateFormatError
from trueodds.online._settings import CODES, MAX_CODE, MAX_FORECAST_LOG_ODDS, MAX_LOG_ODDS
from trueodds.state_file import MOST_ROWS, Fields

__all__ = ["LARGEST_ID", "LONGEST_ID", "Pending", "RowId"]

RowId = str | int
LONGEST_ID = 64
"""Characters of an id that is a text."""
LARGEST_ID = 2**63
KEYS = {"ids", "generations", "rows"}
PADDED = CODES + CODES % 2


class Pending:
    """A buffer of rows in the order in which they were asked; the oldest are dropped first.

    Numbers are held as they are saved, in float32 and 12 bits, so that a saved buffer goes on bit
    for bit.

    Parameters
    ----------
    size : int
        Rows that it holds at most.
    n_classes : int
        Streams that each row belongs to.
    """

    def __init__(self, size: int, n_classes: int) -> None:
        self.size, self.n_classes = size, n_classes
        self._place: dict[RowId, int] = {}
        """The place of each id; ids are in the order in which they were asked."""
        self._free = list(range(size))[::-1]
        self._z = np.zeros((size, n_classes), np.float32)
        self._score = np.zeros((size, n_classes), np.float32)
        self._told = np.zeros((size, n_classes), np.float32)
        self._codes = np.zeros((size, n_classes, CODES), np.int16)
        self._generation = np.zeros(size, np.int64)
        self._turn = np.zeros(size, np.int64)
        self._turns = 0

    def __len__(self) -> int:
        return len(self._place)

    def __contains__(self, row_id: object) -> bool:
        return row_id in self._place

    def dropped_for(self, generations: list[int]) -> list[int]:
        """The generations of the rows that :meth:`add` will drop for rows of these generations."""
        n = len(generations) - len(self._free)
        waiting = map(self.generation, self._place.values())
        return list(islice(chain(waiting, generations), max(n, 0)))

    def add(
        self, row_id: RowId, generation: int, z: Any, score: Any, told: Any, codes: Any
    ) -> None:
        """Remember a row; without room, the oldest one is dropped."""
        if not self._free:
            self.take(next(iter(self._place)))
        k = self._free.pop()
        self._place[row_id] = k
        self._z[k], self._score[k], self._told[k], self._codes[k] = z, score, told, codes
        self._generation[k], self._turn[k] = generation, self._turns
        self._turns += 1

    def take(self, row_id: RowId) -> None:
        """Let a row go."""
        self._free.append(self._place.pop(row_id))

    def in_order(self, row_ids: list[RowId]) -> list[RowId]:
        """The ids that wait, in the order in which they were asked."""
        known = [row_id for row_id in row_ids if row_id in self._place]
        return sorted(known, key=lambda row_id: self._turn[self._place[row_id]])

    def place(self, row_id: RowId) -> int:
        """The place of a row that waits."""
        return self._place[row_id]

    def waiting_in(self, generation: int) -> int:
        """How many rows of a generation wait."""
        return int((self._generation[list(self._place.values())] == generation).sum())

    def row(self, k: int, c: int) -> tuple[float, float, float, npt.NDArray[np.int16]]:
        """Log-odds of the center and of the score, the forecast told, and the codes of a class."""
        z, score, told = self._z[k, c], self._score[k, c], self._told[k, c]
        return float(z), float(score), float(told), self._codes[k, c]

    def generation(self, k: int) -> int:
        """Generations that had been closed when this row was asked."""
        return int(self._generation[k])

    def to_dict(self, with_start: bool) -> dict[str, Any]:
        """The rows as one text, ids and counts as steps from the row before."""
        places = list(self._place.values())
        columns = [self._z, self._told, *([self._score] if with_start else [])]
        floats = [column[places].astype("<f4").view(np.uint8) for column in columns]
        codes = np.zeros((len(places), self.n_classes, PADDED), np.int16)
        codes[:, :, :CODES] = self._codes[places]
        packed = _packed(codes.reshape(len(places), PADDED * self.n_classes))
        table = np.concatenate([*floats, packed], axis=1)
        return {
            "ids": _steps(list(self._place)),
            "generations": _steps(self._generation[places].tolist()),
            "rows": base64.b85encode(table.tobytes()).decode("ascii"),
        }

    @classmethod
    def from_dict(
        cls, content: Any, size: int, n_classes: int, with_start: bool, closed: int
    ) -> Pending:
        """A buffer from what was saved, every value of which is checked."""
        fields = Fields(content, KEYS, "pending")
        ids = _from_steps(fields.listed("ids", size), "ids")
        generations = _from_steps(fields.listed("generations", size), "generations")
        if len(set(ids)) < len(ids) or len(generations) != len(ids):
            raise StateFormatError("pending.ids must be different, with as many generations.")
        if not all(isinstance(n, int) and 0 <= n <= closed for n in generations):
            raise StateFormatError("pending.generations must be of the streams.")
        n_floats = (3 if with_start else 2) * n_classes
        width = 4 * n_floats + PADDED * n_classes * 3 // 2
        table = _decoded(fields.raw("rows"), len(ids), width)
        floats = np.ascontiguousarray(table[:, : 4 * n_floats]).view("<f4")
        codes = _unpacked(table[:, 4 * n_floats :], PADDED * n_classes)
        limits = np.repeat(
            [MAX_LOG_ODDS, MAX_FORECAST_LOG_ODDS, MAX_LOG_ODDS][: n_floats // n_classes], n_classes
        )
        if not bool((np.abs(floats) <= np.float32(limits)).all()):
            raise StateFormatError("pending.rows must hold log-odds within their limits.")
        if np.abs(codes).max(initial=0) > MAX_CODE:
            raise StateFormatError("pending.rows holds a code beyond its limits.")
        buffer = cls(size, n_classes)
        for i, row_id in enumerate(ids):
            z, told = floats[i, :n_classes], floats[i, n_classes : 2 * n_classes]
            score = floats[i, 2 * n_classes :] if with_start else z
            row_codes = codes[i].reshape(n_classes, PADDED)[:, :CODES]
            buffer.add(row_id, int(generations[i]), z, score, told, row_codes)
        return buffer


def _steps(values: list[RowId]) -> list[RowId]:
    """Whole numbers as differences from the last one before, texts unchanged."""
    last = 0
    found: list[RowId] = []
    for value in values:
        found.append(value if isinstance(value, str) else value - last)
        last = last if isinstance(value, str) else value
    return found


def _from_steps(steps: list[Any], name: str) -> list[RowId]:
    last = 0
    found: list[RowId] = []
    for step in steps:
        if isinstance(step, str) and len(step) <= LONGEST_ID:
            found.append(step)
            continue
        if type(step) is not int or abs(last + step) > max(LARGEST_ID, MOST_ROWS):
            raise StateFormatError(
                f"pending.{name} must hold whole numbers or short texts; got {shown(step)}."
            )
        last += step
        found.append(last)
    return found


def _packed(codes: npt.NDArray[np.int16]) -> npt.NDArray[np.uint8]:
    """12 bits each: two codes in three bytes. Their number is even."""
    plain = (codes.astype(np.int32) + 2048).astype(np.uint32)
    first, second = plain[:, ::2], plain[:, 1::2]
    parts = [first >> 4, (first & 15) << 4 | second >> 8, second & 255]
    return np.stack(parts, axis=2).astype(np.uint8).reshape(len(codes), codes.shape[1] * 3 // 2)


def _unpacked(table: npt.NDArray[np.uint8], n: int) -> npt.NDArray[np.int16]:
    a, b, c = (table[:, k::3].astype(np.int32) for k in range(3))
    both = np.stack([a << 4 | b >> 4, (b & 15) << 8 | c], axis=2).reshape(len(table), n)
    return (both - 2048).astype(np.int16)


def _decoded(text: Any, n: int, width: int) -> npt.NDArray[np.uint8]:
    try:
        content = base64.b85decode(text) if isinstance(text, str) else None
    except (ValueError, binascii.Error):
        content = None
    if content is None or len(content) != n * width:
        raise StateFormatError(f"pending.rows must be {n} rows of {width} bytes in base 85.")
    return np.frombuffer(content, np.uint8).reshape(n, width)
