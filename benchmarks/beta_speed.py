"""CPU time of logistic and beta calibration beside that of learning the classifier.

    python benchmarks/beta_speed.py

The beta paper says that beta calibration with a = b takes about as long as logistic calibration,
the version with three parameters can be slightly slower, and both are orders of magnitude faster
than learning the classifier. Its base learner is AdaBoost of 200 stumps, here of 20 attributes:
half of the rows to learn from, half to calibrate on, scores 2.2e-16 away from 0 and 1 as in the
paper. Each time is the median of repeated fits of one process, in milliseconds. Learning is
measured with scikit-learn's AdaBoost, whose trees the authors' program grows (once, and with few
rows only), and with the compiled stumps of the studies.
"""

from __future__ import annotations

import statistics
import time
import warnings

import numpy as np
from sklearn.ensemble import AdaBoostClassifier

from trueodds import BetaCalibrator, IsotonicCalibrator, LogisticCalibrator
from trueodds.exceptions import TrueoddsWarning
from trueodds_studies import BoostedStumps

EPS = np.finfo(np.float64).eps
SIZES = (100, 1000, 10_000, 100_000)
SLOW = 10_000
METHODS = {
    "logistic": LogisticCalibrator(axis="raw", label_smoothing=None),
    "am": BetaCalibrator("am"),
    "abm": BetaCalibrator(),
    "ab": BetaCalibrator("ab"),
    "abm, loss=brier": BetaCalibrator(loss="brier"),
    "isotonic": IsotonicCalibrator(),
}


def milliseconds(function, *, least=7, seconds=1.0):
    """Median CPU time of several calls; the first is not counted."""
    function()
    times, begin = [], time.process_time()
    while len(times) < least or (time.process_time() - begin < seconds and len(times) < 200):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return 1000 * statistics.median(times)


def once(function):
    start = time.process_time()
    function()
    return 1000 * (time.process_time() - start)


def sample(n):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(2 * n, 20))
    logit = X[:, :6].sum(axis=1) + X[:, 6] * X[:, 7]
    y = (rng.random(2 * n) < 1 / (1 + np.exp(-logit))).astype(int)
    return X, y


def main():
    print("| rows | scikit-learn's stumps | compiled stumps | " + " | ".join(METHODS) + " |")
    print("|---:" * (3 + len(METHODS)) + "|")
    for n in SIZES:
        X, y = sample(n)
        model = BoostedStumps().fit(X[:n], y[:n])
        scores, labels = np.clip(model.predict_proba(X[n:])[:, 1], EPS, 1 - EPS), y[n:]
        learning = milliseconds(lambda X=X, y=y, n=n: BoostedStumps().fit(X[:n], y[:n]), least=3)
        theirs = AdaBoostClassifier(n_estimators=200, random_state=0)
        slow = (
            "" if n >= SLOW else f"{once(lambda m=theirs, X=X, y=y, n=n: m.fit(X[:n], y[:n])):.3g}"
        )
        cells = [
            milliseconds(lambda c=calibrator, s=scores, t=labels: c.fit(s, t))
            for calibrator in METHODS.values()
        ]
        print(
            f"| {n} | {slow} | " + " | ".join(f"{cell:.3g}" for cell in (learning, *cells)) + " |"
        )


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrueoddsWarning)
        main()
