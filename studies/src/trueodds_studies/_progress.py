"""How far a study is and how long it will still take, on stderr, if somebody watches."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self

__all__ = ["StudyProgress"]

PLAIN_EVERY = 5.0
"""Seconds between lines where rich is not installed."""


class StudyProgress:
    """Counts units of work and estimates the time left from the cost of what is done.

    Parameters
    ----------
    title : str
    total : int
        Units of work.
    total_cost : float
        The sum of their costs; units differ by orders of magnitude, so it, not the count, is what
        the estimate extrapolates.
    show : bool
        Shown only if stderr is a terminal, so that logs and pipes stay clean.
    """

    def __init__(self, title: str, total: int, total_cost: float, *, show: bool) -> None:
        self._title, self._total, self._total_cost = title, total, total_cost
        self._shown = show and sys.stderr.isatty() and total > 0
        self._done, self._cost = 0, 0.0
        self._bar: Any = None
        self._line: Any = None

    def __enter__(self) -> Self:
        self._start = self._last = time.monotonic()
        if self._shown:
            self._bar = _rich_bar()
            if self._bar is not None:
                self._bar.start()
                self._line = self._bar.add_task(self._words(), total=self._total_cost)
        return self

    def _words(self) -> str:
        return f"{self._title}: {self._done} of {self._total}"

    def step(self, cost: float) -> None:
        """One unit more is done."""
        self._done += 1
        self._cost += cost
        if self._bar is not None:
            self._bar.update(self._line, completed=self._cost, description=self._words())
        elif self._shown and time.monotonic() - self._last >= PLAIN_EVERY:
            self._last = time.monotonic()
            left = self.seconds_left(self._last - self._start)
            sys.stderr.write(f"{self._words()}, about {_duration(left)} left\n")
            sys.stderr.flush()

    def seconds_left(self, elapsed: float) -> float:
        """What the rest will take at the pace so far."""
        if self._cost <= 0:
            return float("nan")
        return elapsed * max(self._total_cost - self._cost, 0.0) / self._cost

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def _duration(seconds: float) -> str:
    if seconds != seconds:
        return "an unknown time"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def _rich_bar() -> Any:
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        return None
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=Console(stderr=True),
    )
