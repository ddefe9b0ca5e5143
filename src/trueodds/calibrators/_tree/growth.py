"""Growing, cross-validating and pruning a calibration tree (paper, section 4.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from trueodds.inputs import Floats

__all__ = ["Dealer", "FittedTree", "TreeData", "TreeOptions", "fit_tree"]

Ints = npt.NDArray[np.int64]
Dealer = Callable[[npt.NDArray[np.int32]], npt.NDArray[np.int32]]
"""A function of labels that returns their order, in which each fold is a block."""

MAX_ITERATIONS = 200
PATIENCE = 51
"""A fold of the search stops after this many iterations in a row without a new least error."""

SLACK = 1e-9
"""Of two numbers of iterations whose errors are this close the smaller is taken. A dealer's folds
take the least error, as the authors do; after convergence it is a matter of rounding."""

TIE = 1e-12
"""Cross-validated errors within this share are equal; the smaller tree wins."""


@dataclass(frozen=True)
class TreeOptions:
    """What the caller may choose; see :class:`~trueodds.TreeCalibrator`."""

    n_iterations: int | None
    node_search: bool
    n_folds: int
    dealer: Dealer | None
    whole_rows: bool
    seed: int
    min_samples: float
    max_depth: int
    min_gap: float
    count_errors: bool
    prune: bool


@dataclass(frozen=True)
class TreeData:
    """Rows of a fit, with columns first: features (d, n), scores (A, n)."""

    attributes: Floats
    n_values: Ints
    scores: Floats
    y: npt.NDArray[np.int32]
    weight: Floats
    targets: Floats


@dataclass(frozen=True)
class FittedTree:
    """The pruned tree, nodes in pre-order.

    ``coef`` has one row of slopes and an intercept for each modeled class; see the kernels.
    ``test_weight`` has a row for each fold: the weight of all rows in its test part.
    """

    parent: Ints
    attribute: Ints
    cut: Floats
    weight: Floats
    coef: Floats
    n_iterations: int
    test_weight: Floats


def fit_tree(data: TreeData, options: TreeOptions) -> FittedTree:
    """Choose the number of iterations, grow, and prune by cross-validation."""
    # Powers of two, so that scores of any size stay within range and lose no digit.
    exponent = np.frexp(np.abs(data.scores).max(axis=1))[1]
    factor = np.exp2(-np.maximum(exponent, -1000).astype(np.float64))
    tree = _Grower(replace(data, scores=data.scores * factor[:, None]), options).best_tree()
    tree.coef[:, :, :-1] *= factor
    return tree


class _Grower:
    """Holds what all trees of one fit share: the kernel's grower, and the folds."""

    def __init__(self, data: TreeData, options: TreeOptions) -> None:
        from trueodds.kernels.tree import GrowRules, TreeGrower

        self.options, self.weight = options, data.weight
        rules = GrowRules(
            n_iterations=options.n_iterations or 0,
            max_iterations=MAX_ITERATIONS,
            patience=PATIENCE,
            slack=0.0 if options.dealer else SLACK,
            dealer=options.dealer,
            whole_rows=options.whole_rows,
            min_samples=options.min_samples,
            max_depth=options.max_depth,
            min_gap=options.min_gap,
            count_errors=options.count_errors,
        )
        rng = np.random.default_rng(options.seed)
        folds = np.tile(np.arange(options.n_folds), (len(data.y) // options.n_folds + 1, 1))
        self.kernel = TreeGrower(**vars(data), fold_orders=rng.permuted(folds, axis=1), rules=rules)
        self.test_weight, self.fold_sequence = self.kernel.assign_folds()
        if options.n_iterations is None and not options.node_search:
            self.kernel.choose_iterations()

    def best_tree(self) -> FittedTree:
        """The tree grown on all rows, pruned."""
        from trueodds.kernels.tree import Pruner

        nothing, sequence = np.zeros_like(self.weight), np.arange(len(self.weight), dtype=np.int32)
        nodes = self.kernel.grow(self.weight, nothing, sequence)
        is_leaf = nodes.attribute < 0
        if self.options.prune:
            pruner = Pruner(nodes, float(self.weight.sum()))
            alphas, _ = pruner.run(np.inf)
            if len(alphas) > 1:
                pruner.run(self._best_alpha(alphas))
            is_leaf = pruner.is_leaf
        kept, parent = _visible(nodes.parent, is_leaf)
        return FittedTree(
            parent=parent,
            attribute=np.where(is_leaf, -1, nodes.attribute)[kept],
            cut=np.where(is_leaf, 0.0, nodes.cut)[kept],
            weight=nodes.weight[kept],
            coef=nodes.coef[kept],
            n_iterations=self.kernel.n_iterations,
            test_weight=self.test_weight,
        )

    def _best_alpha(self, alphas: Floats) -> float:
        """The alpha whose trees in the folds have the least error together."""
        # The geometric means of neighboring alphas, as in CART; 1 ends the sequence.
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
        from trueodds.kernels.tree import Pruner

        train = self.weight - test
        if not test.any() or not train.any():
            return np.zeros(1), np.zeros(1)
        nodes = self.kernel.grow(train, test, self.fold_sequence)
        alphas, errors = Pruner(nodes, float(train.sum())).run(np.inf)
        mean = np.maximum(errors, 0.0) / test.sum()
        return alphas, mean if self.options.count_errors else np.sqrt(mean)


def _visible(parent: Ints, is_leaf: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Nodes that are not below a leaf, and the new number of each one's parent."""
    shown = np.ones(len(parent), dtype=bool)
    for node in range(1, len(parent)):
        shown[node] = shown[parent[node]] and not is_leaf[parent[node]]
    kept = np.flatnonzero(shown)
    number = np.cumsum(shown) - 1
    new_parent = np.where(parent[kept] >= 0, number[parent[kept]], -1)
    return kept, new_parent
