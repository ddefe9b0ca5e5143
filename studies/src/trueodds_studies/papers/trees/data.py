"""The sets of the calibration trees paper, in the form that its base learners need."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from trueodds.inputs import Floats
from trueodds_studies._learners import coded_matrix
from trueodds_studies.datasets import load
from trueodds_studies.papers.trees.numbers import SETS

__all__ = ["TWO_CLASSES", "TreesData", "trees_data"]

NOMINAL = ("led24", "mfeat-pixel", "nursery", "phishing", "tic-tac-toe", "vote")
"""Sets whose features are all nominal in Weka's files; ours may have numbers."""
TWO_CLASSES = {"nursery-two": ("nursery", ("priority", "spec_prior"))}
"""A set with only some of its classes, for figure 5."""


class TreesData(NamedTuple):
    """One set.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Nominal features as the numbers of their values; NaN where a value is missing.
    n_values : ndarray of shape (d,)
        Number of values of a nominal feature; 0 for numeric ones.
    y : ndarray of int, shape (n,)
    n_classes : int
    """

    X: Floats
    n_values: npt.NDArray[np.int32]
    y: npt.NDArray[np.int64]
    n_classes: int

    @property
    def nominal(self) -> list[int]:
        """Positions of the nominal features."""
        return [int(f) for f in np.flatnonzero(self.n_values)]


@lru_cache(maxsize=3)
def trees_data(name: str) -> TreesData:
    """Return all rows of a set, in random order."""
    source, kept_classes = TWO_CLASSES.get(name, (name, None))
    dataset = load(SETS[source].name)
    frame, labels = dataset.X, np.asarray(dataset.y).astype(str)
    if source in NOMINAL:
        frame = frame.astype("category")
    n_values = [len(frame[c].cat.categories) if hasattr(frame[c], "cat") else 0 for c in frame]
    matrix, _ = coded_matrix(frame)
    if kept_classes is not None:
        kept = np.isin(labels, kept_classes)
        matrix, labels = matrix[kept], labels[kept]
    names, y = np.unique(labels, return_inverse=True)
    # Weka shuffles before it cuts folds; some files are sorted by class or date.
    order = np.random.default_rng(0).permutation(len(y))
    return TreesData(
        np.ascontiguousarray(matrix[order]),
        np.array(n_values, dtype=np.int32),
        y[order].astype(np.int64),
        len(names),
    )
