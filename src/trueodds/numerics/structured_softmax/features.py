r"""Functions of a row's probabilities that all classes share, and the columns of the blocks.

Four shared features of class k, each with one coefficient for all classes:

- ln q_k: a further temperature;
- ln q_k·(H − 0.3), with the entropy H of the row divided by ln k: a temperature that depends on how
  undecided the row is. At H = 0.3 it changes nothing, so that the two are nearly orthogonal;
- √q_k: what is lost or gained at the low end, and stays finite there;
- whether k is the largest: confidence in the decision itself.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from trueodds.inputs import Floats

__all__ = ["ENTROPY_CENTRE", "N_SHARED", "relative_entropy", "shared_features"]

ENTROPY_CENTRE = 0.3
"""A typical relative entropy of a row; only where the two temperatures meet depends on it."""
N_SHARED = 4


def relative_entropy(q: Floats, logs: Floats) -> Floats:
    """−Σ q·ln q / ln k of probabilities of shape (k, n): 0 if decided, 1 if uniform."""
    return np.asarray(-np.einsum("kn,kn->n", q, logs) / math.log(len(q)))


def shared_features(q: Floats, logs: Floats, top: npt.NDArray[np.bool_], unit: float) -> Floats:
    """The four features of each class and row, of shape (4, k, n); logarithms in ``unit``."""
    features = np.empty((N_SHARED, *q.shape))
    # What all classes of a row have in common drops out of the softmax; the mean is taken off so
    # that the numbers stay small.
    np.subtract(logs, logs.mean(axis=0), out=features[0])
    features[0] /= unit
    np.multiply(features[0], relative_entropy(q, logs) - ENTROPY_CENTRE, out=features[1])
    np.sqrt(q, out=features[2])
    features[3] = top
    return features
