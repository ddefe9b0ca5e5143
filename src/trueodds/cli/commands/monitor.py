"""``trueodds monitor``: check calibration over time, as a scheduled job."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trueodds.basics.wording import counted
from trueodds.cli import options as o
from trueodds.cli.errors import ALARM, DELIVERY, UsageError
from trueodds.cli.files.write import check_target, write_text
from trueodds.cli.output import emit_json, say
from trueodds.cli.watch.options import WatchedRowOptions

__all__ = ["monitor"]

WATCH = "Watch"

State = Annotated[
    str,
    typer.Option(
        "--state",
        metavar="WATCH.JSON",
        help="File that stores the monitor's state between runs; created if necessary.",
        rich_help_panel=WATCH,
    ),
]
Alpha = Annotated[
    float | None,
    typer.Option(
        "--alpha",
        help="Probability of ever raising a false alarm. \\[default: 0.05]",
        rich_help_panel=WATCH,
    ),
]
Tolerance = Annotated[
    float | None,
    typer.Option(
        "--tolerance",
        help="Miscalibration that is tolerated, as a difference of probabilities. \\[default: 0]",
        rich_help_panel=WATCH,
    ),
]
Html = Annotated[
    str | None,
    o.result_option("--html", metavar="PAGE.HTML", help="Write an HTML page with a timeline."),
]
Metrics = Annotated[
    str | None,
    o.result_option("--metrics", metavar="FILE.PROM", help="Write metrics for Prometheus."),
]
DELIVERIES = ("late", "missing", "changed", "withdrawn", "duplicate")
FailOn = Annotated[
    list[str] | None,
    o.result_option(
        "--fail-on",
        metavar="KIND",
        help=f"Exit with code 5 if this run found such a delivery and there is no alarm: "
        f"{', '.join(DELIVERIES)}; repeatable.",
    ),
]
Acknowledge = Annotated[
    bool,
    typer.Option(
        "--acknowledge",
        help="Record the current alarm and restart the e-value at 1.",
        rich_help_panel=WATCH,
    ),
]


def monitor(
    map_file: o.MapFile,
    data: WatchedRowOptions,
    state: State,
    alpha: Alpha = None,
    tolerance: Tolerance = None,
    acknowledge: Acknowledge = False,
    html: Html = None,
    metrics: Metrics = None,
    fail_on: FailOn = None,
    as_json: o.Json = False,
) -> None:
    """Check whether calibrated predictions are still calibrated as new labels arrive.

    At most --alpha (5%) of monitors ever raise a false alarm, however often they run. Each run
    counts the new rows, prints one line per period, and updates the state file. After an alarm the
    exit code is 4 until you pass --acknowledge.

    Examples
    --------
    trueodds monitor map.json 'new/*.parquet' --score p --label y --time day --state watch.json
    trueodds monitor map.json new/*.csv -s p -l y -t day --tolerance 0.01 --state watch.json
    trueodds monitor map.json lake -s p -l y -t day --state watch.json --html watch.html
    trueodds monitor map.json lake -s p -l y -t day --state watch.json --fail-on missing
    """
    # Imported here: the list of all commands imports this module and must not wait for NumPy.
    from trueodds.cli.watch import output as out
    from trueodds.cli.watch.reader import FileReader, find_files, locked, open_watch
    from trueodds.watch.sinks import MonitorSink

    if data.time is None and (data.until or data.period or data.time_format):
        raise UsageError("--until, --period and --time-format need --time.")
    unknown = [kind for kind in fail_on or () if kind not in DELIVERIES]
    if unknown:
        raise UsageError(f"--fail-on must be one of {', '.join(DELIVERIES)}; got {unknown[0]}.")
    fitted = o.load_map(map_file, data.files)
    paths = find_files(data.files)
    for output in (state, html, metrics):
        if output is not None:
            check_target(output)
    with locked(state):
        watch = open_watch(state, fitted, data.time, alpha, tolerance)
        at, before = out.time_stamp(), watch.n_rows
        if acknowledge and not watch.acknowledge(at):
            out.log("--acknowledge: there is no alarm.")
        sink = MonitorSink(watch, fitted, comma=data.decimal == ",")
        reader = FileReader(watch=watch, sink=sink, data=data, fitted=fitted, group=data.group)
        fresh, lines, events = reader.run(paths, state, at)
        if html is not None:
            from trueodds.report import render_timeline

            title = f"{Path(map_file).name}: {', '.join(data.score)} against {data.label}"
            page = render_timeline(title, watch.periods, watch.summary(), watch.events)
            write_text(page, html)
        if metrics is not None:
            write_text(out.metrics_text(watch, state), metrics)
        # Last: a run that fails or is stopped before has counted nothing, and must not say so.
        watch.save(state)
    if fresh:
        new_rows, files = watch.n_rows - before, counted(len(fresh), "new or changed file")
        out.log(f"{counted(new_rows, 'row')} counted from {files}.")
    else:
        out.log(f"no new rows ({counted(len(paths), 'file')} already read).")
    out.log_events(events)
    out.log_known(watch, sink.n_known)
    if as_json:
        content = {"map": map_file, "state": state, "files_new": len(fresh), "periods": lines}
        content |= {"rows_known": sink.n_known}
        content |= {"notes": reader.notes, "events": events, **watch.summary()}
        emit_json("monitor", content)
    else:
        out.say_periods(lines, watch.monitor.alpha)
        out.say_result(watch)
        for line in reader.notes:
            say(line)
    if watch.monitor.alarm:
        raise typer.Exit(ALARM)
    if any(event["kind"] in (fail_on or ()) for event in events):
        raise typer.Exit(DELIVERY)
