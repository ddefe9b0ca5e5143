"""``trueodds monitor``: for a scheduled job that asks whether forecasts are still calibrated."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from trueodds.cli import _options as o
from trueodds.cli._columns import ColumnNames, check_names
from trueodds.cli._engine import MEMORY, DataSource, open_source
from trueodds.cli._exit import ALARM, UsageError
from trueodds.cli._files import matching
from trueodds.cli._maps import MapFile, load_map
from trueodds.cli._own_input import _refuse_input
from trueodds.cli._show import emit_json, note, working
from trueodds.cli._watch import Watch, map_fingerprint
from trueodds.cli._watch_rows import NewRows, label_rule, left_out, new_rows, time_rule
from trueodds.cli._watch_show import metrics_text, period_line, say_result
from trueodds.cli._watch_update import take_rows
from trueodds.cli._write import check_target, write_text
from trueodds.exceptions import InputError
from trueodds.monitoring import CalibrationMonitor

__all__ = ["monitor"]

WATCH = "Watch"

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILES",
        help="CSV, Parquet, Arrow or JSON lines, or globs; what was read is skipped.",
    ),
]
State = Annotated[
    str,
    typer.Option(
        "--state",
        metavar="WATCH.JSON",
        help="What is remembered from run to run; begun if there is none.",
        rich_help_panel=WATCH,
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        "--time",
        "-t",
        metavar="COLUMN",
        help="Column of times: rows are taken in this order, and only those later than the last.",
        rich_help_panel=o.DATA,
    ),
]
OneGroup = Annotated[
    str | None,
    typer.Option(
        "--group",
        "-g",
        metavar="COLUMN",
        help="Column of groups that are watched one by one.",
        rich_help_panel=o.DATA,
    ),
]
Period = Annotated[
    Literal["hour", "day", "week", "month", "quarter", "year"] | None,
    typer.Option(
        "--period",
        help="What a line stands for; by default each value of the time, or each file.",
        rich_help_panel=o.RESULT,
    ),
]
Until = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="TIME",
        help="Leave rows after this time for later, because their labels may not be in yet.",
        rich_help_panel=o.ROWS,
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
    typer.Option(
        "--html", metavar="PAGE.HTML", help="Write a timeline as a page.", rich_help_panel=o.RESULT
    ),
]
Metrics = Annotated[
    str | None,
    typer.Option(
        "--metrics",
        metavar="FILE.PROM",
        help="Write a file that Prometheus scrapes.",
        rich_help_panel=o.RESULT,
    ),
]
Refit = Annotated[
    str | None,
    typer.Option(
        "--refit",
        metavar="MAP.JSON",
        help="After an alarm, fit a new map to the rows since the change; needs --time.",
        rich_help_panel=o.RESULT,
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
    input_format: o.InputFormat = None,
    on_bad_rows: o.OnBad = "error",
    memory: o.Memory = MEMORY,
    html: Html = None,
    metrics: Metrics = None,
    refit: Refit = None,
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
    if time is None and (until or period or refit):
        raise UsageError("--until, --period and --refit need --time.")
    fitted = load_map(map_file)
    paths = _found(files)
    for output in (state, html, metrics, refit):
        if output is not None:
            check_target(output)
            for path in paths:
                _refuse_input(output, str(path), map_file)
    watch = _watch(state, fitted, time, alpha, tolerance)
    columns = ColumnNames(
        tuple(score),
        weight=weight,
        features=tuple(name for name in (label, time, group) if name is not None),
        input=fitted.input,
        sums_to_one=fitted.family != "one_vs_rest",
    )
    run = _Run(watch, fitted, columns, label, time, group, positive, until, period, on_bad_rows)
    fresh = [path for path in paths if watch.is_new(path)]
    lines = run.read(fresh, files, input_format, memory, quiet=as_json)
    if not fresh:
        note(f"nothing new: {len(paths)} files were read before.")
    if html is not None:
        from trueodds.report import render_timeline

        title = f"{Path(map_file).name}: {', '.join(score)} against {label}"
        write_text(render_timeline(title, watch.periods, watch.monitor.summary()), html)
    if metrics is not None:
        write_text(metrics_text(watch, state), metrics)
    new_map = None
    if refit is not None:
        from trueodds.cli._watch_refit import refit_map

        new_map = refit_map(run, paths, files, input_format, memory, refit)
    # Last: a run that fails before has counted nothing.
    if until is None:  # otherwise rows are left in them, which their times will tell
        watch.remember(fresh)
    watch.save(state)
    if as_json:
        content = {"map": map_file, "state": state, "files_new": len(fresh), "periods": lines}
        emit_json("monitor", {**content, **watch.monitor.summary(), "refit": new_map})
    else:
        say_result(watch)
    if watch.monitor.alarm:
        raise typer.Exit(ALARM)


def _found(files: list[str]) -> list[Path]:
    """All files that were named, each once, in order."""
    paths: dict[Path, None] = {}
    for file in files:
        found = matching(file)
        if not found:
            raise InputError(f"no file matches {file!r}.")
        for path in found:
            if not path.is_file():
                raise InputError(f"{path}: no such file.")
            paths[path] = None
    return list(paths)


def _watch(
    state: str, fitted: Any, time: str | None, alpha: float | None, tolerance: float | None
) -> Watch:
    """The state that there is, or a new one."""
    path, mark = Path(state), map_fingerprint(fitted)
    classes = fitted.classes
    if not path.exists():
        options = {"alpha": alpha, "tolerance": tolerance}
        given = {key: value for key, value in options.items() if value is not None}
        return Watch(mark, CalibrationMonitor(classes=classes, **given), time)
    watch = Watch.load(path)
    if watch.map != mark:
        raise InputError(
            f"{path.name} watches another map; begin a new state file for this one (--state)."
        )
    if watch.time != time:
        raise UsageError(f"{path.name} was begun with --time {watch.time}; got {time}.")
    begun = {"alpha": watch.monitor.alpha, "tolerance": watch.monitor.tolerance}
    for name, value in (("alpha", alpha), ("tolerance", tolerance)):
        if value is not None and value != begun[name]:
            raise UsageError(
                f"{path.name} was begun with --{name} {begun[name]:g}, which cannot change on the "
                f"way; begin a new state file for {value:g}."
            )
    return watch


class _Run:
    """One run: what is read, how, and into which state."""

    def __init__(
        self,
        watch: Watch,
        fitted: Any,
        columns: ColumnNames,
        label: str,
        time: str | None,
        group: str | None,
        positive: str | None,
        until: str | None,
        period: str | None,
        on_bad_rows: Literal["error", "skip"],
    ) -> None:
        if hasattr(fitted, "categories"):
            raise InputError(
                "a tree needs attributes of each row; such maps cannot be watched yet."
            )
        self.watch, self.fitted, self.columns = watch, fitted, columns
        self.label, self.time, self.group, self.positive = label, time, group, positive
        self.until, self.period, self.on_bad_rows = until, period, on_bad_rows
        n_classes = max(2, len(columns.score))
        self.classes = fitted.classes or tuple(range(n_classes))
        if len(self.classes) != n_classes:
            raise UsageError(
                f"the map is for {len(self.classes)} classes; pass one --score for each."
            )

    def read(
        self, paths: list[Path], files: list[str], kind: Any, memory: str, *, quiet: bool
    ) -> list[dict[str, Any]]:
        """Take all new rows; returns the line of each period, which is also printed."""
        lines: list[dict[str, Any]] = []
        # Without times, files are taken one after the other, and each is a period.
        for batch in ([paths] if self.time else [[path] for path in paths]) if paths else ():
            name = files[0] if len(files) == 1 and len(batch) > 1 else batch[0].name
            with self.open(name, batch, kind, memory) as source:
                with working("checking rows", source.connection):
                    rows = self.select(source, batch[0].name, self.watch.last)
                if left_out(rows):
                    note(f"{name}: left out {left_out(rows)}.")
                for line in take_rows(self.watch, self.fitted, self.classes, rows):
                    lines.append(line)
                    if not quiet:
                        typer.echo(period_line(line, self.watch.monitor.alpha))
        return lines

    def open(self, name: str, paths: list[Path], kind: Any, memory: str) -> Any:
        """The files as one relation."""
        skip = self.on_bad_rows == "skip"
        return open_source(name, format=kind, memory=memory, skip_malformed=skip, found=paths)

    def select(
        self, source: DataSource, name: str, after: str | None, *, keep: str | None = None
    ) -> NewRows:
        """Rows after a time."""
        check_names(source, self.columns)
        rule = None if self.time is None else time_rule(source, self.time, self.period)
        if rule is not None:
            if self.watch.kind not in (None, rule.kind):
                raise InputError(
                    f"column {self.time!r} holds {rule.kind}s now, and held {self.watch.kind}s "
                    "before; times must be of one kind."
                )
            self.watch.kind = rule.kind
            if self.until is not None:
                end = f"moment <= {rule.constant(self.until)}"
                keep = end if keep is None else f"({keep}) AND {end}"
        return new_rows(
            source,
            self.columns,
            label_rule(source, self.label, self.classes, self.positive),
            rule,
            group=self.group,
            on_bad_rows=self.on_bad_rows,
            keep=keep,
            drop_before=after,
            period=name,
        )
