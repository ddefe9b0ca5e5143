"""Warnings of one thread, collected or ignored while others keep their filters.

``warnings.catch_warnings`` replaces the filters of the whole process. Two threads that leave it in
another order than they entered it leave the wrong filters behind.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

from trueodds.basics.threads import new_lock

__all__ = ["collected_warnings", "ignored_warnings"]

Caught = list[warnings.WarningMessage]


class _Contexts(threading.local):
    """The open contexts of this thread, the innermost last.

    Each has a category, the beginning of a message, and the list of what is collected.
    """

    def __init__(self) -> None:
        self.open: list[tuple[type[Warning], str, Caught | None]] = []


_contexts = _Contexts()


class _OfThisThread(type):
    def __subclasscheck__(cls, category: type) -> bool:
        return any(issubclass(category, wanted) for wanted, *_ in _contexts.open)


class _Wanted(Warning, metaclass=_OfThisThread):
    """The category of our filter: what the contexts of the current thread may take."""


class _Process:
    """What contexts of all threads share; the last to leave removes it."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._n_open = 0
        self._before: Any = None  # shows what no context takes

    def enter(self) -> None:
        with self._lock:
            self._n_open += 1
            if warnings.showwarning != self._show:
                self._before, warnings.showwarning = warnings.showwarning, self._show
            warnings.simplefilter("always", _Wanted)

    def leave(self) -> None:
        with self._lock:
            self._n_open -= 1
            if self._n_open:
                return
            if warnings.showwarning == self._show:
                warnings.showwarning = self._before
            with suppress(ValueError):  # filters were replaced meanwhile
                warnings.filters.remove(("always", None, _Wanted, None, 0))  # type: ignore[attr-defined]

    def _show(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: Any = None,
        line: str | None = None,
    ) -> None:
        place = filename, lineno, file, line
        for wanted, begin, caught in reversed(_contexts.open):
            if issubclass(category, wanted) and str(message).startswith(begin):
                if caught is not None:
                    caught.append(warnings.WarningMessage(message, category, *place))
                return
        if not _contexts.open:
            self._before(message, category, *place)
            return
        inside, _contexts.open = _contexts.open, []
        try:  # with the filters of everybody else
            warnings.warn_explicit(message, category, filename, lineno)
        finally:
            _contexts.open = inside


_process = _Process()


@contextmanager
def collected_warnings(category: type[Warning] = Warning) -> Iterator[Caught]:
    """Collect the warnings that this thread raises inside, whatever the filters are.

    Examples
    --------
    >>> import warnings
    >>> with collected_warnings() as caught:
    ...     warnings.warn("look here")
    >>> [str(each.message) for each in caught]
    ['look here']
    """
    caught: Caught = []
    with _inside(category, "", caught):
        yield caught


def ignored_warnings(
    category: type[Warning] = Warning, begin: str = ""
) -> AbstractContextManager[None]:
    """Return a context that ignores this thread's warnings whose messages begin like this."""
    return _inside(category, begin, None)


@contextmanager
def _inside(category: type[Warning], begin: str, caught: Caught | None) -> Iterator[None]:
    _contexts.open.append((category, begin, caught))
    _process.enter()
    try:
        yield
    finally:
        _process.leave()
        _contexts.open.pop()
