"""Coverage of intervals and bands, and the size of tests, by simulation.

Three generators with known probabilities; 90% intervals of ``confidence_interval`` (its default
method), 90% consistency bands, and ``calibration_test`` at 5%.

    python benchmarks/coverage/interval_coverage.py [repetitions] [part ...]

Parts: intervals, bands, tests (all by default), biased (ECE, MCE and smECE, whose intervals are
known to fail where a model is calibrated in places). About 15 minutes for 1000 repetitions.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from scipy.special import expit, logit

from trueodds import metrics
from trueodds.metrics import calibration_test, confidence_interval, reliability_curve

ROWS = 1000
POPULATION = 2_000_000


def charcoal(rng, n):
    """Section 3 of the charcoal grill paper: right below one half, too high above."""
    p = rng.random(n)
    z = logit(p)
    return p, expit(np.where(z > 0, z / 5, z))


def overconfident(rng, n):
    """Log-odds twice as large as they should be."""
    z = rng.normal(0, 1.5, n)
    return expit(2 * z), expit(z)


def rare(rng, n):
    """Few positives, and probabilities that are too high."""
    p = rng.beta(0.6, 6, n)
    return p, expit(0.8 * logit(np.clip(p, 1e-9, None)) - 0.5)


GENERATORS = (charcoal, overconfident, rare)


def auc(y_true, y_prob, sample_weight=None):
    """Weighted AUC of scores without ties; scikit-learn's takes ten times as long."""
    order = np.argsort(y_prob)
    y = y_true[order]
    weight = np.ones(len(y)) if sample_weight is None else sample_weight[order]
    below = np.cumsum(weight * (1 - y))
    return float((weight * y * below).sum() / ((weight * y).sum() * below[-1]))


def population_value(metric, options, p, truth):
    """The metric of the population: each row as a positive and a negative of their weights."""
    y = np.repeat([1, 0], len(p))
    both = np.concatenate([p, p])
    weight = np.concatenate([truth, 1 - truth])
    if metric is auc:  # ties of the two copies count half, and vanish in a large population
        order = np.argsort(p)
        below = np.cumsum((1 - truth)[order]) - (1 - truth)[order] / 2
        return float((truth[order] * below).sum() / (truth.sum() * (1 - truth).sum()))
    if metric is metrics.debiased_calibration_error:
        # Weights count as repetitions there; the population has no noise to take off.
        n_bins = options.get("n_bins", 15)
        index = np.minimum((p * n_bins).astype(int), n_bins - 1)
        share = np.bincount(index, minlength=n_bins) / len(p)
        gap = np.bincount(index, p - truth, n_bins) / len(p)
        return float(np.sqrt((gap**2 / np.maximum(share, 1e-12)).sum()))
    return metric(y, both, sample_weight=weight, **options)


def covered(metric, generator, repetitions, options, n_rows=ROWS):
    rng = np.random.default_rng(7)
    truth = population_value(metric, options, *generator(rng, POPULATION))
    below = above = 0
    for seed in range(repetitions):
        p, probability = generator(rng, n_rows)
        y = (rng.random(n_rows) < probability).astype(int)
        interval = confidence_interval(
            metric, y, p, level=0.9, n_resamples=200, random_state=seed, **options
        )
        below += truth < interval.low
        above += truth > interval.high
    return 1 - (below + above) / repetitions, below / repetitions, above / repetitions, truth


def intervals(repetitions, chosen=None, n_rows=ROWS):
    uniform = {"strategy": "uniform", "n_bins": 10}
    plain = (
        (metrics.brier_score, {}),
        (metrics.log_loss, {}),
        (auc, {}),
        (metrics.debiased_calibration_error, uniform),
    )
    print(f"90% intervals, n = {n_rows}: covered (true value below, above the interval)")
    for metric, options in chosen or plain:
        for generator in GENERATORS:
            start = time.time()
            share, below, above, truth = covered(metric, generator, repetitions, options, n_rows)
            print(
                f"  {metric.__name__:28s} {generator.__name__:14s} true {truth:.4f}  "
                f"{100 * share:5.1f}%  ({100 * below:.1f}, {100 * above:.1f})  "
                f"{time.time() - start:.0f} s",
                flush=True,
            )


def biased(repetitions):
    chosen = (
        (metrics.expected_calibration_error, {}),
        (metrics.maximum_calibration_error, {"strategy": "quantile"}),
    )
    intervals(repetitions, chosen)
    intervals(repetitions, chosen[:1], 10 * ROWS)
    intervals(max(repetitions // 10, 1), ((metrics.smooth_calibration_error, {}),))


def bands(repetitions):
    print(f"90% consistency bands of calibrated models, n = {ROWS}: share of points within")
    for strategy in ("uniform", "quantile", "corp", "smooth"):
        for generator in GENERATORS:
            rng = np.random.default_rng(7)
            inside = []
            for seed in range(repetitions):
                p, _ = generator(rng, ROWS)
                y = (rng.random(ROWS) < p).astype(int)
                curve = reliability_curve(
                    y, p, strategy=strategy, n_resamples=200, random_state=seed
                )
                value = np.interp(curve.band_x, curve.prob_pred, curve.prob_true)
                within = (value >= curve.band_low) & (value <= curve.band_high)
                inside.append(within.mean())
            print(
                f"  {strategy:28s} {generator.__name__:14s} {100 * np.mean(inside):5.1f}%",
                flush=True,
            )


def tests(repetitions):
    print(f"tests at 5%, calibrated models, n = {ROWS}: share rejected")
    for method in ("spiegelhalter", "ece", "mce", "rms"):
        for generator in GENERATORS:
            rng = np.random.default_rng(7)
            rejected = 0
            for seed in range(repetitions):
                p, _ = generator(rng, ROWS)
                y = (rng.random(ROWS) < p).astype(int)
                result = calibration_test(y, p, method=method, n_resamples=199, random_state=seed)
                rejected += result.p_value <= 0.05
            print(
                f"  {method:28s} {generator.__name__:14s} {100 * rejected / repetitions:5.1f}%",
                flush=True,
            )


def main():
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    parts = sys.argv[2:] or ["intervals", "bands", "tests"]
    for part in parts:
        {"intervals": intervals, "bands": bands, "tests": tests, "biased": biased}[part](
            repetitions
        )


if __name__ == "__main__":
    main()
