"""Naive Bayes of the ENIR study, for numeric and nominal features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from trueodds.inputs import Floats
from trueodds_studies._learners import Learner
from trueodds_studies.papers.trees.learners import LEAST, normal_masses

__all__ = ["counting_naive_bayes"]

Labels = npt.NDArray[Any]


def counting_naive_bayes(nominal: npt.NDArray[np.bool_], n_classes: int) -> Learner:
    """Weka's naive Bayes with two differences.

    Values that did not occur in training are ignored. Logarithms are added instead of multiplying
    probabilities, so that no class underflows to 0.
    """

    def learn(X: Floats, y: Labels, others: Sequence[Floats]) -> list[Floats]:
        counts = np.bincount(y, minlength=n_classes)
        totals = [
            np.tile(np.log((counts + 1) / (counts.sum() + n_classes)), (len(other), 1))
            for other in others
        ]
        for j, is_nominal in enumerate(nominal):
            masses = (_frequencies if is_nominal else normal_masses)(X[:, j], y, n_classes)
            for total, other in zip(totals, others, strict=True):
                known = ~np.isnan(other[:, j])
                if known.any():
                    total[known] += np.log(np.maximum(masses(other[known, j]), LEAST)).T
        return [np.exp(total - logsumexp(total, axis=1, keepdims=True)) for total in totals]

    return learn


def _frequencies(x: Floats, y: Labels, n_classes: int) -> Callable[[Floats], Floats]:
    known = ~np.isnan(x)
    size = int(x[known].max(initial=0)) + 1
    table = np.zeros((size + 1, n_classes))
    np.add.at(table, (x[known].astype(int), y[known]), 1)
    seen = table.sum(axis=1) > 0
    table[seen] += 1
    table[seen] /= table.sum(axis=0)
    table[~seen] = 1
    return lambda values: table[np.minimum(values.astype(int), size)].T
