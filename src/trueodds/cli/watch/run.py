"""One run of ``trueodds monitor``: which files are new, which of their rows, and into the state."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time as clock
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from trueodds.basics.files import exclusive
from trueodds.basics.shown import shown
from trueodds.cli.chosen_method import AUTO, WITH_FEATURES, make_calibrator
from trueodds.cli.errors import UsageError
from trueodds.cli.files.find import (
    as_unicode,
    format_of,
    matching,
    no_match,
    partitions,
    scratch_folder,
)
from trueodds.cli.files.open import DataSource, leave_room, open_source
from trueodds.cli.files.write import write_text
from trueodds.cli.output import say, working
from trueodds.cli.rows.columns import ColumnNames
from trueodds.cli.rows.groups import cuts_of_texts
from trueodds.cli.rows.labels import code_known_classes
from trueodds.cli.rows.prepare import in_words
from trueodds.cli.watch.options import DeliveryOptions
from trueodds.cli.watch.output import log, period_line, time_stamp
from trueodds.cli.watch.rows import (
    Piece,
    WatchedRows,
    direction_note,
    read_once,
    time_rule,
    watched_rows,
)
from trueodds.exceptions import InputError
from trueodds.monitoring import CalibrationMonitor
from trueodds.monitoring._deliveries import (
    CHANGED,
    MOST_KEPT,
    NEW,
    FileRecord,
    compare_rows,
    holds_most,
    rows_digest,
    rows_keys,
    rows_values,
)
from trueodds.monitoring._watch import Watch, later, moment_number

__all__ = ["Delivery", "RowArrays", "WatchRun", "find_files", "locked", "moment_text", "open_watch"]

LOCK_SECONDS = 300.0
"""Seconds to wait for another run on the same state."""
SETTLED = 2_000_000_000
"""Nanoseconds after which a file cannot have changed without a new time of change."""
READ_BYTES = 1 << 20
ROW_BYTES = 40
"""Peak memory per row of what identifies it; see :class:`RowArrays`."""
HASHED_ROWS = 1 << 20
"""Rows that are hashed at once."""
MOST_REFITTED = 1_000_000
TEXTS = ("csv", "jsonl")


def find_files(files: list[str]) -> list[Path]:
    """All files that were named, each once, in order."""
    paths: dict[Path, None] = {}
    for file in files:
        found = matching(file)
        if not found:
            raise InputError(no_match(file))
        for path in found:
            if not path.is_file():
                exists = path.exists()
                raise InputError(
                    f"{path}{' is not a regular file' if exists else ': file not found'}."
                )
            paths[path] = None
    return list(paths)


@contextmanager
def locked(state: str) -> Iterator[None]:
    """Two runs on one state take turns."""
    if Path(state).exists() and not Path(state).is_file():
        raise InputError(
            f"{state} is not a regular file, so it cannot be a state file; choose another."
        )
    with exclusive(state, LOCK_SECONDS) as free:
        if not free:
            raise InputError(
                f"another run has been using {state} for more than {LOCK_SECONDS:g} seconds; "
                "nothing was counted. Try again later."
            )
        yield


def open_watch(
    state: str, fitted: Any, time: str | None, alpha: float | None, tolerance: float | None
) -> Watch:
    """The state that there is, or a new one."""
    path, mark = Path(state), fitted.fingerprint
    # Two classes need no names: messages use codes only.
    classes = fitted.classes if fitted.classes is not None and len(fitted.classes) > 2 else None
    if not path.exists():
        options = {"alpha": alpha, "tolerance": tolerance}
        given: Any = {key: value for key, value in options.items() if value is not None}
        return Watch(mark, CalibrationMonitor(classes=classes, **given), time)
    watch = Watch.load(path)
    if watch.map != mark:
        raise InputError(
            f"{path.name} belongs to another map; start a new state file for this one (--state)."
        )
    if watch.time != time:
        raise UsageError(f"{path.name} was begun with --time {watch.time}; got {time}.")
    begun = {"alpha": watch.monitor.alpha, "tolerance": watch.monitor.tolerance}
    for name, value in (("alpha", alpha), ("tolerance", tolerance)):
        if value is not None and value != begun[name]:
            raise UsageError(
                f"{path.name} was begun with --{name} {begun[name]:g}, which cannot change on the "
                f"way; begin a new state file for {value:g}."
            )
    return watch


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
        young = clock.time_ns() - self.modified < SETTLED
        return 0 if young or self.copy is not None else self.modified


def fingerprint_of(path: Path, content: Path | None = None) -> str:
    """Hash of a file's bytes and of the partition values in its path."""
    digest = hashlib.blake2b(repr(sorted(partitions(path).items())).encode(), digest_size=16)
    with (content or path).open("rb") as stream:
        while block := stream.read(READ_BYTES):
            digest.update(block)
    return digest.hexdigest()


