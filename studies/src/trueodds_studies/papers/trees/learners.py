"""Base learners of the calibration trees paper, for any number of classes.

They work on float matrices in which nominal features are the numbers of their values, and missing
values are NaN. The numbers of values (0: numeric) and of classes are arguments. Each learner
returns scores of shape (n, n_classes).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, softmax

from trueodds.inputs import Floats
from trueodds_studies._learners import Learner
from trueodds_studies.kernels.learners import GrownTree, RegressionForest, grow_trees

__all__ = [
    "LEAST",
    "logit_boost",
    "normal_masses",
    "rbf_svm",
    "weka_naive_bayes",
    "working_response",
]

Labels = npt.NDArray[Any]
Sizes = npt.NDArray[np.int32]
GRID = tuple(10.0**power for power in range(-2, 3))
LEAST = 1e-75
"""The least factor in Weka's naive Bayes."""


def weka_naive_bayes(n_values: Sizes, n_classes: int) -> Learner:
    """Weka's naive Bayes: normal densities over intervals of a feature's precision.

    Frequencies of nominal values and classes have Laplace's correction; missing values are left
    out. ``n_values`` is the number of values of each nominal feature, 0 for numeric ones.

    Probabilities are multiplied as in Weka, each factor at least 1e-75, and all are lifted by 1e75
    when the largest is below 1e-75. So a probability of 1e-250 to 1e-324 of the largest becomes
    exactly 0. This matters, because the paper's log-odds replace 0 by 0.00001.
    """

    def learn(X: Floats, y: Labels, others: Sequence[Floats]) -> list[Floats]:
        counts = np.bincount(y, minlength=n_classes)
        prior = (counts + 1.0) / (counts.sum() + n_classes)
        products = [np.tile(prior[:, None], len(other)) for other in others]
        for j, size in enumerate(n_values):
            factor = (
                _nominal(X[:, j], y, n_classes, size)
                if size
                else normal_masses(X[:, j], y, n_classes)
            )
            for product, other in zip(products, others, strict=True):
                known = ~np.isnan(other[:, j])
                if known.all():
                    product *= np.maximum(factor(other[:, j]), LEAST)
                elif known.any():
                    product[:, known] *= np.maximum(factor(other[known, j]), LEAST)
                low = product.max(axis=0) < LEAST
                if low.any():
                    product[:, low] *= 1 / LEAST
        return [np.ascontiguousarray((product / product.sum(axis=0)).T) for product in products]

    return learn


def normal_masses(x: Floats, y: Labels, n_classes: int) -> Callable[[Floats], Floats]:
    """Probabilities (n_classes, n) of the intervals that values lie in."""
    known = ~np.isnan(x)
    distinct = np.unique(x[known])
    precision = float(np.diff(distinct).mean()) if len(distinct) > 1 else 0.01
    mean, spread = np.zeros(n_classes), np.full(n_classes, precision / 6)
    rounded = np.rint(x / precision) * precision
    for k in range(n_classes):
        own = rounded[(y == k) & known]
        if len(own):
            mean[k] = own.mean()
            deviation = float(own.std())
            if deviation > 1e-10:
                spread[k] = max(deviation, precision / 6)

    def mass(steps: Floats) -> Floats:
        z, half = steps * precision - mean[:, None], precision / 2
        upper, lower = ((z + side) / spread[:, None] for side in (half, -half))
        return np.asarray(ndtr(upper) - ndtr(lower))

    def factor(values: Floats) -> Floats:
        steps = np.rint(values / precision)
        least, greatest = steps.min(), steps.max()
        if greatest - least + 1 >= len(steps):
            return mass(steps)
        every = mass(np.arange(least, greatest + 1))  # fewer intervals than rows
        return every[:, (steps - least).astype(np.intp)]

    return factor


def _nominal(x: Floats, y: Labels, n_classes: int, size: int) -> Callable[[Floats], Floats]:
    known = ~np.isnan(x)
    table = np.ones((n_classes, size))
    np.add.at(table, (y[known], x[known].astype(np.intp)), 1)
    table /= table.sum(axis=1, keepdims=True)
    return lambda values: table[:, values.astype(np.intp)]


def rbf_svm(n_values: Sizes, n_classes: int, X_all: Floats, y_all: Labels, *, seed: int) -> Learner:
    """One-vs-rest SVMs with RBF kernels; C and γ by 2-fold accuracy on the outer training rows.

    Features are scaled to [0, 1], nominal ones are indicators, and missing values are the mean or
    the mode, as in Weka's SMO. Of more than two classes a random sample is searched, as in the
    paper.
    """
    chosen: list[dict[str, float]] = []

    def learn(X: Floats, y: Labels, others: Sequence[Floats]) -> list[Floats]:
        from sklearn.multiclass import OneVsRestClassifier
        from sklearn.svm import SVC

        if not chosen:
            chosen.append(_search(_indicators(n_values, X_all, [X_all])[0], y_all, n_classes, seed))
        ready = _indicators(n_values, X, [X, *others])
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


def _indicators(n_values: Sizes, X: Floats, others: Sequence[Floats]) -> list[Floats]:
    """Scale features to [0, 1] by the rows X; nominal ones become indicators, one for two values.

    Missing values are the mean or the most frequent value of X.
    """
    columns: list[list[Floats]] = [[] for _ in others]
    for j, size in enumerate(n_values):
        known = X[~np.isnan(X[:, j]), j]
        if len(known) == 0:
            continue
        fill = np.bincount(known.astype(np.intp)).argmax() if size else known.mean()
        low, width = known.min(), (known.max() - known.min()) or 1.0
        for column, other in zip(columns, others, strict=True):
            x = np.where(np.isnan(other[:, j]), fill, other[:, j])[:, None]
            if size > 2:
                column.append((x == np.arange(size)).astype(np.float64))
            else:
                column.append(x if size else (x - low) / width)
    return [np.hstack(column) for column in columns]


