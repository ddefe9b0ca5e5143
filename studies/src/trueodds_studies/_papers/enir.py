"""The experiments of the ENIR paper: simulated data, and 40 sets with three base classifiers.

Read from the paper (section IV): measures are those of the test fold; calibration uses the scores
of the training rows themselves ("we always used the train data for calibrating"); scores of an SVM
pass through a sigmoid; ECE and MCE have ten bins of equal width. What it does not say, and what is
taken here: the SVM on real data is linear; logistic regression and SVM have scikit-learn's default
penalty (C = 1) on standardised attributes; nominal attributes are indicators; naive Bayes is
Gaussian; measures are averaged over folds (part "real"). ECE and MCE of a fold with few rows are
mostly noise, so they are also taken of a run's ten folds together (part "pooled").
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from trueodds import BBQCalibrator, ENIRCalibrator, IdentityCalibrator, IsotonicCalibrator
from trueodds.calibrators import Calibrator
from trueodds.metrics import (
    accuracy,
    expected_calibration_error,
    maximum_calibration_error,
    root_mean_squared_error,
)
from trueodds.validation import Floats
from trueodds_studies._learners import Learner, naive_bayes
from trueodds_studies._optional import need
from trueodds_studies._papers._enir_numbers import SETS, sets_at_hand
from trueodds_studies._papers._enir_report import report
from trueodds_studies._protocol import binary_labels, quietly, stratified_fold
from trueodds_studies._scratch import Arrays, Scratch
from trueodds_studies._study import Row, Study
from trueodds_studies._task import Task, crossed, stable_seed
from trueodds_studies.datasets import load, make_disc_and_ring

__all__ = ["STUDY"]

N_FOLDS, N_SIMULATED, N_ROWS_SIMULATED = 10, 10, 1000
REPEATS = {"quick": 1, "standard": 1, "full": 10}
MOST_ROWS = {"quick": 700, "standard": 4000}
"""Standard takes so many rows of larger sets; quick leaves larger sets out."""
WIDE = ("ad", "colon-cancer", "duke", "leu")
"""Sets with more than a thousand attributes, which quick leaves out too."""

METHODS: dict[str, Callable[[], Calibrator]] = {
    "base": IdentityCalibrator,
    "IsoRegC": IsotonicCalibrator,
    "BBQ": BBQCalibrator,
    "ENIR": ENIRCalibrator,
}
KERNELS: dict[str, dict[str, Any]] = {
    "linear": {"kernel": "linear"},
    "quadratic": {"kernel": "poly", "degree": 2, "coef0": 1},
}
NOMINAL_CODES = ("mushroom",)
"""Sets whose nominal attributes are numbers in the file."""


def _logistic_regression(X: Floats, y: npt.NDArray[Any], others: Sequence[Floats]) -> list[Floats]:
    from sklearn.linear_model import LogisticRegression

    return _margins(LogisticRegression(max_iter=500), X, y, others)


def _linear_svm(X: Floats, y: npt.NDArray[Any], others: Sequence[Floats]) -> list[Floats]:
    from sklearn.svm import LinearSVC

    return _margins(LinearSVC(dual="auto", max_iter=2000, random_state=0), X, y, others)


def _margins(model: Any, X: Floats, y: npt.NDArray[Any], others: Sequence[Floats]) -> list[Floats]:
    """Margins of a linear model of standardised attributes, in one column."""
    from sklearn.exceptions import ConvergenceWarning

    centre, spread = X.mean(axis=0), X.std(axis=0)
    spread[spread == 0] = 1
    with warnings.catch_warnings():
        # As near as it got: the study compares what is made of the margins.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit((X - centre) / spread, y)
    return [model.decision_function((other - centre) / spread)[:, None] for other in others]


LEARNERS: dict[str, Learner] = {
    "LR": _logistic_regression,
    "SVM": _linear_svm,
    "NB": naive_bayes,
}


def tasks(profile: str) -> list[Task]:
    """The simulated experiment; sets × repeats × folds × models × methods."""
    found = crossed(
        "simulated", kernel=list(KERNELS), repeat=range(N_SIMULATED), method=list(METHODS)
    )
    for name in sets_at_hand():
        rows = SETS[name].rows
        if profile == "quick" and (rows > MOST_ROWS[profile] or name in WIDE):
            continue
        rows = min(rows, MOST_ROWS.get(profile, rows))
        whole: dict[str, Any] = {"set": name, "rows": rows, "repeat": range(REPEATS[profile])}
        last = {"model": list(LEARNERS), "method": list(METHODS)}
        found += crossed("real", **whole, fold=range(N_FOLDS), **last)
        found += crossed("pooled", **whole, **last)
    return found


@lru_cache(maxsize=2)
def _data(name: str, rows: int) -> tuple[Floats, npt.NDArray[Any]]:
    """Attributes (indicators for nominal ones, missing as the mean) and labels 0 and 1."""
    pandas = need("pandas")
    source = SETS[name]
    dataset = load(source.name)
    # The multi-label scenes: attributes and labels are in two files of the same rows.
    X = load("scene-classification").X if source.name == "scene-labels" else dataset.X
    if source.name in NOMINAL_CODES:
        X = X.astype("category")
    frame = pandas.get_dummies(X, dtype=np.float64)
    matrix = frame.fillna(frame.mean()).fillna(0.0).to_numpy(np.float64)  # 0: nothing known
    labels = np.asarray(dataset.y).astype(str)
    y = (
        np.isin(labels, source.positive).astype(np.int8)
        if source.positive
        else (binary_labels(dataset.y))
    )
    if rows < len(y):
        from sklearn.model_selection import train_test_split

        seed = stable_seed("rows", name, rows)
        kept = train_test_split(np.arange(len(y)), train_size=rows, stratify=y, random_state=seed)[
            0
        ]
        matrix, y = matrix[kept], y[kept]
    return matrix, y


def run(todo: Sequence[Task], scratch: Scratch) -> Iterator[tuple[Task, Row]]:
    """All models and methods on one fold, on ten folds together, or in one simulated run."""
    kept: dict[str, list[Arrays]] = {}
    part = todo[0].part
    for task in todo:
        base = task["kernel"] if part == "simulated" else task["model"]
        if base not in kept:
            if part == "simulated":
                kept[base] = [_simulated_scores(task)]
            else:
                folds = range(N_FOLDS) if part == "pooled" else [task["fold"]]
                kept[base] = [_real_scores(task, fold, scratch) for fold in folds]
        p = [_calibrated(task["method"], scores) for scores in kept[base]]
        y = [scores["y_test"] for scores in kept[base]]
        yield task, _measures(np.concatenate(y), np.concatenate(p))


def _calibrated(method: str, scores: Arrays) -> Floats:
    with quietly():
        calibrator = METHODS[method]().fit(expit(scores["train"]), scores["y"])
        return np.asarray(calibrator.predict_proba(expit(scores["test"]))[:, 1])


def _real_scores(task: Task, number: int, scratch: Scratch) -> Arrays:
    name, rows, repeat, model = task.pick("set", "rows", "repeat", "model")
    X, y = _data(name, rows)
    seed = stable_seed("outer", name, repeat)
    fold = stratified_fold(y, n_folds=N_FOLDS, fold=number, seed=seed)

    def compute() -> Arrays:
        train, test = LEARNERS[model](X[fold.train], y[fold.train], [X[fold.train], X[fold.test]])
        return {"train": train[:, 0], "test": test[:, 0]}

    description = {"study": "enir", "set": name, "rows": rows, "outer": seed, "fold": number}
    arrays = scratch.arrays({**description, "model": model, "version": 1}, compute)
    return {**arrays, "y": y[fold.train], "y_test": y[fold.test]}


def _simulated_scores(task: Task) -> Arrays:
    from sklearn.svm import SVC

    rng = np.random.default_rng(stable_seed("simulated", task["repeat"]))
    train, test = (make_disc_and_ring(N_ROWS_SIMULATED, random_state=rng) for _ in range(2))
    svm = SVC(**KERNELS[task["kernel"]]).fit(train.X, train.y)
    return {
        "train": svm.decision_function(train.X),
        "test": svm.decision_function(test.X),
        "y": train.y,
        "y_test": test.y,
    }


def _measures(y: npt.NDArray[Any], p: Floats) -> Row:
    from sklearn.metrics import roc_auc_score

    return {
        "AUC": float(roc_auc_score(y, p)),
        "ACC": accuracy(y, p, classes=[0, 1]),
        "RMSE": root_mean_squared_error(y, p, classes=[0, 1]),
        "ECE": expected_calibration_error(y, p, n_bins=10, classes=[0, 1]),
        "MCE": maximum_calibration_error(y, p, n_bins=10, classes=[0, 1]),
    }


def cost(task: Task) -> float:
    """About proportional to the rows, with something for every fit."""
    if task.part == "simulated":
        return 1000.0
    folds = N_FOLDS if task.part == "pooled" else 1
    rows: int = task["rows"]
    return 300.0 + folds * (rows + (3000 if task["set"] in WIDE else 0))


STUDY = Study(
    name="enir",
    title="ENIR: the paper's experiments again",
    paper=(
        "Naeini and Cooper (2016), Binary classifier calibration using an ensemble of near "
        "isotonic regression models, ICDM."
    ),
    version=1,
    profiles={
        "quick": f"one run of 10-fold cross-validation on sets of at most {MOST_ROWS['quick']} "
        "rows",
        "standard": "one run of 10-fold cross-validation on every set, with "
        f"{MOST_ROWS['standard']} rows of larger ones",
        "full": "ten runs of 10-fold cross-validation on every set and all its rows, as in the "
        "paper",
    },
    tasks=tasks,
    run=run,
    report=report,
    together=("set", "repeat", "fold"),
    cost=cost,
)
