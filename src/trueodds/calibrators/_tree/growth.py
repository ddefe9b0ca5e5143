"""Growing, cross-validating and pruning a calibration tree (paper, section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.validation import Floats

__all__ = ["FittedTree", "TreeData", "TreeOptions", "fit_tree"]

Ints = npt.NDArray[np.int64]

MAX_ITERATIONS = 200
PATIENCE = 51
"""A fold of the search stops after this many iterations in a row without a new least error."""

SLACK = 1e-9
"""Of two numbers of iterations whose errors are this close the smaller is taken, not so with the
authors' folds: they take the least error, which after convergence is a matter of rounding."""

TIE = 1e-12
"""Cross-validated errors within this share are equal; the smaller tree wins."""


@dataclass(frozen=True)
class TreeOptions:
    """What the caller may choose; see :class:`~trueodds.TreeCalibrator`."""

    n_iterations: int | None
    node_search: bool
    n_folds: int
    weka: bool
    whole_rows: bool
    seed: int
    min_samples: float
    max_depth: int
    min_gap: float
    count_errors: bool
    prune: bool


@dataclass(frozen=True)
class TreeData:
    """Rows to learn from, with columns first: attributes (d, n), scores (A, n)."""

    attributes: Floats
    n_values: Ints
    scores: Floats
    y: npt.NDArray[np.int32]
    weight: Floats
    targets: Floats


@dataclass(frozen=True)
class FittedTree:
    """The pruned tree, nodes in pre-order.

    ``coef`` has one row of slopes and an intercept for each modelled class; see the kernels.
    """

    parent: Ints
    attribute: Ints
    cut: Floats
    weight: Floats
    coef: Floats
    n_iterations: int


def fit_tree(data: TreeData, options: TreeOptions) -> FittedTree:
    """Choose the number of iterations, grow, and prune by cross-validation."""
    # Powers of two, so that scores of any size stay within range and lose no digit.
    exponent = np.frexp(np.abs(data.scores).max(axis=1))[1]
    factor = np.exp2(-np.maximum(exponent, -1000).astype(np.float64))
    scaled = TreeData(
        data.attributes,
        data.n_values,
        data.scores * factor[:, None],
        data.y.astype(np.int32),
        data.weight.copy(),  # a read-only array would have the kernels compiled once more
        data.targets,
    )
    grower = _Grower(scaled, options)
    tree = grower.best_tree()
    tree.coef[:, :, :-1] *= factor
    return tree