@dataclass(eq=False)
class RowArrays:
    """What distinguishes the rows of files, by position.

    Parameters
    ----------
    keys, codes, files : ndarray
        Hash without the label, label (−1 if there is none), and place of the file (−1 for rows
        that cannot be used).
    held, expired, take : ndarray of bool
        Rows after ``--until``, rows that are too old for a file that is not known, and rows that
        are to be counted.
    moments : ndarray or None
        Times as numbers.
    """

    keys: Any
    codes: Any
    files: Any
    held: Any
    expired: Any
    moments: Any
    take: Any

    def __post_init__(self) -> None:
        # Arrays of ten million rows count: half the size is enough for their positions.
        self._order = np.argsort(self.files, kind="stable").astype(np.int32)
        self._ordered = self.files[self._order]

    def rows_of(self, places: Sequence[int]) -> Any:
        """Positions of all rows of some files."""
        ends = [np.searchsorted(self._ordered, (place, place + 1)) for place in places]
        parts = [self._order[start:end] for start, end in ends]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    @classmethod
    def of(cls, rows: WatchedRows) -> RowArrays:
        """Read all rows; those with a label are to be counted unless they are held."""
        n = rows.n_positions
        keys, codes = np.zeros(n, dtype=np.uint64), np.full(n, -1, dtype=np.int16)
        files, moments = np.full(n, -1, dtype=np.int32), None
        held, expired = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
        for piece in rows.batches():
            at = piece.positions
            keys[at] = rows_keys(piece.moments, piece.scores, piece.counts, piece.groups)
            codes[at], files[at] = piece.codes, piece.files
            held[at], expired[at] = piece.held, piece.expired
            if piece.moments is not None:
                moments = np.zeros(n) if moments is None else moments
                moments[at] = piece.moments
        return cls(keys, codes, files, held, expired, moments, (codes >= 0) & ~held)

    def values(self, at: Any) -> Any:
        """Rows with their labels, as records keep them."""
        return rows_values(self.keys[at], self.codes[at].astype(np.intp))

    def digest(self, at: Any) -> int:
        """The sum of rows with their labels."""
        blocks = (at[first : first + HASHED_ROWS] for first in range(0, len(at), HASHED_ROWS))
        sums = (rows_digest(self.keys[b], self.codes[b].astype(np.intp)) for b in blocks)
        return sum(sums) % 2**64

    def record(self, one: Delivery, place: int, kind: str | None) -> FileRecord:
        """What to remember of a file."""
        own = self.rows_of([place])
        held, has_label = self.held[own], self.codes[own] >= 0
        counted = has_label & ~held
        n_counted = int(counted.sum())
        values = np.sort(self.values(own[counted])) if n_counted <= MOST_KEPT else None

        def latest(rows: Any) -> str | None:
            if self.moments is None or not rows.any():
                return None
            return moment_text(float(self.moments[own].max(where=rows, initial=-np.inf)), kind)

        return FileRecord(
            one.fingerprint,
            one.size,
            one.settled,
            rows=len(own),
            digest=self.digest(own),
            counted=n_counted,
            waiting=int((~has_label).sum()),
            held=int((held & has_label).sum()),
            until=latest(~held) if held.any() else None,
            last=latest(counted),
            values=values,
        )


