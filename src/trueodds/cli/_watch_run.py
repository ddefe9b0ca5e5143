"""One run of ``trueodds monitor``: which files, which state, which rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from trueodds.basics.shown import shown
from trueodds.cli._columns import ColumnNames
from trueodds.cli._engine import DataSource, Reading, open_source
from trueodds.cli._exit import UsageError
from trueodds.cli._files import matching
from trueodds.cli._show import note, say, working
from trueodds.cli._watch import Watch, map_fingerprint
from trueodds.cli._watch_rows import (
    NewRows,
    direction_note,
    label_rule,
    left_out,
    new_rows,
    time_rule,
)
from trueodds.cli._watch_show import period_line
from trueodds.cli._watch_update import take_rows
from trueodds.exceptions import InputError
from trueodds.monitoring import CalibrationMonitor

__all__ = ["WatchRun", "find_files", "open_watch"]


def find_files(files: list[str]) -> list[Path]:
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


def open_watch(
    state: str, fitted: Any, time: str | None, alpha: float | None, tolerance: float | None
) -> Watch:
    """The state that there is, or a new one."""
    path, mark = Path(state), map_fingerprint(fitted)
    # Of two classes, codes are enough: nobody is told their names.
    classes = fitted.classes if fitted.classes is not None and len(fitted.classes) > 2 else None
    if not path.exists():
        options = {"alpha": alpha, "tolerance": tolerance}
        given: Any = {key: value for key, value in options.items() if value is not None}
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


class WatchRun:
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
        self.classes: tuple[Any, ...] = fitted.classes or ()
        self.notes: list[str] = []

    def read(
        self, paths: list[Path], files: list[str], reading: Reading, *, quiet: bool
    ) -> list[dict[str, Any]]:
        """Take all new rows; returns the line of each period, which is also printed."""
        lines: list[dict[str, Any]] = []
        # Without times, files are taken one after the other, and each is a period.
        for batch in ([paths] if self.time else [[path] for path in paths]) if paths else ():
            name = files[0] if len(files) == 1 and len(batch) > 1 else batch[0].name
            with self.open(name, batch, reading) as source:
                with working("checking rows", source.connection):
                    rows = self.select(source, batch[0].name, self.watch.last)
                if left_out(rows):
                    note(f"{name}: left out {left_out(rows)}.")
                for line in take_rows(self.watch, self.fitted, self.classes, rows):
                    lines.append(line)
                    if not quiet:
                        say(period_line(line, self.watch.monitor.alpha))
                if self.watch.monitor.alarm:
                    hint = direction_note(rows, self.fitted, self.classes)
                    self.notes += [hint] if hint is not None and hint not in self.notes else []
        return lines

    def open(self, name: str, paths: list[Path], reading: Reading) -> Any:
        """The files as one relation."""
        return open_source(name, reading, found=paths, columns=self.columns)

    def select(
        self, source: DataSource, name: str, after: str | None, *, keep: str | None = None
    ) -> NewRows:
        """Rows after a time."""
        columns = self.columns.found_in(source)
        n_classes = max(2, len(columns.score))
        self.classes = self.classes or tuple(range(n_classes))
        named = self.fitted.classes is not None
        if len(self.classes) != n_classes:
            raise UsageError(
                f"the map is for {len(self.classes)} classes; pass one --score for each."
            )
        rule = None if self.time is None else time_rule(source, self.time, self.period)
        if rule is not None:
            if self.watch.kind not in (None, rule.kind):
                raise InputError(
                    f"column {shown(self.time)} holds {rule.kind}s now, "
                    f"and held {self.watch.kind}s before; times must be of one kind."
                )
            self.watch.kind = rule.kind
            if self.until is not None:
                end = f"moment <= {rule.constant(self.until)}"
                keep = end if keep is None else f"({keep}) AND {end}"
        return new_rows(
            source,
            columns,
            label_rule(source, self.label, self.classes, self.positive, named=named),
            rule,
            group=self.group,
            on_bad_rows=self.on_bad_rows,
            keep=keep,
            drop_before=after,
            period=name,
        )
