"""How often the intervals of ``predict_interval`` hold the true probability, and how wide they are.

    python benchmarks/coverage/probability_intervals.py [--replicates 200] [--rows 300 2000] \
        [--output intervals.json]

Seven true curves, of which two are over- and under-confident scores; 90% intervals; coverage and
width are averages over 500 new scores of the same distribution. The jump of the step is reported
apart (scores within 0.05 of it). The oracle is a logistic regression on the true log-odds: it has
the shape of the true curve and learns its level and slope from the same rows (Wald's interval).

With ``--output``, finished parts are kept in that file and not computed again. About twelve minutes
of CPU time, one for each number of rows and curve (``--truths``). The curves of ``--set tuning``
(other shapes, other seeds) are those on which it was decided which models take part in intervals.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.special import expit, logit

from trueodds.calibrators import find_calibrator

METHODS = (
    "bayesian_smooth",
    "beta",
    "logistic",
    "temperature",
    "isotonic",
    "histogram",
    "enir",
)
NEW_ROWS = 500
SATURATED = 3.0


def smooth(rng, n):
    """A power of the score between a floor and a ceiling."""
    p = rng.random(n)
    return p, 0.05 + 0.9 * p**1.5


def over_confident(rng, n):
    """Log-odds twice too large, and shifted."""
    z = rng.normal(0, 1.5, n)
    return expit(2 * z + 0.3), expit(z)


def under_confident(rng, n):
    """Log-odds half as large as they should be, and shifted."""
    z = rng.normal(0, 1.5, n)
    return expit(z / 2 - 0.2), expit(z)


def step(rng, n):
    """Two levels, with a jump at 0.6."""
    p = rng.random(n)
    return p, np.where(p < 0.6, 0.15, 0.7)


def non_monotone(rng, n):
    """High at both ends, low between."""
    p = rng.random(n)
    return p, 0.5 + 0.3 * np.cos(2 * np.pi * p)


def rare(rng, n):
    """About 1% positives; scores too high, and too far apart."""
    z = rng.normal(-4.5, 1.3, n)
    return expit(z), expit(0.7 * z - 1.6)


def saturated(rng, n):
    """Log-odds ten times too large; one in seven scores is exactly 0 or 1."""
    z = np.clip(rng.normal(0, 2, n), -SATURATED, SATURATED)
    p = np.where(np.abs(z) < SATURATED, expit(5 * z), z > 0)
    return p, expit(0.5 * z + 0.2)


def tuning_smooth(rng, n):
    """A bend that few rows show."""
    z = rng.normal(0, 2, n)
    return expit(z), expit(0.7 * z + 0.4 * np.sin(z) - 0.2)


def tuning_over_confident(rng, n):
    """Log-odds too large."""
    z = rng.normal(0, 1.5, n)
    return expit(1.7 * z), expit(z)


def tuning_under_confident(rng, n):
    """Log-odds too small, and shifted."""
    z = rng.normal(0, 1.5, n)
    return expit(0.6 * z), expit(z + 0.2)


def tuning_step(rng, n):
    """A jump at one half."""
    p = rng.random(n)
    return p, np.where(p < 0.5, 0.2, 0.8)


def tuning_non_monotone(rng, n):
    """A whole wave."""
    p = rng.random(n)
    return p, 0.5 + 0.35 * np.sin(2 * np.pi * p)


def tuning_rare(rng, n):
    """Some positives in a thousand."""
    z = rng.normal(-5.3, 1.2, n)
    return expit(z), expit(0.8 * z - 0.9)


def tuning_saturated(rng, n):
    """Log-odds ten times too large, the outermost at 0 and 1."""
    z = np.clip(rng.normal(0, 2.5, n), -4, 4)
    return np.where(np.abs(z) < 4, expit(6 * z), z > 0), expit(0.6 * z)


JUMPS = {"step": 0.6, "tuning_step": 0.5}
SETS = {
    "judging": (smooth, over_confident, under_confident, step, non_monotone, rare, saturated),
    "tuning": (
        tuning_smooth,
        tuning_over_confident,
        tuning_under_confident,
        tuning_step,
        tuning_non_monotone,
        tuning_rare,
        tuning_saturated,
    ),
}
FIRST_SEED = {"judging": 10_000, "tuning": 0}


def oracle(truth, y, new_truth):
    """Return the interval of a model with the true shape: level and slope by Newton's method."""
    x = np.column_stack([np.ones(len(truth)), logit(truth)])
    theta = np.array([0.0, 1.0])
    prior = np.diag([0.1, 0.1])  # weak; few positives may be separable
    for _ in range(30):
        q = expit(x @ theta)
        hessian = (x * (q * (1 - q))[:, None]).T @ x + prior
        theta = theta + np.linalg.solve(hessian, x.T @ (y - q) - prior @ (theta - [0.0, 1.0]))
    at = np.column_stack([np.ones(len(new_truth)), logit(new_truth)])
    middle = at @ theta
    deviation = np.sqrt(np.einsum("ij,jk,ik->i", at, np.linalg.inv(hessian), at))
    return expit(middle - 1.6449 * deviation), expit(middle + 1.6449 * deviation)


