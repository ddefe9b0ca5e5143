"""Time and state of CalibrationMonitor for a million rows, on one core.

python benchmarks/speed/monitor_speed.py
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from trueodds import CalibrationMonitor

ROWS = 1_000_000


def main() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(0.6, 1.4, ROWS)
    y = (rng.random(ROWS) < p).astype(np.intp)
    groups = rng.integers(0, 20, ROWS).astype(str)
    table = rng.dirichlet(np.ones(5), ROWS)
    codes = (table.cumsum(axis=1) < rng.random((ROWS, 1))).sum(axis=1)
    kinds = {
        "two classes": (p, y, {}),
        "with weights": (p, y, {"weight": np.full(ROWS, 0.5)}),
        "with 20 groups": (p, y, {"group": groups}),
        "five classes": (table, np.minimum(codes, 4), {}),
    }
    print("| rows | CPU, s | state, kB | alarm |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, (scores, labels, more) in kinds.items():
            monitor = CalibrationMonitor()
            start = time.process_time()
            monitor.update(scores, labels, **more)
            seconds = time.process_time() - start
            size = monitor.save(Path(folder) / "state.json").stat().st_size
            print(f"| a million, {name} | {seconds:.2f} | {size / 1000:.0f} | {monitor.alarm} |")
    monitor = CalibrationMonitor()
    start = time.process_time()
    for row in range(10_000):
        monitor.update(p[row], y[row])
    print(f"one row at a time: {(time.process_time() - start) * 100:.0f} µs a row")


if __name__ == "__main__":
    main()
