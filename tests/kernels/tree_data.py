"""Data of the tree kernels, as their caller lays it out."""

import numpy as np
import numpy.typing as npt

from trueodds.kernels.tree import GrowRules, TreeGrower

__all__ = ["NOMINAL", "grower", "tree_sample"]

Floats = npt.NDArray[np.float64]
NOMINAL = [0, 0, 3]
"""Values of each attribute of a sample; 0 for a numeric one."""


def tree_sample(seed: int, m: int, n: int = 80) -> tuple[Floats, Floats, npt.NDArray[np.intp]]:
    """Attributes with ties, one of them nominal; scores; classes that depend on both."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n).round(1), rng.random(n), rng.integers(0, 3, n)])
    S = rng.normal(size=(n, m)).round(2)
    if m == 2:
        S[:, 0] = -S[:, 1]
    logits = 1.5 * S + np.outer(X[:, 0], np.arange(m)) + 2.0 * (X[:, [2]] == np.arange(m))
    return X, S, (logits + rng.gumbel(size=(n, m))).argmax(axis=1)


def grower(X: Floats, S: Floats, y: npt.NDArray[np.intp], m: int, rules: GrowRules) -> TreeGrower:
    """Columns first."""
    return TreeGrower(
        attributes=np.ascontiguousarray(X.T),
        n_values=np.array(NOMINAL, dtype=np.int64),
        scores=np.ascontiguousarray(S.T),
        y=y.astype(np.int32),
        weight=np.ones(len(y)),
        targets=np.eye(m),
        fold_orders=np.tile(np.arange(5), (len(y) // 5 + 1, 1)),
        rules=rules,
    )
