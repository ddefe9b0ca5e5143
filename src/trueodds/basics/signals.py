"""Ctrl-C and SIGTERM: the program stops without partial output and reports the signal."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["STOPPING", "Stopping", "Terminated"]


CLEANING_UP = 2.0
"""Seconds that a program may take to remove its files after the first signal."""


class Terminated(BaseException):
    """SIGTERM as an exception, so that files are cleaned up."""


class Stopping:
    """The received signal, and whether it can still stop the program.

    Libraries replace the exception of a signal by other errors (an interrupted query, a failed
    import), so the signal is recorded here.
    """

    def __init__(self) -> None:
        self.received: type[BaseException] | None = None
        self._at = 0.0
        self._held = 0
        self._pending = False
        self._finished = False

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Raise for both signals inside this context; only the main thread may enter it."""
        self.__init__()  # type: ignore[misc]
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {
            number: signal.signal(number, self._receive)
            for number in (signal.SIGINT, signal.SIGTERM)
            if signal.getsignal(number) is not signal.SIG_IGN  # nohup, or a shell's background
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                if signal.getsignal(number) == self._receive:
                    signal.signal(number, handler)
            self.received = None

    @staticmethod
    def no_more() -> None:
        """Ignore signals at the end of the process: its exit code is final."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Defer signals, so that whatever is created inside can be removed."""
        if threading.current_thread() is not threading.main_thread():  # the one that gets signals
            yield
            return
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
            if self._pending and not self._held:
                self._raise()

    @contextmanager
    def finishing(self) -> Iterator[None]:
        """Ignore the first signal after the result has appeared inside."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before, self._finished = self._finished, True
        try:
            yield
        except BaseException:
            self._finished = before
            raise

    def go_on(self) -> None:
        """More work follows the result, so signals stop it again."""
        self._finished = False

    def _receive(self, number: int, _frame: Any) -> None:
        if self._finished:
            self._finished = False
            return
        now = time.monotonic()
        # A second signal must not cut short what the first one cleans up; but if the program still
        # runs after a while, a library has swallowed the first.
        if self.received is None or now - self._at > CLEANING_UP:
            self.received = KeyboardInterrupt if number == signal.SIGINT else Terminated
            self._at = now
            self._pending = True
            if not self._held:
                self._raise()

    def _raise(self) -> None:
        self._pending = False
        assert self.received is not None  # noqa: S101
        raise self.received


STOPPING = Stopping()
"""The instance of this process."""