# LogitBoost --------------------------------------------------------------------------------------
# LogitBoost as in Weka: a hundred stumps, or a hundred REPTrees of depth three without pruning.
#
# Written from Friedman, Hastie and Tibshirani (2000), Additive logistic regression, and from what
# Weka's programs do where the paper leaves it open: responses are kept within ±3, stumps have a
# branch for missing values, and REPTrees split nominal features into all their values and rows
# without a value into shares.

Ints = npt.NDArray[np.int32]
N_ROUNDS = 100
Z_MAX = 3.0


class Coded(NamedTuple):
    """Return features as ranks of their distinct values (nominal ones unchanged)."""

    codes: Ints
    n_values: Ints
    values: list[Floats]


def logit_boost(n_values: Ints, n_classes: int, *, depth: int) -> Learner:
    """A hundred stumps (``depth`` 1) or trees for each class; probabilities of all classes.

    ``n_values`` is the number of values of each nominal feature, 0 for numeric ones.
    """
    nominal = (n_values > 0).astype(np.int8)

    def learn(X: Floats, y: npt.NDArray[Any], others: Sequence[Floats]) -> list[Floats]:
        coded = _coded(X, n_values)
        target = y[:, None] == np.arange(n_classes)
        # With two classes the second tree would mirror the first.
        n_trees = 1 if n_classes == 2 else n_classes
        sums = np.zeros((len(y), n_trees))
        trees: list[GrownTree] = []
        for _ in range(N_ROUNDS):
            z, w = working_response(target, _probabilities(sums, n_classes))
            grown = grow_trees(
                coded.codes, coded.n_values, nominal, z[:n_trees], w[:n_trees], depth, depth == 1
            )
            for j, tree in enumerate(grown):
                sums[:, j] += tree.fitted
            trees += grown
        forest = _forest(trees, coded, nominal, n_trees, depth == 1)
        return [
            _probabilities(forest.sums(np.ascontiguousarray(other)), n_classes) for other in others
        ]

    return learn


def working_response(target: npt.NDArray[np.bool_], p: Floats) -> tuple[Floats, Floats]:
    """Responses within ±3 and their weights, each (n_classes, n)."""
    with np.errstate(divide="ignore"):
        z = np.where(target, np.minimum(1 / p, Z_MAX), np.maximum(-1 / (1 - p), -Z_MAX))
    return np.ascontiguousarray(z.T), np.ascontiguousarray(((target - p) / z).T)


def _probabilities(sums: Floats, n_classes: int) -> Floats:
    """Return the softmax of F, (m − 1)/m of the trees' sums; centering would not change it."""
    if n_classes == 2:
        sums = np.hstack([sums, -sums])
    return np.asarray(softmax(sums * ((n_classes - 1) / n_classes), axis=1))


def _coded(X: Floats, n_values: Ints) -> Coded:
    codes = np.empty(X.T.shape, np.int32)
    counts = n_values.astype(np.int32)
    values: list[Floats] = []
    for f, column in enumerate(X.T):
        known = ~np.isnan(column)
        if n_values[f]:
            distinct = np.empty(0)
            codes[f, known] = column[known]
        else:
            distinct, codes[f, known] = np.unique(column[known], return_inverse=True)
            counts[f] = len(distinct)
        codes[f, ~known] = counts[f]
        values.append(distinct)
    return Coded(codes, counts, values)


def _forest(
    trees: list[GrownTree],
    coded: Coded,
    nominal: npt.NDArray[np.int8],
    n_columns: int,
    stump: bool,
) -> Any:
    """Join all trees, with cuts instead of codes."""
    sizes = np.array([len(tree.value) for tree in trees])
    roots = (np.cumsum(sizes) - sizes).astype(np.int32)
    attribute, first, n_children = (
        np.concatenate([getattr(tree, name) for tree in trees]).astype(np.int32)
        for name in ("attribute", "first", "n_children")
    )
    value, share = (
        np.concatenate([getattr(tree, name) for tree in trees]) for name in ("value", "share")
    )
    return RegressionForest(
        nominal=nominal,
        roots=roots,
        column=np.arange(len(trees), dtype=np.int32) % n_columns,
        attribute=attribute,
        cut=np.concatenate([_cuts(tree, coded, nominal, stump) for tree in trees]),
        first=first + np.repeat(roots, sizes),
        n_children=n_children,
        value=value,
        share=share,
        stump=stump,
    )


def _cuts(tree: GrownTree, coded: Coded, nominal: npt.NDArray[np.int8], stump: bool) -> Floats:
    """Midway between the values on either side; the value itself of a nominal stump."""
    cuts = np.zeros(len(tree.value))
    for node, f in enumerate(tree.attribute):
        if f < 0:
            continue
        if nominal[f]:
            cuts[node] = tree.low[node]
            continue
        low, high = coded.values[f][[tree.low[node], tree.high[node]]]
        middle = low / 2 + high / 2
        # Stumps test "at most", trees "below": a middle that rounds to one of the values is moved.
        cuts[node] = low if stump and middle >= high else high if middle <= low else middle
    return cuts
