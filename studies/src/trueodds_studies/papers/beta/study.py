"""The experiments of the beta calibration paper: 41 sets, naive Bayes, two AdaBoosts.

The protocol is that of section 4. Where the paper gives no details, it follows the authors'
published program:

- Classes other than the most frequent are merged; outer folds are stratified by the original
  classes.
- In each training set, three models are trained on two inner folds each and calibrated on the
  third. Their three outputs are averaged, also without calibration.
- Log-loss clips probabilities at 1e-16.
- Logistic calibration is maximum likelihood on the raw scores. Beta calibration clips scores at
  2.2e-16; the other methods use them unchanged.

Where the program differs from the text (:mod:`trueodds_studies.papers.beta.program`), both are
run.

On separable calibration folds maximum likelihood has no optimum. The program's penalty of 1e-11
stops the map at log-odds of about ±25; labels smoothed by 1e-10 reproduce that. Our calibrators use
Platt's targets by default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import expit

from trueodds import BetaCalibrator, IdentityCalibrator, IsotonicCalibrator, LogisticCalibrator
from trueodds.inputs import Floats
from trueodds.metrics import accuracy, brier_score
from trueodds_studies._learners import Learner, boosted_stumps, naive_bayes, real_boosted_stumps
from trueodds_studies._protocol import (
    InnerScores,
    as_matrix,
    averaged,
    binary_labels,
    clipped_log_loss,
    inner_scores,
    stratified_fold,
)
from trueodds_studies._scratch import Scratch
from trueodds_studies._study import Row, Study
from trueodds_studies._task import Plain, Task, crossed, stable_seed
from trueodds_studies.datasets import load
from trueodds_studies.papers.beta import extras
from trueodds_studies.papers.beta.numbers import SETS, sets_at_hand
from trueodds_studies.papers.beta.program import LiblinearCalibrator
from trueodds_studies.papers.beta.report import report
from trueodds_studies.papers.beta.running_time import run_time, time_tasks

__all__ = ["STUDY"]

N_FOLDS, N_INNER = 5, 3
BRIER_REPEATS = 3
REPEATS = {"quick": 1, "standard": 10, "full": 10}
SMOOTHING, CLIP = 1e-10, float(np.finfo(np.float64).eps)
LATER = 1e9
QUICK_SETS = 900
"""Most rows of a set in the quick profile."""

LEARNERS: dict[str, Learner] = {
    "naive-bayes": naive_bayes,
    "stumps": boosted_stumps,
    "real-stumps": real_boosted_stumps,
}
MODELS = {
    "naive-bayes": ("naive-bayes", 0),
    "ada-o": ("stumps", 0),
    "ada-s": ("stumps", 1),
    "ada-s-r": ("real-stumps", 0),
}
"""A model is a column of a learner's log-odds: Ada-O and Ada-S of the text have the same stumps."""
PROGRAM_MODELS = ("naive-bayes", "ada-o", "ada-s-r")

Factory = Callable[[], Any]
METHODS: dict[str, Factory] = {
    "uncalibrated": IdentityCalibrator,
    "beta": lambda: BetaCalibrator(label_smoothing=SMOOTHING),
    "isotonic": IsotonicCalibrator,
    "logistic": lambda: LogisticCalibrator(axis="raw", label_smoothing=SMOOTHING),
    "beta-am": lambda: BetaCalibrator("am", label_smoothing=SMOOTHING),
    "beta-ab": lambda: BetaCalibrator("ab", label_smoothing=SMOOTHING),
}
BY_PROGRAM: dict[str, Factory] = {
    "beta": lambda: LiblinearCalibrator("abm"),
    "logistic": lambda: LiblinearCalibrator("raw"),
    "beta-am": lambda: LiblinearCalibrator("am"),
    "beta-ab": lambda: LiblinearCalibrator("ab"),
}
"""The same four, fitted by the authors' solver."""
WITH_PLATT: dict[str, Factory] = {
    "beta-platt": BetaCalibrator,
    "logistic-platt": lambda: LogisticCalibrator(axis="raw", label_smoothing=None),
}
"""Platt's targets on separable folds, the library's default; Ada-O only."""
BY_BRIER: dict[str, Factory] = {
    "beta-brier": lambda: BetaCalibrator(loss="brier", label_smoothing=SMOOTHING)
}
"""The paper's future work, shown in addition to the paper's methods."""
FACTORIES = {"cv": METHODS, "program": BY_PROGRAM, "separable": WITH_PLATT, "brier": BY_BRIER}


