"""What a scheduled job remembers: a monitor, what was read, and unusual deliveries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trueodds.basics.shown import shown
from trueodds.basics.wording import counted
from trueodds.exceptions import InputError, StateFormatError
from trueodds.inputs import Floats
from trueodds.monitoring import CalibrationMonitor
from trueodds.online import OnlineCalibrator
from trueodds.state_file import Fields, StateFile, document_fields
from trueodds.watch.ids_seen import IdsSeen
from trueodds.watch.periods import (
    MOST_SEEN,
    STEPS,
    is_stamp,
    later,
    missing_periods,
    moment_number,
    moment_text,
)
from trueodds.watch.rows_seen import MOST_KEPT, FileRecord

__all__ = ["DIGEST", "EVENTS", "StreamWatch", "Watch", "Written", "event_text"]

FORMAT, VERSION = "trueodds-watch", 1
KEYS = {
    "monitor", "map", "time", "last", "kind", "horizon", "files", "periods", "step", "seen",
    "missing", "events", "totals", "acknowledged", "ids",
}  # fmt: skip
PERIOD = {
    "period", "rows", "expected", "observed", "e_value", "peak_e_value", "ratio_low", "ratio_high",
    "alarm", "late",
}  # fmt: skip
EVENT = {"kind", "period", "file", "rows", "at"}
ALARM = {"at", "alarm_time", "alarm_row", "rows", "peak_e_value"}
EVENTS = {
    "late": "Counted {rows} of {where} after rows of later periods.",
    "missing": "No rows of {where}.",
    "changed": "Received {rows} of {where} again with another label; the first label counts.",
    "withdrawn": "No longer found: {rows} of {where} that were counted.",
    "duplicate": "Skipped {where}, which has the same content as another file.",
}
"""Kinds of unusual deliveries, with their messages."""
OF_FILES = {
    "late": "Skipped {rows} of {where}, older than the files in the state.",
    "changed": "Skipped {rows} with labels of {where}: the file has changed, and its rows are too "
    "many or too old to compare.",
}
"""The same where rows are known by their file only, and are not counted."""
MOST_FILES = 20_000
MOST_PERIODS = 150
MOST_EVENTS = 300
MOST_ALARMS = 100
LONGEST_NAME = 10_000
KINDS = ("number", "time")
STREAM_FORMAT, STREAM_VERSION = "trueodds-stream", 1
DIGEST = 16


@dataclass(eq=False)
class Watch(StateFile):
    """The state of ``trueodds monitor`` between two runs.

    Parameters
    ----------
    map : str
        Fingerprint of the monitored map.
    monitor : CalibrationMonitor
    time : str or None
        The column of times.
    last, kind : str or None
        The latest time that was counted, and the kind of times.
    horizon : str or None
        Rows up to this time are not counted if their file is unknown, because the state no longer
        has the files of that time.
    files : dict
        Record of each file, by its path from the folder of the state.
    periods : list of dict
        A line for each of the last 150 periods, in the order in which they were counted.
    step : str or None
        The length of a period of ``seen``.
    seen, missing : list of str
        Periods with rows, and periods between them without rows.
    events : list of dict
        The last unusual deliveries.
    totals : dict
        Rows, files or periods of each kind of event so far.
    acknowledged : list of dict
        Alarms that were acknowledged, and when.
    ids : IdsSeen
        Ids of the last rows that were counted.

    Examples
    --------
    >>> from trueodds import CalibrationMonitor
    >>> from trueodds.watch import Watch
    >>> watch = Watch("sha256:0", CalibrationMonitor(), time="day")  # or Watch.load("watch.json")
    >>> watch.n_rows, watch.monitor.alarm, watch.periods
    (0, False, [])
    """

    map: str
    monitor: CalibrationMonitor
    time: str | None
    last: str | None = None
    kind: str | None = None
    horizon: str | None = None
    files: dict[str, FileRecord] = field(default_factory=dict)
    periods: list[dict[str, Any]] = field(default_factory=list)
    step: str | None = None
    seen: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    totals: dict[str, int] = field(default_factory=lambda: dict.fromkeys(EVENTS, 0))
    acknowledged: list[dict[str, Any]] = field(default_factory=list)
    ids: IdsSeen = field(default_factory=IdsSeen)

    @property
    def n_rows(self) -> int:
        """Number of counted rows, including those before acknowledged alarms."""
        return self.monitor.n_rows + sum(int(alarm["rows"]) for alarm in self.acknowledged)

    @property
    def n_waiting(self) -> int:
        """Number of rows that have no label yet."""
        return sum(record.waiting for record in self.files.values())

    def summary(self) -> dict[str, Any]:
        """Return all results as plain JSON values."""
        return {
            **self.monitor.summary(),
            "rows_total": self.n_rows,
            "rows_unlabeled": self.n_waiting,
            "missing": list(self.missing),
            "deliveries": dict(self.totals),
            "acknowledged": list(self.acknowledged),
        }

    def forget(self) -> None:
        """Keep the state small: drop the rows of old files first, then the files."""
        room = MOST_KEPT
        for key in reversed(self.files):
            kept = self.files[key]
            if kept.values is not None:
                room -= len(kept.values)
                if room < 0:
                    self.files[key] = replace(kept, values=None)
        while len(self.files) > MOST_FILES:
            if self.time is None:
                raise InputError(
                    f"more than {MOST_FILES:,} files were read; start a new state file, or pass "
                    "--time, so that old files can be dropped."
                )
            forgotten = self.files.pop(next(iter(self.files)))
            if forgotten.last is not None:
                self.horizon = later(self.horizon, forgotten.last, self.kind)

    def count(
        self,
        p: Floats,
        codes: Any,
        *,
        counts: Any = None,
        times: Any = None,
        moments: Any = None,
        groups: Any = None,
    ) -> Floats:
        """Let the monitor see forecasts with their labels.

        Returns
        -------
        ndarray of shape (3,)
            The number of rows, and how many positives were expected and observed. Of several
            classes, the most probable one counts.
        """
        if not len(codes):
            return np.zeros(3)
        if p.ndim == 2 and p.shape[1] == 2:
            p = p[:, 1]
        monitor = self.monitor
        y = codes if monitor.classes is None else np.array(monitor.classes, dtype=object)[codes]
        monitor.update(p, y, time=times, counts=counts, group=groups)
        if moments is not None:
            self.last = later(self.last, moment_text(float(moments.max()), self.kind), self.kind)
        top, right = p, codes == 1
        if p.ndim == 2:
            top, right = p.max(axis=1), p.argmax(axis=1) == codes
        mass = np.ones(len(top)) if counts is None else counts
        return np.array([len(top), (mass * top).sum(), (mass * right).sum()])

    def add_period(self, period: str, late: bool, counts: Floats) -> dict[str, Any]:
        """Add the line of a period, or update the last one if it is the same period.

        Returns
        -------
        dict
            The line with all rows of the period so far.
        """
        whole = self.monitor.miscalibration(1)
        line: dict[str, Any] = {
            "period": period[:200],
            "rows": int(counts[0]),
            "expected": float(counts[1]),
            "observed": float(counts[2]),
            "e_value": self.monitor.e_value,
            "peak_e_value": self.monitor.peak_e_value,
            "ratio_low": 0.0 if whole is None else min(whole.ratio_low, 1e300),
            "ratio_high": 0.0 if whole is None else min(whole.ratio_high, 1e300),
            "alarm": self.monitor.alarm,
            "late": late,
        }
        if self.periods and self.time is not None:
            begun = self.periods[-1]
            if all(begun[key] == line[key] for key in ("period", "late")):
                line |= {key: begun[key] + line[key] for key in ("rows", "expected", "observed")}
                self.periods.pop()
        self.periods = [*self.periods, line][-MOST_PERIODS:]
        return line

    def add_event(
        self, kind: str, at: str, *, period: str | None = None, file: str | None = None, rows: int
    ) -> dict[str, Any]:
        """Record an unusual delivery."""
        file = None if file is None else file[-LONGEST_NAME:]
        period = None if period is None else period[:200]
        event = {"kind": kind, "period": period, "file": file, "rows": rows, "at": at}
        self.totals[kind] += rows if kind not in ("missing", "duplicate") else 1
        self.events = [*self.events, event][-MOST_EVENTS:]
        return event

    def see(self, step: str, periods: Sequence[str]) -> None:
        """Record periods with rows, by their starts."""
        if step != self.step:
            self.step, self.seen, self.missing = step, [], []
        self.seen = sorted({*self.seen, *filter(is_stamp, periods)})[-MOST_SEEN:]

    def newly_missing(self) -> list[str]:
        """Find periods without rows; return those that were not missing before."""
        before = set(self.missing)
        self.missing = [] if self.step is None else missing_periods(self.seen, self.step)
        return [period for period in self.missing if period not in before]

    def acknowledge(self, at: str) -> bool:
        """Record the alarm and restart the monitor; False if there is no alarm."""
        old = self.monitor
        if not old.alarm:
            return False
        if len(self.acknowledged) == MOST_ALARMS:
            raise InputError(f"{MOST_ALARMS} alarms were acknowledged; start a new state file.")
        record = {"at": at, "alarm_time": old.alarm_time, "alarm_row": old.alarm_row}
        record |= {"rows": old.n_rows, "peak_e_value": old.peak_e_value}
        self.acknowledged.append(record)
        self.monitor = CalibrationMonitor(
            alpha=old.alpha,
            tolerance=old.tolerance,
            classes=old.classes,
            max_groups=old.max_groups,
            group_cuts=old.group_cuts,
        )
        return True

    def to_dict(self) -> dict[str, Any]:
        """Return the state as plain JSON values."""
        plain = {key: getattr(self, key) for key in sorted(KEYS - {"monitor", "files", "ids"})}
        files = {name: record.to_dict() for name, record in self.files.items()}
        return {
            "format": FORMAT,
            "version": VERSION,
            "monitor": self.monitor.to_dict(),
            **plain,
            "files": files,
            "ids": self.ids.to_dict(),
        }

    @classmethod
    def from_dict(cls, content: Any) -> Watch:
        """A watch from its state, every value of which is checked."""
        fields = document_fields(content, FORMAT, VERSION, KEYS, "state", of="a scheduled job")
        optional = {
            key: None if fields.raw(key) is None else fields.text(key, LONGEST_NAME)
            for key in ("time", "last", "kind", "horizon", "step")
        }
        for key, known in (("kind", KINDS), ("step", STEPS)):
            if optional[key] not in (None, *known):
                raise StateFormatError(f"state.{key} must be one of {known}.")
        for key in ("last", "horizon"):
            _check_moment(optional[key], optional["kind"], key)
        for key in ("seen", "missing"):
            periods = fields.texts(key, MOST_SEEN)
            if periods != sorted(periods) or not all(map(is_stamp, periods)):
                raise StateFormatError(f"state.{key} must be times in order.")
        totals = Fields(fields.raw("totals"), set(EVENTS), "state.totals")
        return cls(
            fields.text("map"),
            CalibrationMonitor.from_dict(fields.raw("monitor")),
            files=_files(fields.raw("files"), optional["kind"]),
            ids=IdsSeen.from_dict(fields.raw("ids")),
            periods=[_period(line) for line in fields.listed("periods", MOST_PERIODS)],
            seen=fields.raw("seen"),
            missing=fields.raw("missing"),
            events=[_event(event) for event in fields.listed("events", MOST_EVENTS)],
            totals={kind: totals.count(kind) for kind in EVENTS},
            acknowledged=[_alarm(one) for one in fields.listed("acknowledged", MOST_ALARMS)],
            **optional,
        )


def _files(content: Any, kind: str | None) -> dict[str, FileRecord]:
    if not isinstance(content, dict) or len(content) > MOST_FILES:
        raise StateFormatError(f"state.files must be an object of at most {MOST_FILES} files.")
    files, room = {}, MOST_KEPT
    for name, item in content.items():
        if len(name) > LONGEST_NAME:
            raise StateFormatError("state.files has names that are too long.")
        record = files[name] = FileRecord.from_dict(item, room)
        room -= 0 if record.values is None else len(record.values)
        for moment in (record.last, record.until):
            _check_moment(moment, kind, "files")
    return files


def _check_moment(text: str | None, kind: str | None, key: str) -> None:
    try:
        if text is not None:
            moment_number(text, kind)
    except (ValueError, OverflowError):
        raise StateFormatError(f"state.{key} holds {shown(text)}, which is not a time.") from None


def _period(content: Any) -> dict[str, Any]:
    fields = Fields(content, PERIOD, "state.periods")
    fields.text("period")
    fields.count("rows")
    fields.flag("alarm")
    fields.flag("late")
    for key in ("expected", "observed", "e_value", "peak_e_value", "ratio_low", "ratio_high"):
        fields.number(key, 0.0, 1e300)
    return dict(content)


def _event(content: Any) -> dict[str, Any]:
    fields = Fields(content, EVENT, "state.events")
    if fields.text("kind") not in EVENTS:
        raise StateFormatError(f"state.events.kind must be one of {tuple(EVENTS)}.")
    fields.text("at", 40)
    fields.count("rows")
    for key, longest in (("period", 200), ("file", LONGEST_NAME)):
        if fields.raw(key) is not None:
            fields.text(key, longest)
    return dict(content)


def _alarm(content: Any) -> dict[str, Any]:
    fields = Fields(content, ALARM, "state.acknowledged")
    fields.text("at", 40)
    fields.moment("alarm_time")
    fields.count("alarm_row")
    fields.count("rows")
    fields.number("peak_e_value", 0.0, 1e300)
    return dict(content)


def event_text(event: dict[str, Any]) -> str:
    """Return an unusual delivery as a sentence."""
    places = [place for place in (event["period"], event["file"]) if place is not None]
    where = f"{places[0]} ({places[1]})" if len(set(places)) == 2 else "".join(places[:1])
    kind = event["kind"]
    text = EVENTS[kind] if event["period"] is not None else OF_FILES.get(kind, EVENTS[kind])
    return text.format(where=where, rows=counted(event["rows"], "row"))


@dataclass(eq=False)
class Written:
    """The file of forecasts of a stream.

    Parameters
    ----------
    file : str
        Its path from the folder of the state.
    size : int
        Its bytes.
    tail : str
        A hash of its end.
    is_open : bool
        Whether a run is writing it, so that there may be more.
    """

    file: str
    size: int = 0
    tail: str = ""
    is_open: bool = False

    @classmethod
    def from_dict(cls, content: Any) -> Written:
        """A file from the state."""
        fields = Fields(content, {"file", "size", "tail", "is_open"}, "state.output")
        file, tail = fields.text("file", LONGEST_NAME), fields.text("tail", 2 * DIGEST)
        return cls(file, fields.count("size"), tail, fields.flag("is_open"))


@dataclass(eq=False)
class StreamWatch(StateFile):
    """What ``trueodds stream`` remembers from one run to the next.

    Parameters
    ----------
    online : OnlineCalibrator
    watch : Watch
        A monitor of the forecasts, and the files that were read.
    output : Written or None
        The file of forecasts.
    lines : int
        Lines of standard input that were read, without empty ones.

    Examples
    --------
    >>> from trueodds import CalibrationMonitor, OnlineCalibrator
    >>> from trueodds.watch import StreamWatch, Watch
    >>> watch = Watch("sha256:0", CalibrationMonitor(), time=None)
    >>> stream = StreamWatch(OnlineCalibrator(), watch)  # or StreamWatch.load("stream.json")
    >>> stream.online.n_rows, stream.lines
    (0, 0)
    """

    online: OnlineCalibrator
    watch: Watch
    output: Written | None = None
    lines: int = 0

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain JSON values."""
        return {
            "format": STREAM_FORMAT,
            "version": STREAM_VERSION,
            "online": self.online.to_dict(),
            "watch": self.watch.to_dict(),
            "output": None if self.output is None else vars(self.output),
            "lines": self.lines,
        }

    @classmethod
    def from_dict(cls, content: Any) -> StreamWatch:
        """A job from its state, every value of which is checked."""
        fields = document_fields(
            content,
            STREAM_FORMAT,
            STREAM_VERSION,
            {"online", "watch", "output", "lines"},
            "state",
            of="a stream",
        )
        job = cls(
            OnlineCalibrator.from_dict(fields.raw("online")), Watch.from_dict(fields.raw("watch"))
        )
        if fields.raw("output") is not None:
            job.output = Written.from_dict(fields.raw("output"))
        job.lines = fields.count("lines")
        return job
