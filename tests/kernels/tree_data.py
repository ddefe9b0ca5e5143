"""Data of the tree kernels, as their caller lays it out."""

import numpy as np
import numpy.typing as npt

from trueodds.kernels.tree_grow import GrowData
from trueodds.kernels.tree_split import entropy_table

__all__ = ["NOMINAL", "grow_data", "tree_sample"]

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


def grow_data(X: Floats, S: Floats, y: npt.NDArray[np.intp], m: int) -> GrowData:
    """Columns first, with sorted rows."""
    attributes = np.ascontiguousarray(X.T)
    n_values = np.array(NOMINAL, dtype=np.int64)
    return GrowData(
        attributes=attributes,
        n_values=n_values,
        many_valued=n_values >= 0.3 * len(y),
        sorted_rows=np.argsort(attributes, axis=1, kind="stable").astype(np.int32),
        scores=np.ascontiguousarray(S.T),
        y=y.astype(np.int32),
        targets=np.eye(m),
        table=entropy_table(len(y), True),
        decks=np.tile(np.arange(5), (len(y) // 5 + 1, 1)),
    )
