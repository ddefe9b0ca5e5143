"""LogitBoost as in Weka: a hundred stumps, or a hundred REPTrees of depth three without pruning.

Written from Friedman, Hastie and Tibshirani (2000), Additive logistic regression, and from what
Weka's programs do where the paper leaves it open: responses are kept within ±3, stumps have a
branch for missing values, and REPTrees split nominal attributes into all their values and rows
without a value into shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from trueodds.inputs import Floats
from trueodds_studies._learners import Learner
from trueodds_studies.kernels.learners import GrownTree, RegressionForest, grow_trees

__all__ = ["logit_boost", "working_response"]

Ints = npt.NDArray[np.int32]
N_ROUNDS = 100
Z_MAX = 3.0


class Coded(NamedTuple):
    """Attributes as ranks of their distinct values (nominal ones as they are)."""

    codes: Ints
    n_values: Ints
    values: list[Floats]


def logit_boost(n_values: Ints, n_classes: int, *, depth: int) -> Learner:
    """A hundred stumps (``depth`` 1) or trees for each class; probabilities of all classes.

    ``n_values`` is the number of values of each nominal attribute, 0 for numeric ones.
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
    """Of the trees' sums: F is their share (m − 1)/m, centred, which softmax does not see."""
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
    """All trees in a row, with cuts in place of codes."""
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
        # Stumps ask "at most?", trees "below?": a middle that is no number of its own moves.
        cuts[node] = low if stump and middle >= high else high if middle <= low else middle
    return cuts
