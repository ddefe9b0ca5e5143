"""How much do the constants of Bayesian smooth calibration matter? Each group halved and doubled.

Usage: python benchmarks/choices/smooth_prior.py [--every K]

Log-loss on the binary predictions of the arena (in the folder TRUEODDS_ARENA),
calibrated on the first 100 to 3,000 rows and judged on the rest: the mean difference from the
constants as they are, and its standard error over data sets.
"""

import argparse
import os
from pathlib import Path

import numpy as np

import trueodds
from trueodds.numerics.smooth_curve import fit, models

SIZES = (100, 300, 1000, 3000)
CENTERS = models.CENTERS


def scaled(factor):
    return tuple(models.Center(c.kind, c.deviation * factor) for c in CENTERS)


VARIANTS = {
    "widths of the prior": lambda f: {"CENTERS": scaled(f)},
    "amplitudes of waves": lambda f: {"AMPLITUDES": tuple(a * f for a in models.AMPLITUDES)},
    "lengths of waves": lambda f: {"LENGTHS": tuple(x * f for x in (1.2, 0.4))},
    "weight of bare centers": lambda f: {"BARE_COUNTS_AS": 8.0 * f},
    "size of jumps": lambda f: {"JUMP": models.JUMP * f},
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


def losses(cases):
    found = []
    for _, known, (p, y) in cases:
        q = trueodds.BayesianSmoothCalibrator().fit(*known).predict_proba(p)[:, 1]
        found.append(-np.log(np.where(y == 1, q, 1 - q)).mean())
    return np.array(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--every", type=int, default=3, help="take every K-th file")
    folder = Path(os.environ.get("TRUEODDS_ARENA", "no folder")) / "binary"
    cases = list(experiments(folder, parser.parse_args().every))
    if not cases:
        raise SystemExit(f"{folder} has no predictions; set TRUEODDS_ARENA.")
    sets = np.array([name for name, *_ in cases])
    before = losses(cases)
    print(f"{len(cases)} experiments, log-loss {before.mean():.5f}; differences:")
    for name, variant in VARIANTS.items():
        for factor in (0.5, 2.0):
            changed = variant(factor)
            kept = {key: getattr(fit, key) for key in changed}
            for key, value in changed.items():
                setattr(fit, key, value)
            difference = losses(cases) - before
            for key, value in kept.items():
                setattr(fit, key, value)
            by_set = np.array([difference[sets == s].mean() for s in np.unique(sets)])
            error = by_set.std(ddof=1) / np.sqrt(len(by_set))
            print(f"{name:<28} × {factor:<4g} {difference.mean():+.5f} ± {error:.5f}", flush=True)


if __name__ == "__main__":
    main()
