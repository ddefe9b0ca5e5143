"""The experiments of the beta calibration paper: 41 sets, naive Bayes, two AdaBoosts.

Read from the paper (section 4), and where it is silent from the authors' published program:
classes other than the most frequent are merged; outer folds are stratified by the original classes;
within each training set three models are trained on two inner folds each and calibrated on the
third, and their three outputs are averaged, for the uncalibrated too; log-loss keeps probabilities
1e-16 away from 0 and 1; logistic calibration is maximum likelihood on the raw scores; scores are
kept 2.2e-16 away from 0 and 1. The program's maximum likelihood carries a penalty of 1e-11, which
matters only where a calibration fold is separable: there it stops the map about 25 nats from ½. Our
calibrators would fall back on Platt's targets; labels smoothed by 1e-10 reproduce the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import expit

from trueodds import BetaCalibrator, IdentityCalibrator, IsotonicCalibrator, LogisticCalibrator
from trueodds.calibrators import Calibrator
from trueodds.metrics import accuracy, brier_score
from trueodds.validation import Floats
from trueodds_studies._learners import Learner, boosted_stumps, naive_bayes
from trueodds_studies._papers._beta_numbers import SETS, sets_at_hand
from trueodds_studies._papers._beta_report import report
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

__all__ = ["STUDY"]

N_FOLDS, N_INNER = 5, 3
REPEATS = {"quick": 1, "standard": 10, "full": 10}
SMOOTHING, CLIP = 1e-10, float(np.finfo(np.float64).eps)
QUICK_SETS = 900
"""The quick profile takes sets with at most so many rows."""

LEARNERS: dict[str, Learner] = {"naive-bayes": naive_bayes, "stumps": boosted_stumps}
MODELS = {"naive-bayes": ("naive-bayes", 0), "ada-o": ("stumps", 0), "ada-s": ("stumps", 1)}
"""A model is a column of a learner's log-odds: both AdaBoosts have the same stumps."""

METHODS: dict[str, Callable[[], Calibrator]] = {
    "uncalibrated": IdentityCalibrator,
    "beta": lambda: BetaCalibrator(label_smoothing=SMOOTHING),
    "isotonic": IsotonicCalibrator,
    "logistic": lambda: LogisticCalibrator(axis="raw", label_smoothing=SMOOTHING),
    "beta-am": lambda: BetaCalibrator("am", label_smoothing=SMOOTHING),
    "beta-ab": lambda: BetaCalibrator("ab", label_smoothing=SMOOTHING),
}
WITH_PLATT: dict[str, Callable[[], Calibrator]] = {
    "beta-platt": BetaCalibrator,
    "logistic-platt": lambda: LogisticCalibrator(axis="raw", label_smoothing=None),
}
"""Platt's targets on separable folds, which is what the library does by itself; Ada-O only."""


def tasks(profile: str) -> list[Task]:
    """Sets × repeats × folds × models × methods, and two methods more with Ada-O."""
    names = sets_at_hand()
    if profile == "quick":
        names = [name for name in names if SETS[name] <= QUICK_SETS]
    folds: dict[str, Iterable[Plain]] = {
        "set": names,
        "repeat": range(REPEATS[profile]),
        "fold": range(N_FOLDS),
    }
    return [
        *crossed("cv", **folds, model=list(MODELS), method=list(METHODS)),
        *crossed("separable", **folds, model="ada-o", method=list(WITH_PLATT)),
    ]


@lru_cache(maxsize=2)
def _data(name: str) -> tuple[Floats, Any, Any]:
    dataset = load(name)
    return as_matrix(dataset.X), np.asarray(dataset.y), binary_labels(dataset.y)


def _probabilities(log_odds: Floats) -> Floats:
    return np.asarray(np.clip(expit(log_odds), CLIP, 1 - CLIP))


def run(todo: Sequence[Task], scratch: Scratch) -> Iterator[tuple[Task, Row]]:
    """All models and methods on one fold."""
    name, repeat, number = todo[0].pick("set", "repeat", "fold")
    X, classes, y = _data(name)
    seed = stable_seed("outer", name, repeat)
    fold = stratified_fold(classes, n_folds=N_FOLDS, fold=number, seed=seed)
    y_train, y_test = y[fold.train], y[fold.test]
    kept: dict[str, InnerScores] = {}
    for task in todo:
        learner, column = MODELS[task["model"]]
        if learner not in kept:
            description = {"set": name, "learner": learner, "rows": len(y), "outer": seed}
            kept[learner] = inner_scores(
                scratch,
                {**description, "fold": number, "version": 1},
                LEARNERS[learner],
                X,
                y,
                fold,
                n_inner=N_INNER,
                seed=stable_seed("inner", name, repeat, number),
            )
        scores = kept[learner]
        p = averaged(
            {**METHODS, **WITH_PLATT}[task["method"]],
            _probabilities(scores.out_of_fold[:, column]),
            scores.inner,
            _probabilities(scores.test[:, :, column]),
            y_train,
        )
        yield (
            task,
            {
                "log_loss": clipped_log_loss(y_test, p),
                "brier_score": brier_score(y_test, p, classes=[0, 1]),
                "accuracy": accuracy(y_test, p, classes=[0, 1]),
                "confidence": float(np.mean(np.maximum(p, 1 - p))),
            },
        )


def cost(task: Task) -> float:
    """About proportional to the rows, with something for every fit."""
    return 500 + SETS[task["set"]]


STUDY = Study(
    name="beta",
    title="Beta calibration: the paper's experiments again",
    paper=(
        "Kull, Silva Filho and Flach (2017), Beta calibration: a well-founded and easily "
        "implemented improvement on logistic calibration for binary classifiers, AISTATS."
    ),
    version=1,
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
