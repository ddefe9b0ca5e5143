"""Work on many rows, in blocks that stay in the cache and on all cores if there are enough."""

from __future__ import annotations

import os
from _thread import start_new_thread
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from threading import Event
from typing import Any, TypeVar

__all__ = ["BLOCK", "in_blocks", "side_by_side", "single_threaded_blas"]

BLOCK = 16384
"""Rows of a block."""
LEAST_PER_THREAD = 4 * BLOCK
"""A thread is not worth its start for fewer rows."""

Result = TypeVar("Result")


def in_blocks(work: Callable[[slice], Result], n_rows: int, block: int = BLOCK) -> list[Result]:
    """What ``work`` returns for consecutive blocks of rows, in their order.

    ``work`` must release the interpreter's lock for threads to be of use. Blocks of ``block`` rows
    do not depend on the number of threads, and so no result does.

    Examples
    --------
    >>> in_blocks(lambda rows: rows.stop - rows.start, 40_000)
    [16384, 16384, 7232]
    """
    if n_rows <= block:
        return [work(slice(0, n_rows))]
    blocks = [slice(begin, min(begin + block, n_rows)) for begin in range(0, n_rows, block)]
    return side_by_side([partial(work, rows) for rows in blocks], n_rows)


def side_by_side(tasks: Sequence[Callable[[], Result]], n_rows: int) -> list[Result]:
    """What tasks return, in their order; on several threads if there are enough rows.

    A thread takes the next task when it has done one, and nobody waits for a thread to start: a
    core that was asleep may need longer for that than the others need for all of the work.

    Examples
    --------
    >>> side_by_side([lambda: 1 + 1, lambda: 2 * 3], n_rows=10**6)
    [2, 6]
    """
    n_threads = min(_cores(), n_rows // LEAST_PER_THREAD, len(tasks))
    if n_threads < 2:
        return [task() for task in tasks]
    waiting = deque(enumerate(tasks))
    results: dict[int, Result] = {}
    failures: list[BaseException] = []
    finished = Event()

    def work_on() -> None:
        while True:
            try:
                k, task = waiting.popleft()
            except IndexError:  # nothing is left
                return
            try:
                results[k] = task()
            except BaseException as failure:  # raised again below
                failures.append(failure)
                waiting.clear()
            if failures or len(results) == len(tasks):
                finished.set()

    for _ in range(n_threads - 1):
        with suppress(RuntimeError):  # where no thread can be had, this one does it all
            start_new_thread(work_on, ())
    work_on()
    finished.wait()
    if failures:
        raise failures[0]
    return [results[k] for k in range(len(tasks))]


def single_threaded_blas() -> Any:
    """A context in which matrix products use one core.

    Threads that wait for each other cost small matrices more than they save, many times more
    where other work has the cores.

    Examples
    --------
    >>> import numpy as np
    >>> with single_threaded_blas():
    ...     np.eye(2) @ np.ones(2)
    array([1., 1.])
    """
    return _blas().limit(limits=1, user_api="blas")


@cache
def _blas() -> Any:
    """What is known of the libraries that NumPy has loaded; looking for them takes a while."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
