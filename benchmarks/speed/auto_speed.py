"""How long AutoCalibrator takes with its default methods.

    OMP_NUM_THREADS=1 python benchmarks/speed/auto_speed.py [--rows N] [--repeats N]

It prints wall time and CPU time of one fit on N over-confident scores, with one and with two
processes, and the share of each method. Times are medians of the repeats, after a first fit of 200
rows that loads the kernels.
"""

from __future__ import annotations

import argparse
import time
from statistics import median

import numpy as np

from trueodds.model_selection import AutoCalibrator


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    z = rng.logistic(size=options.rows)
    y = rng.random(options.rows) < 1 / (1 + np.exp(-z))
    start = time.perf_counter()
    AutoCalibrator("all", scale="logit", select="one_se").fit(3 * z[:200], y[:200])
    print(f"first fit, 200 rows: {time.perf_counter() - start:.1f} s")
    for n_jobs in (1, 2):
        wall, cpu = [], []
        for _ in range(options.repeats):
            start, begin = time.perf_counter(), time.process_time()
            auto = AutoCalibrator("all", scale="logit", select="one_se", n_jobs=n_jobs).fit(
                3 * z, y
            )
            wall.append(time.perf_counter() - start)
            cpu.append(time.process_time() - begin)
        own = f", CPU {median(cpu):.1f} s" if n_jobs == 1 else ""
        print(
            f"{options.rows} rows, {len(auto.results_)} methods, n_jobs={n_jobs}: "
            f"wall {median(wall):.1f} s{own}; {auto.best_method_}"
        )
    for row in auto.results_.to_dict("records"):
        print(f"  {row['method']:20}{1000 * row['seconds']:9.1f} ms a fold")


if __name__ == "__main__":
    main()
