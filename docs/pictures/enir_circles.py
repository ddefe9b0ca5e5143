"""The ENIR paper's simulated experiment: circular classes, a linear and a quadratic SVM.

The paper (section IV.B) describes the data by its figure 2 and prints no recipe. Here the
positives, 36 in 100, lie in a disc, the negatives on a ring around it: the share that makes the
accuracy of the linear SVM 0.64, as in the paper's Table I. A linear SVM cannot rank such
classes. Calibration by a monotone method does not help; ENIR and BBQ do.

    python docs/pictures/enir_circles.py [folder for the pictures]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from scipy.special import expit
from sklearn.svm import SVC

from trueodds import BBQCalibrator, ENIRCalibrator, IsotonicCalibrator
from trueodds.calibrators import near_isotonic_path
from trueodds.metrics import (
    accuracy,
    c_statistic,
    expected_calibration_error,
    maximum_calibration_error,
    root_mean_squared_error,
)
from trueodds_studies.papers.enir.numbers import SIMULATED as PAPER  # Table I

METHODS = {"IsoRegC": IsotonicCalibrator, "BBQ": BBQCalibrator, "ENIR": ENIRCalibrator}
MEASURES = {
    "AUC": c_statistic,
    "ACC": accuracy,
    "RMSE": root_mean_squared_error,
    "ECE": lambda y, p: expected_calibration_error(y, p, n_bins=10),
    "MCE": lambda y, p: maximum_calibration_error(y, p, n_bins=10),
}
KERNELS = {"linear": {"kernel": "linear"}, "quadratic": {"kernel": "poly", "degree": 2, "coef0": 1}}
GRAY, RED, BLUE, ORANGE, GREEN = "0.6", "#c44e52", "#4c72b0", "#dd8452", "#55a868"


def circles(rng, n=1000):
    """A disc of positives inside a ring of negatives."""
    y = rng.random(n) < 0.36
    angle = rng.uniform(0, 2 * np.pi, n)
    radius = rng.normal(2, 0.22, n)
    ring = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    disc = rng.normal(0, 0.53, (n, 2))
    return np.where(y[:, None], disc, ring), y.astype(int)


def one_run(seed):
    """Measures of every method for both kernels; the training data also calibrate."""
    rng = np.random.default_rng(seed)
    (X, y), (X_test, y_test) = circles(rng), circles(rng)
    result = {}
    for name, options in KERNELS.items():
        svm = SVC(**options).fit(X, y)
        margins, margins_test = svm.decision_function(X), svm.decision_function(X_test)
        p = {"SVM": expit(margins_test)}
        for method, calibrator in METHODS.items():
            fitted = calibrator(scale="raw").fit(margins, y)
            p[method] = fitted.predict_proba(margins_test)[:, 1]
        result[name] = [[m(y_test, q) for q in p.values()] for m in MEASURES.values()]
    return result


def print_table(runs):
    for kernel, paper in PAPER.items():
        ours = np.mean([run[kernel] for run in runs], axis=0)
        print(f"\n{kernel} kernel: Table I of the paper | this run, mean of {len(runs)}")
        print("      " + 2 * ("".join(f"{name:>9}" for name in ("SVM", *METHODS)) + "   "))
        for measure, row in zip(MEASURES, ours, strict=True):
            columns = ["".join(f"{value:9.2f}" for value in part) for part in (paper[measure], row)]
            print(f"{measure:<6}{columns[0]}   {columns[1]}")


def draw_data_and_maps(folder):
    rng = np.random.default_rng(0)
    X, y = circles(rng)
    quadratic, linear = (SVC(**KERNELS[name]).fit(X, y) for name in ("quadratic", "linear"))
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    for label, color in ((0, BLUE), (1, RED)):
        left.scatter(*X[y == label].T, s=7, color=color, label=f"class {label}")
    grid = np.linspace(-3.2, 3.2, 200)
    plane = np.stack(np.meshgrid(grid, grid), axis=-1)
    side = quadratic.decision_function(plane.reshape(-1, 2)).reshape(200, 200)
    left.contour(grid, grid, side, levels=[0], colors="black")
    left.set(aspect="equal", title="The data, and the quadratic SVM's boundary (figure 2)")
    left.legend(loc="upper right")

    # The margin of such an SVM is −1 ± 0.0001; its percentiles are easier to look at.
    margins = linear.decision_function(X)
    percent = np.linspace(0, 100, 1001)
    at = np.percentile(margins, percent)
    big, labels = circles(np.random.default_rng(1), 400_000)
    edges = np.percentile(margins, np.linspace(0, 100, 51))
    far = linear.decision_function(big)
    truth = np.histogram(far, edges, weights=labels)[0] / np.histogram(far, edges)[0]
    right.plot(np.arange(1, 100, 2), truth, color="black", lw=4, alpha=0.3, label="true curve")
    for (name, calibrator), color in zip(METHODS.items(), (ORANGE, GREEN, BLUE), strict=True):
        p = calibrator(scale="raw").fit(margins, y).predict_proba(at)[:, 1]
        right.plot(percent, p, color=color, label=name)
    right.set(
        xlabel="decision value of the linear SVM, percentile", ylabel="probability of class 1"
    )
    right.set(ylim=(-0.02, 1.02), title="Three methods on the linear SVM's decision values")
    right.legend()
    figure.savefig(folder / "enir-circles.png", dpi=110)


def draw_path(folder):
    """The path of a small part of the data: bins meet and merge as λ grows."""
    rng = np.random.default_rng(4)
    X, y = circles(rng, 60)
    margins = SVC(kernel="linear").fit(X, y).decision_function(X)
    fitted = ENIRCalibrator(scale="raw", smoothing=None).fit(margins, y)
    path = near_isotonic_path(fitted.path_.table)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    lambdas = np.concatenate([path.lambdas, [path.lambdas[-1] * 1.1]])
    values = np.array([path.at(lam) for lam in lambdas])
    left.plot(lambdas, values, color=BLUE, lw=0.8, alpha=0.7)
    left.set(
        xlabel="λ", ylabel="value of each instance", ylim=(-0.02, 1.02),
        title="From the labels (λ = 0) to isotonic regression",
    )  # fmt: skip
    best = fitted.weights_.argmax()
    for x in path.lambdas:
        left.axvline(x, color=GRAY, lw=0.4, zorder=0)
    left.axvline(fitted.lambdas_[best], color=RED, ls="--", label="the best model by BIC")
    left.legend()
    rank = np.arange(1, len(path.table) + 1)
    for lam, color, name in (
        (path.lambdas[1], GRAY, "first breakpoint"),
        (fitted.lambdas_[best], RED, "best by BIC"),
        (path.lambdas[-1], ORANGE, "isotonic"),
    ):
        right.step(rank, path.at(lam), where="mid", color=color, label=f"λ = {lam:.2f}: {name}")
    p = fitted.map_(path.table.score)
    right.step(rank, p, where="mid", color=BLUE, lw=2, label="ENIR, the average")
    right.plot(rank, path.table.n_pos, "|", color="black", ms=6, label="labels")
    right.set(xlabel="rank by the linear SVM's margin", ylabel="probability", ylim=(-0.04, 1.04))
    right.set_title("Three models of the path, and the average of all")
    right.legend(loc="upper left", bbox_to_anchor=(0, 0.94), fontsize=8)
    figure.savefig(folder / "enir-path.png", dpi=110)


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path.cwd()
    print_table([one_run(seed) for seed in range(10)])
    draw_data_and_maps(folder)
    draw_path(folder)


if __name__ == "__main__":
    main()
