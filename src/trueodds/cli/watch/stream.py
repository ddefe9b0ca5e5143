"""One run of ``trueodds stream``: rows into the calibrator, forecasts into a file, one state."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np

from trueodds.basics.shown import json_printable, shown
from trueodds.cli.errors import UsageError
from trueodds.cli.files.find import as_unicode
from trueodds.cli.files.open import FILE, DataSource, arrow_batches, open_source
from trueodds.cli.files.sql import as_text, quoted
from trueodds.cli.files.write import write_text
from trueodds.cli.output import number
from trueodds.cli.rows.columns import ColumnNames
from trueodds.cli.rows.labels import code_known_classes
from trueodds.cli.watch.output import log
from trueodds.cli.watch.rows import Piece, WatchedRows
from trueodds.cli.watch.run import Delivery, RowArrays, WatchRun, moment_text, open_watch
from trueodds.exceptions import InputError
from trueodds.monitoring._deliveries import FileRecord
from trueodds.monitoring._watch import later
from trueodds.online import OnlineCalibrator
from trueodds.online._job import StreamJob

__all__ = ["Forecasts", "StreamRun", "open_job"]

KINDS = (".csv", ".jsonl")


def open_job(state: str, fitted: Any, time: str | None, max_pending: int | None) -> StreamJob:
    """The state that there is, or a new one."""
    path = Path(state)
    if not path.exists():
        watch = open_watch(state, fitted, time, None, None)
        return StreamJob(OnlineCalibrator(start=fitted, max_pending=max_pending or 1000), watch)
    job = StreamJob.load(path)
    if job.watch.map != fitted.fingerprint:
        raise InputError(
            f"{path.name} was begun with another map; begin a new state file for this one "
            "(--state)."
        )
    if job.watch.time != time:
        raise UsageError(f"{path.name} was begun with --time {job.watch.time}; got {time}.")
    if max_pending not in (None, job.online.max_pending):
        raise UsageError(
            f"{path.name} was begun with --max-pending {job.online.max_pending}; got {max_pending}."
        )
    return job


class Forecasts:
    """Where forecasts go: a file that grows with the state, or standard output.

    The state holds the size of the file. What a run that was killed wrote beyond it is cut off by
    the next run, which writes the same rows again.
    """

    def __init__(self, job: StreamJob, state: str, output: str | None, *, to_output: bool) -> None:
        self.job, self.state, self.count = job, state, 0
        self._header: list[str] | None = None
        self._stream: IO[bytes] | None = None
        self._to_output = to_output and output is None
        self._path = None if output is None else Path(output)
        if self._path is not None and self._path.suffix.lower() not in KINDS:
            raise UsageError(f"--output must end in .csv or .jsonl; got {output}.")

    def __enter__(self) -> Self:
        if self._path is None:
            return self
        job, path = self.job, self._path.absolute()
        if job.output != str(path):
            if path.exists() and path.stat().st_size:
                raise InputError(
                    f"{self._path} exists and is not the output of this state; name another "
                    "with -o."
                )
            job.output, job.written = str(path), 0
            job.save(self.state)  # so that the next run knows the file if this one is killed
        size = path.stat().st_size if path.exists() else 0
        if 0 < size < job.written:
            raise InputError(
                f"{self._path} is shorter than when this state was saved; restore it, or name "
                "another with -o."
            )
        if size == 0:  # moved away, perhaps to archive it
            job.written = 0
        self._stream = path.open("r+b" if path.exists() else "x+b")
        self._stream.truncate(job.written)
        self._stream.seek(job.written)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        if self._stream is not None:
            if kind is not None:  # nothing that the state does not know
                self._stream.flush()
                self._stream.truncate(self.job.written)
            self._stream.close()

    @property
    def wanted(self) -> bool:
        """Whether forecasts go anywhere."""
        return self._stream is not None or self._to_output

    def write(self, rows: list[dict[str, Any]]) -> None:
        """Add rows, all with the same keys."""
        self.count += len(rows)
        if not rows or not self.wanted:
            return
        if self._path is not None and self._path.suffix.lower() == ".csv":
            text = self._csv(rows)
        else:
            text = "".join(json_printable(json.dumps(row, allow_nan=False)) + "\n" for row in rows)
        if self._stream is not None:
            self._stream.write(text.encode("utf-8", "backslashreplace"))
        else:
            sys.stdout.write(text)

    def _csv(self, rows: list[dict[str, Any]]) -> str:
        target = io.StringIO()
        writer = csv.DictWriter(target, list(rows[0]), lineterminator="\n")
        if self._header is None:
            self._header = list(rows[0])
            if self.job.written == 0:
                writer.writeheader()
        writer.writerows(rows)
        return target.getvalue()

    def flush(self) -> None:
        """Hand over what was written; a file is on the disk then, and its size in the job."""
        if self._stream is not None:
            self._stream.flush()
            os.fsync(self._stream.fileno())
            self.job.written = self._stream.tell()
        elif self._to_output:
            sys.stdout.flush()


@dataclass(kw_only=True, eq=False)
class StreamRun(WatchRun):
    """Rows of files, found as the monitor finds them, into the calibrator."""

    job: StreamJob
    forecasts: Forecasts
    map_out: str | None = None
    map_every: int | None = None
    _starts: dict[int, int] = field(default_factory=dict)
    """Position of the first row of each file."""
    _answered: dict[str, int] = field(default_factory=dict)
    """Labels of each file of labels alone that were learned in this run."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.online = self.job.online
        self._maps_due = self.online.n_rows // (self.map_every or 1)

    def commit(self) -> None:
        """Make forecasts, map and state agree: the state is written last."""
        if self.map_out is not None:
            self._write_map()
        self.forecasts.flush()
        self.job.save(self.state)

    def learned(self) -> None:
        """Write the map if it is time."""
        if self.map_out is not None and self.map_every is not None:
            due = self.online.n_rows // self.map_every
            if due > self._maps_due:
                self._write_map()
            self._maps_due = due

    def _write_map(self) -> None:
        content = self.online.map_.to_dict()
        text = json.dumps(content, allow_nan=False, ensure_ascii=False, indent=1)
        write_text(text, str(self.map_out))

    def summary(self) -> dict[str, Any]:
        """Return the calibrator's results as plain JSON values."""
        online = self.online
        return {
            "rows_learned": online.n_rows,
            "rows_pending": online.n_pending,
            "rows_dropped": online.n_dropped,
            "labels_unknown": online.n_unknown,
            "forecasts": self.forecasts.count,
            "regret": online.regret_,
            "bound": online.bound_,
            "experts": [
                {"name": expert.name, "share": expert.share} for expert in self._experts()[:3]
            ],
        }

    def _experts(self) -> Any:
        experts = self.online.experts_
        return experts if hasattr(experts[0], "share") else experts[0]

    def words(self) -> list[str]:
        """Return the calibrator's results as lines."""
        online = self.online
        waiting = f"; {online.n_pending:,} forecasts wait for a label" if online.n_pending else ""
        dropped = f", {online.n_dropped:,} were dropped" if online.n_dropped else ""
        lines = [f"learned:        {online.n_rows:,} rows{waiting}{dropped}"]
        if len(self.classes) == 2:
            lines.append(f"experts:        {'; '.join(str(e) for e in self._experts()[:3])}")
            lines.append(
                f"regret:         {number(online.regret_, 2)} nats against the best expert "
                f"(bound {number(online.bound_, 2)})"
            )
        return lines

    # ----- rows of files ---------------------------------------------------------------------

    def read(self, fresh: list[Delivery], *, quiet: bool) -> list[dict[str, Any]]:
        """Learn all new rows; files of ids and labels alone are labels of earlier rows.

        Labels of rows that waited before this run come first, because they may help to forecast
        its rows; then its rows, and then their labels.
        """
        alone = [one for one in fresh if self._has_labels_alone(one)]
        lines = [line for one in alone for line in self._read_labels(one)]
        lines += super().read([one for one in fresh if one not in alone], quiet=quiet)
        lines += [line for one in alone for line in self._read_labels(one, last=True)]
        return lines

    def _has_labels_alone(self, one: Delivery) -> bool:
        if self.data.kept_apart is None:
            return False
        with open_source(str(one.path), self.data.reading, found=[one.path]) as source:
            scores = self.columns.score
            named = {self.data.kept_apart, self.data.label} <= set(source.kinds)
            return named and not any(name in source.kinds for name in scores)

    def _read_labels(self, one: Delivery, last: bool = False) -> Iterator[dict[str, Any]]:
        """Answer the rows that wait for these labels; others may still be asked in this run."""
        row_id, label = str(self.data.kept_apart), self.data.label
        counts, unknown, rows = np.zeros(3), 0, 0
        with open_source(str(one.path), self.data.reading, found=[one.path]) as source:
            self.classes = self.classes or (0, 1)
            code = code_known_classes(
                source,
                label,
                self.classes,
                self.data.positive,
                named=self.fitted.classes is not None,
            )
            texts = f"{as_text(row_id, source.kinds[row_id])} AS row_id, CAST({code} AS INTEGER)"
            for batch in arrow_batches(source.relation.project(f"{texts} AS code")):
                first, rows = rows + 1, rows + batch.num_rows
                found = zip(batch["row_id"].to_pylist(), batch["code"].to_pylist(), strict=True)
                known = {
                    name: (first + i, code)
                    for i, (name, code) in enumerate(found)
                    if name is not None and code is not None and code >= 0
                }
                waiting = [name for name in known if self.online.waits_for(name)]
                unknown += len(known) - len(waiting)
                counts += self._answer(one, waiting, [known[name] for name in waiting])
        self._answered[one.name] = self._answered.get(one.name, 0) + int(counts[0])
        if last:
            unknown -= self._answered[one.name] - int(counts[0])
            record = FileRecord(one.fingerprint, one.size, one.settled, rows, 0, 0)
            self.watch.files.pop(one.name, None)
            self.watch.files[one.name] = record
            self.watch.forget()
            if unknown:
                log(f"{one.name}: no row waits for {unknown:,} of {rows:,} labels.")
        if counts[0]:
            yield self._line(as_unicode(str(one.path)), False, counts)

    def _answer(self, one: Delivery, ids: list[str], found: list[tuple[int, int]]) -> Any:
        if not ids:
            return np.zeros(3)
        codes = np.array([code for _, code in found])
        names = np.array(self.classes, dtype=object)
        p = self.online.recall(ids)
        self.online.answer(ids, codes if self.online.classes is None else names[codes])
        self.learned()
        time = {"time": None} if self.data.time is not None else {}
        self.forecasts.write(
            [
                {"file": as_unicode(str(one.path)), "row": row, "id": name}
                | {**time, "label": self.classes[code]}
                | self.forecast_columns(q)
                for name, (row, code), q in zip(ids, found, p, strict=True)
            ]
        )
        return self.watch_forecasts(p, codes, None, None)

    @property
    def _needed(self) -> ColumnNames:
        """With ids, a file may have no labels yet."""
        if self.data.kept_apart is None:
            return self.columns
        named = tuple(name for name in self.columns.named if name != self.data.label)
        return replace(self.columns, named=named)

    def _completed(self, source: DataSource) -> DataSource:
        label = self.data.label
        if self.data.kept_apart is None or label in source.kinds:
            return source
        relation = source.relation.project(f"*, CAST(NULL AS VARCHAR) AS {quoted(label)}")
        return replace(source, relation=relation, kinds={**source.kinds, label: "VARCHAR"})

    def _select(self, source: Any, batch: list[Delivery]) -> WatchedRows:
        rows = super()._select(source, batch)
        starts = source.relation.project(f"{quoted(FILE)} AS place, rowid AS position")
        found = starts.aggregate("place, min(position)", "place").fetchall()
        self._starts = dict(found)
        self._names = [as_unicode(str(one.path)) for one in batch]
        return rows

    def _taken(self, read: RowArrays) -> Any:
        """With ids, rows without a label are forecast too."""
        if self.data.kept_apart is None:
            return read.take
        return read.take | ((read.codes < 0) & (read.files >= 0) & ~read.held)

    def _update(self, names: Any, piece: Piece) -> Any:
        y = piece.codes if self.online.classes is None else names[piece.codes]
        labeled = piece.codes >= 0
        ids = None if piece.groups is None else self._ids(piece)
        p, made = self.learn(piece.scores, y, labeled, ids, piece.counts)
        if piece.moments is not None and labeled.any():
            newest = moment_text(float(piece.moments[labeled].max()), self.watch.kind)
            self.watch.last = later(self.watch.last, newest, self.watch.kind)
        if self.forecasts.wanted:
            self.forecasts.write(self._written(piece, p, made, ids))
        else:
            self.forecasts.count += int(made.sum())
        counts = None if piece.counts is None else piece.counts[labeled]
        times = None if piece.times is None else piece.times[labeled]
        return self.watch_forecasts(p[labeled], piece.codes[labeled], counts, times)

    def _ids(self, piece: Piece) -> Any:
        groups: Any = piece.groups
        if any(one is None for one in groups.tolist()):
            raise InputError(f"column {shown(self.data.kept_apart)} (--id) is empty in some rows.")
        return groups

    def learn(self, scores: Any, y: Any, labeled: Any, ids: Any, counts: Any) -> tuple[Any, Any]:
        """Answer pending rows, learn other labeled rows, and predict the rest.

        Returns
        -------
        p : ndarray of shape (n, n_classes)
            The forecasts that were made before the labels were known.
        made : ndarray of bool
            False for rows that wait already and have no label yet.
        """
        online = self.online
        p = np.full((len(labeled), max(2, len(self.classes))), np.nan)
        waits = np.zeros(len(labeled), dtype=bool)
        if ids is not None:
            waits = np.array([online.waits_for(one) for one in ids.tolist()], dtype=bool)
        count = np.ones(len(labeled)) if counts is None else counts
        late, direct, new = labeled & waits, labeled & ~waits, ~labeled & ~waits
        if late.any():
            p[late] = online.recall(ids[late])
            online.answer(ids[late], y[late], counts=count[late])
        if direct.any():
            p[direct] = online.replay(scores[direct], y[direct], counts=count[direct])
        if new.any() and ids is not None:
            p[new] = online.ask(scores[new], ids[new])
        elif new.any():
            p[new] = online.predict_proba(scores[new])
        self.learned()
        return p, labeled | new

    def watch_forecasts(self, p: Any, codes: Any, counts: Any, times: Any) -> Any:
        """Let the monitor see labeled forecasts; returns rows, and what was expected and seen."""
        if not len(codes):
            return np.zeros(3)
        monitor, two = self.watch.monitor, p.shape[1] == 2
        y = codes if monitor.classes is None else np.array(monitor.classes, object)[codes]
        monitor.update(p[:, 1] if two else p, y, time=times, counts=counts)
        top, right = (p[:, 1], codes == 1) if two else (p.max(1), p.argmax(1) == codes)
        mass = np.ones(len(top)) if counts is None else counts
        return np.array([len(top), (mass * top).sum(), (mass * right).sum()])

    def _written(self, piece: Piece, p: Any, made: Any, ids: Any) -> list[dict[str, Any]]:
        labels = [None if code < 0 else self.classes[code] for code in piece.codes.tolist()]
        rows = []
        for i in np.flatnonzero(made).tolist():
            place = int(piece.files[i])
            row: dict[str, Any] = {
                "file": self._names[place],
                "row": int(piece.positions[i]) - self._starts[place] + 1,
            }
            if ids is not None:
                row["id"] = ids[i]
            if piece.times is not None:
                row["time"] = piece.times[i]
            rows.append(row | {"label": labels[i]} | self.forecast_columns(p[i]))
        return rows

    def forecast_columns(self, p: Any) -> dict[str, float]:
        """A forecast by name: of the positive class, or one for each of several."""
        if len(p) == 2:
            return {"forecast": float(p[1])}
        return {f"forecast_{name}": float(q) for name, q in zip(self.classes, p, strict=True)}
