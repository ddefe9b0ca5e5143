"""Standard input as JSON lines: each line is a row or a label, and gets a line as its answer."""

from __future__ import annotations

import json
import math
import os
import select
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueodds.basics.files import parse_json
from trueodds.basics.shown import shown
from trueodds.basics.signals import STOPPING, Terminated
from trueodds.engines.labels import class_of
from trueodds.exceptions import InputError
from trueodds.watch.forecasts import Forecasts
from trueodds.watch.sinks import StreamSink

__all__ = ["LineColumns", "LineRun"]

STANDARD_INPUT = 0
"""Its descriptor: lines are answered as they come, so nothing may be read ahead."""
READ_BYTES = 1 << 16
LONGEST_LINE = 1_000_000
LONGEST_WAIT = 1000
"""Lines after which the state is saved even if more are there."""


@dataclass(frozen=True, kw_only=True)
class LineColumns:
    """The keys of lines.

    Parameters
    ----------
    score : tuple of str
    label : str
    counts, row_id : str or None
    positive : str or None
        The label of the positive class.
    percent : bool
        Whether scores run to 100.
    skip : bool
        Whether lines that cannot be used are answered with their error.
    """

    score: tuple[str, ...]
    label: str
    counts: str | None
    row_id: str | None
    positive: str | None
    percent: bool
    skip: bool


class LineRun:
    """Lines of standard input into the calibrator of a run.

    Answers are written before the state: a run that is killed may have answered lines that are not
    in the state. Sent again, they get the same answers. Lines that are in the state, sent again,
    are known by their ids.
    """

    def __init__(
        self, sink: StreamSink, output: Forecasts, keys: LineColumns, log: Callable[[str], None]
    ) -> None:
        self.sink, self.output, self.keys, self.log = sink, output, keys, log
        self.job, self.online = sink.state, sink.online
        self._unsaved = 0
        self._labeled: list[tuple[Any, int, float]] = []

    def read(self) -> None:
        """Learn all lines to the end of the input, and save what was learned."""
        try:
            for lines, idle in _blocks(STANDARD_INPUT):
                with STOPPING.held():
                    for line in lines:
                        self._learn(line)
                        if self._unsaved >= LONGEST_WAIT:
                            self._save()
                    if idle:
                        self._save()
        except (InputError, KeyboardInterrupt, Terminated):
            self._save(last=True)  # all lines before the one that is wrong
            raise
        self._save(last=True)

    def _save(self, *, last: bool = False) -> None:
        self.output.flush()
        if self._unsaved or last:
            if self._labeled:
                p, codes, counts = map(np.array, zip(*self._labeled, strict=True))
                seen = self.job.watch.count(p, codes, counts=counts)
                self.job.watch.add_period("standard input", False, seen)
                self._labeled = []
            self.output.commit(last=last)
            STOPPING.go_on()
            self._unsaved = 0

    def _learn(self, line: bytes) -> None:
        count = self.job.lines + 1
        name = f"line {count:,} of standard input"
        try:
            answer = self._answer(self._row(line, name))
        except InputError as error:
            said = str(error) if str(error).startswith(name) else f"{name}: {error}"
            if not self.keys.skip:
                raise InputError(f"{said} To leave such lines out, pass --on-bad-rows skip.") from (
                    None
                )
            answer = {"error": said}
            self.log(f"left out: {said}")
        self.job.lines = count
        self._unsaved += 1
        self.output.write([{"line": count} | answer])

    def _row(self, line: bytes, name: str) -> dict[str, Any]:
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            raise InputError(f"{name} is not UTF-8 text.") from None
        row = parse_json(text, name, InputError)
        if not isinstance(row, dict):
            raise InputError(f"{name} is no JSON object.")
        return row

    def _answer(self, row: dict[str, Any]) -> dict[str, Any]:
        code, row_id, scores = self._code(row.get(self.keys.label)), self._id(row), None
        answer: dict[str, Any] = {} if row_id is None else {"id": row_id}
        if any(row.get(name) is not None for name in self.keys.score):
            numbers = [self._score(row, name) for name in self.keys.score]
            scores = np.array(numbers if len(numbers) == 1 else [numbers])
        elif row_id is None or code is None:
            names = " or ".join(map(shown, self.keys.score[:3]))
            raise InputError(
                f"it has neither a score ({names}) nor a label ({shown(self.keys.label)}) with an "
                "id (--id)."
            )
        count = self._count(row)
        is_known = code is None and row_id is not None and self.online.waits_for(row_id)
        p, learned, _, was_learned = self.sink.learn(
            scores,
            np.array([-1 if code is None else code]),
            None if row_id is None else np.array([row_id], dtype=object),
            np.array([count]),
        )
        if learned[0] and count > 0:
            self._labeled.append((p[0], int(code or 0), count))
        known = {"known": True} if is_known or was_learned[0] else {}
        self.sink.n_known += len(known)
        if scores is not None:
            return answer | self.sink.forecast_columns(p[0]) | known
        if not learned[0]:
            self.online.n_unknown += not known
            return answer | {"learned": False} | known
        return answer | self.sink.forecast_columns(p[0]) | {"learned": True}

    def _score(self, row: dict[str, Any], name: str) -> float:
        value: Any = row.get(name)
        if type(value) not in (int, float):
            raise InputError(f"{shown(name)} must be a number; got {shown(value)}.")
        try:
            return float(value) / (100.0 if self.keys.percent else 1.0)
        except OverflowError:
            raise InputError(f"{shown(name)} is too large: {shown(value)}.") from None

    def _count(self, row: dict[str, Any]) -> float:
        if self.keys.counts is None:
            return 1.0
        value: Any = row.get(self.keys.counts)
        if type(value) not in (int, float) or not 0 <= value < 2**53 or value != math.floor(value):
            raise InputError(
                f"{shown(self.keys.counts)} must be a whole number of rows; got {shown(value)}."
            )
        return float(value)

    def _id(self, row: dict[str, Any]) -> str | int | None:
        if self.keys.row_id is None:
            return None
        value = row.get(self.keys.row_id)
        if value is not None and type(value) not in (str, int):
            raise InputError(
                f"{shown(self.keys.row_id)} (--id) must be a text or a whole number; got "
                f"{shown(value)}."
            )
        return value

    def _code(self, value: Any) -> int | None:
        if value is None:
            return None
        if isinstance(value, (list, dict)):
            raise InputError(f"{shown(self.keys.label)} must be a label; got {shown(value)}.")
        text = value if isinstance(value, str) else json.dumps(value)
        if self.keys.positive is not None:
            return int(text == self.keys.positive)
        code = class_of(text, self.sink.classes)
        if code is None:
            known = ", ".join(map(shown, self.sink.classes[:10]))
            raise InputError(
                f"{shown(value)} is none of the map's classes ({known}); pass --positive LABEL."
            )
        return code


def _blocks(handle: int) -> Iterator[tuple[list[bytes], bool]]:
    """Whole lines as they come, and whether no more are there at the moment."""
    rest = b""
    while block := os.read(handle, READ_BYTES):
        if len(rest) > LONGEST_LINE:
            raise InputError(f"a line of standard input is longer than {LONGEST_LINE:,} bytes.")
        *lines, rest = (rest + block).split(b"\n")
        yield [line for line in lines if line.strip()], not _has_more(handle)
    if rest.strip():
        yield [rest], True


def _has_more(handle: int) -> bool:
    try:
        return bool(select.select([handle], [], [], 0)[0])
    except (OSError, ValueError):  # Windows has no select for pipes
        return False
