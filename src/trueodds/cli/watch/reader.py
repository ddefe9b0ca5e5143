"""Files of rows as a run of ``trueodds monitor`` and ``stream`` reads them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from trueodds.basics.files import exclusive
from trueodds.basics.shown import shown
from trueodds.cli.errors import UsageError
from trueodds.cli.files.find import (
    as_unicode,
    format_of,
    matching,
    no_match,
    partitions,
    scratch_folder,
)
from trueodds.cli.files.open import DataSource, arrow_batches, leave_room, open_source
from trueodds.cli.files.sql import as_text, quoted
from trueodds.cli.output import working
from trueodds.cli.rows.groups import cuts_of_texts
from trueodds.cli.rows.labels import code_known_classes
from trueodds.cli.rows.prepare import in_words
from trueodds.cli.rows.times import time_rule
from trueodds.cli.watch.options import DeliveryOptions
from trueodds.cli.watch.output import log
from trueodds.cli.watch.rows import (
    WatchedRows,
    direction_note,
    file_starts,
    read_once,
    watched_rows,
)
from trueodds.exceptions import InputError
from trueodds.monitoring import CalibrationMonitor
from trueodds.online import OnlineCalibrator
from trueodds.watch.files_seen import READ_BYTES, Deliveries, Delivery, fingerprint_of
from trueodds.watch.periods import Piece
from trueodds.watch.run import Run
from trueodds.watch.sinks import Sink
from trueodds.watch.state import StreamWatch, Watch

__all__ = ["FileReader", "find_files", "known_classes", "locked", "open_stream", "open_watch"]

LOCK_SECONDS = 300.0
"""Seconds to wait for another run on the same state."""
ROW_BYTES = 48
"""Peak memory per row of what identifies it; see :class:`RowArrays`."""
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
    _check_begun(path, watch, fitted, time)
    begun = {"alpha": watch.monitor.alpha, "tolerance": watch.monitor.tolerance}
    for name, value in (("alpha", alpha), ("tolerance", tolerance)):
        if value is not None and value != begun[name]:
            raise UsageError(
                f"{path.name} was begun with --{name} {begun[name]:g}, which cannot change on the "
                f"way; begin a new state file for {value:g}."
            )
    return watch


def open_stream(state: str, fitted: Any, time: str | None, max_pending: int | None) -> StreamWatch:
    """The state of a stream that there is, or a new one."""
    path = Path(state)
    if not path.exists():
        watch = open_watch(state, fitted, time, None, None)
        return StreamWatch(OnlineCalibrator(start=fitted, max_pending=max_pending or 1000), watch)
    stream = StreamWatch.load(path)
    _check_begun(path, stream.watch, fitted, time)
    if max_pending not in (None, stream.online.max_pending):
        raise UsageError(
            f"{path.name} was begun with --max-pending {stream.online.max_pending}; got "
            f"{max_pending}."
        )
    return stream


def _check_begun(path: Path, watch: Watch, fitted: Any, time: str | None) -> None:
    if watch.map != fitted.fingerprint:
        raise InputError(
            f"{path.name} was begun with another map; begin a new state file for this one "
            "(--state)."
        )
    if watch.time != time:
        raise UsageError(f"{path.name} was begun with --time {watch.time}; got {time}.")


@dataclass(kw_only=True, eq=False)
class FileReader:
    """Files as the options of a command describe them."""

    watch: Watch
    sink: Sink
    data: DeliveryOptions
    fitted: Any
    group: str | None = None
    """The column of groups."""
    notes: list[str] = field(default_factory=list)
    """What suggests a mistake in the command rather than a change of the data."""

    def __post_init__(self) -> None:
        self.columns = self.data.columns(self.fitted, self.group)

    def run(
        self, paths: Sequence[Path], state: str, at: str
    ) -> tuple[list[Delivery], list[dict[str, Any]], list[dict[str, Any]]]:
        """Take the new rows of all files; returns new files, lines of periods, and events."""
        folder = Path(state).absolute().parent
        seen = Deliveries(self.watch, folder, at, partitions, log)
        fresh = seen.look(paths)
        whole = Run(watch=self.watch, sink=self.sink, seen=seen, reader=self, log=log)
        return fresh, whole.read(fresh), seen.events

    @contextmanager
    def rows(self, batch: Sequence[Delivery]) -> Iterator[WatchedRows]:
        """Files as one table that does not change, with checked rows."""
        files = self.data.files
        name = files[0] if len(files) == 1 and len(batch) > 1 else str(batch[0].path)
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
                    yield rows
                    if self.watch.monitor.alarm:
                        hint = direction_note(rows, self.fitted, self.sink.classes)
                        self.notes += [hint] if hint and hint not in self.notes else []
                    return

    @contextmanager
    def _open(self, name: str, batch: Sequence[Delivery]) -> Iterator[DataSource]:
        """The files as one table that does not change."""
        paths, needed = [one.source for one in batch], self.columns
        label = self.data.label
        if self.sink.waits:  # a file may have no labels yet
            needed = replace(needed, named=tuple(name for name in needed.named if name != label))
        with open_source(
            name, self.data.reading, found=paths, columns=needed, with_file=True
        ) as source:
            if self.sink.waits and label not in source.kinds:
                relation = source.relation.project(f"*, CAST(NULL AS VARCHAR) AS {quoted(label)}")
                kinds = {**source.kinds, label: "VARCHAR"}
                source = replace(source, relation=relation, kinds=kinds)
            columns = self.columns.found_in(source)
            with working("reading rows", source.connection):
                whole = read_once(source, columns, source.files.paths)
            yield whole

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
        mark = fingerprint_of(copy, partitions(one.path))
        return replace(one, copy=copy, fingerprint=mark, size=copy.stat().st_size)

    def _select(self, source: DataSource, batch: Sequence[Delivery]) -> WatchedRows:
        names = [as_unicode(str(one.path)) for one in batch]
        columns = self.columns.found_in(source)
        classes = known_classes(self.fitted, len(columns.score))
        self.sink.begin(classes, names, file_starts(source))
        data, rule = self.data, None
        if data.time is not None:
            rule = time_rule(source, data.time, data.period, data.time_format)
            if self.watch.kind not in (None, rule.kind):
                raise InputError(
                    f"column {shown(data.time)} holds {rule.kind}s now, "
                    f"and held {self.watch.kind}s before; times must be of one kind."
                )
            self.watch.kind = rule.kind
            self.notes += [rule.note] if rule.note else []
        rows = watched_rows(
            source,
            columns,
            self._codes(source, classes),
            classes,
            rule,
            named={"grouping": self.group, "row_id": data.row_id},
            on_bad_rows=data.on_bad_rows,
            until=data.until,
            last=self.watch.last,
            horizon=self.watch.horizon,
            names=[name if len(name) <= 200 else f"…{name[-199:]}" for name in names],
            batch=batch,
        )
        if rule is not None and rule.step is not None:
            self.watch.see(rule.step, rows.starts)
        return rows

    def _codes(self, source: DataSource, classes: tuple[Any, ...]) -> str:
        """SQL of the code of a label."""
        named, data = self.fitted.classes is not None, self.data
        return code_known_classes(source, data.label, classes, data.positive, named=named)

    def _fix_groups(self, source: DataSource, rows: WatchedRows) -> None:
        """Cut a column of numbers into bands before the first row; later runs keep them."""
        group = self.group
        if group is None or self.watch.n_rows:
            return
        labeled = rows.relation.filter("label IS NOT NULL")
        self.watch.monitor.group_cuts = cuts_of_texts(labeled, "grouping", source, group)

    # ----- files of ids and labels alone -----------------------------------------------------

    def has_labels_alone(self, one: Delivery) -> bool:
        """Whether a file has ids and labels, and no scores."""
        with open_source(str(one.path), self.data.reading, found=[one.path]) as source:
            named = {self.data.row_id, self.data.label} <= set(source.kinds)
            return named and not any(name in source.kinds for name in self.columns.score)

    def labels(self, one: Delivery) -> Iterator[Piece]:
        """Ids and labels of a file."""
        row_id, name, n_rows = str(self.data.row_id), as_unicode(str(one.path)), 0
        with open_source(str(one.path), self.data.reading, found=[one.path]) as source:
            classes = known_classes(self.fitted, len(self.columns.score))
            self.sink.begin(classes, [name], {0: 0})
            texts = f"{as_text(row_id, source.kinds[row_id])} AS row_id"
            code = f"CAST({self._codes(source, classes)} AS INTEGER) AS code"
            for batch in arrow_batches(source.relation.project(f"{texts}, {code}")):
                ids = np.array(batch["row_id"].to_pylist(), dtype=object)
                codes = batch["code"].fill_null(-1).to_numpy().astype(np.intp)
                yield Piece.of_labels(name, ids, codes, n_rows)
                n_rows += len(ids)


def known_classes(fitted: Any, n_scores: int) -> tuple[Any, ...]:
    """The classes of a map, or numbers; raises if there is not one score for each."""
    n_classes = max(2, n_scores)
    classes: tuple[Any, ...] = fitted.classes or tuple(range(n_classes))
    if len(classes) != n_classes:
        raise UsageError(f"the map has {len(classes)} classes; pass one --score for each.")
    return classes


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
