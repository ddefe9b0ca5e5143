"""Which files are new, and which of their rows: the first half of every run."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from trueodds.watch.periods import moment_number
from trueodds.watch.rows_seen import CHANGED, NEW, FileRecord, RowArrays, compare_rows, holds_most
from trueodds.watch.state import Watch

__all__ = ["Deliveries", "Delivery", "fingerprint_of", "relative_name"]

SETTLED = 2_000_000_000
"""Nanoseconds after which a file cannot have changed without a new time of change."""
READ_BYTES = 1 << 20

Partitions = Callable[[Path], Mapping[str, str | None]]


@dataclass(frozen=True)
class Delivery:
    """A file as it was found, before any of its rows was read."""

    path: Path
    name: str
    """Its path from the folder of the state."""
    fingerprint: str
    size: int
    modified: int
    copy: Path | None = None
    """What is read instead, if the file changed while it was read."""

    @property
    def source(self) -> Path:
        """What is read."""
        return self.copy or self.path

    def has_changed(self) -> bool:
        """Whether the file is another one by now."""
        found = self.path.stat() if self.path.exists() else None
        size, modified = (found.st_size, found.st_mtime_ns) if found else (-1, -1)
        return self.copy is None and (size, modified) != (self.size, self.modified)

    @property
    def settled(self) -> int:
        """When it was changed; 0 if it may have changed since without a new time."""
        young = time.time_ns() - self.modified < SETTLED
        return 0 if young or self.copy is not None else max(0, self.modified)


def fingerprint_of(content: Path, partitions: Mapping[str, str | None]) -> str:
    """Hash of a file's bytes and of the partition values in its path."""
    digest = hashlib.blake2b(repr(sorted(partitions.items())).encode(), digest_size=16)
    with content.open("rb") as stream:
        while block := stream.read(READ_BYTES):
            digest.update(block)
    return digest.hexdigest()


def relative_name(path: Path, folder: Path) -> str:
    """A path from the folder of the state, so that both can be moved together."""
    try:
        return Path(os.path.relpath(path.absolute(), folder)).as_posix()
    except ValueError:  # on another drive
        return path.absolute().as_posix()


