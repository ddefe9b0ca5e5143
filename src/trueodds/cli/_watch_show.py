"""What ``trueodds monitor`` says: a line a period, the result, and metrics for Prometheus."""

from __future__ import annotations

import time
from typing import Any

from trueodds.basics.wording import evidence_text
from trueodds.cli._show import interval, number, say
from trueodds.cli._watch import Watch

__all__ = ["metrics_text", "period_line", "say_result"]


def period_line(line: dict[str, Any], alpha: float) -> str:
    """One period in one line."""
    ratio = line["observed"] / line["expected"] if line["expected"] > 0 else None
    words = [
        f"{line['period']:<12}",
        f"{line['rows']:>9,} rows",
        f"O:E {number(ratio, 3):>6}",
        f"evidence {evidence_text(line['evidence']):>8} of {1 / alpha:g}",
    ]
    return "  ".join(words) + ("  ALARM" if line["alarm"] else "")


def say_result(watch: Watch) -> None:
    """What the monitor knows after the last row."""
    monitor = watch.monitor
    rows = f"{monitor.n_rows:,} rows"
    if monitor.n_unlabelled:
        rows += f" ({monitor.n_unlabelled:,} without a label left out)"
    change = monitor.since
    if change is None:
        say(f"No alarm after {rows}; greatest evidence {evidence_text(monitor.peak_evidence)}.")
        return
    when = monitor.alarm_time if monitor.alarm_time is not None else f"row {monitor.alarm_row:,}"
    say(f"ALARM at {when} (row {monitor.alarm_row:,} of {rows}).")
    first, last = change.time_low, change.time_high
    span = f"{first} … {last}" if first is not None else f"rows {change.low:,} … {change.high:,}"
    start = change.time if change.time is not None else f"row {change.row:,}"
    extra = "; perhaps from the first row on" if change.from_start else ""
    say(f"since:    {start} ({span}{extra})")
    places = monitor.where
    shown = "; ".join(str(place) for place in places[:6]) or "in no single place for certain"
    more = f"; and {len(places) - 6} more" if len(places) > 6 else ""
    say(f"where:    {shown}{more}")
    off = monitor.how_much()
    if off is not None:
        say(
            f"how much: O:E {number(off.ratio, 3)} {interval(off.ratio_low, off.ratio_high, 3)}, "
            f"intercept {off.intercept:+.3f} {interval(off.intercept_low, off.intercept_high, 3)}, "
            f"slope {off.slope:.3f} {interval(off.slope_low, off.slope_high, 3)}"
        )
    say(f"to do:    {monitor.advice().sentence}")


def metrics_text(watch: Watch, state: str) -> str:
    """Gauges in Prometheus' text format."""
    monitor = watch.monitor
    name = state.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    off = monitor.how_much()
    gauges: list[tuple[str, str, float]] = [
        ("alarm", "1 if the forecasts were found to be miscalibrated.", float(monitor.alarm)),
        ("evidence", "Evidence against calibration after the last row.", monitor.evidence),
        ("evidence_peak", "The greatest evidence so far.", monitor.peak_evidence),
        ("evidence_threshold", "The evidence that raises an alarm.", 1.0 / monitor.alpha),
        ("rows", "Rows with a label so far.", float(monitor.n_rows)),
        ("rows_unlabelled", "Rows without a label so far.", float(monitor.n_unlabelled)),
        ("last_run_timestamp_seconds", "When this was written.", float(round(time.time()))),
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
        lines.append(f'{full}{{state="{name}"}} {value!r}')
    return "\n".join(lines) + "\n"
