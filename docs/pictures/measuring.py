"""Draws the pictures of docs/measuring.md that need no data folder, and prints their numbers.

python docs/pictures/measuring.py
"""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
from matplotlib import pyplot as plt
from shipped_models import BLUE, GRAY, ORANGE, diabetes, held_out_scores

from trueodds.metrics import (
    calibration_test,
    corp_decomposition,
    debiased_calibration_error,
    expected_calibration_error,
    reliability_curve,
    smooth_calibration_error,
)

IMAGES = Path(__file__).parents[1] / "images"
SAMPLES = 400
warnings.filterwarnings("ignore", message="Stochastic Optimizer")


def save(figure, name):
    for ax in figure.axes:
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(IMAGES / f"measuring-{name}.png", dpi=110)


def losses():
    p = np.linspace(0.002, 1, 500)
    figure, ax = plt.subplots(figsize=(5.5, 3), layout="constrained")
    ax.plot(p, -np.log(p), color=ORANGE, label="log-loss: −ln p")
    ax.plot(p, (1 - p) ** 2, color=BLUE, linestyle="--", label="Brier score: (1 − p)²")
    ax.set(xlabel="probability p that was given to what happened", ylabel="penalty", ylim=(0, 5))
    ax.legend(frameon=False)
    save(figure, "losses")


def ece_flaws():
    rng = np.random.default_rng(0)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    sizes = [100, 200, 500, 1000, 2000, 5000, 10_000]
    of_chance = {"ECE": [], "smooth ECE": [], "debiased error": []}
    for n in sizes:
        found = {name: [] for name in of_chance}
        for _ in range(60):
            p = rng.random(n)
            y = (rng.random(n) < p).astype(int)
            found["ECE"].append(expected_calibration_error(y, p, n_bins=15))
            found["smooth ECE"].append(smooth_calibration_error(y, p))
            found["debiased error"].append(debiased_calibration_error(y, p, n_bins=15))
        for name, values in found.items():
            of_chance[name].append(np.mean(values))
    styles = {"ECE": (ORANGE, "-"), "smooth ECE": (BLUE, "--"), "debiased error": (GRAY, ":")}
    for name, values in of_chance.items():
        color, line = styles[name]
        left.plot(sizes, values, color=color, linestyle=line, marker="o", markersize=3, label=name)
    left.set(xscale="log", xlabel="rows", ylabel="mean error", ylim=(0, None))
    left.set_title("a perfectly calibrated model", fontsize=10)
    left.legend(frameon=False)
    print("calibrated model, rows:", sizes)
    for name, values in of_chance.items():
        print(f"  {name}: {np.round(values, 3)}")
    y, p = held_out_scores("Logistic regression")
    bins = np.arange(2, 51)
    error = [expected_calibration_error(y, p, n_bins=int(n)) for n in bins]
    right.plot(bins, error, color=ORANGE, label="ECE")
    smooth = smooth_calibration_error(y, p)
    right.axhline(smooth, color=BLUE, linestyle="--", label="smooth ECE (no bins)")
    right.set(xlabel="number of bins", ylabel="error", ylim=(0, None))
    right.set_title("one model, one data set (442 rows)", fontsize=10)
    right.legend(frameon=False, loc="lower right")
    print(f"ECE of logistic regression: {min(error):.3f} to {max(error):.3f}; smooth {smooth:.3f}")
    save(figure, "ece")


def smooth():
    y, p = held_out_scores("Boosted trees")
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.3), layout="constrained")
    kinds = {
        "uniform": "bins of equal width",
        "quantile": "bins of equal mass",
        "smooth": "smooth, no bins",
    }
    for ax, (strategy, title) in zip(axes, kinds.items(), strict=True):
        curve = reliability_curve(y, p, strategy=strategy, band=None, random_state=0)
        ax.plot([0, 1], [0, 1], color=GRAY, linestyle="--", linewidth=1)
        marker = "" if strategy == "smooth" else "o"
        ax.plot(curve.prob_pred, curve.prob_true, color=BLUE, marker=marker, markersize=4)
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="predicted probability")
        ax.set_title(title, fontsize=10)
    axes[0].set_ylabel("observed frequency")
    save(figure, "smooth")


def corp():
    names = ["Gaussian naive Bayes", "Boosted trees", "Neural network", "Logistic regression"]
    parts = {name: corp_decomposition(*held_out_scores(name)) for name in names}
    figure, ax = plt.subplots(figsize=(8, 2.9), layout="constrained")
    rows = np.arange(len(names))
    wrong = [part.miscalibration for part in parts.values()]
    ranking = [part.discrimination for part in parts.values()]
    ax.barh(rows + 0.2, wrong, 0.36, color=ORANGE, label="miscalibration (lower is better)")
    ax.barh(rows - 0.2, ranking, 0.36, color=BLUE, label="discrimination (higher is better)")
    ax.set_yticks(rows, names)
    ax.invert_yaxis()
    ax.set_xlabel("part of the Brier score")
    ax.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
    for name, part in parts.items():
        print(name, part)
    save(figure, "corp")


def test():
    figure, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
    rng = np.random.default_rng(0)
    for ax, name in zip(axes, ["Boosted trees", "Logistic regression"], strict=True):
        y, p = held_out_scores(name)
        by_chance = [
            smooth_calibration_error((rng.random(len(p)) < p).astype(int), p)
            for _ in range(SAMPLES)
        ]
        observed = smooth_calibration_error(y, p)
        ax.hist(by_chance, 25, color="#cccccc", label="if it were calibrated")
        ax.axvline(observed, color=ORANGE, linewidth=2, label="observed")
        chance = calibration_test(y, p, method="exact").p_value
        ax.set_title(f"{name}: p {'< 0.001' if chance < 0.001 else f'= {chance:.2f}'}", fontsize=10)
        ax.set(xlabel="smooth ECE", yticks=[])
        ax.legend(frameon=False, fontsize=9)
        share = np.mean(np.array(by_chance) >= observed)
        print(f"{name}: smooth ECE {observed:.3f}; as large by chance in {share:.1%}")
    save(figure, "test")


def bands():
    y, p = held_out_scores("Boosted trees")
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
    kinds = {
        "consistency": "consistency band:\nwhere a calibrated model lies",
        "confidence": "confidence band:\nwhere this curve may lie",
        "guaranteed": "guaranteed band:\nholds the whole true curve",
    }
    for ax, (band, title) in zip(axes, kinds.items(), strict=True):
        strategy = "smooth" if band != "guaranteed" else "corp"
        curve = reliability_curve(y, p, strategy=strategy, band=band, random_state=0)
        ax.plot([0, 1], [0, 1], color=GRAY, linestyle="--", linewidth=1)
        ax.fill_between(curve.band_x, curve.band_low, curve.band_high, color=BLUE, alpha=0.2)
        ax.plot(curve.prob_pred, curve.prob_true, color=BLUE)
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="predicted probability")
        ax.set_title(title, fontsize=10)
    axes[0].set_ylabel("observed frequency")
    save(figure, "bands")


if __name__ == "__main__":
    print(f"{len(diabetes()[1])} patients")
    losses()
    ece_flaws()
    smooth()
    corp()
    test()
    bands()
