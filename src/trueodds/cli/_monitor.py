"""``trueodds monitor``: for a scheduled job that asks whether forecasts are still calibrated."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from trueodds.cli import _options as o
from trueodds.cli._columns import ColumnNames
from trueodds.cli._engine import MEMORY, Reading
from trueodds.cli._exit import ALARM, UsageError
from trueodds.cli._maps import MapFile, load_map
from trueodds.cli._own_input import _refuse_input
from trueodds.cli._show import emit_json, note, say
from trueodds.cli._write import check_target, write_text

__all__ = ["monitor"]

WATCH = "Watch"

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILES",
        help="CSV, Parquet, Arrow or JSON lines, or globs; files already read are skipped.",
    ),
]
State = Annotated[
    str,
    typer.Option(
        "--state",
        metavar="WATCH.JSON",
        help="File that keeps what was read from run to run; made if it is missing.",
        rich_help_panel=WATCH,
    ),
]
Time = Annotated[
    str | None,
    o.data_option(
        "--time",
        "-t",
        metavar="COLUMN",
        help="Column of times: rows are taken in this order, and only those later than the last.",
    ),
]
OneGroup = Annotated[
    str | None,
    o.data_option(
        "--group", "-g", metavar="COLUMN", help="Column of groups that are watched one by one."
    ),
]
Force = Annotated[
    bool,
    o.result_option(
        "--force",
        help="Let --refit replace a map that exists; state, page and metrics are always replaced.",
    ),
]
Period = Annotated[
    Literal["hour", "day", "week", "month", "quarter", "year"] | None,
    o.result_option(
        "--period", help="What one line stands for; by default each time, or each file."
    ),
]
Until = Annotated[
    str | None,
    o.rows_option(
        "--until",
        metavar="TIME",
        help="Leave rows after this time for later, because their labels may not be in yet.",
    ),
]
Alpha = Annotated[
    float | None,
    typer.Option(
        "--alpha",
        help="The chance of ever raising a false alarm.  [default: 0.05]",
        rich_help_panel=WATCH,
    ),
]
Tolerance = Annotated[
    float | None,
    typer.Option(
        "--tolerance",
        help="Forecasts may be off by this much.  [default: 0]",
        rich_help_panel=WATCH,
    ),
]
Html = Annotated[
    str | None,
    o.result_option("--html", metavar="PAGE.HTML", help="Write a timeline as a page."),
]
Metrics = Annotated[
    str | None,
    o.result_option("--metrics", metavar="FILE.PROM", help="Write a file that Prometheus scrapes."),
]
Refit = Annotated[
    str | None,
    o.result_option(
        "--refit",
        metavar="MAP.JSON",
        help="After an alarm, fit a new map to the rows since the change; needs --time.",
    ),
]


def monitor(
    map_file: MapFile,
    files: Files,
    state: State,
    score: o.Score = ["score"],  # noqa: B006
    label: o.LabelColumn = "label",
    time: Time = None,
    weight: o.Weight = None,
    group: OneGroup = None,
    positive: o.Positive = None,
    alpha: Alpha = None,
    tolerance: Tolerance = None,
    until: Until = None,
    period: Period = None,
    scale: o.ScaleOption = "fraction",
    input_format: o.InputFormat = None,
    decimal: o.Decimal = ".",
    na: o.Missing = None,
    encoding: o.Encoding = "utf-8",
    on_bad_rows: o.OnBad = "error",
    memory: o.Memory = MEMORY,
    html: Html = None,
    metrics: Metrics = None,
    refit: Refit = None,
    force: Force = False,
    as_json: o.Json = False,
) -> None:
    """Watch a map's forecasts, night after night, without false alarms.

    Reads the rows that are new, prints a line for each period, and remembers the rest in a small
    state file. The chance of ever raising an alarm while the forecasts are right is at most
    --alpha, however often it runs. The exit code is 4 from the alarm on.

    Examples
    --------
    trueodds monitor map.json 'new/*.parquet' --score p --label y --time day --state watch.json
    trueodds monitor map.json new/*.csv -s p -l y -t day --tolerance 0.01 --state watch.json
    trueodds monitor map.json new/*.csv -s p -l y -t day --state watch.json --html watch.html
    """
    # Here and not above: the list of all commands imports this module, and must not wait for NumPy.
    from trueodds.cli._watch_run import WatchRun, find_files, open_watch
    from trueodds.cli._watch_show import metrics_text, say_result

    if time is None and (until or period or refit):
        raise UsageError("--until, --period and --refit need --time.")
    fitted = load_map(map_file)
    paths = find_files(files)
    for output in (state, html, metrics, refit):
        if output is not None:
            check_target(output)
            for path in paths:
                _refuse_input(output, str(path), [map_file])
    watch = open_watch(state, fitted, time, alpha, tolerance)
    columns = ColumnNames(
        tuple(score),
        weight=weight,
        features=tuple(name for name in (label, time, group) if name is not None),
        input=fitted.input,
        sums_to_one=fitted.family != "one_vs_rest",
        scale=scale,
    )
    run = WatchRun(watch, fitted, columns, label, time, group, positive, until, period, on_bad_rows)
    fresh = [path for path in paths if watch.is_new(path)]
    reading = Reading(
        input_format, memory, on_bad_rows == "skip", decimal, tuple(na or ()), encoding
    )
    lines = run.read(fresh, files, reading, quiet=as_json)
    if not fresh:
        note(f"nothing new: {len(paths)} files were read before.")
    if html is not None:
        from trueodds.report import render_timeline

        title = f"{Path(map_file).name}: {', '.join(score)} against {label}"
        write_text(render_timeline(title, watch.periods, watch.monitor.summary()), html)
    if metrics is not None:
        write_text(metrics_text(watch, state), metrics)
    new_map = None
    if refit is not None and Path(refit).is_file() and not force:
        note(f"{refit} exists and was kept; --force replaces it.")
    elif refit is not None:
        from trueodds.cli._watch_refit import refit_map

        new_map = refit_map(run, paths, files, reading, refit)
    # Last: a run that fails before has counted nothing.
    if until is None:  # otherwise rows are left in them, which their times will tell
        watch.remember(fresh)
    watch.save(state)
    if as_json:
        content = {"map": map_file, "state": state, "files_new": len(fresh), "periods": lines}
        content["notes"] = run.notes
        emit_json("monitor", {**content, **watch.monitor.summary(), "refit": new_map})
    else:
        say_result(watch)
        for line in run.notes:
            say(line)
    if watch.monitor.alarm:
        raise typer.Exit(ALARM)
