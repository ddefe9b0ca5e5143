"""How often AutoCalibrator leaves calibrated scores alone, and distorted ones not.

    python benchmarks/choices/auto_identity.py [--rows N] [--seeds N] [--factors F]

Log-odds are multiplied by a factor after the labels have been drawn from them. With a factor of 1
the best map is the identity; with greater ones the scores are overconfident. Printed is
how often each method is taken.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

import numpy as np

from trueodds.model_selection import AutoCalibrator


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--factors", type=float, nargs="+", default=[1.0, 1.5])
    options = parser.parse_args()
    for factor in options.factors:
        chosen: Counter[str] = Counter()
        start = time.process_time()
        for seed in range(options.seeds):
            rng = np.random.default_rng(seed)
            z = rng.logistic(size=options.rows)
            y = rng.random(options.rows) < 1 / (1 + np.exp(-z))
            auto = AutoCalibrator("all", scale="logit", select="one_se").fit(factor * z, y)
            chosen[auto.best_method_] += 1
        listed = ", ".join(f"{method} {n}" for method, n in chosen.most_common())
        print(
            f"{options.rows} rows, factor {factor:g}, {options.seeds} seeds "
            f"({time.process_time() - start:.0f} s of CPU time): {listed}",
            flush=True,
        )


if __name__ == "__main__":
    main()
