"""The experiments of the calibration trees paper: 32 sets, four base learners.

Read from the paper (section 5): 10-fold cross-validation, ten times; inside each fold the scores to
calibrate come from 5-fold cross-validation of the base learner, which is then fitted on the whole
training part; probabilities are turned into log-odds for Platt scaling and trees, scores of SVMs
are not; Platt scaling and isotonic regression take one class against the rest. RMSE is equation 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trueodds import IsotonicCalibrator, LogisticCalibrator, TreeCalibrator
from trueodds.calibrators import Calibrator
from trueodds.metrics import reliability_curve, root_mean_squared_error
from trueodds.validation import Floats
from trueodds_studies._learners import Learner, coded_matrix
from trueodds_studies._papers._trees_learners import boosting, rbf_svm, weka_naive_bayes
from trueodds_studies._papers._trees_numbers import METHODS, MODELS, SETS, TreesSource, sets_at_hand
from trueodds_studies._papers._trees_report import FIGURE_5, report
from trueodds_studies._protocol import Fold, inner_scores, quietly, stratified_fold
from trueodds_studies._scratch import Scratch
from trueodds_studies._study import Row, Study
from trueodds_studies._task import Task, crossed, stable_seed
from trueodds_studies.datasets import load, make_regions

__all__ = ["STUDY"]

N_FOLDS, N_INNER, N_BINS, N_ARTIFICIAL = 10, 5, 30, 10
BASE = "base"
STANDARD_ROWS, STANDARD_CLASSES, STANDARD_BOOSTED = 1000, 5, 6000
QUICK_SETS = ("credit-rating", "tic-tac-toe", "vote")
IDENTIFIERS = {"cylinder-bands": ["x0", "x1", "x2", "x3"]}
NOMINAL = ("led24", "mfeat-pixel", "nursery", "phishing", "tic-tac-toe", "vote")
"""Sets whose attributes are all categories, though the file has numbers."""
TWO_CLASSES = {"nursery-two": ("nursery", ("priority", "spec_prior"))}
"""A set with only some of its classes, for figure 5."""


def tasks(profile: str) -> list[Task]:
    """Sets × folds × models × methods; reliability diagrams; the artificial example."""
    found: list[Task] = []
    names = [name for name in sets_at_hand() if profile != "quick" or name in QUICK_SETS]
    for name in names:
        source = SETS[name]
        for model in MODELS:
            n_folds = N_FOLDS if profile == "full" else _standard_folds(model, source)
            if n_folds:
                found += crossed(
                    "cv",
                    set=name,
                    rows=source.rows if profile == "full" else min(source.rows, STANDARD_ROWS),
                    repeat=range(10 if profile == "full" else 1),
                    fold=range(n_folds),
                    model=model,
                    method=list(METHODS),
                )
    for name in FIGURE_5:
        origin = TWO_CLASSES[name][0] if name in TWO_CLASSES else name
        if origin in names:
            rows = SETS[origin].rows
            rows = rows if profile == "full" else min(rows, STANDARD_ROWS)
            found += crossed("reliability", set=name, rows=rows, method=[BASE, *METHODS])
    replicates = range(N_ARTIFICIAL)
    return found + crossed("artificial", replicate=replicates, method=[BASE, *METHODS, "truth"])


def _standard_folds(model: str, source: TreesSource) -> int:
    """How many of the ten folds the standard profile runs: what takes long gets fewer."""
    few_classes = source.n_classes <= STANDARD_CLASSES
    if model == "naive-bayes":
        return N_FOLDS if few_classes else N_FOLDS // 2
    if model == "svm":
        return N_FOLDS // 2 if source.n_classes == 2 and source.rows <= STANDARD_ROWS else 0
    return N_FOLDS // 2 if few_classes and source.rows <= STANDARD_BOOSTED else 0


class _Data(NamedTuple):
    frame: Any  # attributes as the tree takes them
    matrix: Floats  # codes of categories, NaN for missing
    nominal: npt.NDArray[np.bool_]
    y: npt.NDArray[np.int64]
    n_classes: int


@lru_cache(maxsize=3)
def _data(name: str, rows: int) -> _Data:
    """A set, or a random sample of its rows (stratified as far as its rarest classes allow)."""
    source, kept_classes = TWO_CLASSES.get(name, (name, None))
    dataset = load(SETS[source].name)
    labels = np.asarray(dataset.y).astype(str)
    frame = dataset.X.drop(columns=IDENTIFIERS.get(name, []))
    if kept_classes is not None:
        kept = np.isin(labels, kept_classes)
        frame, labels = frame[kept], labels[kept]
    names, y = np.unique(labels, return_inverse=True)
    if rows < len(y):
        rng = np.random.default_rng(stable_seed("rows", name, rows))
        # Sorted by class, every so-many-th row of a shuffled order: a stratified sample.
        shuffled = rng.permutation(len(y))
        by_class = shuffled[np.argsort(y[shuffled], kind="stable")]
        kept = np.sort(by_class[(np.arange(rows) * len(y)) // rows])
        frame, y = frame.iloc[kept], y[kept]
    if source in NOMINAL:
        frame = frame.astype("category")
    frame = frame.reset_index(drop=True)
    matrix, nominal = coded_matrix(frame)
    return _Data(frame, matrix, nominal, y, len(names))


def _learner(model: str, data: _Data, fold: Fold, seed: int) -> Learner:
    if model == "naive-bayes":
        return weka_naive_bayes(data.nominal, data.n_classes)
    if model == "svm":
        rows = fold.train
        return rbf_svm(data.nominal, data.n_classes, data.matrix[rows], data.y[rows], seed=seed)
    depth = {"stumps": 1, "boosted-trees": 3}[model]
    return boosting(data.nominal, data.n_classes, depth=depth)


def _scores(
    scratch: Scratch, name: str, rows: int, repeat: int, number: int, model: str
) -> tuple[_Data, Fold, Floats, Floats]:
    """The set, the fold, out-of-fold scores of its training rows, and scores of its test rows."""
    data = _data(name, rows)
    seed = stable_seed("outer", name, repeat)
    fold = stratified_fold(data.y, n_folds=N_FOLDS, fold=number, seed=seed)
    inner = stable_seed("inner", name, repeat, number)
    description = {"study": "trees", "set": name, "rows": rows, "outer": seed, "fold": number}
    with quietly():
        found = inner_scores(
            scratch,
            {**description, "model": model, "version": 1},
            _learner(model, data, fold, inner),
            data.matrix,
            data.y,
            fold,
            n_inner=N_INNER,
            seed=inner,
            refit=True,
        )
    return data, fold, found.out_of_fold, np.asarray(found.refit)


def _calibrated(
    method: str, data: _Data, fold: Fold, scores: Floats, test: Floats, *, margins: bool
) -> tuple[Floats, Calibrator | None]:
    if method == BASE:
        return test, None
    classes = np.arange(data.n_classes)
    scale: Any = "score" if margins else "probability"
    if margins and data.n_classes == 2:
        scores, test = scores[:, 1], test[:, 1]
    y = data.y[fold.train]
    with quietly():
        if method == "PCT":
            tree = TreeCalibrator(input=scale, classes=classes)
            tree.fit(scores, y, features=data.frame.iloc[fold.train])
            return tree.predict_proba(test, features=data.frame.iloc[fold.test]), tree
        kind = {"PS": LogisticCalibrator, "IR": IsotonicCalibrator}[method]
        calibrator = kind(input=scale, classes=classes).fit(scores, y)
        return calibrator.predict_proba(test), calibrator


def run(todo: Sequence[Task], scratch: Scratch) -> Iterator[tuple[Task, Row | list[Row]]]:
    """All models and methods on one fold, on one set for figure 5, or on one artificial set."""
    part = todo[0].part
    if part == "cv":
        yield from _run_fold(todo, scratch)
    elif part == "reliability":
        yield from _run_reliability(todo, scratch)
    else:
        yield from _run_artificial(todo)


def _run_fold(todo: Sequence[Task], scratch: Scratch) -> Iterator[tuple[Task, Row]]:
    kept: dict[str, Any] = {}
    for task in todo:
        model = task["model"]
        if model not in kept:
            kept[model] = _scores(scratch, *task.pick("set", "rows", "repeat", "fold", "model"))
        data, fold, scores, test = kept[model]
        p, calibrator = _calibrated(
            task["method"], data, fold, scores, test, margins=model == "svm"
        )
        error = root_mean_squared_error(data.y[fold.test], p, classes=np.arange(data.n_classes))
        row: dict[str, float] = {"rmse": error}
        if isinstance(calibrator, TreeCalibrator):
            row["n_leaves"] = calibrator.n_leaves_
        yield task, row


def _run_reliability(todo: Sequence[Task], scratch: Scratch) -> Iterator[tuple[Task, list[Row]]]:
    name, rows = todo[0].pick("set", "rows")
    folds = [_scores(scratch, name, rows, 0, i, "naive-bayes") for i in range(N_FOLDS)]
    for task in todo:
        p, y = [], []
        for data, fold, scores, test in folds:
            p.append(_calibrated(task["method"], data, fold, scores, test, margins=False)[0][:, 1])
            y.append(data.y[fold.test])
        curve = reliability_curve(
            np.concatenate(y), np.concatenate(p), strategy="quantile", n_bins=N_BINS, band=None
        )
        points = zip(curve.prob_pred, curve.prob_true, curve.weight, strict=True)
        yield (
            task,
            [
                {"predicted": float(a), "observed": float(b), "weight": float(w)}
                for a, b, w in points
            ],
        )


def _run_artificial(todo: Sequence[Task]) -> Iterator[tuple[Task, Row]]:
    """Section 4.3: a classifier that always predicts the class frequency."""
    rng = np.random.default_rng(stable_seed("artificial", todo[0]["replicate"]))
    train, test = (make_regions(n, random_state=rng) for n in (1000, 10_000))
    constant = float(train.y.mean())
    scores, new = (np.full(len(rows.y), constant) for rows in (train, test))
    for task in todo:
        method = task["method"]
        with quietly():
            if method == "truth":
                p = test.probability
            elif method == BASE:
                p = new
            elif method == "PCT":
                tree = TreeCalibrator().fit(scores, train.y, features=train.X)
                p = tree.predict_proba(new, features=test.X)[:, 1]
            else:
                kind = {"PS": LogisticCalibrator, "IR": IsotonicCalibrator}[method]
                p = kind().fit(scores, train.y).predict_proba(new)[:, 1]
        yield task, {"rmse": root_mean_squared_error(test.y, p, classes=[0, 1])}


def cost(task: Task) -> float:
    """About proportional to rows × classes; boosting is dearer than naive Bayes."""
    if task.part != "cv":
        return 3000.0
    factor = {"naive-bayes": 1.0, "stumps": 2.0, "boosted-trees": 4.0, "svm": 4.0}[task["model"]]
    rows: int = task["rows"]
    return factor * (300 + rows * SETS[task["set"]].n_classes)


STUDY = Study(
    name="trees",
    title="Probability calibration trees: the paper's experiments again",
    paper=("Leathart, Frank, Holmes and Pfahringer (2017), Probability calibration trees, ACML."),
    version=1,
    profiles={
        "quick": f"the standard profile on {len(QUICK_SETS)} small sets",
        "standard": f"one run of 10-fold cross-validation with {STANDARD_ROWS} rows of larger "
        f"sets: naive Bayes on every set (five of the folds if it has more than {STANDARD_CLASSES} "
        f"classes), boosting on five of the folds of sets of at most {STANDARD_CLASSES} classes "
        f"and {STANDARD_BOOSTED} rows, "
        f"SVMs on five of the folds of sets of two classes and at most {STANDARD_ROWS} rows",
        "full": "ten runs of 10-fold cross-validation on every set and all its rows, as in the "
        "paper",
    },
    tasks=tasks,
    run=run,
    report=report,
    together=("set", "repeat", "fold", "replicate"),
    cost=cost,
)
