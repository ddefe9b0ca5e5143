"""``trueodds stream``: online calibration of files and JSON lines."""

from __future__ import annotations

from typing import Annotated

import typer

from trueodds.basics.shown import shown
from trueodds.cli import options as o
from trueodds.cli.errors import ALARM, UsageError
from trueodds.cli.files.find import STANDARD_INPUT
from trueodds.cli.files.write import check_target
from trueodds.cli.output import emit_json, say
from trueodds.cli.watch.options import DeliveryOptions

__all__ = ["stream"]

STREAM = "Stream"

State = Annotated[
    str,
    typer.Option(
        "--state",
        metavar="STATE.JSON",
        help="File that stores the calibrator's state between runs; created if necessary.",
        rich_help_panel=STREAM,
    ),
]
MaxPending = Annotated[
    int | None,
    typer.Option(
        "--max-pending",
        metavar="N",
        min=1,
        help="Maximum number of rows without a label (--id); with more, the oldest are dropped. "
        "\\[default: "
        "1000]",
        rich_help_panel=STREAM,
    ),
]
Acknowledge = Annotated[
    bool,
    typer.Option(
        "--acknowledge",
        help="Record the current alarm and restart the e-value at 1.",
        rich_help_panel=STREAM,
    ),
]
Output = Annotated[
    str | None,
    o.result_option(
        "--output",
        "-o",
        metavar="FILE",
        help="Append the forecasts to this file, .csv or .jsonl. Default for standard input: "
        "standard output.",
    ),
]
MapOut = Annotated[
    str | None,
    o.result_option(
        "--map-out",
        metavar="MAP.JSON",
        help="Write the current map to this file at the end, replacing it.",
    ),
]
MapEvery = Annotated[
    int | None,
    o.result_option(
        "--map-every",
        metavar="N",
        min=1,
        help="Write --map-out after every N rows learned too, not only at the end.",
    ),
]


def stream(
    map_file: o.MapFile,
    data: DeliveryOptions,
    state: State,
    max_pending: MaxPending = None,
    acknowledge: Acknowledge = False,
    output: Output = None,
    map_out: MapOut = None,
    map_every: MapEvery = None,
    as_json: o.Json = False,
) -> None:
    """Calibrate scores online: predict each row, then learn from its label.

    The calibrator starts with the map and follows drift, with bounds for every sequence of labels.
    A run reads the new rows and updates the state file. '-' reads JSON lines from standard input
    and answers each with a line. With --id, rows without a label are predicted at once, and their
    labels may arrive later. Predictions and state agree even if a run is killed. The command
    monitors its own predictions like 'trueodds monitor': after an alarm the exit code is 4.

    Examples
    --------
    trueodds stream map.json 'new/*.csv' -s p -l y -t day --state s.json -o forecasts.csv
    trueodds stream map.json 'new/*.csv' -s p -l y --id order --state s.json -o forecasts.csv
    trueodds stream map.json - -s p -l y --id order --state s.json --map-out now.json
    """
    # Here and not above: the list of all commands imports this module, and must not wait for NumPy.
    from trueodds.cli.watch import output as out
    from trueodds.cli.watch.reader import FileReader, find_files, known_classes, locked, open_stream
    from trueodds.watch.forecasts import KINDS, Forecasts
    from trueodds.watch.lines import LineRun
    from trueodds.watch.sinks import StreamSink

    from_lines = STANDARD_INPUT in data.files
    _check_options(data, from_lines, map_out, map_every, as_json)
    if output is not None and not output.lower().endswith(KINDS):
        raise UsageError(f"--output must end in .csv or .jsonl; got {output}.")
    fitted = o.load_map(map_file, data.files)
    if fitted.features:
        needed = ", ".join(map(shown, fitted.features))
        raise UsageError(
            f"stream needs a map of scores alone; {map_file} also needs {needed}. Fit one without "
            "--feature. 'trueodds monitor' takes either."
        )
    paths = [] if from_lines else find_files(data.files)
    for target in (state, output, map_out):
        if target is not None:
            check_target(target)
    with locked(state):
        job = open_stream(state, fitted, data.time, max_pending)
        watch, before, at = job.watch, job.online.n_rows, out.time_stamp()
        with Forecasts(
            job,
            state,
            output,
            to_output=from_lines,
            map_out=map_out,
            map_every=map_every,
            log=out.log,
        ) as forecasts:
            if acknowledge and not watch.acknowledge(at):
                out.log("--acknowledge: there is no alarm.")
            classes = fitted.classes or ()
            sink = StreamSink(job, forecasts, classes, waits=data.row_id is not None)
            if from_lines:
                sink.begin(known_classes(fitted, len(data.score)), [], {})
                LineRun(sink, forecasts, data.line_columns(), out.log).read()
            else:
                reader = FileReader(watch=watch, sink=sink, data=data, fitted=fitted)
                fresh, lines, events = reader.run(paths, state, at)
                out.log_events(events)
                forecasts.commit(last=True)
            learned = job.online.n_rows - before
            out.log_known(watch, sink.n_known)
            out.log(f"{learned:,} rows learned, {forecasts.count:,} forecasts made.")
    if as_json:
        content = {"map": map_file, "state": state, "files_new": len(fresh), "periods": lines}
        content |= {"rows_known": sink.n_known}
        content |= {"notes": reader.notes, "events": events, **watch.summary()}
        emit_json("stream", content | out.stream_summary(job) | {"forecasts": forecasts.count})
    elif not from_lines:
        out.say_periods(lines, watch.monitor.alpha)
        out.say_result(watch)
        for line in reader.notes:
            say(line)
        out.say_stream(job)
    if watch.monitor.alarm:
        raise typer.Exit(ALARM)


def _check_options(
    data: DeliveryOptions,
    from_lines: bool,
    map_out: str | None,
    map_every: int | None,
    as_json: bool,
) -> None:
    if map_every is not None and map_out is None:
        raise UsageError("--map-every needs --map-out.")
    if from_lines and len(data.files) > 1:
        raise UsageError("standard input (-) cannot be read together with files.")
    if data.time is None and (data.until or data.period or data.time_format):
        raise UsageError("--until, --period and --time-format need --time.")
    if from_lines:
        given = {"--time": data.time, "--format": data.input_format, "--json": as_json or None}
        wrong = [name for name, value in given.items() if value is not None]
        if wrong:
            raise UsageError(f"{wrong[0]} is for files; standard input is JSON lines in order.")
