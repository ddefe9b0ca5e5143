"""Scores of exactly 0 and 1: excess log-loss and coverage with known probabilities.

Usage: python benchmarks/choices/saturated_scores.py [--repetitions R] [--methods NAME ...]

Scores are shares of votes, of which many are 0 or 1. Three true curves: *votes* of 10 neighbors,
where the probability is the posterior mean given the votes; *trees*, a forest of 100 whose votes
are too extreme; *literal*, where 0 means never and 1 always. Excess is E[KL(true ‖ map)] in nats,
exact for each fitted map, with its standard error over repetitions. Coverage is that of 90%
intervals.
"""

import argparse

import numpy as np
from scipy.special import expit, xlogy

from trueodds.calibrators import find_calibrator

METHODS = ("bayesian_smooth", "spline", "logistic", "beta", "isotonic", "venn_abers")
SIZES = (100, 300, 1000)


def posterior_of_votes(k):
    return (k + 0.7) / 11.4


def posterior_of_trees(k):
    return expit(0.6 * np.log((k + 1) / (101 - k)))


def literal(k):
    return k / 10


TRUTHS = {
    "votes": (10, posterior_of_votes),
    "trees": (100, posterior_of_trees),
    "literal": (10, literal),
}


def draw(rng, n, voters, truth):
    """Votes and labels of both classes."""
    while True:
        votes = rng.binomial(voters, rng.beta(0.7, 0.7, n))
        y = (rng.random(n) < truth(votes)).astype(int)
        if 0 < y.sum() < n:
            return votes, y


def excess(p, q, share):
    """Return the excess of the expected log-loss of forecasts q over the true p."""
    return share @ (xlogy(p, p / q) + xlogy(1 - p, (1 - p) / (1 - q)))


def judge(method, voters, truth, n, repetitions):
    """Excess log-loss and coverage of each repetition."""
    votes = np.arange(voters + 1)
    many = np.random.default_rng(0).beta(0.7, 0.7, 200_000)
    share = np.bincount(np.random.default_rng(1).binomial(voters, many), minlength=voters + 1)
    share, true = share / share.sum(), truth(votes)
    losses, covered = [], []
    for repetition in range(repetitions):
        k, y = draw(np.random.default_rng([n, repetition]), n, voters, truth)
        calibrator = find_calibrator(method)().fit(k / voters, y)
        q = np.clip(calibrator.predict_proba(votes / voters)[:, 1], 1e-12, 1 - 1e-12)
        low, high = calibrator.predict_interval(votes / voters)
        losses.append(excess(true, q, share))
        covered.append(share @ ((low <= true) & (true <= high)))
    return np.array(losses), np.array(covered)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    options = parser.parse_args()
    for name, (voters, truth) in TRUTHS.items():
        for n in SIZES:
            print(f"{name}, {n} rows")
            for method in options.methods:
                loss, covered = judge(method, voters, truth, n, options.repetitions)
                error = loss.std(ddof=1) / np.sqrt(len(loss))
                print(
                    f"  {method:18}{loss.mean():8.4f} ± {error:.4f}   {covered.mean():6.1%}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
