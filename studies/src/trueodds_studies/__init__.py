"""The experiments of five papers as commands, and the framework that runs such studies.

Run one with ``trueodds-study beta --profile quick`` or::

    from trueodds_studies import run_study
    report = run_study("beta", profile="standard", folder="study-beta", n_jobs=2)
    report.save("docs/studies")

A study may be interrupted at any time, even by SIGKILL. Started again with the same folder, it
computes only what is missing, and the final table is equal bit for bit. Results are Parquet rows in
``<folder>/results.parquet`` (and in ``parts/`` while it runs). Scores of base models are stored in
``<folder>/scratch``, so a method that is added later costs only its own time.

How to write a study
--------------------
A study is a folder ``trueodds_studies/papers/<name>`` (hyphens become underscores) whose module
``study`` defines ``STUDY``, a :class:`Study`. Discovery does the rest. It has four parts.

1. **Tasks**: ``tasks(profile) → list of Task``. A :class:`Task` is the name of a part and a flat
   mapping of plain values; :func:`crossed` makes every combination of axes::

       crossed("cv", set=SETS, repeat=range(10), fold=range(5), model=MODELS, method=METHODS)
       crossed("synthetic", n=[100, 3000], replicate=range(10), method=METHODS)   # no data sets

   One task is one method on one data set, model, repeat and fold, so that adding a method adds
   tasks and changes none. Everything that affects the result must be an option; otherwise raise
   ``Study.version``. Profiles should share tasks: ``quick`` a subset of ``standard``, and so on.
2. **Running**: ``run(tasks, scratch)`` gets tasks without results that agree in the options named
   by ``Study.together``, such as ``("set", "repeat", "fold")``. It yields ``(task, row)``. A row,
   such as ``{"log_loss": 0.41, "brier_score": 0.12}``, has numbers or text under names that are not
   options of the task. Yield a list of rows if a task gives several. Tasks of one unit share a
   worker, so load the data and compute scores once, before the loop over methods. A task that
   raises is reported as missing; the study continues, and a later run tries again.
3. **Randomness and scratch**: seeds come from :func:`stable_seed`. Pass exactly what the random
   numbers belong to: ``stable_seed("outer", set, repeat)`` is shared by all models and methods, so
   comparisons are paired. Scores of base models go through ``scratch.arrays(description,
   compute)``, or through :func:`inner_scores` for nested cross-validation. It trains a learner on
   inner folds and returns out-of-fold scores, test scores of each inner model, and of a refit.
   Learners are functions ``(X, y, others) → [scores (n, k), …]``. :func:`as_matrix` makes plain
   matrices of frames; :func:`averaged` calibrates each inner model and averages.
4. **Report**: ``report(results) → ReportContent``: a summary (sets, repeats, substitutes, what is
   missing and why), :class:`Claim` objects (verdict True, False or None = *not tested*, always
   with figures), and tables, figures and text in order.

   - ``results.table("log_loss", rows="set", columns="method", part="cv", model="ada-o")`` is a
     pandas frame of means.
   - :func:`beside` makes a table of our numbers and the paper's, which are CSV files in its folder.
   - :func:`critical_difference_figure` draws Demšar's diagrams of such frames, and
     :func:`significantly_better` applies Nemenyi's test; :mod:`trueodds_studies.stats` has the
     others.
   - ``Figure.of(name, title, figure)`` takes any matplotlib figure.
   - ``by_readings`` keeps both verdicts on a claim that the paper's text and its program decide
     differently.

   Put no timings and no dates into it: the page gets the CPU time and the day from the stored rows.

The smallest study:

>>> from trueodds_studies import Claim, ReportContent, Study, crossed, run_study, stable_seed
>>> import numpy as np
>>> def run(tasks, scratch):
...     for task in tasks:
...         rng = np.random.default_rng(stable_seed("data", *task.pick("n", "replicate")))
...         yield task, {"mean": rng.random(task["n"]).mean()}
>>> def report(results):
...     means = results.table("mean", rows="n", columns="part")
...     close = bool(abs(means - 0.5).max().max() < 0.1)
...     return ReportContent("Uniform numbers.", [Claim("They are ½ on average.", "p. 1", close,
...                                                     f"{means.iloc[0, 0]:.2f}")])
>>> study = Study(name="uniform", title="Uniform", paper="None (2026)", version=1,
...               profiles={"quick": "two replicates"}, run=run, report=report,
...               tasks=lambda profile: crossed("mean", n=[100], replicate=range(2)))
>>> print(run_study(study, folder="study").content.claims[0].word)
confirmed

Many machines
-------------
Units of work are run by joblib, so its back ends apply: inside ``with
joblib.parallel_config(backend="dask"):`` (with a ``dask.distributed.Client`` open) or
``backend="spark"`` (after ``joblibspark.register_spark()``) the same call runs on a cluster.
Workers need trueodds-studies, the data (``TRUEODDS_DATA``), and best a shared folder for scratch;
only the caller writes results.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueodds.exceptions import InputError

if TYPE_CHECKING:
    from trueodds_studies._critical_difference import CriticalDifferenceDisplay
    from trueodds_studies._diagrams import critical_difference_figure, significantly_better
    from trueodds_studies._learners import BoostedStumps, boosted_stumps, naive_bayes
    from trueodds_studies._overview import claims_overview, save_all, save_overview
    from trueodds_studies._protocol import (
        Fold,
        InnerScores,
        as_matrix,
        averaged,
        binary_labels,
        clipped_log_loss,
        inner_scores,
        quietly,
        stratified_fold,
    )
    from trueodds_studies._report import Claim, Figure, ReportContent, StudyReport, Table, beside
    from trueodds_studies._scratch import Scratch
    from trueodds_studies._store import ResultStore
    from trueodds_studies._study import PROFILES, Results, Study, pick_rows
    from trueodds_studies._task import Task, crossed, stable_seed

__all__ = [
    "PROFILES",
    "BoostedStumps",
    "Claim",
    "CriticalDifferenceDisplay",
    "Figure",
    "Fold",
    "InnerScores",
    "ReportContent",
    "ResultStore",
    "Results",
    "Scratch",
    "Study",
    "StudyReport",
    "Table",
    "Task",
    "as_matrix",
    "available",
    "averaged",
    "beside",
    "binary_labels",
    "boosted_stumps",
    "claims_overview",
    "clipped_log_loss",
    "critical_difference_figure",
    "crossed",
    "find_study",
    "inner_scores",
    "naive_bayes",
    "pick_rows",
    "quietly",
    "run_study",
    "save_all",
    "save_overview",
    "significantly_better",
    "stable_seed",
    "stratified_fold",
]

_PARTS = (
    "_task", "_study", "_store", "_scratch", "_report", "_overview", "_protocol", "_learners",
    "_diagrams", "_critical_difference",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: ``trueodds --help`` loads this package."""
    if name in __all__:
        for part in _PARTS:
            module = importlib.import_module(f"{__name__}.{part}")
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def available() -> list[str]:
    """Return the names of the studies.

    Examples
    --------
    >>> from trueodds_studies import available
    >>> "beta" in available()
    True
    """
    from trueodds_studies import papers

    return sorted(folder.name.replace("_", "-") for folder in pkgutil.iter_modules(papers.__path__))


