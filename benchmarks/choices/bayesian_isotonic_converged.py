"""Markov chains against the converged means of the authors' program.

    python benchmarks/choices/bayesian_isotonic_converged.py FIXTURES [--draws 4000]

FIXTURES is a folder with ``data/<set>_train.csv`` (score, label) and
``bayesiso/<set>_converged_map.csv`` (lower, upper, mean_converged, mcse): bounds and converged mean
of the authors' program, made outside this project. Chains take every rank separately, with these
bounds and without. z is the difference in standard errors. About three CPU minutes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from trueodds import ScoreTable
from trueodds.calibrators._bayesian_isotonic.chains import run_chains

SETS = ("n50", "n200", "n1000", "ties1000", "imbal2000")


def columns(path):
    return np.genfromtxt(path, delimiter=",", names=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("fixtures", type=Path)
    parser.add_argument("--draws", type=int, default=4000, help="of each of four chains, at most")
    options = parser.parse_args()
    for name in SETS:
        train = columns(options.fixtures / "data" / f"{name}_train.csv")
        expected = columns(options.fixtures / "bayesiso" / f"{name}_converged_map.csv")
        table = ScoreTable.from_arrays(train["score"], train["label"])
        lower, upper = expected["lower"], expected["upper"]
        for kind, bounds in (("authors' bounds", (lower, upper)), ("no bounds", None)):
            chains = run_chains(
                *(table.n_neg, table.n_pos),
                bounds=bounds,
                n_chains=4,
                wanted=1000,
                max_draws=options.draws,
                seed=0,
                n_threads=2,
            )
            draws = chains.draws.reshape(-1, len(table))
            difference = np.abs(draws.mean(axis=0) - expected["mean_converged"])
            own = draws.std(axis=0) / np.sqrt(chains.effective_sample_size)
            z = difference / np.hypot(own, expected["mcse"])
            line = f"{name:10} {kind:15}: largest difference {difference.max():.4f}, "
            line += f"root mean square z {np.sqrt(np.mean(z**2)):.2f}"
            if bounds is None:
                inside = ((draws > lower) & (draws < upper)).mean(axis=0)
                for share in (0.99, 0.999):
                    free = inside > share
                    worst = difference[free].max(initial=0)
                    line += f"; {worst:.4f} at the {free.sum()} ranks with > {share} inside"
            else:
                line += f", effective sample size {chains.effective_sample_size.min():.0f}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
