"""Draws the pictures of docs/multiclass.md into docs/images and prints its table.

python docs/pictures/multiclass.py
"""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
from matplotlib import pyplot as plt
from shipped_models import BLUE, FOLDS, GRAY, ORANGE, draw_reliability
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_predict

from trueodds import AutoCalibrator, BetaCalibrator, IsotonicCalibrator, TemperatureCalibrator
from trueodds.exceptions import SeparableScoresWarning
from trueodds.metrics import log_loss

IMAGES = Path(__file__).parents[1] / "images"
PER_CLASS = (5, 10, 20, 40, 80)
SPLITS = 10
warnings.simplefilter("ignore", SeparableScoresWarning)  # of a class with five rows
METHODS = {
    "default (joint)": AutoCalibrator(),
    "temperature (joint)": TemperatureCalibrator(),
    "beta (one-vs-rest)": BetaCalibrator(),
    "isotonic (one-vs-rest)": IsotonicCalibrator(label_smoothing="platt"),
}


def forest():
    """Out-of-fold probabilities of ten digits."""
    X, y = load_digits(return_X_y=True)
    model = RandomForestClassifier(200, random_state=0)
    return y, cross_val_predict(model, X, y, cv=FOLDS, method="predict_proba")


def top_and_classwise(y, p):
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
    draw_reliability(axes[0], (p.argmax(axis=1) == y).astype(int), p.max(axis=1))
    axes[0].set_title("top label:\nis the first choice right?", fontsize=10)
    for ax, digit in zip(axes[1:], (1, 8), strict=True):
        draw_reliability(ax, (y == digit).astype(int), p[:, digit], n_bins=12)
        ax.set_title(f"class {digit} against the rest", fontsize=10)
    for ax in axes:
        ax.set_xlabel("predicted probability", fontsize=9)
    axes[0].set_ylabel("observed frequency", fontsize=9)
    figure.savefig(IMAGES / "multiclass-views.png", dpi=110)


def losses(y, p):
    """Log-loss on 600 other rows, by method and rows per class."""
    found = np.empty((SPLITS, len(METHODS), len(PER_CLASS)))
    before = np.empty(SPLITS)
    for split in range(SPLITS):
        halves = StratifiedShuffleSplit(1, test_size=600, random_state=split)
        pool, test = next(halves.split(p, y))
        before[split] = log_loss(y[test], p[test])
        for k, n in enumerate(PER_CLASS):
            rows = np.concatenate([pool[y[pool] == digit][:n] for digit in range(10)])
            for i, method in enumerate(METHODS.values()):
                fitted = method.fit(p[rows], y[rows])
                found[split, i, k] = log_loss(y[test], fitted.predict_proba(p[test]))
    return before.mean(), found.mean(axis=0)


def by_rows(y, p):
    before, after = losses(y, p)
    figure, ax = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
    ax.axhline(before, color=GRAY, linestyle="--", linewidth=1, label="uncalibrated")
    styles = [(ORANGE, "o-"), (BLUE, "s--"), ("#009e73", "^:"), ("#cc79a7", "d-.")]
    for (name, values), (color, style) in zip(
        zip(METHODS, after, strict=True), styles, strict=True
    ):
        ax.plot(PER_CLASS, values, style, color=color, markersize=5, label=name)
    ax.set(xscale="log", xlabel="calibration rows per class", ylabel="log-loss on new rows")
    ax.set_xticks(PER_CLASS, PER_CLASS)
    ax.minorticks_off()
    ax.set_ylim(0, 1.6 * before)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    figure.savefig(IMAGES / "multiclass-rows.png", dpi=110)
    print(f"uncalibrated {before:.3f}")
    print(f"| rows per class | {' | '.join(map(str, PER_CLASS))} |")
    for name, values in zip(METHODS, after, strict=True):
        print(f"| {name} | {' | '.join(f'{value:.3f}' for value in values)} |")


if __name__ == "__main__":
    labels, probabilities = forest()
    top_and_classwise(labels, probabilities)
    by_rows(labels, probabilities)
