"""Where the new rows of a run go: a monitor of a map, or a calibrator with its monitor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from trueodds.exceptions import InputError
from trueodds.inputs import Floats
from trueodds.watch.periods import Piece
from trueodds.watch.state import StreamWatch, Watch

__all__ = ["MonitorSink", "Sink", "StreamSink"]


class Sink(Protocol):
    """Takes the new rows of a run, in order."""

    classes: tuple[Any, ...]
    """Classes of the map; empty before the first row if the map does not name them."""
    waits: bool
    """Whether rows without a label are taken too, and labels alone later."""
    n_known: int
    """Rows with a label that were counted before, by their ids."""

    def begin(self, classes: tuple[Any, ...], files: list[str], starts: dict[int, int]) -> None:
        """Before the rows of some files: their names, and the position of the first row of each."""

    def take(self, piece: Piece) -> Floats:
        """Take rows; returns how many have a label, and what was expected and observed of them."""


class MonitorSink:
    """Forecasts of a map, with their labels, into a monitor."""

    waits = False

    def __init__(self, watch: Watch, fitted: Any, *, comma: bool = False) -> None:
        self.watch, self.fitted, self.comma, self.n_known = watch, fitted, comma, 0
        self.classes: tuple[Any, ...] = fitted.classes or ()

    def begin(self, classes: tuple[Any, ...], _files: list[str], _starts: dict[int, int]) -> None:
        """The monitor needs no names."""
        self.classes = classes

    def take(self, piece: Piece) -> Floats:
        """Forecast rows with a label by the map."""
        if piece.ids is not None:
            new = np.flatnonzero([self.watch.ids.add(one) for one in _given(piece.ids).tolist()])
            self.n_known += len(piece.ids) - len(new)
            if not len(new):
                return np.zeros(3)
            piece = piece.part(new)
        groups: Any = piece.groups
        if self.comma and self.watch.monitor.group_cuts is not None:
            groups = [text and text.replace(".", "").replace(",", ".") for text in groups]
        return self.watch.count(
            np.asarray(self.fitted(piece.scores, piece.features)),
            piece.codes,
            counts=piece.counts,
            times=piece.times,
            moments=piece.moments,
            groups=groups,
        )


class Output(Protocol):
    """Where forecasts are written."""

    count: int
    """Forecasts that were made."""

    @property
    def wanted(self) -> bool:
        """Whether forecasts go anywhere."""

    def write(self, rows: list[dict[str, Any]]) -> None:
        """Add rows, all with the same keys."""

    def learned(self) -> None:
        """After rows were learned."""


class StreamSink:
    """Rows into an online calibrator: forecast first, then learned if they have a label.

    Parameters
    ----------
    state : StreamWatch
    output : Output
    classes : tuple
        Classes of the map, if it names them.
    waits : bool
        Whether rows have ids, under which labels may come later.
    """

    def __init__(
        self, state: StreamWatch, output: Output, classes: tuple[Any, ...], *, waits: bool
    ) -> None:
        self.state, self.online, self.output = state, state.online, output
        self.classes, self.waits, self.n_known = classes, waits, 0
        self._files: list[str] = []
        self._starts: dict[int, int] = {}

    def begin(self, classes: tuple[Any, ...], files: list[str], starts: dict[int, int]) -> None:
        """Remember where rows come from."""
        self.classes, self._files, self._starts = classes, files, starts

    def take(self, piece: Piece) -> Floats:
        """Learn rows with a label; forecast the others, if they have ids."""
        ids = None if piece.ids is None else _given(piece.ids)
        p, learned, made, known = self.learn(piece.scores, piece.codes, ids, piece.counts)
        self.n_known += int((known & (piece.codes >= 0)).sum())
        if self.output.wanted:
            self.output.write(self._written(piece, p, made))
        else:
            self.output.count += int(made.sum())
        own = piece.part(np.flatnonzero(learned))
        return self.state.watch.count(
            p[learned], own.codes, counts=own.counts, times=own.times, moments=own.moments
        )

    def learn(self, scores: Any, codes: Any, ids: Any, counts: Any) -> tuple[Any, ...]:
        """Answer pending rows, learn other labeled rows, and predict the rest.

        Rows whose ids were learned before are predicted only.

        Parameters
        ----------
        scores : ndarray or None
            None for labels alone.
        codes, ids, counts : ndarray
            Codes of labels, −1 without one; ids and counts may be None.

        Returns
        -------
        p : ndarray of shape (n, n_classes)
            The forecasts that were made before the labels were known.
        learned, made, known : ndarray of bool
            Rows that were learned, rows whose forecasts are to be written, and rows that were
            learned before.
        """
        parts = []
        for part in _parts(ids, len(codes)):
            own = [None if one is None else one[part] for one in (scores, codes, ids, counts)]
            parts.append(self._learn(*own))
        return tuple(map(np.concatenate, zip(*parts, strict=True)))

    def _learn(self, scores: Any, codes: Any, ids: Any, counts: Any) -> tuple[Any, ...]:
        """The same with different ids."""
        online, labeled, seen = self.online, codes >= 0, self.state.watch.ids
        y = codes
        if online.classes is not None:
            y = np.array(self.classes, dtype=object)[codes]
        p = np.full((len(codes), max(2, len(self.classes))), np.nan)
        waits, known = np.zeros((2, len(codes)), dtype=bool)
        if ids is not None:
            waits[:] = [online.waits_for(one) for one in ids.tolist()]
            known[:] = [one in seen for one in ids.tolist()]
            known &= ~waits
        count = np.ones(len(codes)) if counts is None else counts
        late, other = labeled & waits, ~waits & ~known
        direct, new = labeled & other, ~labeled & other
        if scores is None:
            direct = new = np.zeros(len(codes), dtype=bool)
        if waits.any():
            p[waits] = online.recall(ids[waits])
        if late.any():
            online.answer(ids[late], y[late], counts=count[late])
        if direct.any():
            p[direct] = online.replay(scores[direct], y[direct], counts=count[direct])
        if scores is not None and known.any():
            p[known] = online.predict_proba(scores[known])
        if new.any():
            p[new] = (
                online.predict_proba(scores[new])
                if ids is None
                else online.ask(scores[new], ids[new])
            )
        if ids is not None:
            for one in ids[late | direct].tolist():
                seen.add(one)
        self.output.learned()
        return p, late | direct, late | direct | new, known

    def _written(self, piece: Piece, p: Floats, made: Any) -> list[dict[str, Any]]:
        rows = []
        for i in np.flatnonzero(made).tolist():
            place = int(piece.files[i])
            row: dict[str, Any] = {
                "file": self._files[place],
                "row": int(piece.positions[i]) - self._starts[place] + 1,
            }
            if piece.ids is not None:
                row["id"] = piece.ids[i]
            if self.state.watch.time is not None:
                row["time"] = None if piece.times is None else piece.times[i]
            code = int(piece.codes[i])
            row["label"] = None if code < 0 else self.classes[code]
            rows.append(row | self.forecast_columns(p[i]))
        return rows

    def forecast_columns(self, p: Any) -> dict[str, float]:
        """A forecast by name: of the positive class, or one for each of several."""
        if len(p) == 2:
            return {"forecast": float(p[1])}
        return {f"forecast_{name}": float(q) for name, q in zip(self.classes, p, strict=True)}


def _given(ids: Any) -> Any:
    if any(one is None for one in ids.tolist()):
        raise InputError("the column of ids (--id) is empty in some rows.")
    return ids


def _parts(ids: Any, n: int) -> Iterator[slice]:
    """Rows in order, cut before an id that comes again."""
    start, names = 0, set[Any]()
    for i, one in enumerate([] if ids is None else ids.tolist()):
        if one in names:
            yield slice(start, i)
            start, names = i, set()
        names.add(one)
    yield slice(start, n)
