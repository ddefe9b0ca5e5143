"""The experiments of the calibration trees paper: 32 sets, four base learners.

The protocol is that of section 5: ten runs of 10-fold cross-validation. In each fold, the scores to
calibrate come from 5-fold cross-validation of the base learner, which is then fitted to the whole
training part. Platt scaling and trees use the log-odds of probabilities, and scores of SVMs
unchanged. Isotonic regression is one-vs-rest. RMSE is equation 3.

As in the authors' program, exact 0 and 1 count as 0.00001 and 0.99999 in log-odds, and no other
probability is changed. The tree is fitted to the log-odds of all classes, also of two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from trueodds import IsotonicCalibrator, LogisticCalibrator
from trueodds.inputs import Floats
from trueodds.metrics import reliability_curve, root_mean_squared_error
from trueodds_studies._learners import Learner
from trueodds_studies._protocol import Fold, quietly, stratified_fold
from trueodds_studies._scratch import Arrays, Scratch
from trueodds_studies._study import Row, Study
from trueodds_studies._task import Task, crossed, stable_seed
from trueodds_studies.papers.trees.artificial import (
    artificial_tasks,
    run_artificial,
    run_surface,
)
from trueodds_studies.papers.trees.data import TWO_CLASSES, TreesData, trees_data
from trueodds_studies.papers.trees.learners import logit_boost, rbf_svm, weka_naive_bayes
from trueodds_studies.papers.trees.numbers import METHODS, MODELS, sets_at_hand
from trueodds_studies.papers.trees.paper_tree import AuthorsTree
from trueodds_studies.papers.trees.plan import PROFILES, fold_seconds, folds_of, sets_of
from trueodds_studies.papers.trees.report import FIGURE_5, report
from trueodds_studies.papers.trees.svm_example import example_rows, example_tasks

__all__ = ["STUDY", "log_odds"]

N_FOLDS, N_INNER, N_BINS = 10, 5, 30
BASE = "base"
CHEAP = 2.0
"""Most seconds of a fold with naive Bayes for which the tree's variants are run."""
VARIANTS: dict[str, dict[str, Any]] = {
    "PCT-raw": {},
    "PCT-error": {"pruning": "error"},
    "PCT-15": {"min_samples": 15},
}
"""Scores that are not log-odds; pruning by the error rate; leaves as small as in the text."""
FREQUENT = ("sick",)
"""Sets of figure 5 whose frequent class is the positive one, as in the paper."""
ZERO, ONE = 1e-5, 0.99999
"""Replacements of probabilities of exactly 0 and 1 in the authors' program."""


def tasks(profile: str) -> list[Task]:
    """Sets × folds × models × methods; reliability diagrams; the artificial examples."""
    found: list[Task] = []
    names = sets_of(profile, sets_at_hand())
    for name in names:
        for model in MODELS:
            for repeat, fold in folds_of(profile, model, name):
                found += crossed(
                    "cv", set=name, repeat=repeat, fold=fold, model=model, method=list(METHODS)
                )
        if fold_seconds("naive-bayes", name) <= CHEAP:
            found += crossed(
                "variants", set=name, repeat=0, fold=range(N_FOLDS), model="naive-bayes",
                method=list(VARIANTS),
            )  # fmt: skip
    for name in FIGURE_5:
        if TWO_CLASSES.get(name, (name,))[0] in names:
            found += crossed("reliability", set=name, method=[BASE, *METHODS])
    return [*found, *artificial_tasks(), *example_tasks()]


class Scored(NamedTuple):
    """A fold: out-of-fold scores of its training rows, and scores of its test rows."""

    data: TreesData
    fold: Fold
    train: Floats
    test: Floats
    margins: bool


def log_odds(p: Floats) -> Floats:
    """Equation 4, as the authors' program computes it."""
    p = np.where(p == 0, ZERO, np.where(p == 1, ONE, p))
    return np.asarray(np.log(p / (1 - p)))


def _learner(model: str, data: TreesData, fold: Fold, seed: int) -> Learner:
    if model == "naive-bayes":
        return weka_naive_bayes(data.n_values, data.n_classes)
    if model == "svm":
        rows = fold.train
        return rbf_svm(data.n_values, data.n_classes, data.X[rows], data.y[rows], seed=seed)
    depth = {"stumps": 1, "boosted-trees": 3}[model]
    return logit_boost(data.n_values, data.n_classes, depth=depth)


