"""A small sample on which other packages' results are stored in the tests of their methods.

Scores are multiples of 1/64: some packages compute in single precision, which holds these exactly.
``benchmarks/rival_methods.py`` compares larger samples with the packages themselves.
"""

import numpy as np

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