def find_study(name: str) -> Study:
    """Return the study with this name.

    Examples
    --------
    >>> from trueodds_studies import find_study
    >>> find_study("beta").profiles["quick"].startswith("one repeat")
    True
    """
    if name not in available():
        known = ", ".join(repr(other) for other in available())
        raise InputError(f"there is no study {name!r}; there are {known}.")
    module = importlib.import_module(f"trueodds_studies.papers.{name.replace('-', '_')}.study")
    study: Study = module.STUDY
    return study


def run_study(
    name: str | Study,
    *,
    profile: str = "quick",
    folder: str | Path | None = None,
    n_jobs: int | None = None,
    progress: bool = True,
    stored_only: bool = False,
) -> StudyReport:
    """Run the missing tasks of a study, and report on all of it.

    Parameters
    ----------
    name : str or Study
        A name from :func:`available`, or a :class:`Study`.
    profile : {"quick", "standard", "full"}, default="quick"
        How much is run; ``find_study(name).profiles`` describes each.
    folder : path, default=None
        Folder of results; ``study-<name>`` in the current folder if None. All profiles can share
        it.
    n_jobs : int, default=None
        Number of processes, as in joblib (−1: all cores). None means one, or the setting of
        ``joblib.parallel_config``.
    progress : bool, default=True
        Show progress if stderr is a terminal.
    stored_only : bool, default=False
        Run nothing and judge the stored results, for example after a change of the rules.

    Returns
    -------
    StudyReport
        ``.markdown``, ``.save(folder)``, ``.results.frame``.
    """
    from trueodds_studies._report import StudyReport
    from trueodds_studies._runner import run_tasks
    from trueodds_studies._study import Study

    study = name if isinstance(name, Study) else find_study(name)
    place = Path(folder) if folder is not None else Path.cwd() / f"study-{study.name}"
    results = run_tasks(
        study, profile, place, n_jobs=n_jobs, progress=progress, stored_only=stored_only
    )
    return StudyReport(
        name=study.name,
        title=study.title,
        paper=study.paper,
        profile=profile,
        content=study.report(results),
        results=results,
    )