def _scores(scratch: Scratch, name: str, repeat: int, number: int, model: str) -> Scored:
    data = trees_data(name)
    seed = stable_seed("outer", name, repeat)
    fold = stratified_fold(data.y, n_folds=N_FOLDS, fold=number, seed=seed)
    inner = stable_seed("inner", name, repeat, number)

    def compute() -> Arrays:
        learner = _learner(model, data, fold, inner)
        X, y = data.X[fold.train], data.y[fold.train]
        scores = np.empty((len(y), data.n_classes))
        for i in range(N_INNER):
            part = stratified_fold(y, n_folds=N_INNER, fold=i, seed=inner)
            (scores[part.test],) = learner(X[part.train], y[part.train], [X[part.test]])
        return {"train": scores, "test": learner(X, y, [data.X[fold.test]])[0]}

    if model == "naive-bayes":  # as fast as reading its scores from disk
        arrays = compute()
    else:
        key = {"study": "trees", "set": name, "outer": seed, "fold": number, "model": model}
        arrays = scratch.arrays({**key, "version": 3}, compute)
    return Scored(data, fold, arrays["train"], arrays["test"], model == "svm")


def _calibrated(method: str, at: Scored) -> tuple[Floats, int]:
    """Probabilities of the test rows, and the number of leaves if it is a tree."""
    if method == BASE:
        return at.test, 0
    y, classes = at.data.y[at.fold.train], np.arange(at.data.n_classes)
    if method == "IR" and not at.margins:
        return IsotonicCalibrator(classes=classes).fit(at.train, y).predict_proba(at.test), 0
    plain = at.margins or method == "PCT-raw"
    scores, test = (s if plain else log_odds(s) for s in (at.train, at.test))
    if method == "PCT" or method in VARIANTS:
        options = VARIANTS.get(method, {})
        tree = AuthorsTree(
            scale="raw", classes=classes, categorical=at.data.nominal, **options
        ).fit(scores, y, features=at.data.X[at.fold.train])
        return tree.predict_proba(test, features=at.data.X[at.fold.test]), tree.n_leaves_
    if len(classes) > 2:
        kind = {"PS": LogisticCalibrator, "IR": IsotonicCalibrator}[method]
        return kind(scale="raw", classes=classes).fit(scores, y).predict_proba(test), 0
    # With two classes, the column of the first: with exact 0 and 1 moved it does not mirror the
    # other.
    kind = {"PS": LogisticCalibrator, "IR": IsotonicCalibrator}[method]
    p = kind(scale="raw").fit(scores[:, 0], y == 0).predict_proba(test[:, 0])
    return p[:, ::-1], 0


def run(todo: Sequence[Task], scratch: Scratch) -> Iterator[tuple[Task, Row | list[Row]]]:
    """All models and methods on one fold, on one set for figure 5, or on one artificial set."""
    part = todo[0].part
    if part in ("cv", "variants"):
        yield from _run_fold(todo, scratch)
    elif part == "reliability":
        yield from _run_reliability(todo, scratch)
    elif part == "rdg1":
        yield from ((task, example_rows(task)) for task in todo)
    elif part == "surface":
        yield from run_surface(todo)
    else:
        yield from run_artificial(todo)


def _run_fold(todo: Sequence[Task], scratch: Scratch) -> Iterator[tuple[Task, Row]]:
    scored: dict[str, Scored] = {}
    for task in todo:
        model = task["model"]
        with quietly():
            if model not in scored:
                scored[model] = _scores(scratch, *task.pick("set", "repeat", "fold", "model"))
            p, n_leaves = _calibrated(task["method"], scored[model])
        data, fold = scored[model].data, scored[model].fold
        error = root_mean_squared_error(data.y[fold.test], p, classes=np.arange(data.n_classes))
        yield task, {"rmse": error, **({"n_leaves": n_leaves} if n_leaves else {})}


def _run_reliability(todo: Sequence[Task], scratch: Scratch) -> Iterator[tuple[Task, list[Row]]]:
    name = todo[0]["set"]
    folds = [_scores(scratch, name, 0, i, "naive-bayes") for i in range(N_FOLDS)]
    y = np.concatenate([at.data.y[at.fold.test] for at in folds])
    positive = int(y.mean() > 0.5) if name in FREQUENT else 1
    y = (y == positive).astype(np.int64)
    for task in todo:
        with quietly():
            p = np.concatenate([_calibrated(task["method"], at)[0][:, positive] for at in folds])
        curve = reliability_curve(y, p, strategy="quantile", n_bins=N_BINS, band=None)
        points = zip(curve.prob_pred, curve.prob_true, curve.weight, strict=True)
        yield (
            task,
            [
                {"predicted": float(a), "observed": float(b), "weight": float(w)}
                for a, b, w in points
            ],
        )


def cost(task: Task) -> float:
    """Return CPU seconds of a fold, shared by its methods; the other parts are cheap."""
    if task.part not in ("cv", "variants"):
        return 0.5
    # One worker then runs the first run of most sets before the tenth of any.
    turn = 1 + int(task["repeat"])
    return fold_seconds(task["model"], task["set"]) * turn / len(METHODS)


STUDY = Study(
    name="trees",
    title="Probability calibration trees: the paper's experiments again",
    paper=("Leathart, Frank, Holmes and Pfahringer (2017), Probability calibration trees, ACML."),
    version=3,
    profiles=PROFILES,
    tasks=tasks,
    run=run,
    report=report,
    together=("set", "repeat", "fold", "model", "replicate"),
    cost=cost,
)
