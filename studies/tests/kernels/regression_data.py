"""Rows with missing values and nominal attributes, coded as least-squares trees want them."""

import numpy as np
import numpy.typing as npt

from trueodds_studies.kernels.learners import GrownTree, grow_trees

__all__ = ["coded", "grown", "sample"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

NUMERIC, NOMINAL = 0, 4


def sample(
    seed: int = 0, n: int = 60, missing: float = 0.15
) -> tuple[Floats, Floats, Floats, Ints]:
    """Two numeric attributes, one with few values, and two nominal ones of four values."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.normal(size=n).round(1),
            rng.integers(0, 3, n),
            rng.integers(0, NOMINAL, n),
            rng.integers(0, NOMINAL, n),
        ]
    ).astype(float)
    z = X[:, 0] + (X[:, 2] == 1) * 2 - (X[:, 3] == 2) * X[:, 1] + rng.normal(size=n)
    X[rng.random(X.shape) < missing] = np.nan
    return X, z, rng.random(n) + 0.1, np.array([NUMERIC, NUMERIC, NOMINAL, NOMINAL], np.int32)


def coded(X: Floats, n_values: Ints) -> tuple[Ints, Ints, list[Floats]]:
    """Ranks of values, how many there are, and the values."""
    codes, counts, values = np.empty(X.T.shape, np.int32), n_values.copy(), []
    for f, column in enumerate(X.T):
        known = ~np.isnan(column)
        distinct = np.arange(n_values[f]) if n_values[f] else np.unique(column[known])
        counts[f] = len(distinct)
        codes[f] = np.where(known, np.searchsorted(distinct, np.where(known, column, 0)), counts[f])
        values.append(distinct)
    return codes, counts, values


def grown(X: Floats, z: Floats, w: Floats, n_values: Ints, depth: int) -> GrownTree:
    """The tree of a response, grown together with that of another."""
    codes, counts, _ = coded(X, n_values)
    both = np.array([z, z**2]), np.array([w, 1 / w])
    nominal = (n_values > 0).astype(np.int8)
    trees: list[GrownTree] = grow_trees(codes, counts, nominal, *both, depth, depth == 1)
    return trees[0]
