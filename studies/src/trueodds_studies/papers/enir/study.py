"""The experiments of the ENIR paper: simulated data, and 40 sets with three base classifiers.

The protocol is that of section IV. Measures are computed on the test fold. Calibration uses the
scores of the training rows themselves ("we always used the train data for calibrating"). Scores of
an SVM pass through a sigmoid. The paper leaves these details open:

- The SVM on real data is linear here. Logistic regression and SVM have scikit-learn's default
  penalty (C = 1), standardized features, and indicators of nominal ones.
- Naive Bayes counts nominal values, like Weka's.
- Measures are averaged over folds.

ECE, MCE and AUC have three readings. The paper's text has ten fixed bins of [0, 1]. The authors'
program sorts the rows by forecast and label and cuts them into ten groups of equal count; it takes
the greater of AUC and 1 − AUC. The third reading has the same groups with ties shared. Measures of
a fold with few rows are mostly noise, so they are also computed from all ten folds of a run
together, which have the fold number −1.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trueodds.inputs import Floats
from trueodds.metrics import (
    accuracy,
    expected_calibration_error,
    maximum_calibration_error,
    root_mean_squared_error,
)
from trueodds_studies._learners import coded_matrix
from trueodds_studies._optional import need
from trueodds_studies._protocol import binary_labels, stratified_fold
from trueodds_studies._scratch import Arrays, Scratch
from trueodds_studies._study import Row, Study
from trueodds_studies._task import Task, crossed, stable_seed
from trueodds_studies.datasets import load
from trueodds_studies.papers.enir import extras
from trueodds_studies.papers.enir.authors import groups_cut_by_label
from trueodds_studies.papers.enir.naive_bayes import counting_naive_bayes
from trueodds_studies.papers.enir.numbers import ALL_FOLDS, SETS, column_of, sets_at_hand
from trueodds_studies.papers.enir.report import report
from trueodds_studies.papers.enir.simulated import (
    KERNELS,
    METHODS,
    calibrated,
    simulated_scores,
    simulated_sources,
)

__all__ = ["STUDY"]

Indices = npt.NDArray[np.intp]

N_FOLDS, N_SIMULATED = 10, 10
REPEATS = {"quick": 1, "standard": 10, "full": 10}
QUICK_ROWS = 700
"""Most rows of a set in the quick profile."""
WIDE = ("ad", "colon-cancer", "duke", "leu")
"""Sets with more than a thousand features, which the quick profile leaves out too."""
SLOW = ("ad", "w1a")
"""Sets whose linear SVM takes minutes."""
FEW_ROWS, LATER = 4000, 1e9
"""One worker runs larger and slow sets last, and the first run of each before the second."""

NOMINAL_CODES = ("mushroom",)
"""Sets whose nominal features are numbers in the file."""


class _Data(NamedTuple):
    indicators: Floats  # a column for each category, missing as the mean
    codes: Floats  # categories as codes, NaN for missing
    nominal: npt.NDArray[np.bool_]
    y: npt.NDArray[np.int8]


def _logistic_regression(data: _Data, train: Indices, test: Indices) -> list[Floats]:
    from sklearn.linear_model import LogisticRegression

    return _margins(LogisticRegression(max_iter=500), data, train, test)


def _linear_svm(data: _Data, train: Indices, test: Indices) -> list[Floats]:
    from sklearn.svm import LinearSVC

    return _margins(LinearSVC(dual="auto", max_iter=2000, random_state=0), data, train, test)


def _margins(model: Any, data: _Data, train: Indices, test: Indices) -> list[Floats]:
    """Return decision values of a linear model of standardized features."""
    from sklearn.exceptions import ConvergenceWarning

    X = data.indicators
    center, spread = X[train].mean(axis=0), X[train].std(axis=0)
    spread[spread == 0] = 1
    with warnings.catch_warnings():
        # Convergence is not needed: the study compares methods on the same decision values.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit((X[train] - center) / spread, data.y[train])
    return [model.decision_function((X[rows] - center) / spread) for rows in (train, test)]


def _naive_bayes(data: _Data, train: Indices, test: Indices) -> list[Floats]:
    """Log-odds; infinite where a probability is below what float64 holds."""
    learn = counting_naive_bayes(data.nominal, 2)
    found = learn(data.codes[train], data.y[train], [data.codes[train], data.codes[test]])
    with np.errstate(divide="ignore"):
        return [np.log(p[:, 1]) - np.log(p[:, 0]) for p in found]


LEARNERS: dict[str, Callable[[_Data, Indices, Indices], list[Floats]]] = {
    "LR": _logistic_regression,
    "SVM": _linear_svm,
    "NB": _naive_bayes,
}


def tasks(profile: str) -> list[Task]:
    """The simulated experiment; sets × repeats × models × methods."""
    found = crossed(
        "simulated",
        source=simulated_sources(),
        kernel=list(KERNELS),
        repeat=range(N_SIMULATED),
        method=list(METHODS),
    )
    for name in sets_at_hand():
        rows = SETS[name].rows
        if profile == "quick" and (rows > QUICK_ROWS or name in WIDE):
            continue
        found += crossed(
            "real",
            set=name,
            rows=rows,
            repeat=range(REPEATS[profile]),
            model=list(LEARNERS),
            method=list(METHODS),
        )
    return [*found, *extras.tasks(profile)]


@lru_cache(maxsize=2)
def _data(name: str, rows: int) -> _Data:
    pandas = need("pandas")
    source = SETS[name]
    dataset = load(source.name)
    # The multi-label scenes: features and labels are in two files of the same rows.
    X = load("scene-classification").X if source.name == "scene-labels" else dataset.X
    if source.name in NOMINAL_CODES:
        X = X.astype("category")
    labels = np.asarray(dataset.y).astype(str)
    y = (
        np.isin(labels, source.positive).astype(np.int8)
        if source.positive
        else binary_labels(dataset.y)
    )
    if rows < len(y):
        from sklearn.model_selection import train_test_split

        kept, _ = train_test_split(
            np.arange(len(y)),
            train_size=rows,
            stratify=y,
            random_state=stable_seed("rows", name, rows),
        )
        X, y = X.iloc[kept], y[kept]
    frame = pandas.get_dummies(X, dtype=np.float64)
    indicators = frame.fillna(frame.mean()).fillna(0.0).to_numpy(np.float64)  # 0: nothing known
    return _Data(indicators, *coded_matrix(X), y)


def run(todo: Sequence[Task], scratch: Scratch) -> Iterator[tuple[Task, Row | list[Row]]]:
    """All models and methods on the ten folds of one run, or in one simulated run."""
    if todo[0].part in ("binning", "time"):
        yield from extras.run_extras(todo)
        return
    kept: dict[str, list[Arrays]] = {}
    for task in todo:
        if task.part == "simulated":
            scores = simulated_scores(*task.pick("source", "kernel", "repeat"))
            yield task, _measures(scores["y_test"], calibrated(task["method"], scores))
            continue
        if task["model"] not in kept:
            kept[task["model"]] = _real_scores(task, scratch)
        folds = kept[task["model"]]
        labels = [scores["y_test"] for scores in folds]
        forecasts = [calibrated(task["method"], scores) for scores in folds]
        rows: list[Row] = [
            {"fold": number, **_measures(y, p)}
            for number, (y, p) in enumerate(zip(labels, forecasts, strict=True))
        ]
        y = np.concatenate(labels)
        together = _measures(y, np.concatenate(forecasts))
        rarer = float(min(y.mean(), 1 - y.mean()))
        yield task, [*rows, {"fold": ALL_FOLDS, "rarer": rarer, **together}]


def _real_scores(task: Task, scratch: Scratch) -> list[Arrays]:
    """Scores of the training rows and the test rows of every fold."""
    name, rows, repeat, model = task.pick("set", "rows", "repeat", "model")
    data = _data(name, rows)
    seed = stable_seed("outer", name, repeat)
    folds = [
        stratified_fold(data.y, n_folds=N_FOLDS, fold=number, seed=seed)
        for number in range(N_FOLDS)
    ]

    def compute() -> Arrays:
        found: Arrays = {}
        for number, fold in enumerate(folds):
            pair = LEARNERS[model](data, fold.train, fold.test)
            found |= {f"train{number}": pair[0], f"test{number}": pair[1]}
        return found

    description = {"study": "enir", "set": name, "rows": rows, "outer": seed, "model": model}
    arrays = scratch.arrays({**description, "version": 2}, compute)
    return [
        {
            "train": arrays[f"train{number}"],
            "test": arrays[f"test{number}"],
            "y": data.y[fold.train],
            "y_test": data.y[fold.test],
        }
        for number, fold in enumerate(folds)
    ]


N_GROUPS = 10


def _measures(y: npt.NDArray[Any], p: Floats) -> Row:
    """Return the measures by each reading; values that all readings share occur once."""
    from sklearn.metrics import roc_auc_score

    area = float(roc_auc_score(y, p))
    row = {
        "AUC": area,
        column_of("AUC", "program"): max(area, 1 - area),
        "ACC": accuracy(y, p, classes=[0, 1]),
        "RMSE": root_mean_squared_error(y, p, classes=[0, 1]),
    }
    ways: dict[str, dict[str, Any]] = {
        "text": {},
        "shared": {"strategy": "quantile", "ties": "share"},
    }
    for view, options in ways.items():
        options |= {"n_bins": N_GROUPS, "classes": [0, 1]}
        row[column_of("ECE", view)] = expected_calibration_error(y, p, **options)
        row[column_of("MCE", view)] = maximum_calibration_error(y, p, **options)
    groups = groups_cut_by_label(y, p, N_GROUPS)
    gaps = [float(abs(p[rows].mean() - y[rows].mean())) for rows in groups]
    row[column_of("ECE", "program")] = float(np.average(gaps, weights=[len(g) for g in groups]))
    row[column_of("MCE", "program")] = max(gaps)
    return row


def cost(task: Task) -> float:
    """Return a cost about proportional to the rows, plus a constant for every fit."""
    if task.part != "real":
        return 1000.0
    rows: int = task["rows"]
    seconds = N_FOLDS * (300.0 + rows + (3000 if task["set"] in WIDE else 0))
    turn = int(task["repeat"])
    if task["set"] in SLOW:
        return seconds + LATER * (turn + 0.5)
    return seconds + LATER * turn if rows > FEW_ROWS else seconds


STUDY = Study(
    name="enir",
    title="ENIR: the paper's experiments again",
    paper=(
        "Naeini and Cooper (2016), Binary classifier calibration using an ensemble of near "
        "isotonic regression models, ICDM."
    ),
    version=2,
    profiles={
        "quick": f"one run of 10-fold cross-validation on sets of at most {QUICK_ROWS} rows",
        "standard": "ten runs of 10-fold cross-validation on every set and all its rows, as in the "
        "paper",
        "full": "the same as standard, which is the paper's whole protocol already",
    },
    tasks=tasks,
    run=run,
    report=report,
    together=("set", "source", "repeat", "curve", "n"),
    cost=cost,
)
