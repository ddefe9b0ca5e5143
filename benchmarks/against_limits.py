"""How near to the least that a task can cost: ratios to one pass of NumPy, and single rows.

Usage: python benchmarks/against_limits.py [repeats]

A million rows; wall time, because the work is shared by two cores, and the median of all repeats,
in which the task and its measure take turns. Single rows in microseconds. The program leaves with
1 if a limit is passed; the limits are those of an idle machine.
"""

import os
import statistics
import sys
import time
import timeit
from collections.abc import Callable
from functools import partial

import numpy as np

import trueodds
from trueodds.calibrators import find_calibrator
from trueodds.metrics import expected_calibration_error

ROWS = 1_000_000
CALLS = 2000
PREDICT_MICROSECONDS, MAP_MICROSECONDS = 15.0, 8.0
BINARY = (
    "beta",
    "logistic",
    "temperature",
    "charcoal_grill",
    "isotonic",
    "histogram",
    "bbq",
    "enir",
)
MULTICLASS = ("temperature", "vector", "matrix")


def ratio(task: Callable[[], object], measure: Callable[[], object], repeats: int) -> float:
    """Median time of a task over that of its measure."""
    times: tuple[list[float], list[float]] = [], []
    for _ in range(repeats + 1):
        for call, taken in zip((task, measure), times, strict=True):
            start = time.perf_counter()
            call()
            taken.append(time.perf_counter() - start)
    return statistics.median(times[0][1:]) / statistics.median(times[1][1:])


def microseconds(task: Callable[[], object]) -> float:
    """Of one call, the least of five rounds."""
    return 1e6 * min(timeit.repeat(task, number=CALLS, repeat=5)) / CALLS


def many_rows(repeats: int) -> list[tuple[str, float, float]]:
    rng = np.random.default_rng(0)
    z = rng.normal(0, 1.5, ROWS)
    y = (rng.random(ROWS) < 1 / (1 + np.exp(-z))).astype(int)
    p = 1 / (1 + np.exp(-2 * z))
    beta = trueodds.BetaCalibrator().fit(p[:10_000], y[:10_000])
    logistic = trueodds.LogisticCalibrator().fit(p[:10_000], y[:10_000])
    tasks = [
        ("beta prediction, × np.exp", lambda: beta.predict_proba(p), lambda: np.exp(z), 2.0),
        (
            "logistic prediction, × np.exp",
            lambda: logistic.predict_proba(p),
            lambda: np.exp(z),
            2.0,
        ),
        (
            "isotonic fit, × np.sort",
            lambda: trueodds.IsotonicCalibrator().fit(p, y),
            lambda: np.sort(p),
            4.0,
        ),
        (
            "ENIR fit, × np.sort",
            lambda: trueodds.ENIRCalibrator().fit(p, y),
            lambda: np.sort(p),
            12.0,
        ),
        ("ECE, × np.sort", lambda: expected_calibration_error(y, p), lambda: np.sort(p), 0.3),
    ]
    return [(name, ratio(task, measure, repeats), limit) for name, task, measure, limit in tasks]


def single_rows() -> list[tuple[str, float, float]]:
    rng = np.random.default_rng(0)
    p = rng.random(3000)
    y = (rng.random(3000) < p).astype(int)
    classes = rng.dirichlet([1, 1, 1], 3000)
    labels = (rng.random((3000, 1)) > classes.cumsum(axis=1)).sum(axis=1)
    found = []
    for names, scores, target, row in (
        (BINARY, p, y, np.array([0.3])),
        (MULTICLASS, classes, labels, np.array([[0.2, 0.3, 0.5]])),
    ):
        for name in names:
            fitted = find_calibrator(name)().fit(scores, target)
            kind = f"{name}, {len(fitted.classes_)} classes"
            for what, call, limit in (
                ("predict_proba", fitted.predict_proba, PREDICT_MICROSECONDS),
                ("map_", fitted.map_, MAP_MICROSECONDS),
            ):
                found.append(
                    (f"{kind}: {what} of one row, µs", microseconds(partial(call, row)), limit)
                )
    return found


def main() -> int:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    print(f"{ROWS:,} rows, {len(os.sched_getaffinity(0))} cores, median of {repeats}")
    passed = False
    for name, value, limit in (*many_rows(repeats), *single_rows()):
        passed |= value > limit
        print(f"{name:<50}{value:>8.2f}   limit {limit:g}{'  passed' if value > limit else ''}")
    return int(passed)


if __name__ == "__main__":
    sys.exit(main())
