"""Output of ``trueodds monitor``: a line per period, the result, a log, and Prometheus metrics."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from trueodds.basics.wording import counted, e_value_text
from trueodds.cli.output import interval, note, number, say
from trueodds.online import OnlineCalibrator
from trueodds.watch.state import EVENTS, StreamWatch, Watch, event_text

__all__ = [
    "log",
    "log_events",
    "log_known",
    "metrics_text",
    "say_periods",
    "say_result",
    "say_stream",
    "stream_summary",
    "time_stamp",
]

MOST_LINES = 10


def time_stamp() -> str:
    """Return the time in UTC, as in the log and in the state."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def log(text: str) -> None:
    """A line of the log, on standard error."""
    note(f"{time_stamp()} {text}")


def log_events(events: Sequence[dict[str, Any]]) -> None:
    """Log unusual deliveries; of many of one kind, the first ten and their total."""
    for kind in EVENTS:
        found = [event for event in events if event["kind"] == kind]
        for event in found[:MOST_LINES]:
            log(f"{kind}: {event_text(event)}")
        rest = found[MOST_LINES:]
        if rest:
            rows = sum(event["rows"] for event in rest)
            log(f"{kind}: {len(rest):,} more such deliveries with {rows:,} rows.")


def log_known(watch: Watch, n_known: int) -> None:
    """Log rows that came again, by their ids."""
    if n_known:
        log(f"{counted(n_known, 'row')} not counted again: their ids (--id) were counted before.")
    if watch.ids.forgotten:
        log(
            f"the state has the last {len(watch.ids):,} ids; rows of the {watch.ids.forgotten:,} "
            "ids before them are counted again if they come again."
        )


def say_periods(lines: Sequence[dict[str, Any]], alpha: float) -> None:
    """Print the last ten periods of a run, and what came before."""
    before = lines[:-MOST_LINES]
    if before:
        alarms = sum(line["alarm"] for line in before)
        late = sum(line["late"] for line in before)
        rows = sum(line["rows"] for line in before)
        words = [f"{counted(len(before), 'earlier period')}: {counted(rows, 'row')}"]
        words += [f"{late:,} late"] if late else []
        words += [f"{alarms:,} with ALARM"] if alarms else []
        say(f"{', '.join(words)} (all: --json).")
    for line in lines[-MOST_LINES:]:
        say(_period_line(line, alpha))


def _period_line(line: dict[str, Any], alpha: float) -> str:
    ratio = line["observed"] / line["expected"] if line["expected"] > 0 else None
    words = [
        f"{line['period']:<12}",
        f"{line['rows']:>9,} rows",
        f"O:E {number(ratio, 3):>6}",
        f"e-value {e_value_text(line['e_value']):>8} of {1 / alpha:g}",
    ]
    marks = [word for word, key in (("late", "late"), ("ALARM", "alarm")) if line[key]]
    return "  ".join([*words, *marks])


def say_result(watch: Watch) -> None:
    """Print the monitor's result after the last row."""
    monitor = watch.monitor
    rows = f"{monitor.n_rows:,} rows"
    if watch.acknowledged:
        rows += f" since the acknowledged alarm of {watch.acknowledged[-1]['at']}"
    if watch.n_waiting:
        rows += f" ({watch.n_waiting:,} without a label)"
    change = monitor.change_point
    if change is None:
        say(f"No alarm after {rows}; largest e-value {e_value_text(monitor.peak_e_value)}.")
        return
    when = monitor.alarm_time if monitor.alarm_time is not None else f"row {monitor.alarm_row:,}"
    say(f"ALARM at {when} (row {monitor.alarm_row:,} of {rows}).")
    first, last = change.time_low, change.time_high
    span = f"{first} … {last}" if first is not None else f"rows {change.low:,} … {change.high:,}"
    start = change.time if change.time is not None else f"row {change.row:,}"
    extra = "; possibly from the first row" if change.from_start else ""
    say(f"change point:   {start} ({span}{extra})")
    places = monitor.regions
    shown = "; ".join(str(place) for place in places[:6]) or "no single region alone"
    more = f"; and {len(places) - 6} more" if len(places) > 6 else ""
    say(f"regions:        {shown}{more}")
    off = monitor.miscalibration()
    if off is not None:
        say(
            f"miscalibration: O:E {number(off.ratio, 3)} "
            f"{interval(off.ratio_low, off.ratio_high, 3)}, "
            f"intercept {off.intercept:+.3f} {interval(off.intercept_low, off.intercept_high, 3)}, "
            f"slope {off.slope:.3f} {interval(off.slope_low, off.slope_high, 3)}"
        )
    say(f"recommendation: {monitor.recommendation().sentence}")


