"""The experiments of the Bayesian isotonic paper: synthetic scores, then sets × nine models.

Real data as in section 5.2: 20,000 rows, nested folds, models trained on 3000 rows of the inner
training folds with scikit-learn's default parameters (leaves of at least 10 in the decision tree),
maps fitted on 100, 1000 or 3000 rows of the inner fold and tested on the outer one. What the paper
leaves open: subsamples are stratified, because a random hundred may have one class only; margins
of the support vector machine become scores in (0, 1) by the logistic function; log-loss keeps
probabilities 1e-15 away from 0 and 1. Bayes-Iso is the authors' sampler with 10,000 draws; the
library's Markov chains are run beside it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy.special import expit

from trueodds import (
    BayesianIsotonicCalibrator,
    BetaCalibrator,
    ENIRCalibrator,
    IsotonicCalibrator,
    LogisticCalibrator,
)
from trueodds.calibrators import Calibrator
from trueodds.validation import Floats
from trueodds_studies._papers._bayes_isotonic_numbers import SIZES, sets_at_hand
from trueodds_studies._papers._bayes_isotonic_report import report
from trueodds_studies._protocol import (
    as_matrix,
    binary_labels,
    clipped_log_loss,
    quietly,
    stratified_fold,
)
from trueodds_studies._scratch import Arrays, Scratch
from trueodds_studies._study import Row, Study
from trueodds_studies._task import Task, crossed, stable_seed
from trueodds_studies.datasets import load, make_beta_mixture

__all__ = ["STUDY"]

N_ROWS, N_TRAIN, N_FOLDS, N_TEST = 20_000, 3000, 5, 100_000
END = 0.025
"""The share of rows at either end of the ranking that figure 3 looks at."""
SMOOTHING = 1e-10  # maximum likelihood without optimum on separable data: see the beta study
GRID = [round(i / 100, 2) for i in range(101)]
FOLDS = {"quick": (1, 1), "standard": (1, 1), "full": (N_FOLDS, N_FOLDS)}
REPLICATES = {"quick": 2, "standard": 10, "full": 10}
QUICK = {"set": ["2dplanes", "house_8L"], "model": ["DT", "NB", "LR"]}

_importance = partial(BayesianIsotonicCalibrator, sampler="importance", progress=False)
METHODS: dict[str, Callable[..., Calibrator]] = {
    "log": partial(LogisticCalibrator, axis="raw", label_smoothing=SMOOTHING),
    "log-platt": partial(LogisticCalibrator, axis="raw", label_smoothing="platt"),
    "beta": partial(BetaCalibrator, label_smoothing=SMOOTHING),
    "beta-platt": partial(BetaCalibrator, label_smoothing="platt"),
    "iso": IsotonicCalibrator,
    "iso-platt": partial(IsotonicCalibrator, label_smoothing="platt"),
    "enir": partial(ENIRCalibrator, criterion="bic-authors"),  # the package that the paper used
    "enir-platt": partial(ENIRCalibrator, criterion="bic-authors", label_smoothing="platt"),
    "bayes-iso": _importance,
    "chains": partial(BayesianIsotonicCalibrator, progress=False),
}
CURVES = ["bayes-iso", "enir-platt", "iso-platt", "beta", "log-platt", "chains"]


def _models(seed: int) -> dict[str, Any]:
    from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    return {
        "DT": DecisionTreeClassifier(min_samples_leaf=10, random_state=seed),
        "NB": GaussianNB(),
        "SVM": SVC(),
        "RF": RandomForestClassifier(random_state=seed),
        "LR": LogisticRegression(),
        "KNN": KNeighborsClassifier(),
        "ADA": AdaBoostClassifier(random_state=seed),
        "BAG-DT": BaggingClassifier(random_state=seed),
        "ANN": MLPClassifier(random_state=seed),
    }


MODELS = ["DT", "NB", "SVM", "RF", "LR", "KNN", "ADA", "BAG-DT", "ANN"]


def tasks(profile: str) -> list[Task]:
    """Table 1, curves for figures 5 and 6, and the real sets that are at hand."""
    replicates = range(REPLICATES[profile])
    synthetic = ["ideal", *METHODS]
    outer, inner = FOLDS[profile]
    names, models = sets_at_hand(), MODELS
    if profile == "quick":
        names, models = [name for name in names if name in QUICK["set"]], QUICK["model"]
    return [
        *crossed("synthetic", n=SIZES, replicate=replicates, method=synthetic),
        *crossed("curves", n=1000, replicate=replicates, method=CURVES),
        *crossed("runs", n=SIZES, replicate=0, method="bayes-iso", run=replicates),
        *crossed(
            "real",
            set=names,
            outer=range(outer),
            inner=range(inner),
            model=models,
            size=SIZES,
            method=list(METHODS),
        ),
    ]


def run(todo: Sequence[Task], scratch: Scratch) -> Iterator[tuple[Task, Row | list[Row]]]:
    """All methods on one synthetic sample, or on one trained model."""
    if todo[0].part == "real":
        yield from _run_real(todo, scratch)
    elif todo[0].part == "synthetic":
        yield from _run_synthetic(todo)
    else:
        yield from _run_curves(todo)


def _fitted(method: str, scores: Floats, y: Any, **options: Any) -> Calibrator:
    with quietly():
        return METHODS[method](**options).fit(scores, y)


def _losses(y: Any, p: Floats) -> dict[str, float]:
    return {
        "log_loss": clipped_log_loss(y, p, clip=1e-15),
        "brier_score": float(np.mean((p - y) ** 2)),
    }


def _sample(task: Task) -> Any:
    n, replicate = task.pick("n", "replicate")
    return make_beta_mixture(n, random_state=stable_seed("fit", n, replicate))


def _run_synthetic(todo: Sequence[Task]) -> Iterator[tuple[Task, Row]]:
    data = _sample(todo[0])
    test = make_beta_mixture(N_TEST, random_state=stable_seed("test", todo[0]["replicate"]))
    for task in todo:
        if task["method"] == "ideal":
            p, extra = test.probability, {}
        else:
            calibrator = _fitted(task["method"], data.scores, data.y)
            p = calibrator.predict_proba(test.scores)[:, 1]
            extra = _weight_of_heaviest(calibrator)
        yield task, {**_losses(test.y, p), **extra}


def _weight_of_heaviest(calibrator: Any) -> dict[str, float]:
    """The share of the heaviest sampled map, of Bayes-Iso only."""
    weight = getattr(calibrator, "max_weight_", None)
    return {} if weight is None else {"heaviest": float(weight)}


def _run_curves(todo: Sequence[Task]) -> Iterator[tuple[Task, list[Row]]]:
    """Maps on a grid; with the limits of the sampler if it has any (figure 6)."""
    data = _sample(todo[0])
    for task in todo:
        seed = {"random_state": task["run"]} if task.part == "runs" else {}
        calibrator: Any = _fitted(task["method"], data.scores, data.y, **seed)
        columns = {"score": GRID, "probability": calibrator.predict_proba(GRID)[:, 1]}
        if task.part == "runs":
            posterior = calibrator.posterior_
            for name, bound in zip(("lower", "upper"), posterior.bounds, strict=True):
                columns[name] = np.interp(GRID, posterior.score, bound)
        rows = zip(*columns.values(), strict=True)
        yield task, [dict(zip(columns, map(float, row), strict=True)) for row in rows]


@lru_cache(maxsize=1)
def _data(name: str) -> tuple[Floats, Any]:
    """20,000 rows with two classes; of the letters U is positive, as in the authors' program."""
    dataset = load(name)
    y = np.asarray(dataset.y)
    y = np.asarray(y == "U", dtype=np.int8) if name == "letter" else binary_labels(y)
    rows = np.random.default_rng(stable_seed("rows", name)).permutation(len(y))[:N_ROWS]
    return as_matrix(dataset.X)[rows], y[rows]


