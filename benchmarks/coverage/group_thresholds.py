"""Thresholds for each group: how often any guarantee fails, and what shared starts add.

    python benchmarks/coverage/group_thresholds.py [--samples 60]

Eight groups of 40 to 400 rows have true log-odds that are shifted and sloped relative to the
scores. Each sample gives a threshold for every group, for at most 15% errors with 90% confidence
for all groups together. ``guaranteed_thresholds`` lets the other groups decide where half of a
group's tests begin; ``guaranteed_threshold`` of each group alone gets an eighth of the doubt. A
guarantee fails if the error rate of a large population exceeds the limit.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from trueodds.decisions import guaranteed_threshold, guaranteed_thresholds

SIZES = (40, 60, 80, 120, 160, 200, 300, 400)
LIMIT, CONFIDENCE = 0.15, 0.9
SCORES = {"calibrated": 1.0, "overconfident": 2.5, "underconfident": 0.4}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=60)
    samples = parser.parse_args().samples
    print("| scores | shared starts: broken, share | each alone: broken, share |")
    print("|---" * 3 + "|")
    for name, slope in SCORES.items():
        print(f"| {name} | {row(slope, samples)} |", flush=True)


def row(slope: float, samples: int) -> str:
    """Samples with a broken guarantee, and the mean share of rows that groups act on."""
    rng = np.random.default_rng(5)
    broken, share = np.zeros(2), np.zeros(2)
    for _ in range(samples):
        effect = rng.normal(0, 0.5, len(SIZES))
        group = np.repeat(np.arange(len(SIZES)), SIZES)
        p, y = draw(rng, effect[group], slope)
        both: tuple[dict[int, Any], ...] = (
            guaranteed_thresholds(y, p, groups=group, at_most=LIMIT, confidence=CONFIDENCE),
            {
                g: guaranteed_threshold(
                    y[group == g],
                    p[group == g],
                    at_most=LIMIT,
                    confidence=1 - (1 - CONFIDENCE) / len(SIZES),
                    classes=[False, True],
                )
                for g in range(len(SIZES))
            },
        )
        wide = [draw(rng, np.full(20_000, one), slope) for one in effect]
        for i, found in enumerate(both):
            acted, wrong = zip(
                *(outcome(found[g].threshold, *wide[g]) for g in range(len(SIZES))), strict=True
            )
            broken[i] += max(wrong) > LIMIT
            share[i] += np.mean(acted)
    cells = zip(broken / samples, share / samples, strict=True)
    return " | ".join(f"{100 * b:.1f}%, {100 * s:.1f}%" for b, s in cells)


def draw(rng: np.random.Generator, effect: Any, slope: float) -> tuple[Any, Any]:
    """Scores with log-odds of the wrong slope, and labels."""
    z = rng.normal(1.5, 1.5, len(effect))
    return 1 / (1 + np.exp(-slope * z)), rng.random(len(effect)) < 1 / (1 + np.exp(-z - effect))


def outcome(threshold: float | None, p: Any, y: Any) -> tuple[float, float]:
    """Share of rows acted on, and share of them that is wrong."""
    act = p >= threshold
    return float(act.mean()), float(1 - y[act].mean()) if act.any() else 0.0


if __name__ == "__main__":
    main()
