"""How much do the constants of Bayesian smooth calibration matter? Each group halved and doubled.

Usage: python benchmarks/choices/smooth_prior.py [--every K]

It measures log-loss on the binary predictions of the accuracy benchmark (in the folder
TRUEODDS_ARENA), calibrated on the first 100 to 3,000 rows and tested on the rest. It prints the
mean difference from the unchanged constants and its standard error over data sets. The last column
counts experiments in which log-loss is higher than that of the scores by more than 0.002.
"""

import argparse
import os
from dataclasses import replace
from pathlib import Path

import numpy as np

import trueodds
from trueodds.numerics.smooth_curve import fit, models

SIZES = (100, 300, 1000, 3000)
HARM = 0.002
CENTERS = models.CENTERS


def widened(factor):
    return tuple(replace(center, deviation=center.deviation * factor) for center in CENTERS)


def squashed_worth(factor):
    return tuple(
        replace(c, counts_as=c.counts_as * factor) if c.kind == "squashed" else c for c in CENTERS
    )


VARIANTS = {
    "widths of the prior": lambda f: {"CENTERS": widened(f)},
    "amplitudes of waves": lambda f: {"AMPLITUDES": tuple(a * f for a in models.AMPLITUDES)},
    "lengths of waves": lambda f: {"LENGTHS": tuple(x * f for x in (1.2, 0.4))},
    "weight of simplest models": lambda f: {"SIMPLEST_COUNT_AS": 8.0 * f},
    "rows of caution": lambda f: {"CAUTIOUS_UNTIL": fit.CAUTIOUS_UNTIL * f},
    "weight of squashed scores": lambda f: {"CENTERS": squashed_worth(f)},
    "size of jumps": lambda f: {"JUMP": models.JUMP * f},
    "patience": lambda f: {"PATIENCE": fit.PATIENCE * f},
    "weight of jumps": lambda f: {"JUMPS_COUNT_AS": 4.0 * f},
}


def experiments(folder, every):
    for path in sorted(folder.glob("*.npz"))[::every]:
        data = np.load(path)
        p, y = data["p"], data["y"]
        for n in SIZES:
            if n <= len(p) // 2 and 0 < y[:n].sum() < n:
                yield (
                    path.stem.split("@")[0],
                    (p[:n], y[:n]),
                    (p[n : n + 10_000], y[n : n + 10_000]),
                )


def log_loss(y, p):
    return -np.log(np.clip(np.where(y == 1, p, 1 - p), 1e-12, None)).mean()


def losses(cases):
    found = []
    for _, known, (p, y) in cases:
        q = trueodds.BayesianSmoothCalibrator().fit(*known).predict_proba(p)[:, 1]
        found.append(log_loss(y, q))
    return np.array(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--every", type=int, default=3, help="take every K-th file")
    folder = Path(os.environ.get("TRUEODDS_ARENA", "no folder")) / "binary"
    cases = list(experiments(folder, parser.parse_args().every))
    if not cases:
        raise SystemExit(f"{folder} has no predictions; set TRUEODDS_ARENA.")
    sets = np.array([name for name, *_ in cases])
    of_scores = np.array([log_loss(y, p) for _, _, (p, y) in cases])
    before = losses(cases)
    harmed = np.sum(before - of_scores > HARM)
    print(f"{len(cases)} experiments, log-loss {before.mean():.5f}, {harmed} harmed; differences:")
    for name, variant in VARIANTS.items():
        for factor in (0.5, 2.0):
            changed = variant(factor)
            kept = {key: getattr(fit, key) for key in changed}
            for key, value in changed.items():
                setattr(fit, key, value)
            after = losses(cases)
            difference, harmed = after - before, np.sum(after - of_scores > HARM)
            for key, value in kept.items():
                setattr(fit, key, value)
            by_set = np.array([difference[sets == s].mean() for s in np.unique(sets)])
            error = by_set.std(ddof=1) / np.sqrt(len(by_set))
            change = f"{difference.mean():+.5f} ± {error:.5f}"
            print(f"{name:<28} × {factor:<4g} {change}, {harmed} harmed", flush=True)


if __name__ == "__main__":
    main()
