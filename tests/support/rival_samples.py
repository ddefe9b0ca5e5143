"""A small sample on which other packages' results are stored in the tests of their methods.

Scores are multiples of 1/64: some packages compute in single precision, which holds these exactly.
``benchmarks/rivals/rival_methods.py`` compares larger samples with the packages themselves.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SCORES = np.array([
    1, 2, 3, 3, 5, 6, 8, 9, 11, 12, 14, 15, 15, 17, 19, 21, 23, 24, 26, 28,
    30, 31, 33, 35, 36, 38, 40, 41, 43, 43, 45, 47, 48, 50, 52, 54, 57, 59, 61, 63,
]) / 64  # fmt: skip
LABELS = np.array([
    0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0,
    1, 0, 1, 1, 0, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 1,
])  # fmt: skip
GRID = np.array([1, 3, 4, 10, 15, 22, 32, 43, 44, 51, 58, 63]) / 64
"""Where predictions are compared: some of the scores, and places between."""


def mixed_up_classes(seed: int, n: int, k: int) -> tuple[Floats, Floats]:
    """Scores that mix classes up; a fifth of the labels are arbitrary."""
    rng = np.random.default_rng(seed)
    logits = 2 * rng.normal(size=(n, k))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = ((0.8 * p + 0.2 / k).cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    wrong = logits * rng.uniform(0.8, 2, k) + rng.normal(size=k) * 0.5
    wrong = wrong @ (np.eye(k) + 0.1 * rng.normal(size=(k, k)))
    return normalized(np.exp(wrong - wrong.max(axis=1, keepdims=True))), y


def normalized(p: Floats) -> Floats:
    """Rows that sum to 1, as single precision holds them."""
    single = np.asarray(p / p.sum(axis=1, keepdims=True), dtype=np.float32)
    return np.asarray(single, dtype=np.float64)
