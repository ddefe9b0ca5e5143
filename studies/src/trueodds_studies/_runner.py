"""Run the tasks of a study that have no results yet."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from trueodds.basics.progress import Progress
from trueodds.basics.signals import STOPPING
from trueodds.exceptions import InputError
from trueodds_studies._optional import need
from trueodds_studies._scratch import Scratch
from trueodds_studies._store import DAY, MANY_PARTS, RESERVED, ROW, SECONDS, TASK, ResultStore
from trueodds_studies._study import Results, Row, Study
from trueodds_studies._task import Plain, Task

__all__ = ["run_tasks"]

PART = "part"
StoredRow = dict[str, Plain]


def run_tasks(
    study: Study,
    profile: str,
    folder: Path,
    *,
    n_jobs: int | None = None,
    progress: bool = True,
    stored_only: bool = False,
) -> Results:
    """Run the missing tasks of a profile and return all its rows.

    Parameters
    ----------
    study : Study
    profile : str
    folder : Path
        Folder with the results and scratch of earlier runs.
    n_jobs : int, default=None
        As in joblib: None means one process, or the setting of ``joblib.parallel_config``.
    progress : bool, default=True
        Show progress if stderr is a terminal.
    stored_only : bool, default=False
        Run nothing and return the stored rows.
    """
    tasks = study.tasks_of(profile)
    keys = [study.key(task) for task in tasks]
    if len(set(keys)) != len(keys):
        raise InputError(f"study {study.name!r} has the same task twice in profile {profile!r}.")
    store = ResultStore(folder)
    with store.locked():
        store.compact()
        done = store.finished()
        pending = [
            task
            for task, key in zip(tasks, keys, strict=True)
            if key not in done and not stored_only
        ]
        failures = _run_pending(study, pending, store, n_jobs, progress)
        store.compact()
        return _results(profile, tasks, keys, store, failures)


def _run_pending(
    study: Study, pending: list[Task], store: ResultStore, n_jobs: int | None, progress: bool
) -> list[str]:
    units = _units(study, pending)
    costs = [sum(study.cost(task) for task in unit) for unit in units]
    # Several workers take the most expensive first, so that none starts it when the others are
    # done. One worker takes the cheapest first, so that most is done whenever it is stopped.
    way = 1 if n_jobs in (None, 1) else -1
    order = sorted(range(len(units)), key=lambda i: (way * costs[i], i))
    failures: list[str] = []
    scratch = store.folder / "scratch"
    # Shown on a terminal alone, so that logs and pipes stay clean.
    with Progress(len(units), f"study {study.name}", None if progress else False) as bar:
        jobs = ((study, units[i], scratch) for i in order)
        for number, (rows, failure) in enumerate(_each(jobs, n_jobs), start=1):
            if rows:
                store.add(rows)
            if failure:
                failures.append(failure)
            if number % MANY_PARTS == 0:
                store.compact()
            bar.step()
    return failures


def _units(study: Study, tasks: list[Task]) -> list[list[Task]]:
    """Tasks that agree in the options named by ``together``, in order of appearance."""
    units: dict[Any, list[Task]] = {}
    for task in tasks:
        same = tuple(task.options.get(name) for name in study.together)
        own = () if study.together else (study.key(task),)
        units.setdefault((task.part, *same, *own), []).append(task)
    return list(units.values())


def _each(jobs: Iterator[Any], n_jobs: int | None) -> Iterator[Any]:
    """Results of jobs as they end, on whatever back end of joblib is active."""
    joblib = need("joblib")
    backend, workers = joblib.parallel.get_active_backend()
    delayed = joblib.delayed(_run_unit)
    # No batches: a kill then loses the units that are running, not those that ended.
    if backend.supports_return_generator:
        parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
        yield from parallel(delayed(*job) for job in jobs)
        return
    # Some back ends of clusters return lists only: go in rounds, so that a kill loses no more than
    # a round, and rounds are long enough to keep every worker busy.
    parallel = joblib.Parallel(n_jobs=n_jobs, batch_size=1)
    size = 8 * max(backend.effective_n_jobs(n_jobs or workers or -1), 1)
    remaining = list(jobs)
    for start in range(0, len(remaining), size):
        yield from parallel(delayed(*job) for job in remaining[start : start + size])


def _run_unit(
    study: Study, tasks: Sequence[Task], scratch: Path
) -> tuple[list[StoredRow], str | None]:
    """Rows of tasks that belong together; what ended before a failure is kept."""
    rows: list[StoredRow] = []
    begin = time.process_time()
    task = tasks[0]
    try:
        for task, found in study.run(tasks, Scratch(scratch)):
            now = time.process_time()
            several = [found] if isinstance(found, Mapping) else found
            rows.extend(_stored(study, task, i, row, now - begin) for i, row in enumerate(several))
            begin = now
    except Exception as error:  # one bad set must not end a night's run
        if STOPPING.received is not None:  # a library has replaced the exception of a signal
            raise
        place = ", ".join(f"{name} {value}" for name, value in task.options.items())
        return rows, f"{task.part}, after {place}: {type(error).__name__}: {error}"
    return rows, None


def _stored(study: Study, task: Task, number: int, row: Row, seconds: float) -> StoredRow:
    clash = {*row} & {*task.options, *RESERVED, PART}
    if clash:
        raise InputError(f"a row may not hold {sorted(clash)}: the task or the store does.")
    values = {
        name: float(value) if isinstance(value, (int, float)) else value
        for name, value in row.items()
    }
    return {
        TASK: study.key(task),
        ROW: number,
        PART: task.part,
        **task.options,
        **values,
        SECONDS: seconds,
        DAY: dt.datetime.now(dt.UTC).date().isoformat(),
    }


def _results(
    profile: str,
    tasks: list[Task],
    keys: list[str],
    store: ResultStore,
    failures: list[str],
) -> Results:
    arrow, compute = need("pyarrow"), need("pyarrow.compute")
    need("pandas")
    table = store.read()
    if table is not None:
        # Filtered before pandas sees it: a null of another profile would turn integers to floats.
        table = table.filter(compute.is_in(table[TASK], value_set=arrow.array(keys)))
    if table is None or not len(table):
        reason = failures[0] if failures else "there are no tasks; are the data sets at hand?"
        raise InputError(f"the study has no results: {reason}")
    frame = table.to_pandas()
    position = {key: i for i, key in enumerate(keys)}
    frame = frame.assign(_position=frame[TASK].map(position)).sort_values(["_position", ROW])
    missing = len(keys) - frame[TASK].nunique()
    # All rows of a task have its whole time.
    cpu_seconds = float(frame.drop_duplicates(TASK)[SECONDS].sum())
    days = frame[DAY].dropna() if DAY in frame.columns else frame[TASK][:0]
    # Columns of other profiles or versions are empty here; their order must not depend on history.
    frame = frame.drop(columns=[TASK, ROW, SECONDS, DAY, "_position"], errors="ignore")
    frame = frame.dropna(axis="columns", how="all").reset_index(drop=True)
    options = list(dict.fromkeys(name for task in tasks for name in task.options))
    first = [name for name in (PART, *options) if name in frame.columns]
    rest = sorted(set(frame.columns) - set(first))
    return Results(
        frame=frame[[*first, *rest]],
        profile=profile,
        n_tasks=len(keys),
        n_missing=missing,
        failures=tuple(sorted(failures)),
        cpu_seconds=cpu_seconds,
        last_day=str(days.max()) if len(days) else None,
    )
