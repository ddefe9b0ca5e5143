"""Bayesian isotonic calibration of synthetic scores: what the study of its paper leaves open.

    python benchmarks/choices/bayesian_isotonic_synthetic.py [part ...] [--quick]

- gap: excess of the expected log-loss over that of the ideal map, for N from 100 to 10⁵.
- coverage: how much of the true map lies in 90% bands, on three generators.
- shapes: half, one and two times the default number of groups on five other maps, which were not
  used to choose that default.

Without names all are run (about ten minutes); ``--quick`` takes a fifth of the replicates.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from scipy.special import expit, xlogy
from scipy.stats import beta

from trueodds import (
    BayesianIsotonicCalibrator,
    BetaCalibrator,
    IsotonicCalibrator,
)
from trueodds.calibrators._bayesian_isotonic.posterior import default_groups
from trueodds.exceptions import TrueoddsWarning
from trueodds_studies.papers.enir import AuthorsENIR

SIZES = (100, 1000, 3000, 10_000, 100_000)
EDGE = 1e-15  # log-loss of a wrong 0 or 1 is cut off here, as scikit-learn does


def chains():
    return BayesianIsotonicCalibrator(n_jobs=2)


def methods():
    return {
        "chains": chains(),
        "Iso-Platt": IsotonicCalibrator(label_smoothing="platt"),
        "ENIR-Platt": AuthorsENIR(label_smoothing="platt"),
        "Beta-Platt": BetaCalibrator(label_smoothing="platt"),
    }


def paper_data(rng, n, y=None):
    """Section 5.1: negatives Beta(1, 3), positives half Beta(1.5, 3), half Beta(30, 3).

    "The classes are balanced" is read as: exactly half of each sample is positive.
    """
    y = np.arange(n) < n // 2 if y is None else y
    upper = rng.random(n) < 0.5
    scores = np.where(
        y, np.where(upper, rng.beta(30, 3, n), rng.beta(1.5, 3, n)), rng.beta(1, 3, n)
    )
    return scores, y


def paper_truth(scores):
    positive = (beta.pdf(scores, 1.5, 3) + beta.pdf(scores, 30, 3)) / 2
    return positive / (positive + beta.pdf(scores, 1, 3))


def overconfident_data(rng, n):
    logits = rng.normal(0, 1.5, n)
    return expit(2 * logits), rng.random(n) < expit(logits)


def overconfident_truth(scores):
    return expit(np.log(scores / (1 - scores)) / 2)


def rare_data(rng, n):
    logits = rng.normal(-3, 1.3, n)
    return expit(logits + 2), rng.random(n) < expit(logits)


def rare_truth(scores):
    return expit(np.log(scores / (1 - scores)) - 2)


def independent_paper_data(rng, n):
    """The same with labels drawn one by one, as bands assume."""
    return paper_data(rng, n, rng.random(n) < 0.5)


GENERATORS = {
    "paper": (independent_paper_data, paper_truth),
    "overconfident": (overconfident_data, overconfident_truth),
    "rare positives": (rare_data, rare_truth),
}


def probabilities(calibrator, train, scores):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrueoddsWarning)
        return calibrator.fit(*train).predict_proba(scores)[:, 1]


def log_loss(target, p):
    p = np.clip(p, EDGE, 1 - EDGE)
    return float(-np.mean(xlogy(target, p) + xlogy(1 - target, 1 - p)))


def mean_error(values):
    values = np.asarray(values)
    return values.mean(), values.std(ddof=1) / np.sqrt(len(values))


def gap(replicates):
    print(f"\nExcess over the ideal expected log-loss, {replicates} replicates")
    test, _ = paper_data(np.random.default_rng(7), 100_000)
    target = paper_truth(test)
    for n in SIZES:
        begin = time.perf_counter()
        found = {}
        for name, calibrator in methods().items():
            losses = []
            for r in range(replicates):
                train = paper_data(np.random.default_rng([n, r, 2]), n)
                losses.append(log_loss(target, probabilities(calibrator, train, test)))
            found[name] = mean_error(np.array(losses) - log_loss(target, target))
        line = ", ".join(f"{name} {m:.6f} ± {e:.6f}" for name, (m, e) in found.items())
        ratio = found["chains"][0] / found["Iso-Platt"][0]
        print(
            f"  N = {n:6}: {line}; chains/Iso-Platt {ratio:.2f} "
            f"({time.perf_counter() - begin:.0f} s)",
            flush=True,
        )


def coverage(replicates):
    print(f"\nShare of the true map inside 90% bands, over scores, {replicates} replicates")
    for name, (data, truth) in GENERATORS.items():
        test, _ = data(np.random.default_rng(7), 20_000)
        target = truth(test)
        for n in (300, 3000):
            shares, widths = [], []
            for r in range(replicates):
                train = data(np.random.default_rng([n, r, 3]), n)
                low, high = chains().fit(*train).predict_interval(test, level=0.9)
                shares.append(np.mean((low <= target) & (target <= high)))
                widths.append(np.mean(high - low))
            mean, error = mean_error(shares)
            print(f"  {name:15} N = {n:4}: {mean:.3f} ± {error:.3f}, width {np.mean(widths):.3f}")


def beta_shape(scores):
    return 0.03 + 0.9 * scores**0.6


def steep_step(scores):
    return 0.1 + 0.75 * expit(200 * (scores - 0.6))


def nearly_flat(scores):
    return 0.45 + 0.1 * scores


def plateaus(scores):
    return np.interp(
        scores, [0, 0.2, 0.4, 0.5, 0.7, 0.85, 1], [0.02, 0.25, 0.25, 0.6, 0.6, 0.95, 0.99]
    )


def very_rare(scores):
    return 0.002 + 0.9 * scores**1.8


SHAPES = {  # the true map, and the shape of the scores' beta distribution
    "power": (beta_shape, (0.5, 0.7)),
    "steep step": (steep_step, (1, 1)),
    "nearly flat": (nearly_flat, (5, 5)),
    "plateaus": (plateaus, (2, 2)),
    "rare": (very_rare, (1, 12)),
}


def shapes(replicates):
    print(
        f"\nExcess log-loss with other numbers of groups, relative to the default's, "
        f"{replicates} replicates"
    )
    for name, (truth, shape) in SHAPES.items():
        test = np.random.default_rng(7).beta(*shape, 20_000)
        target = truth(test)
        for n in (100, 3000, 100_000):
            default = default_groups(n)
            kinds = {
                "default": BayesianIsotonicCalibrator(n_jobs=2),
                "half": BayesianIsotonicCalibrator(n_groups=default // 2, n_jobs=2),
                "double": BayesianIsotonicCalibrator(n_groups=2 * default, n_jobs=2),
                "not shifted": BayesianIsotonicCalibrator(n_groups=default, n_chains=1, n_jobs=2),
                "Iso-Platt": IsotonicCalibrator(label_smoothing="platt"),
            }
            losses = {kind: [] for kind in kinds}
            for r in range(replicates):
                rng = np.random.default_rng([n, r, 4])
                scores = rng.beta(*shape, n)
                y = rng.random(n) < truth(scores)
                if y.all() or not y.any():
                    continue
                for kind, calibrator in kinds.items():
                    p = probabilities(calibrator, (scores, y), test)
                    losses[kind].append(log_loss(target, p) - log_loss(target, target))
            mean, error = mean_error(losses["default"])
            line = f"  {name:11} N = {n:6}, {default:3} groups: {mean:.6f} ± {error:.6f}"
            for kind in list(kinds)[1:]:
                more, more_error = mean_error(np.subtract(losses[kind], losses["default"]))
                line += f"; {kind} {100 * more / mean:+.0f} ± {100 * more_error / mean:.0f}%"
            print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parts = {"gap": (gap, 16), "coverage": (coverage, 40), "shapes": (shapes, 10)}
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(parts))
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    for name in options.parts or parts:
        if name not in parts:
            parser.error(f"no part {name!r}; there are {', '.join(parts)}.")
        run, replicates = parts[name]
        run(max(3, replicates // 5) if options.quick else replicates)


if __name__ == "__main__":
    main()
