"""CPU time of the recommended methods: fit and predict, in one process and on one thread of BLAS.

Usage: python benchmarks/speed/default_speed.py [repeats]

Medians, in seconds; next to each its limit on an idle machine, and the time
of scikit-learn's isotonic regression (two classes) or of our temperature scaling (several). The
program leaves with 1 if a limit is passed.
"""

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
from sklearn.isotonic import IsotonicRegression

import trueodds

TWO_CLASSES = {1_000: 0.008, 10_000: 0.025, 100_000: 0.08, 1_000_000: 0.25}
SEVERAL = {(1_000, 3): 0.02, (1_000, 10): 0.05, (10_000, 10): 0.25, (10_000, 100): 1.5}
FOREST = (400, 10)


def cpu_seconds(task: Callable[[], object], repeats: int) -> float:
    """The median, after a first call that fills caches."""
    times = []
    for _ in range(repeats + 1):
        start = time.process_time()
        task()
        times.append(time.process_time() - start)
    return statistics.median(times[1:] or times)


def fit_and_predict(calibrator, scores, y):
    return calibrator.fit(scores, y).predict_proba(scores)


def two_classes(n: int, repeats: int) -> tuple[float, float]:
    rng = np.random.default_rng(0)
    z = rng.normal(0, 2, n)
    p, y = 1 / (1 + np.exp(-2 * z)), (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)
    peer = IsotonicRegression(out_of_bounds="clip")
    return (
        cpu_seconds(lambda: fit_and_predict(trueodds.AutoCalibrator(), p, y), repeats),
        cpu_seconds(lambda: peer.fit(p, y).predict(p), repeats),
    )


def several_classes(n: int, k: int, repeats: int, *, forest: bool = False) -> tuple[float, float]:
    """Overconfident scores, by a factor of two; those of a forest are shares of its 20 trees."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 1.5, (n, k))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    y[:k] = np.arange(k)
    if forest:
        sure = np.array([rng.multinomial(20, row) for row in p**2 / (p**2).sum(1, keepdims=True)])
        sure = sure / 20
    else:
        sure = p**2 / (p**2).sum(axis=1, keepdims=True)
    return (
        cpu_seconds(lambda: fit_and_predict(trueodds.AutoCalibrator(), sure, y), repeats),
        cpu_seconds(lambda: fit_and_predict(trueodds.TemperatureCalibrator(), sure, y), repeats),
    )


def main() -> int:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    passed = False
    tasks = [(f"{n:,} rows", limit, two_classes(n, repeats)) for n, limit in TWO_CLASSES.items()]
    for (n, k), limit in SEVERAL.items():
        few = repeats if limit < 1 else 1
        tasks.append((f"{n:,} rows, {k} classes", limit, several_classes(n, k, few)))
    n, k = FOREST
    forest = several_classes(n, k, repeats, forest=True)
    tasks.append((f"{n} rows, {k} classes of a forest", 0.05, forest))
    for name, limit, (ours, peer) in tasks:
        passed |= ours > limit
        mark = "  too slow" if ours > limit else ""
        print(f"{name:<34}{ours:>8.3f}   limit {limit:g}   peer {peer:.3f}{mark}")
    return int(passed)


if __name__ == "__main__":
    sys.exit(main())
