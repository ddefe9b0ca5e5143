"""Do calibration trees gain if pruning and splits see the method of their leaves?

    TRUEODDS_DATA=… python benchmarks/choices/tree_splits.py [--folds 5] [--sets NAME …]

The sets of the paper on calibration trees, with naive Bayes as in its Table 2: scores of the
training rows come from five inner folds. With several classes, the most frequent one is told from
the others. Trees are fitted to at most 6,000 rows. Methods:

- PCT: the paper's tree, with logistic leaves; "PCT, beta": its leaves replaced after pruning.
- "depth": C4.5 splits as in PCT; the depth, 0, 2, 4 or 8, is chosen by the cross-validated RMSE of
  the tree with its own leaves.
- "gain": splits reduce the squared residuals of the globally calibrated scores the most, so they
  look for miscalibration and not for classes. The number of leaves, 1 to 64, is chosen by the
  cross-validated RMSE of the tree with its own leaves.

Each variant is compared with PCT by the mean difference in RMSE over sets, with Student's 95%
interval.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import t
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeRegressor

from trueodds import BetaCalibrator, LogisticCalibrator
from trueodds_studies import Scratch
from trueodds_studies._protocol import Fold
from trueodds_studies.papers.trees.numbers import sets_at_hand
from trueodds_studies.papers.trees.paper_tree import PaperTree
from trueodds_studies.papers.trees.study import Scored, _scores, log_odds

LEAVES: dict[str, Callable[[], Any]] = {
    "logistic": LogisticCalibrator,
    "beta": BetaCalibrator,
}
DEPTHS = (0, 2, 4, 8)
N_LEAVES = (1, 2, 4, 8, 16, 64)
LEAST = 16
"""Rows of a leaf, as in the paper's trees."""
N_INNER = 5
MOST_ROWS = 6000


def rmse(y: np.ndarray, p: np.ndarray) -> float:
    return float(np.sqrt(np.mean((p - y) ** 2)))


def paper_tree(leaf: Any, at: Scored, **options: Any) -> Callable[..., np.ndarray]:
    """A function that fits the library's tree and predicts."""

    def fit_predict(
        s: np.ndarray, y: np.ndarray, X: np.ndarray, s_new: np.ndarray, X_new: np.ndarray
    ):
        tree = PaperTree(leaf=leaf, scale="logit", categorical=at.data.nominal, **options)
        return tree.fit(s, y, features=X).predict_proba(s_new, features=X_new)[:, 1]

    return fit_predict


def gain_tree(make: Callable[[], Any], n_leaves: int) -> Callable[..., np.ndarray]:
    """Splits by what is left of the residuals.

    A leaf with one class gets its frequency, with two rows of the global map added.
    """

    def fit_predict(
        s: np.ndarray, y: np.ndarray, X: np.ndarray, s_new: np.ndarray, X_new: np.ndarray
    ):
        whole = make().set_params(scale="logit").fit(s, y)
        p_new = whole.predict_proba(s_new)[:, 1]
        if n_leaves == 1:
            return p_new
        residuals = y - whole.predict_proba(s)[:, 1]
        tree = DecisionTreeRegressor(
            max_leaf_nodes=n_leaves, min_samples_leaf=LEAST, random_state=0
        )
        leaf, leaf_new = tree.fit(X, residuals).apply(X), tree.apply(X_new)
        for place in np.unique(leaf):
            rows, new = leaf == place, leaf_new == place
            if not new.any():
                continue
            if 0 < y[rows].sum() < rows.sum():
                own = make().set_params(scale="logit").fit(s[rows], y[rows])
                p_new[new] = own.predict_proba(s_new[new])[:, 1]
            else:
                p_new[new] = (y[rows].sum() + 2 * p_new[new]) / (rows.sum() + 2)
        return p_new

    return fit_predict


def chosen(candidates: list[Callable[..., np.ndarray]], s, y, X, s_new, X_new) -> np.ndarray:
    """The candidate with the least cross-validated RMSE; of equal ones the first, the smallest."""
    errors = np.zeros(len(candidates))
    for train, test in StratifiedKFold(N_INNER, shuffle=True, random_state=0).split(s, y):
        for i, candidate in enumerate(candidates):
            p = candidate(s[train], y[train], X[train], s[test], X[test])
            errors[i] += np.sum((p - y[test]) ** 2)
    best = int(np.argmin(errors - 1e-12 * np.arange(len(candidates), 0, -1)))
    return candidates[best](s, y, X, s_new, X_new)


