"""State of a scheduled job: a monitor, the files that were read, and unusual deliveries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from trueodds.basics.shown import shown
from trueodds.basics.wording import counted
from trueodds.exceptions import InputError, StateFormatError
from trueodds.monitoring._deliveries import MOST_KEPT, FileRecord
from trueodds.monitoring._monitor import CalibrationMonitor
from trueodds.monitoring._state_file import Fields, StateFile

__all__ = ["EVENTS", "STEPS", "Watch", "event_text", "later", "moment_number"]

KEYS = {
    "map", "time", "last", "kind", "horizon", "files", "periods", "step", "seen", "missing",
    "events", "totals", "acknowledged",
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
    "unmatched": "Skipped {rows} with labels of {where}: the file has changed, and its rows are "
    "too many or too old to compare.",
    "expired": "Skipped {rows} of {where}, older than the files in the state.",
}
"""Kinds of unusual deliveries, with their messages."""
MOST_FILES = 20_000
MOST_PERIODS = 150
MOST_SEEN = 1_000
MOST_EVENTS = 300
MOST_ALARMS = 100
LONGEST_NAME = 10_000
KINDS = ("number", "time")
STEPS = ("hour", "day", "week", "month", "quarter", "year")
CYCLE = {"hour": timedelta(days=1), "day": timedelta(days=7)}
"""Interval after which the same hours or days recur."""


@dataclass(eq=False)
class Watch(StateFile):
    """The state of a scheduled job between runs.

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
                    self.files[key] = kept.without_values()
        while len(self.files) > MOST_FILES:
            if self.time is None:
                raise InputError(
                    f"more than {MOST_FILES:,} files were read; start a new state file, or pass "
                    "--time, so that old files can be dropped."
                )
            forgotten = self.files.pop(next(iter(self.files)))
            if forgotten.last is not None:
                self.horizon = later(self.horizon, forgotten.last, self.kind)

    def add_period(self, line: dict[str, Any]) -> dict[str, Any]:
        """Add the line of a period, or update the last one if it is the same period.

        Returns
        -------
        dict
            The line with all rows of the period so far.
        """
        same = ("period", "late")
        if self.periods and self.time is not None:
            begun = self.periods[-1]
            if all(begun[key] == line[key] for key in same):
                sums = ("rows", "expected", "observed")
                line = line | {key: begun[key] + line[key] for key in sums}
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
        self.seen = sorted({*self.seen, *filter(_is_stamp, periods)})[-MOST_SEEN:]

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
        """Return the state of the monitor, in which ``job`` holds everything else."""
        plain = {key: getattr(self, key) for key in sorted(KEYS - {"files"})}
        files = {name: record.to_dict() for name, record in self.files.items()}
        return self.monitor.to_dict() | {"job": {**plain, "files": files}}

    @classmethod
    def from_dict(cls, content: Any) -> Watch:
        """A watch from its state, every value of which is checked."""
        monitor = CalibrationMonitor.from_dict(content)
        if content["job"] is None:
            raise StateFormatError("state.job is null: CalibrationMonitor.save wrote it.")
        fields = Fields(content["job"], KEYS, "state.job")
        optional = {
            key: None if fields.raw(key) is None else fields.text(key, LONGEST_NAME)
            for key in ("time", "last", "kind", "horizon", "step")
        }
        for key, known in (("kind", KINDS), ("step", STEPS)):
            if optional[key] not in (None, *known):
                raise StateFormatError(f"state.job.{key} must be one of {known}.")
        for key in ("last", "horizon"):
            _check_moment(optional[key], optional["kind"], key)
        for key in ("seen", "missing"):
            periods = fields.texts(key, MOST_SEEN)
            if periods != sorted(periods) or not all(map(_is_stamp, periods)):
                raise StateFormatError(f"state.job.{key} must be times in order.")
        totals = Fields(fields.raw("totals"), set(EVENTS), "state.job.totals")
        return cls(
            fields.text("map"),
            monitor,
            files=_files(fields.raw("files"), optional["kind"]),
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
        raise StateFormatError(f"state.job.files must be an object of at most {MOST_FILES} files.")
    files, room = {}, MOST_KEPT
    for name, item in content.items():
        if len(name) > LONGEST_NAME:
            raise StateFormatError("state.job.files has names that are too long.")
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
        raise StateFormatError(
            f"state.job.{key} holds {shown(text)}, which is not a time."
        ) from None


def _period(content: Any) -> dict[str, Any]:
    fields = Fields(content, PERIOD, "state.job.periods")
    fields.text("period")
    fields.count("rows")
    fields.flag("alarm")
    fields.flag("late")
    for key in ("expected", "observed", "e_value", "peak_e_value", "ratio_low", "ratio_high"):
        fields.number(key, 0.0, 1e300)
    return dict(content)


def _event(content: Any) -> dict[str, Any]:
    fields = Fields(content, EVENT, "state.job.events")
    if fields.text("kind") not in EVENTS:
        raise StateFormatError(f"state.job.events.kind must be one of {tuple(EVENTS)}.")
    fields.text("at", 40)
    fields.count("rows")
    for key, longest in (("period", 200), ("file", LONGEST_NAME)):
        if fields.raw(key) is not None:
            fields.text(key, longest)
    return dict(content)


def _alarm(content: Any) -> dict[str, Any]:
    fields = Fields(content, ALARM, "state.job.acknowledged")
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
    return EVENTS[event["kind"]].format(where=where, rows=counted(event["rows"], "row"))


def moment_number(text: str, kind: str | None) -> float:
    """Return a time as a number that increases with time."""
    if kind == "number":
        return float(text)
    return (datetime.fromisoformat(text) - datetime(1970, 1, 1)) / timedelta(microseconds=1)


def later(one: str | None, other: str, kind: str | None) -> str:
    """Return the later of two times."""
    if one is None or moment_number(other, kind) > moment_number(one, kind):
        return other
    return one


def _is_stamp(text: str) -> bool:
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
