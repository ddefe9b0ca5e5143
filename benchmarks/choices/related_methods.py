"""Smooth isotonic and robust logistic calibration compared with the methods that they modify.

Usage: python benchmarks/choices/related_methods.py [replicates]

Labels are drawn from a known curve of the score; in the second table some labels are then wrong.
Figures are root mean square distances of the map to the curve, over scores as they are drawn, mean
over replicates. The last column is the standard error of the difference between the new method and
the one before it, replicate by replicate.
"""

import sys
import warnings

import numpy as np
from scipy.special import expit, logit

from trueodds import (
    AutoCalibrator,
    CenteredIsotonicCalibrator,
    IsotonicCalibrator,
    LogisticCalibrator,
    RobustLogisticCalibrator,
    SmoothIsotonicCalibrator,
)
from trueodds.exceptions import TrueoddsWarning

SIZES = (100, 300, 1000, 3000, 10_000)
CURVES = {
    "right already": lambda s: s,
    "too sure": lambda s: expit(0.5 * logit(s)),
    "steep in the middle": lambda s: 0.05 + 0.9 * expit(10 * (s - 0.5)),
    "three levels": lambda s: np.select([s < 0.3, s < 0.7], [0.1, 0.45], 0.85),
    "rare": lambda s: 0.1 * s**2,
}
RISING = {
    "default": AutoCalibrator(),
    "isotonic": IsotonicCalibrator(),
    "centered": CenteredIsotonicCalibrator(),
    "smooth": SmoothIsotonicCalibrator(),
}
LOGISTIC = {
    "default": AutoCalibrator(),
    "robust 0.2": RobustLogisticCalibrator(robustness=0.2),
    "robust 1": RobustLogisticCalibrator(robustness=1.0),
    "logistic": LogisticCalibrator(),
    "robust 0.5": RobustLogisticCalibrator(),
}
WRONG = ("none", "1% of labels", "5% of labels", "1%, extreme scores", "5%, extreme scores")
TEST = np.random.default_rng(0).beta(0.8, 0.8, 20_000)


def with_mistakes(rng, scores, y, kind):
    """Labels of which a share is wrong: any, or those of the most extreme scores."""
    if kind == "none":
        return y
    n_wrong = max(int(float(kind.split("%")[0]) / 100 * len(y)), 1)
    chosen = rng.permutation(len(y))
    if "extreme" in kind:
        chosen = np.argsort(-np.abs(scores - 0.5))
    wrong = chosen[:n_wrong]
    y = y.copy()
    y[wrong] = scores[wrong] < 0.5 if "extreme" in kind else ~y[wrong]
    return y


def distances(curve, rows, replicates, methods, kind="none"):
    """One row for each replicate, one column for each method."""
    found = np.empty((replicates, len(methods)))
    for replicate in range(replicates):
        rng = np.random.default_rng([rows, replicate])
        scores = rng.beta(0.8, 0.8, rows)
        y = rng.random(rows) < curve(scores)
        y[:2] = False, True
        y = with_mistakes(rng, scores, y, kind)
        for column, method in enumerate(methods.values()):
            off = method.fit(scores, y).predict_proba(TEST)[:, 1] - curve(TEST)
            found[replicate, column] = np.sqrt(np.mean(off**2))
    return found


def show(name, rows, found):
    error = (found[:, -1] - found[:, -2]).std(ddof=1) / np.sqrt(len(found))
    cells = "".join(f"{mean:11.4f}" for mean in found.mean(axis=0))
    print(f"{name:22}{rows:>7}{cells}{error:11.4f}", flush=True)


def main() -> None:
    warnings.simplefilter("ignore", TrueoddsWarning)
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    print(f"{replicates} replicates; distance to the curve")
    print(f"{'curve':22}{'rows':>7}" + "".join(f"{name:>11}" for name in RISING) + "         se")
    for name, curve in CURVES.items():
        for rows in SIZES:
            show(name, rows, distances(curve, rows, replicates, RISING))
    print(f"\n{'wrong labels':22}{'rows':>7}" + "".join(f"{name:>11}" for name in LOGISTIC), end="")
    print("         se   (curve: overconfident)")
    for kind in WRONG:
        for rows in SIZES[:-1]:
            show(kind, rows, distances(CURVES["too sure"], rows, replicates, LOGISTIC, kind))


if __name__ == "__main__":
    main()