class _Grower:
    """Holds what all trees of one fit share: sorted attributes, folds, iterations."""

    def __init__(self, data: TreeData, options: TreeOptions) -> None:
        from trueodds.kernels.tree_grow import GrowData, GrowRules
        from trueodds.kernels.tree_split import entropy_table

        self.options, self.weight = options, data.weight
        d, n = data.attributes.shape
        sorted_rows = np.zeros((d, n), dtype=np.int32)
        for a in range(d):
            if data.n_values[a] == 0:
                sorted_rows[a] = np.argsort(data.attributes[a], kind="stable")
        self.total = float(data.weight.sum())
        is_whole = bool((data.weight == np.floor(data.weight)).all())
        rng = np.random.default_rng(options.seed)
        folds = np.tile(np.arange(options.n_folds), (n // options.n_folds + 1, 1))
        self.shared = GrowData(
            attributes=data.attributes,
            n_values=data.n_values,
            # With about as many values as rows, an attribute's gain is always high.
            many_valued=data.n_values >= 0.3 * self.total - 1e-6,
            sorted_rows=sorted_rows,
            scores=data.scores,
            y=data.y,
            targets=data.targets,
            table=entropy_table(self.total, is_whole),
            decks=rng.permuted(folds, axis=1),
        )
        self.sequence = np.arange(n, dtype=np.int32)
        self.test_weight, self.fold_sequence = self._folds()
        self.rules = GrowRules(
            n_iterations=self._iterations(),
            max_iterations=MAX_ITERATIONS,
            patience=PATIENCE,
            slack=self._slack(),
            weka=options.weka,
            whole_rows=options.whole_rows,
            min_samples=float(options.min_samples),
            max_depth=options.max_depth,
            min_gap=options.min_gap,
            count_errors=options.count_errors,
        )

    def _slack(self) -> float:
        return 0.0 if self.options.weka else SLACK

    def _folds(self) -> tuple[Floats, npt.NDArray[np.int32]]:
        from trueodds.kernels.tree_folds import spread_folds, weka_folds

        data, options = self.shared, self.options
        if options.weka:
            test_weight, order = weka_folds(data.y, self.weight, options.n_folds)
            return test_weight, order
        test_weight = spread_folds(
            data.y, self.weight, len(data.targets), data.decks, options.whole_rows
        )
        return test_weight, self.sequence

    def _iterations(self) -> int:
        from trueodds.kernels.logit_boost import boost, choose_iterations, probabilities

        if self.options.node_search:
            return 0
        if self.options.n_iterations is not None:
            return self.options.n_iterations
        data = self.shared
        n_models = 1 if len(data.targets) == 2 else len(data.targets)
        coef = np.zeros((n_models, len(data.scores) + 1))
        rows = (data.scores, data.y, self.weight, data.targets)
        chosen = choose_iterations(
            *rows, coef, self.test_weight, MAX_ITERATIONS, PATIENCE, self._slack()
        )
        F, p = np.empty((n_models, len(data.y))), np.empty((n_models, len(data.y)))
        probabilities(data.scores, coef, F, p)
        # All rows together may allow fewer iterations than the folds did.
        return int(boost(*rows, chosen, coef, F, p))

    def best_tree(self) -> FittedTree:
        """The tree grown on all rows, pruned."""
        from trueodds.kernels.tree_grow import grow

        nothing = np.zeros_like(self.weight)
        nodes = grow(self.shared, self.rules, self.weight, nothing, self.sequence)
        pruner = _Pruner(nodes, self.total)
        if self.options.prune:
            alphas, _ = pruner.run(np.inf)
            if len(alphas) > 1:
                pruner.run(self._best_alpha(alphas))
        is_leaf = pruner.is_leaf if self.options.prune else nodes.attribute < 0
        kept, parent = _visible(nodes.parent, is_leaf)
        return FittedTree(
            parent=parent,
            attribute=np.where(is_leaf, -1, nodes.attribute)[kept],
            cut=np.where(is_leaf, 0.0, nodes.cut)[kept],
            weight=nodes.mass[kept],
            coef=nodes.coef[kept],
            n_iterations=self.rules.n_iterations,
        )

    def _best_alpha(self, alphas: Floats) -> float:
        """The alpha whose trees in the folds have the least error together."""
        # The geometric means of neighbouring alphas, as in CART; 1 ends the sequence.
        middle = np.sqrt(alphas * np.append(alphas[1:], 1.0))
        score = np.zeros(len(middle))
        for test in self.test_weight:
            fold_alphas, errors = self._fold(test)
            # Up to the first alpha that is above the middle.
            highest = np.maximum.accumulate(fold_alphas)
            score += errors[np.searchsorted(highest, middle, side="right") - 1]
        best = len(score) - 1
        for i in range(len(score) - 2, -1, -1):
            if score[i] < score[best] * (1 - TIE):
                best = i
        return float(middle[best])

    def _fold(self, test: Floats) -> tuple[Floats, Floats]:
        """Alphas and test errors of the tree grown without a fold's test part."""
        from trueodds.kernels.tree_grow import grow

        train = self.weight - test
        if not test.any() or not train.any():
            return np.zeros(1), np.zeros(1)
        nodes = grow(self.shared, self.rules, train, test, self.fold_sequence)
        alphas, errors = _Pruner(nodes, float(train.sum())).run(np.inf)
        mean = np.maximum(errors, 0.0) / test.sum()
        return alphas, mean if self.options.count_errors else np.sqrt(mean)


class _Pruner:
    """A grown tree that is pruned, and pruned again, after its useless subtrees have gone."""

    def __init__(self, nodes: Any, total: float) -> None:
        self.nodes, self.total = nodes, total
        self.is_leaf = np.zeros(len(nodes.parent), dtype=bool)
        self.permanent = np.zeros_like(self.is_leaf)

    def run(self, highest_alpha: float) -> tuple[Floats, Floats]:
        from trueodds.kernels.tree_prune import prune_sequence

        nodes = self.nodes
        alphas, test_errors = prune_sequence(
            nodes.parent,
            nodes.attribute,
            nodes.done == 0,
            nodes.error,
            nodes.test_error,
            self.total,
            self.is_leaf,
            self.permanent,
            float(highest_alpha),
        )
        return alphas, test_errors


def _visible(parent: Ints, is_leaf: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Nodes that are not below a leaf, and the new number of each one's parent."""
    shown = np.ones(len(parent), dtype=bool)
    for node in range(1, len(parent)):
        shown[node] = shown[parent[node]] and not is_leaf[parent[node]]
    kept = np.flatnonzero(shown)
    number = np.cumsum(shown) - 1
    new_parent = np.where(parent[kept] >= 0, number[parent[kept]], -1)
    return kept, new_parent
