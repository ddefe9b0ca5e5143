"""Draws the pictures of docs/what-is-calibration.md into docs/images and prints its table.

python docs/pictures/what_is_calibration.py
"""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
from matplotlib import pyplot as plt
from shipped_models import (
    BLUE,
    FOLDS,
    GRAY,
    MODELS,
    ORANGE,
    binned,
    diabetes,
    draw_reliability,
    held_out_scores,
)
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_predict

from trueodds import AutoCalibrator, CalibratedClassifier
from trueodds.metrics import c_statistic, calibration_slope, calibration_test, log_loss

IMAGES = Path(__file__).parents[1] / "images"
BOOSTED = "Boosted trees"
warnings.filterwarnings("ignore", message="Stochastic Optimizer")


def how_to_read():
    y, p = held_out_scores(BOOSTED)
    figure, ax = plt.subplots(figsize=(6.4, 5.2), layout="constrained")
    draw_reliability(ax, y, p)
    n_bins = 8
    predicted, happened = (column[-2] for column in binned(y, p, n_bins)[:2])
    rows = len(np.array_split(y, n_bins)[-2])
    ax.annotate(
        f"{rows} patients: predicted {predicted:.0%} on average,\nobserved {happened:.0%}",
        (predicted, happened),
        xytext=(0.4, 0.93),
        arrowprops={"arrowstyle": "->", "color": ORANGE},
        color=ORANGE,
        va="center",
        ha="center",
        fontsize=9,
    )
    ax.text(0.49, 0.53, "perfect calibration", rotation=45, color=GRAY, fontsize=9, ha="center")
    ax.text(0.18, 0.62, "observed more often\nthan predicted", color=GRAY, fontsize=9, ha="center")
    ax.text(0.78, 0.3, "observed less often\nthan predicted", color=GRAY, fontsize=9, ha="center")
    ax.text(0.5, 0.07, "number of patients by prediction", color=GRAY, fontsize=8, ha="center")
    ax.set(xlabel="predicted probability", ylabel="observed frequency (90% interval)")
    figure.savefig(IMAGES / "calibration-how-to-read.png", dpi=110)


def six_models():
    figure, grid = plt.subplots(2, 3, figsize=(9, 6.4), layout="constrained")
    kinds = {
        "Gaussian naive Bayes": "overconfident",
        BOOSTED: "overconfident",
        "Neural network": "overconfident",
        "Random forest": "underconfident",
        "SVM": "no probabilities",
        "Logistic regression": "calibrated",
    }
    for ax, (name, kind) in zip(grid.flat, kinds.items(), strict=True):
        if name == "SVM":
            y, decision = held_out_scores(name, "decision_function")
            span = decision.min(), decision.max()
            draw_reliability(ax, y, np.interp(decision, span, (0, 1)))
            ax.lines[0].remove()  # a decision value of 0.5 promises nothing
            ends = [f"{end:.1f}" for end in span]
            ax.set_xticks([0, 1], ends)
            ax.set_xlabel("decision value", fontsize=9)
        else:
            y, p = held_out_scores(name)
            draw_reliability(ax, y, p)
            ax.set_xlabel("predicted probability", fontsize=9)
        data = "digits" if MODELS[name][1] is not diabetes else "diabetes"
        ax.set_title(f"{name} ({data}):\n{kind}", fontsize=10)
    for ax in grid[:, 0]:
        ax.set_ylabel("observed frequency", fontsize=9)
    figure.savefig(IMAGES / "calibration-six-models.png", dpi=110)


def before_and_after():
    y, p = held_out_scores(BOOSTED)
    X, _ = diabetes()
    model = CalibratedClassifier(HistGradientBoostingClassifier(random_state=0))
    q = cross_val_predict(model, X, y, cv=FOLDS, method="predict_proba")[:, 1]
    calibrator = AutoCalibrator().fit(p, y)
    grid = np.linspace(p.min(), p.max(), 400)
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.15), layout="constrained")
    draw_reliability(axes[0], y, p)
    axes[0].set_title(f"before: log-loss {log_loss(y, p):.2f}", fontsize=10)
    axes[1].plot([0, 1], [0, 1], color=GRAY, linestyle="--", linewidth=1)
    low, high = calibrator.predict_interval(grid)
    axes[1].fill_between(grid, low, high, color=ORANGE, alpha=0.2, linewidth=0)
    axes[1].plot(grid, calibrator.map_(grid), color=ORANGE, linewidth=2)
    axes[1].set_title("the map, with its 90% interval", fontsize=10)
    axes[1].set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    axes[1].set_xticks([0, 0.5, 1], ["0%", "50%", "100%"])
    axes[1].set_yticks([0, 0.5, 1], ["0%", "50%", "100%"])
    for side in ("top", "right"):
        axes[1].spines[side].set_visible(False)
    draw_reliability(axes[2], y, q, color=BLUE)
    axes[2].set_title(f"after: log-loss {log_loss(y, q):.2f}", fontsize=10)
    for ax, x in zip(axes, ["score", "score", "calibrated probability"], strict=True):
        ax.set_xlabel(x, fontsize=9)
    axes[0].set_ylabel("observed frequency", fontsize=9)
    axes[1].set_ylabel("calibrated probability", fontsize=9)
    figure.savefig(IMAGES / "calibration-before-after.png", dpi=110)


def table():
    print("| model | data | slope | test | log-loss | calibrated | AUC | calibrated |")
    print("|---|---|---|---|---|---|---|---|")
    for name, (model, data) in MODELS.items():
        X, y = data()
        calibrated = cross_val_predict(
            CalibratedClassifier(clone(model)), X, y, cv=FOLDS, method="predict_proba"
        )[:, 1]
        after = f"{log_loss(y, calibrated):.3f}"
        if name == "SVM":
            _, p = held_out_scores(name, "decision_function")
            before = "– | – | –"
        else:
            _, p = held_out_scores(name)
            chance = calibration_test(y, p, method="exact").p_value
            before = f"{calibration_slope(y, p):.2f} | {chance:.1g} | {log_loss(y, p):.3f}"
        ranking = f"{c_statistic(y, p):.3f} | {c_statistic(y, calibrated):.3f}"
        print(f"| {name} | {data.__name__} | {before} | {after} | {ranking} |", flush=True)


if __name__ == "__main__":
    how_to_read()
    six_models()
    before_and_after()
    table()
