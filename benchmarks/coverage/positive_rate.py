"""Coverage and width of intervals for the share of positives among unlabeled rows.

    python benchmarks/coverage/positive_rate.py [--samples 1000]

``estimate_positive_rate`` gets n labeled and m unlabeled rows of one population. Next to it is
Wilson's interval of the labeled rows alone, for the same target.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from trueodds.metrics import estimate_positive_rate

SIZES = ((30, 2000), (150, 2000), (150, 150))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1000)
    samples = parser.parse_args().samples
    print("| scores | labeled | unlabeled | coverage | width | coverage, labels only | width |")
    print("|---" * 7 + "|")
    for name in POPULATIONS:
        for n, m in SIZES:
            print(f"| {name} | {n} | {m:,} | {row(name, n, m, samples)} |", flush=True)


def calibrated(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Probabilities that are right, two thirds positive."""
    p = rng.beta(2, 1, n)
    return p, rng.random(n) < p


def sharp(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Probabilities that are right and mostly near 0 or 1."""
    p = rng.beta(0.4, 0.2, n)
    return p, rng.random(n) < p


def overconfident(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Log-odds three times too large, and too high."""
    z = rng.normal(1, 1.2, n)
    return 1 / (1 + np.exp(-3 * z - 1)), rng.random(n) < 1 / (1 + np.exp(-z))


def stated(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Five values, as language models state them."""
    p = rng.choice([0.7, 0.8, 0.9, 0.95, 1.0], n, p=[0.05, 0.1, 0.25, 0.4, 0.2])
    return p, rng.random(n) < 0.4 + 0.5 * (p > 0.85)


def rare(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Probabilities that are right, 4% positive."""
    p = rng.beta(0.3, 8, n)
    return p, rng.random(n) < p


def separated(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Two values that separate the classes but for 1% of the positives."""
    y = rng.random(n) < 0.7
    return np.where(y & (rng.random(n) > 0.014), 0.95, 0.1), y


def useless(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Scores without information."""
    return rng.random(n), rng.random(n) < 0.8


NAMED = (calibrated, sharp, overconfident, stated, rare, separated, useless)
POPULATIONS = {one.__name__: one for one in NAMED}


def row(name: str, n: int, m: int, samples: int) -> str:
    """Share of intervals that contain the share of positives, and their mean width."""
    rng = np.random.default_rng([n, m])
    found = np.zeros(4)
    for _ in range(samples):
        p, y = POPULATIONS[name](rng, n + m)
        true = y[n:].mean()
        for i, score in enumerate((p, np.full(n + m, 0.5))):  # a constant score adds nothing
            one = estimate_positive_rate(y[:n], score[:n], score[n:], classes=[False, True])
            found[2 * i : 2 * i + 2] += one.low <= true <= one.high, one.high - one.low
    found /= samples
    return " | ".join(
        f"{100 * value:.1f}%" if i % 2 == 0 else f"{value:.3f}" for i, value in enumerate(found)
    )


if __name__ == "__main__":
    main()
