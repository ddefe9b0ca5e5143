"""One run of a job: the new rows of its files, in order, into a sink."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Protocol

import numpy as np

from trueodds.watch.files_seen import Deliveries, Delivery
from trueodds.watch.periods import Piece
from trueodds.watch.rows_seen import FileRecord, RowArrays
from trueodds.watch.sinks import Sink
from trueodds.watch.state import Watch

__all__ = ["Reader", "Rows", "Run"]


class Rows(Protocol):
    """The rows of some files, checked."""

    @property
    def batch(self) -> Sequence[Delivery]:
        """What was read; copies of files that are growing."""

    def arrays(self) -> RowArrays:
        """What distinguishes the rows."""

    def pieces(self, positions: Any) -> Iterator[Piece]:
        """Rows at these positions, in this order, by period."""

    def periods_of(self, positions: Any) -> Mapping[str, int]:
        """How many of these rows each period has."""


class Reader(Protocol):
    """Reads files; the command line does it with DuckDB."""

    def has_labels_alone(self, one: Delivery) -> bool:
        """Whether a file has ids and labels, and no scores."""

    def rows(self, batch: Sequence[Delivery]) -> AbstractContextManager[Rows]:
        """Open files."""

    def labels(self, one: Delivery) -> Iterator[Piece]:
        """Ids and labels of a file, which may be missing."""


@dataclass(kw_only=True, eq=False)
class Run:
    """Files into a sink.

    Parameters
    ----------
    watch : Watch
    sink : Sink
    seen : Deliveries
    reader : Reader
    log : callable
        Told of labels for which no row waits.
    """

    watch: Watch
    sink: Sink
    seen: Deliveries
    reader: Reader
    log: Callable[[str], None]
    _answered: dict[str, int] = field(default_factory=dict)
    """Labels of each file of labels alone that were learned in this run."""

    def read(self, fresh: list[Delivery]) -> list[dict[str, Any]]:
        """Take all new rows; returns the line of each period.

        Labels alone, of rows that waited before this run, come first, because they may help to
        forecast its rows; then its rows, and then their labels.
        """
        alone = [one for one in fresh if self.sink.waits and self.reader.has_labels_alone(one)]
        whole = [one for one in fresh if one not in alone]
        lines = list(self._read(whole, alone))
        self.seen.finish()
        return lines

    def _read(self, whole: list[Delivery], alone: list[Delivery]) -> Iterator[dict[str, Any]]:
        for one in alone:
            yield from self._read_labels(one)
        # Without times, files are taken one after the other, and each is a period.
        timed = self.watch.time is not None
        for batch in ([whole] if timed else [[one] for one in whole]) if whole else ():
            with self.reader.rows(batch) as rows:
                read = rows.arrays()
                take = self.seen.new_rows(read, rows.batch, rows.periods_of)
                if self.sink.waits:
                    take = take | ((read.codes < 0) & (read.files >= 0) & ~read.held)
                yield from self._count(rows.pieces(read.in_order(take)))
        for one in alone:
            yield from self._read_labels(one, last=True)

    def _count(self, pieces: Iterable[Piece]) -> Iterator[dict[str, Any]]:
        """Hand rows to the sink, in order; yields a line after each period."""
        late: dict[str, int] = {}
        for (period, is_late), own in groupby(pieces, key=lambda one: (one.period, one.late)):
            counts = sum(map(self.sink.take, own), np.zeros(3))
            if is_late:
                late[period] = late.get(period, 0) + int(counts[0])
            if counts[0]:
                yield self.watch.add_period(period, is_late, counts)
        for period, count in late.items():
            self.seen.event("late", period=period, rows=count)

    def _read_labels(self, one: Delivery, *, last: bool = False) -> Iterator[dict[str, Any]]:
        """Answer the rows that wait for these labels; others may still be asked in this run."""
        counts, n_labels, n_rows, n_known, name = np.zeros(3), 0, 0, self.sink.n_known, one.name
        for piece in self.reader.labels(one):
            ids: Any = piece.ids
            named = np.array([row_id is not None for row_id in ids], dtype=np.bool_)
            usable = np.flatnonzero((piece.codes >= 0) & named)
            n_labels, n_rows, name = n_labels + len(usable), n_rows + len(named), piece.period
            counts += self.sink.take(piece.part(usable, piece.period))
        before = self._answered.get(one.name, 0)
        self._answered[one.name] = before + int(counts[0])
        known, self.sink.n_known = self.sink.n_known - n_known, n_known
        if last:
            self.sink.n_known += known - before  # without those that this run has learned
            record = FileRecord(one.fingerprint, one.size, one.settled, n_rows, 0, 0)
            self.seen.remember(one, record)
            unknown = n_labels - int(counts[0]) - known
            if unknown:
                self.log(f"{one.name}: no row waits for {unknown:,} of {n_rows:,} labels.")
        if counts[0]:
            yield self.watch.add_period(name, False, counts)
