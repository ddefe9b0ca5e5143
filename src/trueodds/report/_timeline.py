"""The page of a monitor: e-value and O:E by period, miscalibrated regions, a recommendation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trueodds.basics.shown import printable
from trueodds.basics.wording import e_value_text
from trueodds.exceptions import InputError
from trueodds.inputs import check_instance, check_text
from trueodds.report._page import asset, policy, templates
from trueodds.report._svg import MARKS, Chart, e_value_chart, ratio_chart
from trueodds.watch.state import event_text

__all__ = ["render_timeline"]

LINE_KEYS = {"period", "rows", "expected", "observed", "e_value"}
LINE_KEYS |= {"ratio_low", "ratio_high", "alarm"}
EVENT_KEYS = {"kind", "period", "file", "rows", "at"}
SUMMARY_KEYS = {"rows", "rows_unlabeled", "alpha", "tolerance", "alarm", "e_value"}
SUMMARY_KEYS |= {"peak_e_value", "change_point", "regions", "miscalibration", "recommendation"}


def render_timeline(
    title: str,
    periods: Sequence[dict[str, Any]],
    summary: dict[str, Any],
    events: Sequence[dict[str, Any]] = (),
) -> str:
    """Render a monitor's timeline as one HTML page without scripts or other files.

    Parameters
    ----------
    title : str
    periods : sequence of dict
        ``period``, ``rows``, ``expected``, ``observed``, ``e_value``, ``ratio_low``,
        ``ratio_high``, ``alarm`` and ``late`` of each, in the order in which they were counted.
    summary : dict
        The result of :meth:`trueodds.CalibrationMonitor.summary`; ``missing`` may list periods
        without rows.
    events : sequence of dict, default=()
        ``kind``, ``period``, ``file``, ``rows`` and ``at`` of each unusual delivery.

    Examples
    --------
    >>> from trueodds import CalibrationMonitor
    >>> from trueodds.report import render_timeline
    >>> monitor = CalibrationMonitor().update([0.2, 0.7], [0, 1])
    >>> line = {"period": "May", "rows": 2, "expected": 0.9, "observed": 1.0, "e_value": 1.0}
    >>> line |= {"ratio_low": 0.1, "ratio_high": 2.0, "alarm": False, "late": False}
    >>> render_timeline("Nightly", [line], monitor.summary())[:15]
    '<!doctype html>'
    """
    check_text(title, "title")
    _check_lines(periods, summary, events)
    environment = templates()
    style = asset("report.css") + asset("timeline.css")
    from markupsafe import Markup  # comes with jinja2

    charts: list[Chart] = []
    shown = _with_deliveries(periods, summary.get("missing", ()), events)
    if periods:
        charts = [e_value_chart(shown, 1 / summary["alpha"]), ratio_chart(shown)]
    return printable(
        environment.get_template("timeline.html.j2").render(
            title=title,
            policy=policy(style),
            style=Markup(style),  # noqa: S704 (ours)
            charts=charts,
            periods=shown[::-1],
            signs=MARKS,
            marks=[mark for mark in MARKS if any(line["delivery"] == mark for line in shown)],
            events=[(event["at"], event_text(event)) for event in reversed(events)],
            summary=summary,
            sentence=_sentence(summary),
            e_value=e_value_text,
        )
    )


def _check_lines(periods: Any, summary: Any, events: Any) -> None:
    """Raise if the arguments are not the history of a monitor."""
    check_instance(periods, Sequence, "periods")
    check_instance(summary, Mapping, "summary")
    check_instance(events, Sequence, "events")
    for what, found, keys in (
        *((f"periods[{k}]", line, LINE_KEYS) for k, line in enumerate(periods)),
        ("summary", summary, SUMMARY_KEYS),
        *((f"events[{k}]", event, EVENT_KEYS) for k, event in enumerate(events)),
    ):
        missing = keys - set(found) if isinstance(found, Mapping) else keys
        if missing:
            raise InputError(f"{what} must be a dict with the keys {sorted(missing)}.")


def _with_deliveries(
    periods: Sequence[dict[str, Any]], missing: Sequence[str], events: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return each period with its unusual deliveries, and empty lines for missing periods."""
    changed: dict[str, int] = {}
    for event in events:
        if event["kind"] == "changed" and event["period"] is not None:
            changed[event["period"]] = changed.get(event["period"], 0) + event["rows"]
    waiting = [text.removesuffix(" 00:00:00").removesuffix(":00:00") for text in missing]
    waiting = [text if len(text) != 13 else f"{text}:00" for text in waiting]
    waiting = [text for text in waiting if periods and text > str(periods[0]["period"])]
    lines: list[dict[str, Any]] = []
    for line in periods:
        late = line.get("late", False)
        while waiting and not late and waiting[0] < str(line["period"]):
            lines.append({"period": waiting.pop(0), "delivery": "missing", "alarm": False})
        rows = 0 if late else changed.get(line["period"], 0)
        kind = "late" if late else "changed" if rows else ""
        lines.append({**line, "delivery": kind, "changed": rows})
    return lines


def _sentence(summary: dict[str, Any]) -> str:
    rows = f"{summary['rows']:,} rows"
    beyond = f" by more than {summary['tolerance']:g}" if summary["tolerance"] else ""
    if not summary["alarm"]:
        return f"No miscalibration{beyond} was found in {rows}."
    where = [place for place in summary["regions"] if place["kind"] == "overall"]
    what = " and ".join(place["direction"] for place in where) or "miscalibrated"
    since = summary["change_point"]
    start = since["time"] if since["time"] is not None else f"row {since['row']:,}"
    if since["row"] == 1:
        return f"The forecasts have been {what}{beyond} since the first row."
    return f"The forecasts have been {what}{beyond} since about {start}."
