"""Rows for the tests of the structured softmax."""

import numpy as np

from trueodds.numerics.structured_softmax.rows import ClassRows, class_probabilities, tops_of


def some_rows(n=300, k=4, seed=0, power=1.0, zeros=False, weight=None):
    """Labels drawn from p, which is then sharpened by a power and may have zeros."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.7), n)
    y = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    scores = p**power
    if zeros:
        scores[scores < 0.05 * scores.max(axis=1, keepdims=True)] = 0.0
    scores /= scores.sum(axis=1, keepdims=True)
    counts = np.zeros((k, n))
    counts[y, np.arange(n)] = 1.0 if weight is None else weight
    return ClassRows(class_probabilities(scores, "probability"), tops_of(scores), counts)


def slope_by_differences(function, x, step=1e-6):
    """The gradient of a function by central differences."""
    steps = step * np.eye(len(x))
    return np.array([(function(x + s) - function(x - s)) / (2 * step) for s in steps])
