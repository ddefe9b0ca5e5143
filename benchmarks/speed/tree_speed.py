"""Speed of calibration trees, as ratios measured in the same run.

    python benchmarks/speed/tree_speed.py [--quick]

1. Fit on 20,000 rows × 20 numeric features, two classes, against one fit of scikit-learn's
   DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2) on the same rows. The calibrator
   grows six trees, boosts at every node, and prunes.
2. How the fit grows with N: the exponent of a power law through the CPU times, and the same for
   N·log N, which must not be exceeded.
3. 10⁶ predictions against ``apply`` of scikit-learn's tree on the same rows.
4. 20,000 × 10, for which the authors' Java program needs 8.2 s of CPU time, and a set of 240
   features and 10 classes (mfeat-pixel if TRUEODDS_DATA names a folder with it).

Every time is the median of several repeats; calls alternate with the rival's. The first fit, which
compiles or loads the kernels, is timed apart.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from trueodds import TreeCalibrator

SIZES = (5_000, 10_000, 20_000, 40_000, 80_000, 160_000)
JAVA_SECONDS = 8.2


def sample(n, d, seed=0):
    """Scores that miss an interaction of the features, so that the tree has work to do."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    true = X[:, 0] + 1.5 * (X[:, 1] > 0) * X[:, 2] + 0.5 * X[:, 3]
    y = (rng.random(n) < 1 / (1 + np.exp(-true))).astype(int)
    scores = 1.5 * X[:, 0] + 0.5 * X[:, 2] + 0.3 * rng.normal(size=n)
    return 1 / (1 + np.exp(-scores)), y, X


def alternate(functions, repeats, clock=time.perf_counter):
    """Median seconds of each function, called in turn; the first round is not counted."""
    times = [[] for _ in functions]
    for turn in range(repeats + 1):
        for k, function in enumerate(functions):
            start = clock()
            function()
            if turn:
                times[k].append(clock() - start)
    return [statistics.median(t) for t in times]


def rival():
    return DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2, random_state=0)


def verdict(value, limit):
    return f"(limit {limit:g}: {'holds' if value <= limit else 'MISSED'})"


def fit_and_predict(repeats):
    scores, y, X = sample(20_000, 20)
    ours, theirs = alternate(
        [lambda: TreeCalibrator().fit(scores, y, features=X), lambda: rival().fit(X, y)], repeats
    )
    ratio = ours / theirs
    print(f"fit 20,000 x 20: {ours:.2f} s, scikit-learn's tree {theirs:.2f} s")
    print(f"  ratio {ratio:.2f} {verdict(ratio, 25)}")

    calibrator, tree = TreeCalibrator().fit(scores, y, features=X), rival().fit(X, y)
    scores, _, X = sample(10**6, 20, seed=1)
    X32 = X.astype(np.float32)  # what scikit-learn's tree works on
    ours, theirs, theirs32 = alternate(
        [
            lambda: calibrator.predict_proba(scores, features=X),
            lambda: tree.apply(X),
            lambda: tree.apply(X32),
        ],
        repeats,
    )
    ratio = ours / theirs
    print(f"10^6 predictions: {ours:.3f} s, apply {theirs:.3f} s ({theirs32:.3f} s from float32)")
    print(f"  ratio {ratio:.2f} {verdict(ratio, 5)}, from float32 {ours / theirs32:.2f}")


def growth(sizes, repeats):
    times = []
    for n in sizes:
        scores, y, X = sample(n, 20)
        call = partial(fit, scores, y, X)
        times.append(alternate([call], repeats, time.process_time)[0])
        print(f"fit {n:>7,} x 20: {times[-1]:.3f} s of CPU")
    slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    n_log_n = np.array(sizes) * np.log(sizes)
    allowed = np.polyfit(np.log(sizes), np.log(n_log_n), 1)[0]
    print(f"  exponent {slope:.2f} {verdict(slope, round(allowed, 3))}")


def fit(scores, y, X):
    return TreeCalibrator().fit(scores, y, features=X)


def orientation(repeats):
    scores, y, X = sample(20_000, 10)
    cpu = []
    for _ in range(repeats):
        start = time.process_time()
        fit(scores, y, X)
        cpu.append(time.process_time() - start)
    seconds = statistics.median(cpu)
    print(f"20,000 x 10: {seconds:.2f} s of CPU; the authors' program {JAVA_SECONDS} s")
    print(f"  {JAVA_SECONDS / seconds:.0f} times faster (at least 4 wanted)")


def many_attributes():
    folder = os.environ.get("TRUEODDS_DATA")
    path = Path(folder or ".") / "mfeat-pixel.parquet"
    if path.exists():
        import pandas as pd

        frame = pd.read_parquet(path)
        y = np.unique(frame.pop("y").astype(str), return_inverse=True)[1]
        X, name = frame.to_numpy(float), "mfeat-pixel"
    else:
        rng = np.random.default_rng(0)
        y = rng.integers(0, 10, 2000)
        X = np.rint(rng.normal(size=(2000, 240)) + rng.normal(size=(10, 240))[y])
        name = "generated set"
    p = cross_val_predict(GaussianNB(var_smoothing=1e-2), X, y, method="predict_proba")
    start = time.perf_counter()
    calibrator = fit(p, y, X)
    seconds = time.perf_counter() - start
    print(f"{name}, {X.shape[0]} x {X.shape[1]}, 10 classes: {seconds:.1f} s, ", end="")
    print(f"{calibrator.n_iterations_} iterations {verdict(seconds, 60)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repeats, smaller sizes")
    quick = parser.parse_args().quick
    start = time.perf_counter()
    fit(*sample(200, 4))
    print(f"first fit (200 rows): {time.perf_counter() - start:.2f} s, with loading of the kernels")
    repeats = 3 if quick else 5
    fit_and_predict(repeats)
    orientation(repeats)
    growth(SIZES[:4] if quick else SIZES, 3)
    many_attributes()


if __name__ == "__main__":
    main()