@dataclass(eq=False)
class Deliveries:
    """What a run finds in the files, compared with the state.

    Parameters
    ----------
    watch : Watch
    folder : Path
        The folder of the state.
    at : str
        Time of the run, for events.
    partitions : callable
        Returns the columns in the folders of a path.
    log : callable
        Told of files that were moved.
    """

    watch: Watch
    folder: Path
    at: str
    partitions: Partitions
    log: Callable[[str], None]
    events: list[dict[str, Any]] = field(default_factory=list)
    """What was unusual about the deliveries of this run."""
    _copies: dict[str, str] = field(default_factory=dict)
    """Files that have the content of others."""

    def event(self, kind: str, **more: Any) -> None:
        """Record an unusual delivery."""
        self.events.append(self.watch.add_event(kind, self.at, **more))

    # ----- which files -----------------------------------------------------------------------

    def _is_gone(self, name: str) -> bool:
        return not (self.folder / name).exists()

    def look(self, paths: Sequence[Path]) -> list[Delivery]:
        """The files that are new or have changed, with fingerprints from before they are read."""
        files = self.watch.files
        found = [one for one in map(self._delivery, paths) if one is not None]
        now = {one.name: one.fingerprint for one in found}
        places: dict[str, list[str]] = {}
        for name, old in files.items():
            places.setdefault(old.fingerprint, []).append(name)
        moved: dict[str, str] = {}
        fresh: list[Delivery] = []
        for one in found:
            record = files.get(one.name)
            equal = places.setdefault(one.fingerprint, [])
            left = [
                name
                for name in equal
                if name not in moved.values()
                and (self._is_gone(name) or now.get(name, one.fingerprint) != one.fingerprint)
            ]
            if record is not None and record.fingerprint == one.fingerprint:
                files[one.name] = replace(record, size=one.size, modified=one.settled)
                if record.held:
                    fresh.append(one)
            elif left:
                moved[one.name] = left[0]
                if files[left[0]].held:
                    fresh.append(one)
            elif equal:
                self.event("duplicate", file=one.name, rows=0)
                self._copies[one.name] = equal[0]
            else:
                fresh.append(one)
                equal.append(one.name)
        self._move(moved)
        for name, old in files.items():
            if (old.waiting or old.held) and self._is_gone(name):
                files[name] = replace(old, waiting=0, held=0)
        return fresh

    def _delivery(self, path: Path) -> Delivery | None:
        """A file as it is now; None if nothing can have changed since it was read."""
        name, found = relative_name(path, self.folder), path.stat()
        record, stamp = self.watch.files.get(name), (found.st_size, found.st_mtime_ns)
        if record is not None and (record.size, record.modified) == stamp and not record.held:
            return None
        return Delivery(path, name, fingerprint_of(path, self.partitions(path)), *stamp)

    def _move(self, moved: dict[str, str]) -> None:
        """Files that have other names now, perhaps those of files that were moved, too."""
        records = {name: self.watch.files[other] for name, other in moved.items()}
        for other in moved.values():
            del self.watch.files[other]
        for name, record in records.items():
            lost = self.watch.files.get(name)
            if lost is not None and lost.counted:
                self.event("withdrawn", file=name, rows=lost.counted)
            self.watch.files[name] = record
            self.log(f"{name} is {moved[name]} under another name.")

    def finish(self) -> None:
        """After the last file: remember copies, forget what is old, find missing periods."""
        for name, other in self._copies.items():
            self.watch.files[name] = replace(self.watch.files[other], waiting=0, held=0)
        self.watch.forget()
        for start in self.watch.newly_missing():
            self.event("missing", period=start.removesuffix(" 00:00:00"), rows=0)

    # ----- which rows ------------------------------------------------------------------------

    def new_rows(
        self,
        read: RowArrays,
        batch: Sequence[Delivery],
        periods_of: Callable[[Any], Mapping[str, int]],
    ) -> Any:
        """Which positions to count; what was read of each file is remembered.

        Parameters
        ----------
        read : RowArrays
        batch : sequence of Delivery
            The files, by their place.
        periods_of : callable
            Counts rows, given by their positions, by period.
        """
        for places, names in self._earlier(batch, read):
            before = [self.watch.files.pop(name) for name in names]
            file, own = batch[places[0]].name, read.rows_of(places)
            if before:
                self._compare(read, own, before, file, periods_of)
                continue
            old = own[read.expired[own] & read.take[own]]
            if len(old):
                self.event("late", file=file, rows=len(old))
                read.take[old] = False
        for place, one in enumerate(batch):
            self.remember(
                one,
                read.record(place, one.fingerprint, one.size, one.settled, self.watch.kind),
            )
        return read.take

    def remember(self, one: Delivery, record: FileRecord) -> None:
        """Record a file; the newest come last."""
        self.watch.files.pop(one.name, None)
        self.watch.files[one.name] = record

    def _earlier(
        self, batch: Sequence[Delivery], read: RowArrays
    ) -> Iterator[tuple[list[int], list[str]]]:
        """Places of files in the batch, and the names of the records that they replace.

        Files that appear where others have gone replace these, if they hold at least half of
        their rows: a day that is delivered anew often has new names.
        """
        by_folder: dict[str, list[int]] = {}
        for place, one in enumerate(batch):
            if one.name in self.watch.files:
                yield [place], [one.name]
            else:
                by_folder.setdefault(os.path.dirname(one.name), []).append(place)  # noqa: PTH120
        known: dict[str, list[str]] = {folder: [] for folder in by_folder}
        for name, record in self.watch.files.items():
            folder = os.path.dirname(name)  # noqa: PTH120
            if folder in known and record.counted and self._is_gone(name):
                known[folder].append(name)
        files = self.watch.files
        for folder, places in by_folder.items():
            replaced: list[str] = []
            if known[folder]:
                own = read.rows_of(places)
                now = read.values(own[read.codes[own] >= 0])
                replaced = [n for n in known[folder] if _is_replaced(folder, files[n], now)]
            yield places, replaced

    def _compare(
        self,
        read: RowArrays,
        own: Any,
        before: list[FileRecord],
        file: str,
        periods_of: Callable[[Any], Mapping[str, int]],
    ) -> None:
        """Do not take rows that were counted before; note what is unusual."""
        # Rows that were counted cannot be held, even if --until lies before them now.
        labeled = own[read.codes[own] >= 0]
        known = [record.values for record in before if record.values is not None]
        if len(known) == len(before):
            pool = np.sort(np.concatenate(known))
            status, withdrawn = compare_rows(pool, read.values(labeled))
            read.take[labeled[status != NEW]] = False
            read.held[labeled[status != NEW]] = False
            changed = labeled[status == CHANGED]
            if len(changed):
                for period, count in periods_of(changed).items():
                    self.event("changed", period=period, file=file, rows=count)
            if withdrawn:
                self.event("withdrawn", file=file, rows=withdrawn)
        elif any(record.counted for record in before):
            # Only the sum of all rows is known: good enough for a file to which rows were added.
            record, first = before[0], own[: before[0].rows]
            whole = len(before) == 1 and len(first) == record.rows
            if whole and read.digest(first) == record.digest:
                if record.until is not None and read.moments is not None:
                    end = moment_number(record.until, self.watch.kind)
                    first = first[read.moments[first] <= end]
                read.take[first] = read.held[first] = False
            else:
                self.event("changed", file=file, rows=len(labeled))
                read.take[labeled] = False


def _is_replaced(folder: str, record: FileRecord, now: Any) -> bool:
    if record.values is None:  # unknown, but a partition is delivered as a whole
        return "=" in os.path.basename(folder)  # noqa: PTH119
    return holds_most(record.values, now)
