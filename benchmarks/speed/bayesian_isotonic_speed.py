"""Speed of Bayesian isotonic calibration, as ratios measured in the same run.

    python benchmarks/speed/bayesian_isotonic_speed.py

Importance sampling is compared with the CPU time of the authors' program for the same number of
maps (94 s at N = 1000, 10,000 maps, on a machine of this kind). Chains are timed on two threads,
for N up to 10⁶, next to np.argsort of the same scores. Times are medians of repeats.
"""

from __future__ import annotations

import statistics
import time
import tracemalloc

import numpy as np

from trueodds import BayesianIsotonicCalibrator

AUTHORS_SECONDS = 94.0
SIZES = (100, 1000, 3000, 10**4, 10**5, 10**6)


def data(n, seed=0):
    """Section 5.1 of the paper."""
    rng = np.random.default_rng([n, seed])
    y = rng.random(n) < 0.5
    upper = rng.random(n) < 0.5
    rises = np.where(upper, rng.beta(30, 3, n), rng.beta(1.5, 3, n))
    return np.where(y, rises, rng.beta(1, 3, n)), y


def timed(function, repeats=5, clock=time.perf_counter):
    """Median time of some calls; the first is not counted."""
    function()
    times = []
    for _ in range(repeats):
        begin = clock()
        function()
        times.append(clock() - begin)
    return statistics.median(times)


def verdict(holds):
    return "holds" if holds else "DOES NOT HOLD"


def main():
    scores, y = data(1000)
    calibrator = BayesianIsotonicCalibrator(sampler="importance", n_samples=10_000)
    cpu = timed(lambda: calibrator.fit(scores, y), clock=time.process_time)
    ratio = AUTHORS_SECONDS / cpu
    print(f"importance, N = 1000, 10,000 maps: {cpu:.2f} CPU s; authors' program 94 s")
    print(f"  ratio {ratio:.0f} (at least 100): {verdict(ratio >= 100)}")
    tracemalloc.start()
    calibrator.fit(scores, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    share = peak / (8 * 10_000 * 1000)
    print(f"  peak memory {peak / 1e6:.1f} MB, {share:.2f} of samples × N numbers")

    print("chains on two threads:")
    seconds = {}
    for n in SIZES:
        scores, y = data(n)
        calibrator = BayesianIsotonicCalibrator(n_jobs=2)
        seconds[n] = timed(lambda c=calibrator, s=scores, t=y: c.fit(s, t))
        sort = timed(lambda s=scores: np.argsort(s))
        worst = min(
            BayesianIsotonicCalibrator(n_jobs=2, random_state=k)
            .fit(*data(n, k))
            .effective_sample_size_
            for k in range(5)
        )
        print(
            f"  N = {n:7}: {1000 * seconds[n]:7.0f} ms, {seconds[n] / sort:8.1f} × argsort, "
            f"{len(calibrator.map_.x)} groups, effective sample size of five fits ≥ {worst:.0f}, "
            f"split-R̂ {calibrator.r_hat_:.3f}",
            flush=True,
        )
    exponent = np.log(seconds[10**5] / seconds[1000]) / np.log(100)
    print(f"  N = 10⁵ in {seconds[10**5]:.2f} s (at most 3): {verdict(seconds[10**5] <= 3)}")
    print(f"  time grows as N^{exponent:.2f} from 10³ to 10⁵: {verdict(exponent < 1)}")


if __name__ == "__main__":
    main()