def one_replicate(truth_of, rows, seed, methods):
    """For each method: covered away from the jump and at it, and the mean width."""
    rng = np.random.default_rng([seed, rows])
    while True:
        scores, truth = truth_of(rng, rows)
        y = rng.random(rows) < truth
        if 0 < y.sum() < rows:
            break
    new, new_truth = truth_of(rng, NEW_ROWS)
    jump = JUMPS.get(truth_of.__name__)
    near = np.zeros(len(new), bool) if jump is None else np.abs(new - jump) < 0.05
    found, curves = {}, None
    for name in methods:
        calibrator = find_calibrator(name)()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            calibrator.fit(scores, y)
        if name != "bayesian_isotonic":
            # The curves depend on the evidence alone, so one fit of them serves all methods.
            calibrator._posteriors = curves
        low, high = calibrator.predict_interval(new)
        curves = calibrator._posteriors
        found[name] = [*_shares(low, high, new_truth, near), float((high - low).mean())]
    low, high = oracle(truth, y, new_truth)
    found["oracle"] = [*_shares(low, high, new_truth, near), float((high - low).mean())]
    return found


def _shares(low, high, truth, near):
    inside = (low <= truth) & (truth <= high)
    return float(inside[~near].mean()), float(inside[near].mean()) if near.any() else None


def part(truth_of, rows, replicates, first_seed, methods):
    """Averages over replicates."""
    start = time.process_time()
    runs = [one_replicate(truth_of, rows, first_seed + r, methods) for r in range(replicates)]
    result = {}
    for name in runs[0]:
        away, near, width = zip(*(run[name] for run in runs), strict=True)
        at_jump = [n for n in near if n is not None]
        result[name] = {
            "covered": round(float(np.mean(away)), 4),
            "at_jump": round(float(np.mean(at_jump)), 4) if at_jump else None,
            "width": round(float(np.mean(width)), 4),
        }
    return {"methods": result, "cpu_seconds": round(time.process_time() - start, 1)}


def show(name, rows, found):
    print(f"{name}, {rows} rows ({found['cpu_seconds']} CPU s)")
    for method, row in found["methods"].items():
        jump = "" if row["at_jump"] is None else f"   at the jump {100 * row['at_jump']:5.1f}%"
        print(f"  {method:18} {100 * row['covered']:5.1f}%   width {row['width']:.3f}{jump}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--replicates", type=int, default=200)
    parser.add_argument("--rows", type=int, nargs="+", default=[300, 2000])
    parser.add_argument("--set", choices=sorted(SETS), default="judging")
    parser.add_argument("--truths", nargs="+", metavar="NAME", help="by default all of the set")
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    known = {}
    if options.output and options.output.exists():
        known = json.loads(options.output.read_text())
    for rows in options.rows:
        for truth_of in SETS[options.set]:
            if options.truths and truth_of.__name__ not in options.truths:
                continue
            key = f"{truth_of.__name__} {rows} {options.replicates} {' '.join(options.methods)}"
            if key not in known:
                known[key] = part(
                    truth_of, rows, options.replicates, FIRST_SEED[options.set], options.methods
                )
                if options.output:
                    options.output.write_text(json.dumps(known, indent=1))
            show(truth_of.__name__, rows, known[key])


if __name__ == "__main__":
    main()
