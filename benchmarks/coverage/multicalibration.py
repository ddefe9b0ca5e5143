"""Size and power of the test of ``multicalibration_error``, next to a test of each group.

    python benchmarks/coverage/multicalibration.py [--samples 300]

Rows have three columns of three values, uniform scores, and true probabilities that are shifted by
0.5 of the log-odds in no segment, in one value, in a pair of values, or in a triple. The tests are
``multicalibration_error`` (p ≤ 0.05), the p-value of MCGrad's formula for the same statistic, and
``group_test`` of the three columns (any group flagged at 5%). MCGrad's formula does not correct for
the number of segments.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from trueodds.metrics import group_test, multicalibration_error

NAMES = ("region", "age", "device")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=300)
    samples = parser.parse_args().samples
    print("| rows | shifted | multicalibration_error | uncorrected | group_test |")
    print("|---" * 5 + "|")
    for n in (300, 1000):
        for shifted in range(4):
            print(f"| {n:,} | {shifted_text(shifted)} | {row(n, shifted, samples)} |", flush=True)


def shifted_text(columns: int) -> str:
    """What is off."""
    return ("nothing", "one value", "a pair", "a triple")[columns]


def row(n: int, shifted: int, samples: int) -> str:
    """Shares of samples in which each test finds something."""
    rng = np.random.default_rng(1000 * n + shifted)
    found = np.zeros(3)
    for sample in range(samples):
        z = rng.normal(0, 1.5, n)
        columns = {name: rng.choice(list("abc"), n) for name in NAMES}
        own = np.full(n, shifted > 0)
        for name in NAMES[:shifted]:
            own &= columns[name] == "a"
        p = 1 / (1 + np.exp(-z))
        y = rng.random(n) < 1 / (1 + np.exp(-z - 0.5 * own))
        measured = multicalibration_error(y, p, columns, random_state=sample)
        flagged = any(group.flagged for group in group_test(y, p, columns))
        found += measured.p_value <= 0.05, range_tail(measured.deviations) <= 0.05, flagged
    return " | ".join(f"{100 * share:.1f}%" for share in found / samples)


def range_tail(x: float) -> float:
    """P(range of a Brownian motion on [0, 1] > x) (Feller 1951)."""
    odd = np.arange(1, 400, 2)
    terms = (8 / x**2 + 8 / (odd * math.pi) ** 2) * np.exp(-((odd * math.pi / x) ** 2) / 2)
    return float(max(0.0, 1 - terms.sum()))


if __name__ == "__main__":
    main()
