"""A slow, obvious calibration tree: the definition, one node object at a time, unit weights.

The twin of the kernels. It follows the authors' program: every sum is recomputed from scratch, the
two-class case has no short cut, and pruning walks over the whole tree after each collapse.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.intp]
Regressions = list[tuple[int, float, float]]
"""Of one iteration, for each class: column, slope, intercept."""
Split = tuple[float, float, float | None]
"""Gain, gain ratio and cut; no cut where the attribute is nominal."""
Path = tuple[list[float], list[float]]
"""Alphas, and the test error after each collapse."""

SMALL = 1e-6
FOLDS = 5


def softmax(F: Floats) -> Floats:
    e = np.exp(F - F.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def one_iteration(S: Floats, y: Labels, F: Floats, m: int) -> Regressions | None:
    """Regressions of all classes as (column, slope, intercept), or None."""
    p = softmax(F)
    found: Regressions = []
    for j in range(m):
        own = y == j
        with np.errstate(divide="ignore"):
            z = np.where(own, np.minimum(1 / p[:, j], 3), np.maximum(-1 / (1 - p[:, j]), -3))
        w = (own - p[:, j]) / z
        if w.sum() <= 0:
            return None
        z_mean = np.average(z, weights=w)
        best: tuple[float, int, float, float] | None = None
        for a in range(S.shape[1]):
            s = S[:, a]
            if np.ptp(s) == 0:
                continue
            s_mean = np.average(s, weights=w)
            variance = np.sum(w * (s - s_mean) ** 2)
            slope = np.sum(w * (s - s_mean) * (z - z_mean)) / variance
            intercept = z_mean - slope * s_mean
            sse = np.sum(w * (z - intercept - slope * s) ** 2)
            if best is None or sse < best[0] - 1e-13 * abs(best[0]):
                best = (sse, a, slope, intercept)
        found.append((0, 0.0, z_mean) if best is None else best[1:])
    return found


def step(S: Floats, found: Regressions, m: int) -> Floats:
    f = np.stack([intercept + slope * S[:, a] for a, slope, intercept in found], axis=1)
    return np.asarray((m - 1) / m * (f - f.mean(axis=1, keepdims=True)))


def scores_of(S: Floats, models: list[Regressions], m: int) -> Floats:
    F = np.zeros((len(S), m))
    for found in models:
        F += step(S, found, m)
    return F


def entropy(counts: npt.ArrayLike) -> float:
    """Total weight times entropy, in bits."""
    counts = np.asarray(counts, dtype=float)
    filled = counts[counts > 0]
    return float(counts.sum() * np.log2(counts.sum()) - np.sum(filled * np.log2(filled)))


def count(y: Labels, m: int) -> Labels:
    return np.bincount(y, minlength=m)


def rounded(gain: float) -> float:
    return 0.0 if abs(gain) < SMALL else gain


def numeric_split(x: Floats, y: Labels, m: int) -> Split | None:
    """Gain, ratio, cut; None if there is none."""
    n = len(y)
    least = min(max(0.1 * n / m, 2), 25)
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    best, at, cuts = 0.0, None, 0
    for i in range(n - 1):
        if x[i] + 1e-5 < x[i + 1] and min(i + 1, n - i - 1) >= least - SMALL:
            cuts += 1
            inside = entropy(count(y[: i + 1], m)) + entropy(count(y[i + 1 :], m))
            gain = rounded(entropy(count(y, m)) - inside) / n
            if gain - best > SMALL:
                best, at = gain, i
    if at is None:
        return None
    best -= np.log2(cuts) / n
    if best < SMALL:
        return None
    return best, best / (entropy([at + 1, n - at - 1]) / n), (x[at] + x[at + 1]) / 2


def nominal_split(x: Floats, y: Labels, m: int, n_values: int) -> Split | None:
    n = len(y)
    parts = [y[x == v] for v in range(n_values)]
    if sum(len(part) >= 2 for part in parts) < 2:
        return None
    gain = entropy(count(y, m)) - sum(entropy(count(part, m)) for part in parts if len(part))
    gain = rounded(gain) / n
    bits = entropy([len(part) for part in parts])
    return gain, gain / (bits / n) if bits > SMALL else 0.0, None


def choose_split(
    X: Floats, n_values: list[int], y: Labels, m: int, n_all: int
) -> tuple[int, float | None] | None:
    if len(y) < 4 or count(y, m).max() == len(y):
        return None
    splits = [
        nominal_split(X[:, a], y, m, v) if v else numeric_split(X[:, a], y, m)
        for a, v in enumerate(n_values)
    ]
    crowded = [v >= 0.3 * n_all for v in n_values]
    if all(crowded):
        crowded = [False] * len(crowded)
    averaged = [s[0] for s, many in zip(splits, crowded, strict=True) if s and not many]
    if not averaged:
        return None
    least, best, ratio = np.mean(averaged) - 1e-3, None, 0.0
    for a, split in enumerate(splits):
        if split and split[0] >= least and split[1] - ratio > SMALL:
            best, ratio = a, split[1]
    chosen = None if best is None else splits[best]
    return None if best is None or chosen is None else (best, chosen[2])


@dataclass(eq=False)
class Node:
    models: list[Regressions]
    done: int
    n: int
    error: float
    attribute: int = -1
    cut: float | None = 0.0
    children: list[Node] = field(default_factory=list)
    is_leaf: bool = True
    alpha: float = math.inf
    below: float = 0.0

    def inner(self) -> list[Node]:
        found = [] if self.is_leaf else [self]
        for child in () if self.is_leaf else self.children:
            found += child.inner()
        return found

    def leaves(self) -> int:
        if self.is_leaf:
            return 1
        bare = sum(child.is_leaf and child.done == 0 for child in self.children)
        return sum(child.leaves() for child in self.children) - max(bare - 1, 0)

    def sum_errors(self) -> float:
        if self.is_leaf:
            self.below = self.error
        else:
            self.below = sum(child.sum_errors() for child in self.children)
        return self.below

    def set_alphas(self, total: float) -> None:
        self.alpha = math.inf
        if self.is_leaf:
            return
        saved = self.error - self.below
        if saved <= 1e-12 * self.error:
            self.is_leaf, self.children = True, []
            return
        leaves = self.leaves()
        self.alpha = saved / total / (leaves - 1) if leaves > 1 else 1.0
        for child in self.children:
            child.set_alphas(total)

    def restore(self) -> None:
        self.is_leaf = not self.children
        for child in self.children:
            child.restore()

    def find(self, x: Floats) -> Node:
        node = self
        while not node.is_leaf:
            value = x[node.attribute]
            if node.cut is None:
                node = node.children[int(value)]
            else:
                node = node.children[0 if value <= node.cut else 1]
        return node


class NaiveTree:
    """Grow on all rows, prune by the authors' deterministic folds."""

    def __init__(
        self, X: Floats, n_values: list[int], S: Floats, y: Labels, m: int, n_iterations: int
    ) -> None:
        self.n_values, self.m, self.n_iterations, self.X_all = n_values, m, n_iterations, X
        self.n_all = len(y)
        folds = [self._fold(X, S, y, rows) for rows in weka_test_rows(y)]
        self.root = self.grow(X, S, y, [])
        alphas, _ = self.prune(self.root, len(y), np.inf)
        if len(alphas) > 1:
            middle = np.sqrt(np.array(alphas) * np.array([*alphas[1:], 1.0]))
            score = []
            for alpha in middle:
                total = 0.0
                for fold_alphas, errors in folds:
                    at = 0
                    while at + 1 < len(fold_alphas) and fold_alphas[at + 1] <= alpha:
                        at += 1
                    total += errors[at]
                score.append(total)
            best = len(score) - 1
            for i in range(len(score) - 2, -1, -1):
                if score[i] < score[best] * (1 - 1e-12):
                    best = i
            self.root.restore()
            self.prune(self.root, len(y), middle[best])

    def grow(self, X: Floats, S: Floats, y: Labels, models: list[Regressions]) -> Node:
        models, done = list(models), 0
        if len(y) >= FOLDS:
            F = scores_of(S, models, self.m)
            for _ in range(self.n_iterations):
                found = one_iteration(S, y, F, self.m)
                if found is None:
                    break
                models.append(found)
                F = F + step(S, found, self.m)
                done += 1
        error = self.squared(S, y, models) if len(y) else 1e-6
        node = Node(models, done, len(y), error)
        split = choose_split(X, self.n_values, y, self.m, self.n_all) if len(y) > 15 else None
        if split:
            a, middle = split
            node.attribute, node.is_leaf = a, False
            if middle is None:
                node.cut = None
                parts = [X[:, a] == v for v in range(self.n_values[a])]
            else:
                values = self.X_all[:, a]
                node.cut = values[values <= middle].max()
                parts = [X[:, a] <= node.cut, X[:, a] > node.cut]
            node.children = [self.grow(X[part], S[part], y[part], models) for part in parts]
        return node

    def squared(self, S: Floats, y: Labels, models: list[Regressions]) -> float:
        p = softmax(scores_of(S, models, self.m))
        return float(np.sum((p - np.eye(self.m)[y]) ** 2) / self.m)

    def prune(
        self, root: Node, total: float, stop: float, measure: Callable[[], float] = lambda: 0.0
    ) -> Path:
        root.sum_errors()
        root.set_alphas(total)
        alphas, errors = [0.0], [measure()]
        while True:
            nodes = root.inner()
            if not nodes:
                break
            node = min(nodes, key=lambda node: node.alpha)
            if node.alpha > stop:
                break
            node.is_leaf = True
            alphas.append(node.alpha)
            errors.append(measure())
            root.sum_errors()
            root.set_alphas(total)
        return alphas, errors

    def _fold(self, X: Floats, S: Floats, y: Labels, test: Labels) -> Path:
        train = np.setdiff1d(np.arange(len(y)), test)
        root = self.grow(X[train], S[train], y[train], [])
        return self.prune(
            root,
            len(train),
            np.inf,
            lambda: math.sqrt(
                np.mean((self.predict(X[test], S[test], root) - np.eye(self.m)[y[test]]) ** 2)
            ),
        )

    def predict(self, X: Floats, S: Floats, root: Node | None = None) -> Floats:
        root = root or self.root
        return np.array(
            [
                softmax(scores_of(s[None], root.find(x).models, self.m))[0]
                for x, s in zip(X, S, strict=True)
            ]
        )


def weka_test_rows(y: Labels) -> list[Labels]:
    """The test rows of the authors' five stratified folds."""
    order, i = list(range(len(y))), 1
    while i < len(y):
        label = y[order[i - 1]]
        for j in range(i, len(y)):
            if y[order[j]] == label:
                order[i], order[j] = order[j], order[i]
                i += 1
        i += 1
    dealt = [order[i] for start in range(FOLDS) for i in range(start, len(y), FOLDS)]
    return np.array_split(np.array(dealt), FOLDS)
