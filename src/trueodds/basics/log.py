"""What the library tells about its work: a log, silent unless asked for, and a progress line.

The logger is called ``trueodds``. ``logging.basicConfig(level="INFO")`` shows what was chosen, left
out, pooled, and how long it took; ``trueodds --verbose`` does the same on the command line.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from types import TracebackType
from typing import Any, Self

from trueodds.basics.shown import shown
from trueodds.exceptions import InputError

__all__ = ["Progress", "logger"]

logger = logging.getLogger("trueodds")
"""The one logger of the library."""
logger.addHandler(logging.NullHandler())

PATIENCE = 2.0
"""Seconds before anything is shown, unless progress=True."""


class Progress:
    """Counts steps; drawn by rich if that is installed, else as a plain line.

    Parameters
    ----------
    total : int
    title : str
    show : bool or None
        None: only on a terminal, and only if it takes longer than two seconds.
    """

    def __init__(self, total: int, title: str, show: bool | None) -> None:
        self._total, self._title = total, title
        if show is not None and type(show) is not bool:
            raise InputError(f"progress must be None, True or False; got {shown(show)}.")
        self._wanted = sys.stderr.isatty() if show is None else show
        self._start = time.monotonic() + (PATIENCE if show is None else 0.0)
        self._done = 0
        self._bar: Any = None
        self._task: Any = None
        self._lock = threading.Lock()

    def step(self, count: int = 1) -> None:
        """Say that ``count`` steps more are done."""
        if not self._wanted:
            return
        with self._lock:
            self._done += count
            if time.monotonic() >= self._start:
                self._draw()

    def _draw(self) -> None:
        if self._bar is None:
            self._bar = _rich_bar() or "plain"
            if self._bar != "plain":
                self._bar.start()
                self._task = self._bar.add_task(self._title, total=self._total)
        if self._bar == "plain":
            share = 100 * self._done // self._total
            sys.stderr.write(f"\r{self._title}: {self._done} of {self._total} ({share}%)")
            sys.stderr.flush()
        else:
            self._bar.update(self._task, completed=self._done)

    def __enter__(self) -> Self:
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


def _rich_bar() -> Any:
    try:
        from rich.console import Console
        from rich.progress import Progress as RichProgress
    except ImportError:
        return None
    return RichProgress(console=Console(stderr=True))
