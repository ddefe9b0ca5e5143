"""Work on many rows, in blocks that stay in the cache and on all cores if there are enough."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import pairwise
from threading import Thread
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
    n_shares = max(1, min(_cores(), n_rows // LEAST_PER_THREAD, len(blocks)))
    cuts = [k * len(blocks) // n_shares for k in range(n_shares + 1)]

    def share(begin: int, end: int) -> list[Result]:
        return [work(block) for block in blocks[begin:end]]

    shares = side_by_side([partial(share, *ends) for ends in pairwise(cuts)], n_rows)
    return [result for results in shares for result in results]


def side_by_side(tasks: Sequence[Callable[[], Result]], n_rows: int) -> list[Result]:
    """What tasks return, in their order; each on a thread of its own if there are enough rows.

    Examples
    --------
    >>> side_by_side([lambda: 1 + 1, lambda: 2 * 3], n_rows=10**6)
    [2, 6]
    """
    if len(tasks) < 2 or n_rows < 2 * LEAST_PER_THREAD or _cores() < 2:
        return [task() for task in tasks]
    results: dict[int, Result] = {}
    failures: list[BaseException] = []

    def run(k: int) -> None:
        try:
            results[k] = tasks[k]()
        except BaseException as failure:  # raised again below
            failures.append(failure)

    threads = [Thread(target=run, args=(k,)) for k in range(1, len(tasks))]
    for thread in threads:
        thread.start()
    run(0)
    for thread in threads:
        thread.join()
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
