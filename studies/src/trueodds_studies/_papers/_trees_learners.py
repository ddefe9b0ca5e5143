"""Base learners of the calibration trees paper, for any number of classes.

They work on float matrices in which nominal attributes are codes and missing values NaN; which
columns are nominal and how many classes there are is given beforehand. Each returns scores of shape
(n, n_classes), zeros for classes that the training rows lack.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp, ndtr

from trueodds.validation import Floats
from trueodds_studies._learners import Learner

__all__ = ["boosting", "rbf_svm", "weka_naive_bayes"]

Labels = npt.NDArray[Any]
GRID = tuple(10.0**power for power in range(-2, 3))


def weka_naive_bayes(nominal: npt.NDArray[np.bool_], n_classes: int) -> Learner:
    """Weka's naive Bayes: normal densities over intervals of an attribute's precision.

    Frequencies of nominal values and classes have Laplace's correction; missing values are left
    out.
    """

    def learn(X: Floats, y: Labels, others: Sequence[Floats]) -> list[Floats]:
        counts = np.bincount(y, minlength=n_classes)
        totals = [
            np.tile(np.log((counts + 1) / (counts.sum() + n_classes)), (len(other), 1))
            for other in others
        ]
        for j, is_nominal in enumerate(nominal):
            model = _nominal if is_nominal else _numeric
            add = model(X[:, j], y, n_classes)
            for total, other in zip(totals, others, strict=True):
                known = ~np.isnan(other[:, j])
                total[known] += add(other[known, j])
        return [np.exp(total - logsumexp(total, axis=1, keepdims=True)) for total in totals]

    return learn


def _numeric(x: Floats, y: Labels, n_classes: int) -> Callable[[Floats], Floats]:
    distinct = np.unique(x[~np.isnan(x)])
    precision = float(np.diff(distinct).mean()) if len(distinct) > 1 else 0.01
    mean, spread = np.zeros(n_classes), np.full(n_classes, precision / 6)
    rounded = np.rint(x / precision) * precision
    for k in range(n_classes):
        own = rounded[(y == k) & ~np.isnan(x)]
        if len(own):
            mean[k], spread[k] = own.mean(), max(float(own.std()), precision / 6)

    def add(values: Floats) -> Floats:
        z = np.rint(values / precision)[:, None] * precision - mean
        half = precision / 2
        mass = np.abs(ndtr((z + half) / spread) - ndtr((z - half) / spread))
        return np.asarray(np.log(np.maximum(mass, 1e-75)))

    return add


def _nominal(x: Floats, y: Labels, n_classes: int) -> Callable[[Floats], Floats]:
    known = ~np.isnan(x)
    size = int(x[known].max(initial=0)) + 1
    table = np.zeros((size, n_classes))
    np.add.at(table, (x[known].astype(int), y[known]), 1)
    seen = table.sum(axis=1) > 0
    table[seen] += 1
    logs = np.zeros_like(table)  # values that were not seen say nothing
    logs[seen] = np.log(table[seen] / table.sum(axis=0))
    padded = np.vstack([logs, np.zeros(n_classes)])
    return lambda values: padded[np.minimum(values.astype(int), size)]


def boosting(nominal: npt.NDArray[np.bool_], n_classes: int, *, depth: int) -> Learner:
    """A hundred boosted trees of a depth, by scikit-learn's histogram gradient boosting.

    Like LogitBoost it takes Newton steps on the log-loss, one regression tree for each class. It
    differs from it in bins of attributes (at most 255), in taking sets of categories and missing
    values as they are, and in its steps: halved, and with 1 added to the sum of second derivatives,
    because nothing bounds them as LogitBoost's limit on the response does. Whole Newton steps
    diverge on ``sick``, ``segment`` and ``page-blocks``.
    """

    def learn(X: Floats, y: Labels, others: Sequence[Floats]) -> list[Floats]:
        from sklearn.ensemble import HistGradientBoostingClassifier

        empty = np.isnan(X).all(axis=0)  # nothing to learn from, and an error in scikit-learn
        model = HistGradientBoostingClassifier(
            max_iter=100,
            max_depth=depth,
            learning_rate=0.5,
            l2_regularization=1.0,
            min_samples_leaf=1,
            early_stopping=False,
            categorical_features=nominal if nominal.any() else None,
            random_state=0,
        ).fit(np.where(empty, 0.0, X), y)
        found = []
        for other in others:
            p = np.zeros((len(other), n_classes))
            p[:, model.classes_] = model.predict_proba(np.where(empty, 0.0, other))
            found.append(p)
        return found

    return learn


def rbf_svm(
    nominal: npt.NDArray[np.bool_], n_classes: int, X_all: Floats, y_all: Labels, *, seed: int
) -> Learner:
    """One-vs-rest SVMs with RBF kernels; C and γ by 2-fold accuracy on the outer training rows.

    Attributes are scaled to [0, 1], nominal ones are indicators, missing values the mean or a
    category of its own. Of more than two classes a random sample is searched, as in the paper.
    """
    chosen: list[dict[str, float]] = []

    def learn(X: Floats, y: Labels, others: Sequence[Floats]) -> list[Floats]:
        from sklearn.multiclass import OneVsRestClassifier
        from sklearn.svm import SVC

        if not chosen:
            chosen.append(_search(_indicators(nominal, X_all, [X_all])[0], y_all, n_classes, seed))
        ready = _indicators(nominal, X, [X, *others])
        model = OneVsRestClassifier(SVC(**chosen[0])).fit(ready[0], y)
        found = []
        for other in ready[1:]:
            scores = np.full((len(other), n_classes), -1.0)
            margins = model.decision_function(other)
            two = margins.ndim == 1
            present = model.classes_[1:] if two else model.classes_
            scores[:, present] = margins[:, None] if two else margins
            if two and n_classes == 2:
                scores[:, 0] = -margins
            found.append(scores)
        return found

    return learn


def _search(X: Floats, y: Labels, n_classes: int, seed: int) -> dict[str, float]:
    from sklearn.model_selection import GridSearchCV, KFold
    from sklearn.svm import SVC

    rng = np.random.default_rng(seed)
    share = 1.0 if n_classes == 2 else 0.2 if len(y) <= 5000 else 0.1
    rows = rng.permutation(len(y))[: max(int(share * len(y)), min(len(y), 50))]
    folds = KFold(2, shuffle=True, random_state=seed)
    search = GridSearchCV(SVC(), {"C": list(GRID), "gamma": list(GRID)}, cv=folds, refit=False)
    best: dict[str, float] = search.fit(X[rows], y[rows]).best_params_
    return best


def _indicators(nominal: npt.NDArray[np.bool_], X: Floats, others: Sequence[Floats]) -> list[Any]:
    """Attributes on [0, 1] by the rows X; nominal ones as indicators of the values in X."""
    columns: list[list[Any]] = [[] for _ in others]
    for j, is_nominal in enumerate(nominal):
        x = X[:, j]
        known = x[~np.isnan(x)]
        if is_nominal:
            values = np.unique(known)
            parts = [(other[:, j, None] == values).astype(np.float64) for other in others]
        else:
            low = known.min(initial=np.inf) if len(known) else 0.0
            width = (known.max() - low if len(known) else 0.0) or 1.0
            middle = known.mean() if len(known) else 0.0
            parts = [
                ((np.where(np.isnan(other[:, j]), middle, other[:, j]) - low) / width)[:, None]
                for other in others
            ]
        for column, part in zip(columns, parts, strict=True):
            column.append(part)
    return [np.hstack(column) for column in columns]
