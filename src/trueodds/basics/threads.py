"""Threads: rows in blocks on all cores, BLAS on one, and objects that several threads share."""

from __future__ import annotations

import copy
import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from functools import cache, cached_property, partial, wraps
from inspect import isfunction
from itertools import chain
from threading import Lock, RLock, get_ident
from typing import Any, Self, TypeVar
from weakref import WeakSet

__all__ = [
    "BLOCK_ROWS",
    "Locked",
    "in_blocks",
    "in_threads",
    "new_lock",
    "single_threaded_blas",
]

BLOCK_ROWS = 16384
"""Number of rows of a block."""
LEAST_PER_THREAD = 4 * BLOCK_ROWS
"""Fewer rows per thread are not worth starting one."""
PATIENCE = 0.1
"""Seconds that a fork waits for a lock while it holds others."""

Result = TypeVar("Result")


def in_blocks(
    work: Callable[[slice], Result], n_rows: int, block: int = BLOCK_ROWS
) -> list[Result]:
    """Return the results of ``work`` for consecutive blocks of rows, in order.

    Threads help only if ``work`` releases the interpreter's lock. Blocks do not depend on the
    number of threads, so results do not either.

    Examples
    --------
    >>> in_blocks(lambda rows: rows.stop - rows.start, 40_000)
    [16384, 16384, 7232]
    """
    if n_rows <= block:
        return [work(slice(0, n_rows))]
    blocks = [slice(begin, min(begin + block, n_rows)) for begin in range(0, n_rows, block)]
    return in_threads([partial(work, rows) for rows in blocks], n_rows)


def in_threads(tasks: Sequence[Callable[[], Result]], n_rows: int) -> list[Result]:
    """Return the results of tasks in order; use several threads if there are enough rows.

    Examples
    --------
    >>> in_threads([lambda: 1 + 1, lambda: 2 * 3], n_rows=10**6)
    [2, 6]
    """
    n_threads = min(_cores(), n_rows // LEAST_PER_THREAD, len(tasks))
    if n_threads < 2:
        return [task() for task in tasks]
    from concurrent.futures import ThreadPoolExecutor  # slow to import

    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(lambda task: task(), tasks))


class _OneBlasThread:
    """A limit of the whole process: the first to enter sets it, the last to leave removes it.

    Contexts of several threads overlap in any order. If each restored the earlier limit, one of
    them could leave a wrong limit.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside: Counter[int] = Counter()  # contexts of each thread
        self._before: dict[str, tuple[Any, int]] = {}  # libraries by file, and their threads
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._leave_other_threads)

    def __enter__(self) -> None:
        with self._lock:
            for library in _blas_libraries():  # also those that were loaded since the first entered
                if library.filepath not in self._before:
                    self._before[library.filepath] = library, library.num_threads
                    _set_threads(library, 1)
            self._inside[get_ident()] += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= Counter([get_ident()])  # drops what falls to 0
            self._restore()

    def _restore(self) -> None:
        if not self._inside:
            for library, n_threads in self._before.values():
                _set_threads(library, n_threads)
            self._before = {}

    def _leave_other_threads(self) -> None:
        """Reset after a fork, which copies no threads but may copy a held lock."""
        self._lock = Lock()
        own = self._inside[get_ident()]
        self._inside = Counter({get_ident(): own}) if own else Counter()
        self._restore()


_one_blas_thread = _OneBlasThread()


def single_threaded_blas() -> AbstractContextManager[None]:
    """Return a context in which matrix products use one core.

    For small matrices, threads cost more than they save, especially if other work uses the cores.
    Contexts may be nested, and those of several threads may overlap; after the last one, BLAS has
    the threads that it had before the first. A library that is loaded inside is limited by the
    next context.

    Examples
    --------
    >>> import numpy as np
    >>> with single_threaded_blas():
    ...     np.eye(2) @ np.ones(2)
    array([1., 1.])
    """
    return _one_blas_thread


def _set_threads(library: Any, n_threads: int) -> None:
    """Set the threads of a library from any thread.

    Recent versions of threadpoolctl let one thread set those of OpenBLAS, and ignore the others.
    """
    getattr(library, "_real_set_num_threads", library.set_num_threads)(n_threads)


def _blas_libraries() -> list[Any]:
    """Return the BLAS libraries of this process. SciPy has its own, loaded when needed."""
    return _find_blas("scipy.special" in sys.modules or "scipy.linalg" in sys.modules)


@cache
def _find_blas(with_scipy: bool) -> list[Any]:  # noqa: ARG001  # the key of the cache
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def _cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Locked:
    """Base of objects that learn: one thread at a time is inside the methods of such an object.

    Its direct subclasses get the lock around every public method and property, ``__reduce__`` and
    ``__repr__``; those that are named by ``unlocked`` must reach the state by others. A thread that
    is inside may call further methods. Copies and pickles are made between two calls, and a fork
    waits for the end of all calls: a child has no object that another thread was changing.

    Examples
    --------
    >>> class Total(Locked):
    ...     def __init__(self):
    ...         self.value = 0
    ...     def add(self, number):
    ...         self.value += number
    >>> total = Total()
    >>> _ = in_threads([lambda: total.add(1)] * 100, n_rows=10**6)
    >>> total.value
    100
    """

    __slots__ = ("_lock",)
    _lock: Any

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Make the lock, also of an object that is unpickled."""
        made = super().__new__(cls)
        made._lock = new_lock()
        return made

    def __init_subclass__(cls, *, unlocked: Collection[str] = (), **options: Any) -> None:
        super().__init_subclass__(**options)
        if Locked not in cls.__bases__:  # users may add methods that wait for another thread
            return
        for name, member in list(vars(cls).items()):
            is_public = not name.startswith("_") or name in ("__reduce__", "__repr__")
            if is_public and name not in unlocked:
                setattr(cls, name, _locked(member))

    def __getstate__(self) -> dict[str, Any]:
        """Return a copy, since pickling reads the state after this call."""
        with self._lock:
            return copy.deepcopy(vars(self))


