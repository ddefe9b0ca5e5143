"""Rows with missing values and nominal attributes, coded as least-squares trees want them."""

import numpy as np

from trueodds.kernels.regression_tree import grow_tree

NUMERIC, NOMINAL = 0, 4


def sample(seed=0, n=60, missing=0.15):
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


def coded(X, n_values):
    codes, counts, values = np.empty(X.T.shape, np.int32), n_values.copy(), []
    for f, column in enumerate(X.T):
        known = ~np.isnan(column)
        distinct = np.arange(n_values[f]) if n_values[f] else np.unique(column[known])
        counts[f] = len(distinct)
        codes[f] = np.where(known, np.searchsorted(distinct, np.where(known, column, 0)), counts[f])
        values.append(distinct)
    return codes, counts, values


def grown(X, z, w, n_values, depth):
    codes, counts, _ = coded(X, n_values)
    return grow_tree(codes, counts, (n_values > 0).astype(np.int8), z, w, depth, depth == 1)
