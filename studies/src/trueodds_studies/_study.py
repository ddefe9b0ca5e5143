"""Study and Results: the description of a study, and the rows for its report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trueodds.exceptions import InputError
from trueodds_studies._report import ReportContent
from trueodds_studies._scratch import Scratch
from trueodds_studies._task import Plain, Task, digest

__all__ = ["PROFILES", "Results", "Row", "Study", "pick_rows"]

PROFILES = ("quick", "standard", "full")
Row = Mapping[str, Plain]


def _equal_cost(_task: Task) -> float:
    return 1.0


@dataclass(frozen=True)
class Study:
    """A study as a description: its tasks, how one is run, and how results are judged.

    Parameters
    ----------
    name : str
        Name on the command line: lower-case words with hyphens.
    title, paper : str
        A heading, and the reference of the paper.
    version : int
        Raise it whenever the same task would give other numbers. Tasks are hashed with it, so old
        results are not used and everything is computed again.
    profiles : mapping of str to str
        What ``"quick"``, ``"standard"`` and ``"full"`` include, each in one sentence.
    tasks : callable (profile) → iterable of Task
        The work, in the order of the results table. Profiles may share tasks and their results.
    run : callable (tasks, scratch) → iterable of (Task, row or list of rows)
        Runs tasks that belong together. A row is a flat mapping of names to numbers or text,
        without the task's options, which are added. It must depend on the tasks alone: take seeds
        from :func:`~trueodds_studies.stable_seed`, and store expensive arrays in ``scratch``.
    report : callable (results) → ReportContent
        Returns tables next to the paper's, figures, and the claims with their verdicts.
    together : tuple of str
        Names of options. Tasks that agree in them (and in their part) are one unit of work, run by
        one worker one after another, and saved at once. Choose it so that tasks that share scores
        are together, and a unit takes seconds rather than minutes.
    cost : callable (task) → float
        Relative cost. The most expensive tasks are run first, so that no worker starts one when the
        others are done.
    """

    name: str
    title: str
    paper: str
    version: int
    profiles: Mapping[str, str]
    tasks: Callable[[str], Iterable[Task]]
    run: Callable[[Sequence[Task], Scratch], Iterable[tuple[Task, Row | Sequence[Row]]]]
    report: Callable[[Results], ReportContent]
    together: tuple[str, ...] = ()
    cost: Callable[[Task], float] = field(default=_equal_cost)

    def key(self, task: Task) -> str:
        """Return the key of the task's results."""
        return digest(self.name, self.version, task.part, dict(task.options))[:32]

    def tasks_of(self, profile: str) -> list[Task]:
        """The tasks of a profile; a profile that does not exist is an error."""
        if profile not in self.profiles:
            known = ", ".join(repr(name) for name in self.profiles)
            raise InputError(f"study {self.name!r} has the profiles {known}; got {profile!r}.")
        return list(self.tasks(profile))


@dataclass(frozen=True)
class Results:
    """All rows of a profile, for a study's ``report``.

    Attributes
    ----------
    frame : pandas.DataFrame
        One line for each row: ``part``, the task's options, the row's values. In the order of the
        tasks, whatever the order of running, and without timings: the same bit for bit after an
        interrupted run.
    profile : str
    n_tasks, n_missing : int
        How many tasks the profile has, and how many of them have no result (they failed).
    failures : tuple of str
        Why.
    cpu_seconds : float
        CPU time of all tasks. It and the day are for the overview. A report must be the same on
        every machine, except for times that a paper makes claims about.
    last_day : str or None
        Day of the last computed task, as 2026-11-17; None for results of older versions.
    """

    frame: Any
    profile: str
    n_tasks: int
    n_missing: int = 0
    failures: tuple[str, ...] = ()
    cpu_seconds: float = 0.0
    last_day: str | None = None

    def table(self, value: str, *, rows: str, columns: str, **where: Any) -> Any:
        """The mean of a column over everything but two options, as a pandas frame.

        Rows and columns keep the order of the tasks.

        Parameters
        ----------
        value : str
            Column to average.
        rows, columns : str
            Options that become the index and the columns.
        **where
            ``part="cv", model="ada-o"``: which lines to take.
        """
        frame = pick_rows(self.frame, **where)
        means = frame.groupby([rows, columns], sort=False, observed=True)[value].mean()
        wide = means.unstack(columns)
        return wide.reindex(
            index=frame[rows].drop_duplicates(), columns=frame[columns].drop_duplicates()
        )


def pick_rows(frame: Any, **where: Any) -> Any:
    """Lines of a frame in which each named column has the value given (or one of a list)."""
    for name, wanted in where.items():
        if name not in frame.columns:
            raise InputError(f"the results have no column {name!r}; there are {list(frame)}.")
        several = isinstance(wanted, (list, tuple, set))
        frame = frame[frame[name].isin(list(wanted)) if several else frame[name] == wanted]
    return frame