def _locked(member: Any) -> Any:
    """Return a method or property that holds the lock of its object; anything else unchanged."""
    if isinstance(member, property):
        return property(_locked(member.fget), member.fset, member.fdel, member.__doc__)
    if not isfunction(member):
        return member

    @wraps(member)
    def method(self: Locked, *args: Any, **options: Any) -> Any:
        with self._lock:
            return member(self, *args, **options)

    return method


class _Locks:
    """The locks of all objects, which are held while the process forks.

    A thread that holds one may wait for another, in any order. So a fork that waits for too long
    releases what it holds, and begins with the lock that it waited for.
    """

    def __init__(self) -> None:
        self._guard = RLock()
        self._all: WeakSet[Any] = WeakSet()
        self._held: list[Any] = []
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._hold, after_in_parent=self._release, after_in_child=self._release
            )

    def new(self) -> Any:
        """Return one more lock."""
        lock = RLock()
        with self._guard:
            self._all.add(lock)
        return lock

    def _hold(self) -> None:
        order: list[Any] = []
        while True:
            held: list[Any] = []
            awaited = self._hold_in(order, held)
            if awaited is None:
                self._held = held
                return
            for lock in held:
                lock.release()
            order.remove(awaited)
            order.insert(0, awaited)

    def _hold_in(self, order: list[Any], held: list[Any]) -> Any:
        """Hold all locks in this order, then the guard; return one that is not released in time."""
        while True:
            for lock in order[len(held) :]:
                if not lock.acquire(timeout=PATIENCE if held else -1):
                    return lock
                held.append(lock)
            self._guard.acquire()
            others = set(self._all).difference(order)
            if not others:
                held.append(self._guard)
                return None
            self._guard.release()  # who has a lock may make another
            order.extend(others)

    def _release(self) -> None:
        held, self._held = self._held, []
        for lock in held:
            lock.release()


_locks = _Locks()


def _renew_locks_of_properties() -> None:
    """Free the locks of cached properties, which all objects of a class share in Python 3.11."""
    modules = [module for name, module in sys.modules.items() if name.startswith("trueodds")]
    kinds = [kind for module in modules for kind in vars(module).values() if isinstance(kind, type)]
    for member in chain.from_iterable(vars(kind).values() for kind in kinds):
        if isinstance(member, cached_property):
            member.lock = RLock()  # type: ignore[attr-defined]


if sys.version_info < (3, 12) and hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks_of_properties)


def new_lock() -> Any:
    """Return a lock that its thread may take again, and that no fork leaves locked in a child."""
    return _locks.new()
