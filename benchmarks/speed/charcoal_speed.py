"""How long Charcoal Grill Scaling takes to fit, against limits (the paper: under a minute).

    python benchmarks/speed/charcoal_speed.py [repeats]

Synthetic data: equation 5 of the paper for two classes, Gaussian logits for a hundred. The median
of the repeats is printed, with logistic calibration or temperature scaling in the same run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from scipy.special import expit, softmax

from trueodds import CharcoalGrillCalibrator, LogisticCalibrator, TemperatureCalibrator


def seconds(call: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Return the median wall-clock time and CPU time."""
    times = []
    for _ in range(repeats):
        begin, cpu = time.perf_counter(), time.process_time()
        call()
        times.append((time.perf_counter() - begin, time.process_time() - cpu))
    wall, cpu = np.median(times, axis=0)
    return float(wall), float(cpu)


def binary(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    z = rng.logistic(size=n)
    return z, (rng.random(n) < expit(np.where(z > 0, z / 5, z))).astype(int)


def many_classes(n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(n, k))
    logits[np.arange(n), rng.integers(0, k, n)] += rng.gamma(4, 1.5, n)
    p = softmax(logits / np.where(logits.max(axis=1) > 6, 2.0, 1.0)[:, None], axis=1)
    y = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return logits, y


def report(
    what: str,
    ours: tuple[float, float],
    rival: tuple[float, float],
    name: str,
    limit: float | None = None,
) -> None:
    wanted = "" if limit is None else f" (limit {limit:g} s)"
    ratio = ours[1] / rival[1]
    print(f"{what}{wanted}: {ours[0]:.2f} s, of the processor {ours[1]:.2f} s, ", end="")
    print(f"{ratio:.0f} times {name}", flush=True)


if __name__ == "__main__":
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    for n, coals, limit in ((200, 3, 0.1), (1000, 3, None), (10**5, 5, 1.0), (10**6, 5, None)):
        z, y = binary(n)
        grill = CharcoalGrillCalibrator(n_components=coals, scale="logit")
        logistic = LogisticCalibrator(scale="logit")
        ours = seconds(lambda: grill.fit(z, y), repeats)  # noqa: B023
        rival = seconds(lambda: logistic.fit(z, y), repeats)  # noqa: B023
        report(f"N = {n}, {coals} coals", ours, rival, "logistic calibration", limit)
    scores, labels = many_classes(10**4, 100)
    grill = CharcoalGrillCalibrator(n_components=5, scale="logit")
    temperature = TemperatureCalibrator(scale="logit")
    ours = seconds(lambda: grill.fit(scores, labels), 1)
    rival = seconds(lambda: temperature.fit(scores, labels), 1)
    report("10,000 × 100 classes, 5 coals", ours, rival, "temperature scaling", 20.0)