def _some(rows: Any, y: Any, size: int, seed: int) -> Any:
    """A stratified subsample of row numbers."""
    from sklearn.model_selection import train_test_split

    return train_test_split(rows, train_size=size, stratify=y[rows], random_state=seed)[0]


def _model_scores(name: str, model: str, outer: int, inner: int) -> Arrays:
    X, y = _data(name)
    fold = stratified_fold(y, n_folds=N_FOLDS, fold=outer, seed=stable_seed("outer", name))
    seed = stable_seed("inner", name, outer)
    part = stratified_fold(y[fold.train], n_folds=N_FOLDS, fold=inner, seed=seed)
    train = _some(fold.train[part.train], y, N_TRAIN, seed)
    classifier = _models(seed)[model]
    with warnings.catch_warnings():  # default parameters stop early; they are the paper's
        warnings.simplefilter("ignore")
        classifier.fit(X[train], y[train])
    held_out = fold.train[part.test]
    arrays: Arrays = {"fit_y": y[held_out], "test_y": y[fold.test]}
    for key, rows in (("fit", held_out), ("test", fold.test)):
        if model == "SVM":
            arrays[key] = np.asarray(expit(classifier.decision_function(X[rows])))
        else:
            arrays[key] = classifier.predict_proba(X[rows])[:, 1]
    return arrays