def filled(X: np.ndarray, X_new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Missing values as the mean."""
    mean = np.nan_to_num(np.nanmean(X, axis=0))
    return np.where(np.isnan(X), mean, X), np.where(np.isnan(X_new), mean, X_new)


def indicators(at: Scored, X: np.ndarray) -> np.ndarray:
    """A column for each value of a nominal feature."""
    parts = [
        (np.rint(X[:, [k]]) == np.arange(n)).astype(float) if n else X[:, [k]]
        for k, n in enumerate(at.data.n_values)
    ]
    return np.concatenate(parts, axis=1)


def fold_errors(at: Scored) -> dict[str, float]:
    y, y_new = (at.data.y[rows] for rows in (at.fold.train, at.fold.test))
    s, s_new = (log_odds(p)[:, 1] for p in (at.train, at.test))
    X, X_new = filled(at.data.X[at.fold.train], at.data.X[at.fold.test])
    rows = (s, y, X, s_new, X_new)
    dummies = (s, y, indicators(at, X), s_new, indicators(at, X_new))
    found = {"PCT": paper_tree("logistic", at)(*rows)}
    found["PCT, beta"] = paper_tree(BetaCalibrator(), at)(*rows)
    for name, make in LEAVES.items():
        leaf = "logistic" if name == "logistic" else make()
        depths = [
            paper_tree(leaf, at, pruning=None, max_depth=d) if d else gain_tree(make, 1)
            for d in DEPTHS
        ]
        found[f"depth, {name}"] = chosen(depths, *rows)
        found[f"gain, {name}"] = chosen([gain_tree(make, n) for n in N_LEAVES], *dummies)
    return {name: rmse(y_new, p) for name, p in found.items()}


def two_classes(at: Scored) -> Scored:
    """The most frequent class against the others, with at most ``MOST_ROWS`` rows to learn from."""
    positive = int(np.bincount(at.data.y).argmax()) if at.data.n_classes > 2 else 1
    data = at.data._replace(y=(at.data.y == positive).astype(np.int64), n_classes=2)
    train, test = (
        np.stack([1 - p, p], axis=1) for p in (at.train[:, positive], at.test[:, positive])
    )
    rng = np.random.default_rng(0)
    kept = np.sort(rng.permutation(len(train))[:MOST_ROWS])
    fold = Fold(at.fold.train[kept], at.fold.test)
    return Scored(data, fold, train[kept], test, at.margins)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--sets", nargs="*", default=None)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = options.sets or sets_at_hand()
    begin = time.process_time()
    means: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            rows = [
                fold_errors(two_classes(_scores(Scratch(folder), name, 0, number, "naive-bayes")))
                for number in range(options.folds)
            ]
            means[name] = {m: float(np.mean([row[m] for row in rows])) for m in rows[0]}
            print(name, {m: round(v, 4) for m, v in means[name].items()}, flush=True)
    methods = list(next(iter(means.values())))
    print("\n| method | mean RMSE | less PCT's, 95% interval | lower than PCT on |")
    print("|---|---|---|---|")
    for method in methods:
        values = np.array([means[name][method] for name in means])
        gap = values - np.array([means[name]["PCT"] for name in means])
        reach = t.isf(0.025, len(gap) - 1) * gap.std(ddof=1) / np.sqrt(len(gap))
        words = (
            ""
            if method == "PCT"
            else f"{gap.mean():+.4f} [{gap.mean() - reach:+.4f}, {gap.mean() + reach:+.4f}]"
        )
        lower = "" if method == "PCT" else f"{int((gap < 0).sum())} of {len(gap)}"
        print(f"| {method} | {values.mean():.4f} | {words} | {lower} |")
    print(
        f"\n{len(means)} sets, {options.folds} folds, {time.process_time() - begin:.0f} CPU seconds"
    )


if __name__ == "__main__":
    main()