def tasks(profile: str) -> list[Task]:
    """Sets × repeats × folds × models × methods, and tasks for claims outside the tables."""
    names = sets_at_hand()
    if profile == "quick":
        names = [name for name in names if SETS[name] <= QUICK_SETS]
    folds: dict[str, Iterable[Plain]] = {
        "set": names,
        "repeat": range(REPEATS[profile]),
        "fold": range(N_FOLDS),
    }
    fewer = {**folds, "repeat": range(min(REPEATS[profile], BRIER_REPEATS))}
    return [
        *crossed("cv", **folds, model=list(MODELS), method=list(METHODS)),
        *crossed("program", **folds, model=list(PROGRAM_MODELS), method=list(BY_PROGRAM)),
        *crossed("separable", **folds, model="ada-o", method=list(WITH_PLATT)),
        *crossed("brier", **fewer, model=list(PROGRAM_MODELS), method=list(BY_BRIER)),
        *extras.tasks(profile, names),
        *time_tasks(profile),
    ]


@lru_cache(maxsize=2)
def _data(name: str) -> tuple[Floats, Any, Any]:
    dataset = load(name)
    return as_matrix(dataset.X), np.asarray(dataset.y), binary_labels(dataset.y)


def run(todo: Sequence[Task], scratch: Scratch) -> Iterator[tuple[Task, Row | Sequence[Row]]]:
    """All models and methods on one fold, or simulated data."""
    if todo[0].part == "time":
        yield from run_time(todo)
        return
    if "set" not in todo[0].options:
        yield from extras.run_simulated(todo)
        return
    name, repeat, number = todo[0].pick("set", "repeat", "fold")
    X, classes, y = _data(name)
    seed = stable_seed("outer", name, repeat)
    fold = stratified_fold(classes, n_folds=N_FOLDS, fold=number, seed=seed)
    kept: dict[str, InnerScores] = {}
    for task in todo:
        learner, column = MODELS[task["model"]]
        if learner not in kept:
            description = {"set": name, "learner": learner, "rows": len(y), "outer": seed}
            kept[learner] = inner_scores(
                scratch,
                {**description, "fold": number, "version": 2},
                LEARNERS[learner],
                X,
                y,
                fold,
                n_inner=N_INNER,
                seed=stable_seed("inner", name, repeat, number),
            )
        scores = kept[learner]
        found = extras.FoldScores(
            expit(scores.out_of_fold[:, column]),
            scores.inner,
            expit(scores.test[:, :, column]),
            y[fold.train],
            y[fold.test],
        )
        own = extras.RUNS.get(task.part)
        yield task, own(task, found, METHODS) if own else _losses(task, found)


def _losses(task: Task, found: extras.FoldScores) -> Row:
    method: str = task["method"]
    scores = found.clipped(CLIP) if method.startswith("beta") else found
    p = averaged(
        FACTORIES[task.part][method], scores.out_of_fold, scores.inner, scores.test, scores.y_train
    )
    return {
        "log_loss": clipped_log_loss(scores.y_test, p),
        "brier_score": brier_score(scores.y_test, p, classes=[0, 1]),
        "accuracy": accuracy(scores.y_test, p, classes=[0, 1]),
        "confidence": float(np.mean(np.maximum(p, 1 - p))),
    }


def cost(task: Task) -> float:
    """Return a cost about proportional to the rows, plus a constant for every fit.

    One worker runs the first repeat of every set before the second of any.
    """
    turn = int(task["repeat"]) if "repeat" in task.options else 0
    return 500.0 + SETS.get(str(task.options.get("set")), 0) + LATER * turn


STUDY = Study(
    name="beta",
    title="Beta calibration: the paper's experiments again",
    paper=(
        "Kull, Silva Filho and Flach (2017), Beta calibration: a well-founded and easily "
        "implemented improvement on logistic calibration for binary classifiers, AISTATS."
    ),
    version=2,
    profiles={
        "quick": f"one repeat on sets of at most {QUICK_SETS} rows",
        "standard": "ten repeats of 5-fold cross-validation on every set, as in the paper",
        "full": "the same as standard, which is the paper's whole protocol already",
    },
    tasks=tasks,
    run=run,
    report=report,
    together=("set", "repeat", "fold"),
    cost=cost,
)
