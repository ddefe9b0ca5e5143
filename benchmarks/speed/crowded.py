"""What a fit costs on a crowded machine: CPU and wall time alone, and with busy loops alongside.

    python benchmarks/speed/crowded.py                 # two busy loops
    python benchmarks/speed/crowded.py --loops 4

Each fit runs in a fresh process, as on the command line. Threads of BLAS that wait for each other
show as a CPU ratio far above 1; a wall ratio of about (cores + loops) / cores is fair.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

FIT = """
import json, os, sys, time
import numpy as np
from trueodds import AutoCalibrator

n, k = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(0)
z = 2 * rng.normal(size=(n, k))
p, q = np.exp(z), np.exp(z / 2)
p, q = p / p.sum(axis=1, keepdims=True), q / q.sum(axis=1, keepdims=True)
y = (q.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
wall, cpu = time.perf_counter(), time.process_time()
AutoCalibrator().fit(p[:, 1] if k == 2 else p, y)
print(json.dumps([time.process_time() - cpu, time.perf_counter() - wall]))
"""
SIZES = ((10_000, 2), (10_000, 10), (100_000, 2), (100_000, 10))
RUNS = 3


def measure(n: int, k: int) -> tuple[float, float]:
    """Medians of CPU and wall seconds of one fit."""
    found = []
    for _ in range(RUNS):
        command = [sys.executable, "-c", FIT, str(n), str(k)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout))
    cpu, wall = (statistics.median(column) for column in zip(*found, strict=True))
    return cpu, wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loops", type=int, default=2, help="busy processes alongside")
    loops = parser.parse_args().loops
    alone = {size: measure(*size) for size in SIZES}
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        time.sleep(1)
        crowded = {size: measure(*size) for size in SIZES}
    finally:
        for process in busy:
            process.kill()
            process.wait()
    print(f"{os.cpu_count()} cores, {loops} busy loops, median of {RUNS} fits of AutoCalibrator\n")
    print("| rows | classes | CPU s alone | crowded | ratio | wall s alone | crowded | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for size in SIZES:
        (cpu, wall), (cpu_crowded, wall_crowded) = alone[size], crowded[size]
        print(
            f"| {size[0]:,} | {size[1]} | {cpu:.2f} | {cpu_crowded:.2f} | {cpu_crowded / cpu:.2f} "
            f"| {wall:.2f} | {wall_crowded:.2f} | {wall_crowded / wall:.2f} |"
        )


if __name__ == "__main__":
    main()
