"""False alarms of CalibrationMonitor on streams that are calibrated, looked at after every row.

    python benchmarks/coverage/monitor_alarms.py                     # 10,000 streams, 8 minutes
    python benchmarks/coverage/monitor_alarms.py --streams 500 rare  # one kind of scores

The last two kinds are miscalibrated by 0.015 with a tolerance of 0.02: all too low, and each row by
chance too low or too high.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from trueodds import CalibrationMonitor

ALPHA = 0.05
Draw = Callable[[np.random.Generator, int], np.ndarray]
SCORES: dict[str, tuple[Draw, str, float]] = {
    "uniform": (lambda rng, n: rng.uniform(0, 1, n), "right", 0.0),
    "sharp": (lambda rng, n: rng.beta(0.3, 0.3, n), "right", 0.0),
    "rare": (lambda rng, n: rng.beta(0.5, 99.5, n), "right", 0.0),
    "tolerated": (lambda rng, n: rng.uniform(0.02, 0.98, n), "up", 0.02),
    "tolerated-mixed": (lambda rng, n: rng.uniform(0.02, 0.98, n), "mixed", 0.02),
}
OFF = 0.015


def alarms(kind: str, streams: int, rows: int) -> tuple[int, float]:
    draw, off, tolerance = SCORES[kind]
    count, start = 0, time.process_time()
    for seed in range(streams):
        rng = np.random.default_rng([seed, len(kind)])
        p = draw(rng, rows)
        truth = p
        if off != "right":
            truth = p + OFF * (1 if off == "up" else rng.choice([-1, 1], rows))
        y = (rng.random(rows) < truth).astype(np.intp)
        # The monitor itself looks after every row.
        count += CalibrationMonitor(alpha=ALPHA, tolerance=tolerance).update(p, y).alarm
    return count, time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kinds", nargs="*", default=list(SCORES), metavar="KIND")
    parser.add_argument("--streams", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=10_000)
    options = parser.parse_args()
    print(f"alpha {ALPHA}, {options.streams:,} streams of {options.rows:,} rows")
    for kind in options.kinds:
        count, seconds = alarms(kind, options.streams, options.rows)
        share = count / options.streams
        print(f"{kind:16} alarms {count:5} = {share:.4f}   {seconds:.0f} s CPU", flush=True)


if __name__ == "__main__":
    main()