@dataclass(kw_only=True, eq=False)
class WatchRun:
    """One run: what is read, how, and into which state."""

    watch: Watch
    state: str
    fitted: Any
    data: DeliveryOptions
    at: str = field(default_factory=time_stamp)
    events: list[dict[str, Any]] = field(default_factory=list)
    """What was unusual about the deliveries of this run."""
    copies: dict[str, str] = field(default_factory=dict)
    """Files that have the content of others."""
    notes: list[str] = field(default_factory=list)
    """What suggests a mistake in the command rather than a change of the data."""

    def __post_init__(self) -> None:
        self._check_features()
        self.classes: tuple[Any, ...] = self.fitted.classes or ()
        self.columns = self.data.columns(self.fitted)
        self.folder = Path(self.state).absolute().parent

    def _check_features(self) -> None:
        """Refuse a map with features other than the column of groups."""
        names, group = self.fitted.features, getattr(self.data, "group", None)
        if not names or (names == (group,) and None not in self.fitted.categories):
            return
        listed = ", ".join(map(str, names))
        raise InputError(
            f"this map needs the features {listed}. 'trueodds monitor' supports maps of scores and "
            "maps with one feature, a column of categories that is passed as --group."
        )

    def _features(self, groups: Any) -> Any:
        """The column of groups as the features of a map."""
        import pyarrow as pa

        return pa.table({str(self.data.kept_apart): pa.array(groups, pa.string())})

    def _event(self, kind: str, **more: Any) -> None:
        self.events.append(self.watch.add_event(kind, self.at, **more))

    # ----- which files -----------------------------------------------------------------------

    def _name(self, path: Path) -> str:
        try:
            return Path(os.path.relpath(path.absolute(), self.folder)).as_posix()
        except ValueError:  # on another drive
            return path.absolute().as_posix()

    def _is_gone(self, name: str) -> bool:
        return not (self.folder / name).exists()

    def look(self, paths: Sequence[Path]) -> list[Delivery]:
        """The files that are new or have changed, with fingerprints from before they are read."""
        files = self.watch.files
        for name, old in files.items():
            if (old.waiting or old.held) and self._is_gone(name):
                files[name] = replace(old, waiting=0, held=0)
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
                self._event("duplicate", file=one.name, rows=0)
                self.copies[one.name] = equal[0]
            else:
                fresh.append(one)
                equal.append(one.name)
        self._move(moved)
        return fresh

    def _delivery(self, path: Path) -> Delivery | None:
        """A file as it is now; None if nothing can have changed since it was read."""
        name, found = self._name(path), path.stat()
        record, stamp = self.watch.files.get(name), (found.st_size, found.st_mtime_ns)
        if record is not None and (record.size, record.modified) == stamp and not record.held:
            return None
        return Delivery(path, name, fingerprint_of(path), *stamp)

    def _move(self, moved: dict[str, str]) -> None:
        """Files that have other names now, perhaps those of files that were moved, too."""
        records = {name: self.watch.files[other] for name, other in moved.items()}
        for other in moved.values():
            del self.watch.files[other]
        for name, record in records.items():
            lost = self.watch.files.get(name)
            if lost is not None and lost.counted:
                self._event("withdrawn", file=name, rows=lost.counted)
            self.watch.files[name] = record
            log(f"{name} is {moved[name]} under another name.")

    # ----- which rows ------------------------------------------------------------------------

    def read(self, fresh: list[Delivery], *, quiet: bool) -> list[dict[str, Any]]:
        """Take all new rows; returns the line of each period, which is also printed."""
        lines: list[dict[str, Any]] = []
        files = self.data.files
        # Without times, files are taken one after the other, and each is a period.
        for batch in ([fresh] if self.data.time else [[one] for one in fresh]) if fresh else ():
            name = files[0] if len(files) == 1 and len(batch) > 1 else str(batch[0].path)
            for line in self._read_batch(name, batch):
                lines.append(line)
                if not quiet:
                    say(period_line(line, self.watch.monitor.alpha))
        for name, other in self.copies.items():
            self.watch.files[name] = replace(self.watch.files[other], waiting=0, held=0)
        self.watch.forget()
        for start in self.watch.newly_missing():
            self._event("missing", period=start.removesuffix(" 00:00:00"), rows=0)
        return lines

    def _read_batch(self, name: str, batch: list[Delivery]) -> Iterator[dict[str, Any]]:
        with scratch_folder() as folder:
            for attempt in ("files", "copies"):
                with self._open(name, batch) as source:
                    if attempt == "files" and any(one.has_changed() for one in batch):
                        batch = [self._copied(one, folder) for one in batch]
                        continue
                    with working("checking rows", source.connection):
                        rows = self._select(source, batch)
                    if rows.skipped:
                        log(f"{name}: left out {in_words(rows.skipped)}.")
                    leave_room(source.connection, self.data.memory, ROW_BYTES * rows.n_positions)
                    self._fix_groups(source, rows)
                    take = self._new_rows(source, rows, batch)
                    yield from self._count(rows, take)
                    if self.watch.monitor.alarm:
                        hint = direction_note(rows, self.fitted, self.classes)
                        self.notes += [hint] if hint and hint not in self.notes else []
                    return

    @contextmanager
    def _open(self, name: str, batch: list[Delivery]) -> Iterator[DataSource]:
        """The files as one table that does not change."""
        paths = [one.source for one in batch]
        with open_source(
            name, self.data.reading, found=paths, columns=self._needed, with_file=True
        ) as source:
            source = self._completed(source)
            columns = self.columns.found_in(source)
            with working("reading rows", source.connection):
                whole = read_once(source, columns, source.files.paths)
            yield whole

    @property
    def _needed(self) -> ColumnNames:
        """The columns that each file must have."""
        return self.columns

    def _completed(self, source: DataSource) -> DataSource:
        """The source with the columns that it may lack."""
        return source

    def _copied(self, one: Delivery, folder: Path) -> Delivery:
        """What there was of a growing file when it was first looked at, up to its last line."""
        if not one.has_changed():
            return one
        parts = [part for part in one.path.parts[:-1] if "=" in part]
        inside = folder.joinpath(str(len(list(folder.iterdir()))), *parts)
        inside.mkdir(parents=True)
        copy = inside / one.path.name
        with one.path.open("rb") as stream, copy.open("wb") as target:
            if (
                self.data.input_format or format_of(one.path)
            ) in TEXTS and one.path.suffix != ".gz":
                _copy_lines(stream, target, one.size)
            else:
                shutil.copyfileobj(stream, target, READ_BYTES)
        mark = fingerprint_of(one.path, copy)
        return replace(one, copy=copy, fingerprint=mark, size=copy.stat().st_size)

    def _select(self, source: DataSource, batch: list[Delivery]) -> WatchedRows:
        names = [as_unicode(str(one.path)) for one in batch]
        columns = self.columns.found_in(source)
        n_classes = max(2, len(columns.score))
        self.classes = self.classes or tuple(range(n_classes))
        named = self.fitted.classes is not None
        if len(self.classes) != n_classes:
            raise UsageError(f"the map has {len(self.classes)} classes; pass one --score for each.")
        data, rule = self.data, None
        if data.time is not None:
            rule = time_rule(source, data.time, data.period, data.time_format)
            if self.watch.kind not in (None, rule.kind):
                raise InputError(
                    f"column {shown(data.time)} holds {rule.kind}s now, "
                    f"and held {self.watch.kind}s before; times must be of one kind."
                )
            self.watch.kind = rule.kind
        rows = watched_rows(
            source,
            columns,
            code_known_classes(source, data.label, self.classes, data.positive, named=named),
            self.classes,
            rule,
            group=data.kept_apart,
            on_bad_rows=data.on_bad_rows,
            until=data.until,
            last=self.watch.last,
            horizon=self.watch.horizon,
            names=[name if len(name) <= 200 else f"…{name[-199:]}" for name in names],
        )
        if rule is not None and rule.step is not None:
            self.watch.see(rule.step, rows.starts)
        return rows

    def _fix_groups(self, source: DataSource, rows: WatchedRows) -> None:
        """Cut a column of numbers into bands before the first row; later runs keep them."""
        group = getattr(self.data, "group", None)
        if group is None or self.watch.n_rows:
            return
        labeled = rows.relation.filter("label IS NOT NULL")
        self.watch.monitor.group_cuts = cuts_of_texts(labeled, "grouping", source, group)

    def _new_rows(self, source: DataSource, rows: WatchedRows, batch: list[Delivery]) -> Any:
        """Which positions to count; what was read of each file is remembered."""
        read = RowArrays.of(rows)
        for places, names in self._earlier(batch, read):
            before = [self.watch.files.pop(name) for name in names]
            file, own = batch[places[0]].name, read.rows_of(places)
            if before:
                self._compare(source, rows, read, own, before, file)
                continue
            old = own[read.expired[own] & read.take[own]]
            if len(old):
                self._event("expired", file=file, rows=len(old))
                read.take[old] = False
        for place, one in enumerate(batch):
            self.watch.files.pop(one.name, None)  # the newest come last
            self.watch.files[one.name] = read.record(one, place, self.watch.kind)
        return self._taken(read)

    def _taken(self, read: RowArrays) -> Any:
        """The positions to count."""
        return read.take

    def _earlier(
        self, batch: list[Delivery], read: RowArrays
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
                replaced = [n for n in known[folder] if self._is_replaced(folder, files[n], now)]
            yield places, replaced

    @staticmethod
    def _is_replaced(folder: str, record: FileRecord, now: Any) -> bool:
        if record.values is None:  # unknown, but a partition is delivered as a whole
            return "=" in os.path.basename(folder)  # noqa: PTH119
        return holds_most(record.values, now)

    def _compare(
        self,
        source: DataSource,
        rows: WatchedRows,
        read: RowArrays,
        own: Any,
        before: list[FileRecord],
        file: str,
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
                for period, count in rows.periods_of(source.connection, changed).items():
                    self._event("changed", period=period, file=file, rows=count)
            if withdrawn:
                self._event("withdrawn", file=file, rows=withdrawn)
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
                self._event("unmatched", file=file, rows=len(labeled))
                read.take[labeled] = False

    # ----- into the monitor ------------------------------------------------------------------

    def _count(self, rows: WatchedRows, take: Any) -> Iterator[dict[str, Any]]:
        """Update the monitor row by row; yields a line after each period."""
        names = np.array(self.classes, dtype=object)
        late: dict[str, int] = {}
        for (period, is_late), pieces in groupby(
            rows.pieces(take), key=lambda piece: (piece.period, piece.late)
        ):
            counts = np.zeros(3)
            for piece in pieces:
                counts += self._update(names, piece)
            if is_late:
                late[period] = late.get(period, 0) + int(counts[0])
            if counts[0]:
                yield self._line(period, is_late, counts)
        for period, count in late.items():
            self._event("late", period=period, rows=count)

    def _update(self, names: Any, piece: Piece) -> Any:
        watch = self.watch
        features = self._features(piece.groups) if self.fitted.features else None
        forecasts = np.asarray(self.fitted(piece.scores, features))
        if forecasts.ndim == 2 and forecasts.shape[1] == 2:
            forecasts = forecasts[:, 1]
        y: Any = piece.codes if watch.monitor.classes is None else names[piece.codes]
        groups: Any = piece.groups
        if watch.monitor.group_cuts is not None and self.data.decimal == ",":
            groups = [text and text.replace(".", "").replace(",", ".") for text in groups]
        watch.monitor.update(forecasts, y, time=piece.times, counts=piece.counts, group=groups)
        if piece.moments is not None:
            newest = moment_text(float(piece.moments.max()), watch.kind)
            watch.last = later(watch.last, newest, watch.kind)
        p, right = forecasts, piece.codes == 1
        if forecasts.ndim == 2:
            choice = forecasts.argmax(axis=1)
            p, right = forecasts.max(axis=1), choice == piece.codes
        mass = np.ones(len(p)) if piece.counts is None else piece.counts
        return np.array([len(p), (mass * p).sum(), (mass * right).sum()])

    def _line(self, period: str, late: bool, counts: Any) -> dict[str, Any]:
        monitor = self.watch.monitor
        whole = monitor.miscalibration(1)
        line = {
            "period": period[:200],
            "rows": int(counts[0]),
            "expected": float(counts[1]),
            "observed": float(counts[2]),
            "e_value": monitor.e_value,
            "peak_e_value": monitor.peak_e_value,
            "ratio_low": 0.0 if whole is None else min(whole.ratio_low, 1e300),
            "ratio_high": 0.0 if whole is None else min(whole.ratio_high, 1e300),
            "alarm": monitor.alarm,
            "late": late,
        }
        return self.watch.add_period(line)

    # ----- a new map -------------------------------------------------------------------------

    def refit(self, paths: Sequence[Path], output: str) -> dict[str, Any] | None:
        """Fit the default method to the rows since the change, of all files that were named.

        With a column of groups, its effects are pooled.

        Returns
        -------
        dict or None
            Where the map is, how many rows it was fitted to, and since when; None without an alarm.
        """
        from trueodds.model_selection import fit_metadata

        change = self.watch.monitor.change_point
        if change is None or change.time is None:
            log("no alarm, so --refit fitted no new map.")
            return None
        once: dict[str, Delivery] = {}  # copies count once
        for path in paths:
            name = self._name(path)
            record = self.watch.files.get(name)
            mark = name if record is None else record.fingerprint
            once.setdefault(mark, Delivery(path, name, mark, 0, 0))
        batch = list(once.values())
        with self._open(self.data.files[0], batch) as source:
            with working("reading rows since the change", source.connection):
                rows = self._select(source, batch)
                newest = _newest(rows, str(change.time), str(self.watch.kind))
            scores, codes, counts, groups = newest
            method = AUTO if groups is None else WITH_FEATURES
            calibrator = make_calibrator(method, self.fitted.scale, ())
            calibrator.set_params(classes=list(self.classes))
            y = np.array(self.classes)[codes]
            features = {} if groups is None else {"features": self._features(groups)}
            calibrator.fit(scores, y, counts=counts, **features)
            metadata = fit_metadata(calibrator, scores, y, counts=counts, parent=self.fitted)
        content = calibrator.map_.with_metadata(metadata).to_dict()
        write_text(json.dumps(content, allow_nan=False, ensure_ascii=False, indent=1), output)
        log(f"{output}: new map of {len(y):,} rows since {change.time}.")
        return {"output": output, "rows": len(y), "since": change.time}


def _copy_lines(stream: Any, target: Any, size: int) -> None:
    """The first ``size`` bytes, without a last line that has no end."""
    rest = b""
    while size > 0 and (block := stream.read(min(READ_BYTES, size))):
        size -= len(block)
        whole, line_end, rest_of_block = block.rpartition(b"\n")
        if line_end:
            target.write(rest + whole + line_end)
            rest = rest_of_block
        else:
            rest += block


def moment_text(number: float, kind: str | None) -> str:
    """A time as the state keeps it."""
    if kind == "number":
        return repr(number)
    return (datetime(1970, 1, 1) + timedelta(microseconds=number)).isoformat(" ")


def _newest(rows: WatchedRows, since: str, kind: str) -> tuple[Any, Any, Any, Any]:
    """Scores, codes, counts and groups of the newest labeled rows since a time, a million."""
    first: Any = moment_number(since, kind)
    kept: deque[Piece] = deque()
    n_kept = 0
    for piece in rows.pieces(np.ones(rows.n_positions, dtype=bool)):
        moments: Any = piece.moments
        part = piece.part((piece.codes >= 0) & ~piece.held & (moments >= first))
        kept.append(part)
        n_kept += len(part.codes)
        while n_kept - len(kept[0].codes) >= MOST_REFITTED:
            n_kept -= len(kept.popleft().codes)
    newest = slice(-MOST_REFITTED, None)
    counts = [piece.counts for piece in kept if piece.counts is not None]
    groups = [piece.groups for piece in kept if piece.groups is not None]
    return (
        np.concatenate([piece.scores for piece in kept])[newest],
        np.concatenate([piece.codes for piece in kept])[newest],
        np.concatenate(counts)[newest] if counts else None,
        np.concatenate(groups)[newest] if groups else None,
    )
