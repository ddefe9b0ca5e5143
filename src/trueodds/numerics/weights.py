"""What weights are worth where a statistic needs a number of rows.

``trueodds.inputs._weights`` defines the two meanings of a weight. Sums and means are the same with
both. Variances and likelihoods are not:

================================  ======================  =============================
statistic                         weights are counts      weights are importances
================================  ======================  =============================
number of rows                    Σw                      (Σw)²/Σw², the effective rows
variance of Σ w·x                 Σ w·var(x)              Σ w²·var(x)
log-likelihood of a test          Σ w·ℓ                   Σ w·ℓ, times Σw/Σw²
drawn in folds and resamples      w rows, rounded         one row
================================  ======================  =============================
"""

from __future__ import annotations

import numpy as np

from trueodds.inputs import Floats, Labels

__all__ = ["effective_rows", "mean_square_weights", "rows_per_weight", "whole_rows"]


def effective_rows(weight: Floats) -> float:
    """The number of rows of equal weight that importances are worth: (Σw)²/Σw²."""
    return float(weight.sum() ** 2 / (weight**2).sum())


def rows_per_weight(weight: Floats) -> float:
    """Effective rows per unit of weight, Σw/Σw²: 1 if all importances are 1."""
    return float(weight.sum() / (weight**2).sum())


def mean_square_weights(weight: Floats, n_effective: float | None) -> Floats | None:
    """Σw² in each cell of weight Σw, if only the effective rows of all cells are known.

    Weights without ``n_effective`` are counts, and have no square weights: None.
    """
    return None if n_effective is None else weight * (weight.sum() / n_effective)


def whole_rows(weight: Floats) -> Labels:
    """Counts as whole numbers of rows: rounded, but at least 1 if there is any weight."""
    return np.where(weight > 0, np.maximum(np.rint(weight), 1), 0).astype(np.intp)
