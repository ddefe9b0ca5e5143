"""The progress bar, on stderr: shown on terminals, or with progress=True."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Self

from trueodds.basics.shown import shown
from trueodds.exceptions import InputError

__all__ = ["Progress"]

SILENT_SECONDS = 2.0
"""Seconds before anything is shown, unless progress=True."""


class Progress:
    """Counts steps; drawn by rich if that is installed, else as a plain line.

    Parameters
    ----------
    total : int or None
        Number of steps. None if it is unknown: the bar is then shown at once, and removed at the
        end.
    title : str
    show : bool or None
        None shows it only on a terminal, and only if the work takes longer than two seconds.
    percent : callable, default=None
        Returns the percentage that is done, for work of unknown length; values outside (0, 100]
        mean unknown. Another thread calls it.
    """

    def __init__(
        self,
        total: int | None,
        title: str,
        show: bool | None,
        percent: Callable[[], float] | None = None,
    ) -> None:
        self._total, self._title, self._percent = total, title, percent
        if show is not None and type(show) is not bool:
            raise InputError(f"progress must be None, True or False; got {shown(show)}.")
        self._wanted = sys.stderr.isatty() if show is None else show
        self._start = time.monotonic() + (SILENT_SECONDS if show is None else 0.0)
        self._done = 0
        self._bar: Any = None
        self._task: Any = None
        self._lock = threading.Lock()

    def step(self, count: int = 1) -> None:
        """Advance by ``count`` steps."""
        if not self._wanted:
            return
        with self._lock:
            self._done += count
            if time.monotonic() >= self._start:
                self._draw()

    def _draw(self) -> None:
        if self._bar is None:
            self._bar = _rich_bar(self._percent, transient=self._total is None) or "plain"
            if self._bar != "plain":
                self._bar.start()
                self._task = self._bar.add_task(self._title, total=self._total)
        if self._bar == "plain":
            share = " …"
            if self._total:
                percent = 100 * self._done // self._total
                share = f": {self._done} of {self._total} ({percent}%)"
            sys.stderr.write(f"\r{self._title}{share}")
            sys.stderr.flush()
        else:
            self._bar.update(self._task, completed=self._done)

    def __enter__(self) -> Self:
        if self._wanted and self._total is None:
            self._draw()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar == "plain":
            sys.stderr.write("\n")
        elif self._bar is not None:
            self._bar.stop()


def _rich_bar(percent: Callable[[], float] | None, *, transient: bool) -> Any:
    try:
        from rich import progress
        from rich.console import Console
    except ImportError:
        return None

    class Bar(progress.Progress):
        def get_renderables(self) -> Iterator[Any]:
            """Update the percentage; rich calls this for each drawing."""
            if percent is not None:
                done = float(percent())
                known = 0 < done <= 100
                for task in self.tasks:
                    task.total, task.completed = (100, done) if known else (None, 0)
            yield from super().get_renderables()

    columns = Bar.get_default_columns()
    if transient:
        columns = (
            progress.SpinnerColumn(),
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.TimeElapsedColumn(),
        )
    return Bar(*columns, console=Console(stderr=True), transient=transient)
