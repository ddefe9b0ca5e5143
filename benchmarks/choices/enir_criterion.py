"""Which criterion should weight ENIR's models? Distance to known true curves.

Usage: python benchmarks/choices/enir_criterion.py [replicates]

Scores uniform on [0, 1], labels drawn from a known curve, ENIR fitted with each criterion: the root
mean square distance of its map to the curve on a fine grid, mean over replicates. Standard errors
are those of the difference from the authors' criterion, replicate by replicate.
"""

import sys

import numpy as np

from trueodds import ENIRCalibrator
from trueodds_studies.papers.enir import AuthorsENIR

METHODS = {
    "authors": AuthorsENIR(),
    **{name: ENIRCalibrator(criterion=name) for name in ("bic", "aic", "aicc")},
}

SIZES = (100, 300, 1000, 3000, 10_000)
TRUTHS = {
    "calibrated": lambda s: s,
    "over-confident": lambda s: 1 / (1 + ((1 - s) / s) ** 0.5),
    "two steps": lambda s: np.where(s < 0.3, 0.1, np.where(s < 0.7, 0.4, 0.8)),
    "falls in the middle": lambda s: 0.5 + 0.4 * np.sin(3 * np.pi * s) * s,
    "high at both ends": lambda s: 4 * (s - 0.5) ** 2,
    "rare": lambda s: 0.1 * s**2,
}
GRID = (np.arange(2000) + 0.5) / 2000


def distances(truth, rows: int, replicates: int) -> np.ndarray:
    """One row for each replicate, one column for each criterion."""
    found = np.empty((replicates, len(METHODS)))
    for replicate in range(replicates):
        rng = np.random.default_rng([rows, replicate])
        scores = rng.random(rows)
        y = rng.random(rows) < truth(scores)
        y[:2] = 0, 1
        for column, method in enumerate(METHODS.values()):
            fitted = method.fit(scores, y)
            off = fitted.predict_proba(GRID)[:, 1] - truth(GRID)
            found[replicate, column] = np.sqrt(np.mean(off**2))
    return found


def main() -> None:
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    print(f"{replicates} replicates; RMSE to the true curve, and difference from the authors' ± se")
    print(f"{'truth':22}{'rows':>7}" + "".join(f"{name:>26}" for name in METHODS))
    whole = []
    for rows in SIZES:
        for name, truth in TRUTHS.items():
            found = distances(truth, rows, replicates)
            whole.append(found.mean(axis=0))
            change = found - found[:, [0]]
            error = change.std(axis=0, ddof=1) / np.sqrt(replicates)
            cells = "".join(
                f"{mean:.4f} ({lost:+.4f} ± {se:.4f})".rjust(26)
                for mean, lost, se in zip(
                    found.mean(axis=0), change.mean(axis=0), error, strict=True
                )
            )
            print(f"{name:22}{rows:>7}{cells}", flush=True)
    cells = "".join(f"{mean:.4f}".rjust(26) for mean in np.mean(whole, axis=0))
    print(f"{'mean':29}{cells}")


if __name__ == "__main__":
    main()