def _run_real(todo: Sequence[Task], scratch: Scratch) -> Iterator[tuple[Task, Row]]:
    name, model, outer, inner = todo[0].pick("set", "model", "outer", "inner")
    description = {"set": name, "model": model, "outer": outer, "inner": inner, "version": 1}
    data = scratch.arrays(description, lambda: _model_scores(name, model, outer, inner))
    y, order = data["test_y"], np.argsort(data["test"], kind="stable")
    n_end = round(END * len(y))
    low, high = order[:n_end], order[-n_end:]
    correct = float(np.mean((data["test"] > 0.5) == (y == 1)))
    for task in todo:
        size = task["size"]
        seed = stable_seed("calibration", name, outer, inner, size)
        rows = _some(np.arange(len(data["fit_y"])), data["fit_y"], size, seed)
        calibrator = _fitted(task["method"], data["fit"][rows], data["fit_y"][rows])
        p = calibrator.predict_proba(data["test"])[:, 1]
        yield (
            task,
            {
                **_losses(y, p),
                # Positive: over-confident, that is nearer to 0 (to 1) than the labels are.
                "low_excess": float(y[low].mean() - p[low].mean()),
                "high_excess": float(p[high].mean() - y[high].mean()),
                "accuracy": correct,
                **_weight_of_heaviest(calibrator),
            },
        )


def cost(task: Task) -> float:
    """The authors' sampler takes time in proportion to the instances; chains hardly."""
    size = float(task["size"] if task.part == "real" else task["n"])
    costs = {"bayes-iso": 0.01 + 3e-4 * size, "chains": 0.2}
    return costs.get(str(task["method"]), 0.02)


STUDY = Study(
    name="bayes-isotonic",
    title="Bayesian isotonic calibration: the paper's experiments again",
    paper=(
        "Allikivi and Kull (2019), Non-parametric Bayesian Isotonic Calibration: Fighting "
        "Over-confidence in Binary Classification, ECML PKDD."
    ),
    version=1,
    profiles={
        "quick": "two synthetic samples of each size, one fold of two sets with three models",
        "standard": "ten synthetic samples of each size, one of the 25 folds with nine models",
        "full": "ten synthetic samples of each size, all 5 × 5 folds, as in the paper",
    },
    tasks=tasks,
    run=run,
    report=report,
    together=("set", "outer", "inner", "model", "n", "replicate"),
    cost=cost,
)