def stream_summary(job: StreamWatch) -> dict[str, Any]:
    """Return the calibrator's results as plain JSON values."""
    online = job.online
    return {
        "rows_learned": online.n_rows,
        "rows_pending": online.n_pending,
        "rows_dropped": online.n_dropped,
        "labels_unknown": online.n_unknown,
        "regret": online.regret_,
        "bound": online.bound_,
        "experts": [{"name": expert.name, "share": expert.share} for expert in _experts(online)],
    }


def say_stream(job: StreamWatch) -> None:
    """Print the calibrator's results."""
    online = job.online
    waiting = f"; {online.n_pending:,} forecasts wait for a label" if online.n_pending else ""
    dropped = f", {online.n_dropped:,} were dropped" if online.n_dropped else ""
    say(f"learned:        {online.n_rows:,} rows{waiting}{dropped}")
    if not isinstance(online.regret_, tuple):
        say(f"experts:        {'; '.join(map(str, _experts(online)))}")
        say(
            f"regret:         {number(online.regret_, 2)} nats against the best expert "
            f"(bound {number(online.bound_, 2)})"
        )


def _experts(online: OnlineCalibrator) -> Any:
    experts = online.experts_
    return (experts if hasattr(experts[0], "share") else experts[0])[:3]


def metrics_text(watch: Watch, state: str) -> str:
    """Gauges in Prometheus' text format."""
    monitor, totals = watch.monitor, watch.totals
    name = state.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    off = monitor.miscalibration()
    gauges: list[tuple[str, str, float]] = [
        ("alarm", "1 if there is an alarm.", float(monitor.alarm)),
        ("alarms_acknowledged", "Number of acknowledged alarms.", len(watch.acknowledged)),
        ("e_value", "E-value against calibration after the last row.", monitor.e_value),
        ("peak_e_value", "Largest e-value so far.", monitor.peak_e_value),
        ("e_value_threshold", "E-value that raises an alarm.", 1.0 / monitor.alpha),
        ("rows", "Number of counted rows.", watch.n_rows),
        ("rows_unlabeled", "Rows without a label.", watch.n_waiting),
        ("rows_late", "Rows that came after rows of later periods.", totals["late"]),
        ("rows_changed", "Rows that came again with another label, or changed.", totals["changed"]),
        ("rows_withdrawn", "Counted rows that are no longer in the files.", totals["withdrawn"]),
        ("periods_missing", "Periods without rows.", len(watch.missing)),
        ("files_duplicate", "Files with the same content as another file.", totals["duplicate"]),
        (
            "last_run_timestamp_seconds",
            "Time when this file was written.",
            float(round(time.time())),
        ),
    ]
    if off is not None:
        words = "Observed over expected positives since the change, or since the first row"
        gauges += [
            ("observed_expected_ratio", f"{words}.", off.ratio),
            ("observed_expected_ratio_low", f"{words}: lower bound.", off.ratio_low),
            ("observed_expected_ratio_high", f"{words}: upper bound.", off.ratio_high),
        ]
    lines = []
    for key, text, value in gauges:
        full = f"trueodds_monitor_{key}"
        lines += [f"# HELP {full} {text}", f"# TYPE {full} gauge"]
        lines.append(f'{full}{{state="{name}"}} {float(value)!r}')
    return "\n".join(lines) + "\n"
