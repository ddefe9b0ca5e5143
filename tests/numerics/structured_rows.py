"""Rows for the tests of the structured softmax."""

from collections.abc import Callable
from typing import Any

import numpy as np

from trueodds.numerics.structured_softmax.rows import ClassRows, class_probabilities, tops_of


def some_rows(
    n: int = 300,
    k: int = 4,
    *,
    seed: int = 0,
    power: float = 1.0,
    zeros: bool = False,
    weight: float = 1.0,
) -> ClassRows:
    """Labels drawn from p, which is then sharpened by a power and may have zeros."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.7), n)
    y = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    scores = p**power
    if zeros:
        scores[scores < 0.05 * scores.max(axis=1, keepdims=True)] = 0.0
    scores /= scores.sum(axis=1, keepdims=True)
    counts = np.zeros((k, n))
    counts[y, np.arange(n)] = weight
    return ClassRows(class_probabilities(scores, "probability"), tops_of(scores), counts)


def slope_by_differences(
    function: Callable[[np.ndarray], Any], x: np.ndarray, step: float = 1e-6
) -> np.ndarray:
    """The gradient of a function by central differences."""
    steps = step * np.eye(len(x))
    return np.array([(function(x + s) - function(x - s)) / (2 * step) for s in steps])
