"""Card fraud at its natural rate: prints the tables of docs/imbalance.md and draws its picture.

    TRUEODDS_DATA=folder python docs/pictures/charcoal_imbalance.py [--why]

``--why`` shows instead why more components do worse than temperature scaling on the case-control
sample.

A random forest of 200 trees learns from 40 % of the payments and scores the rest, which is halved
20 times into payments to calibrate on and payments to test on. Two substitutes for the paper's
data: ``creditcard-truncated`` (100,000 of 284,807 payments at the natural rate, features cut to
whole numbers) and ``creditcard-casecontrol`` (all 492 frauds and 22,857 legitimate payments, which
count 12.44 times each, in calibrating and in testing).
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from trueodds import (
    BetaCalibrator,
    CharcoalGrillCalibrator,
    ENIRCalibrator,
    HistogramCalibrator,
    IdentityCalibrator,
    IsotonicCalibrator,
    LogisticCalibrator,
    TemperatureCalibrator,
)
from trueodds.exceptions import TrueoddsWarning
from trueodds.metrics import expected_calibration_error

IMAGE = Path(__file__).parents[1] / "images" / "charcoal-fraud.png"
SETS = {"creditcard-truncated": 1.0, "creditcard-casecontrol": 12.44}
SPLITS, DRAWS = 20, 20
METHODS = {
    "original": IdentityCalibrator(),
    "temperature": TemperatureCalibrator(),
    "logistic": LogisticCalibrator(),
    "beta": BetaCalibrator(),
    "histogram": HistogramCalibrator(),
    "isotonic": IsotonicCalibrator(),
    "ENIR": ENIRCalibrator(),
    "charcoal grill, 1 component, no bias": CharcoalGrillCalibrator(n_components=1, bias=False),
    "charcoal grill, 2 components": CharcoalGrillCalibrator(n_components=2),
    "charcoal grill, 3 components": CharcoalGrillCalibrator(n_components=3),
    "charcoal grill, 5 components": CharcoalGrillCalibrator(n_components=5),
}
WHY = {
    "temperature": TemperatureCalibrator(),
    "logistic, no smoothing": LogisticCalibrator(label_smoothing=None),
    "logistic (Platt)": LogisticCalibrator(),
    "charcoal grill, 2 components": CharcoalGrillCalibrator(n_components=2),
    "charcoal grill, 2 components, λ × 12.44": CharcoalGrillCalibrator(
        n_components=2, regularization=0.1244
    ),
    "charcoal grill, 2 components, no bias": CharcoalGrillCalibrator(n_components=2, bias=False),
    "charcoal grill, 2 components, Platt": CharcoalGrillCalibrator(
        n_components=2, label_smoothing="platt"
    ),
}


def scored(name, weight_of_legitimate):
    """Out-of-sample scores of the forest, with labels and weights."""
    folder = os.environ.get("TRUEODDS_DATA")
    if not folder:
        sys.exit("TRUEODDS_DATA must name the folder that holds the data sets.")
    frame = pd.read_parquet(Path(folder) / f"{name}.parquet")
    y = frame["y"].to_numpy().astype(int)
    X = frame.drop(columns="y").to_numpy(np.float32)
    X_fit, X_rest, y_fit, y_rest = train_test_split(X, y, test_size=0.6, random_state=0, stratify=y)
    weight = np.where(y_fit == 1, 1.0, weight_of_legitimate)
    forest = RandomForestClassifier(200, random_state=0).fit(X_fit, y_fit, sample_weight=weight)
    score = forest.predict_proba(X_rest)[:, 1]
    return score, y_rest, np.where(y_rest == 1, 1.0, weight_of_legitimate)


def unweighted(y, p, weight):
    return expected_calibration_error(y, p, weighting="equal", sample_weight=weight)


def log_loss(y, p, weight):
    own = np.clip(np.where(y == 1, p, 1 - p), 1e-12, 1)
    return float(-np.average(np.log(own), weights=weight))


def by_chance(p, weight, rng):
    """Unweighted ECE of probabilities that are right: labels drawn from them."""
    return np.mean([unweighted(rng.random(len(p)) < p, p, weight) for _ in range(DRAWS)])


def compare(score, y, weight):
    """Weighted ECE, unweighted ECE, the same by chance, log-loss; (splits, 4) for each method."""
    rows = {name: [] for name in METHODS}
    for split in range(SPLITS):
        fit, test = train_test_split(
            np.arange(len(y)), test_size=0.5, random_state=split, stratify=y
        )
        rng = np.random.default_rng(split)
        for name, calibrator in METHODS.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TrueoddsWarning)
                calibrator.fit(score[fit], y[fit], sample_weight=weight[fit])
            p = calibrator.predict_proba(score[test])[:, 1]
            rows[name].append(
                (
                    100 * expected_calibration_error(y[test], p, sample_weight=weight[test]),
                    100 * unweighted(y[test], p, weight[test]),
                    100 * by_chance(p, weight[test], rng),
                    1000 * log_loss(y[test], p, weight[test]),
                )
            )
    return {name: np.array(values) for name, values in rows.items()}


def why(score, y, weight):
    """1000 × log-loss less that of temperature scaling, on the same splits."""
    losses = {name: [] for name in WHY}
    for split in range(SPLITS):
        fit, test = train_test_split(
            np.arange(len(y)), test_size=0.5, random_state=split, stratify=y
        )
        for name, calibrator in WHY.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TrueoddsWarning)
                calibrator.fit(score[fit], y[fit], sample_weight=weight[fit])
            p = calibrator.predict_proba(score[test])[:, 1]
            losses[name].append(1000 * log_loss(y[test], p, weight[test]))
    print("| method | − temperature, ± s.e. | worst split | mean of the other splits |")
    print("|---|---|---|---|")
    for name, values in losses.items():
        excess = np.sort(np.subtract(values, losses["temperature"]))
        error = excess.std(ddof=1) / np.sqrt(SPLITS)
        print(f"| {name} | {excess.mean():+.2f} ± {error:.2f} ", end="")
        print(f"| {excess[-1]:+.2f} | {excess[:-1].mean():+.2f} |")


def show(name, score, y, weight, results):
    high = score > 0.1
    print(f"\n{name}: {len(y)} scored payments, {y.sum()} frauds ", end="")
    print(f"({100 * np.average(y, weights=weight):.3f} %), {high.sum()} scores above 0.1, ", end="")
    print(f"{100 * (score == 0).mean():.0f} % of scores exactly 0; {SPLITS} splits in halves")
    print(
        "| method | weighted ECE, % | unweighted ECE, % | by chance, % | 1000 × log-loss ", end=""
    )
    print("| − original |\n|---|---|---|---|---|---|")
    base = results["original"][:, 3]
    for method, values in results.items():
        w, u, chance, loss = values.mean(axis=0)
        deviation = values.std(axis=0, ddof=1)
        gain = values[:, 3] - base
        print(
            f"| {method} | {w:.3f} ± {deviation[0]:.3f} | {u:.1f} ± {deviation[1]:.1f} "
            f"| {chance:.1f} | {loss:.2f} | {gain.mean():+.2f} ± {gain.std(ddof=1):.2f} |"
        )


def draw(results):
    figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.4), sharey=True, layout="constrained")
    for ax, (name, values) in zip(axes, results.items(), strict=True):
        for place, rows in enumerate(values.values()):
            ax.plot(rows[:, 1], np.full(SPLITS, place), "o", ms=3, alpha=0.5, color="C0")
            ax.plot(rows[:, 1].mean(), place, "D", ms=6, color="C0")
            ax.plot(rows[:, 2].mean(), place, "|", ms=16, mew=2, color="C1")
        ax.set_yticks(range(len(values)), list(values))
        ax.set(title=name, xlabel="unweighted ECE on the test half, %", xlim=(0, None))
        ax.grid(axis="x", alpha=0.3)
    axes[0].invert_yaxis()
    axes[0].plot([], [], "o", ms=3, color="C0", label="one split")
    axes[0].plot([], [], "D", ms=6, color="C0", label="mean")
    axes[0].plot([], [], "|", ms=12, mew=2, color="C1", label="if probabilities were right")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.savefig(IMAGE, dpi=110)


if __name__ == "__main__":
    if "--why" in sys.argv:
        why(*scored("creditcard-casecontrol", SETS["creditcard-casecontrol"]))
        sys.exit()
    results = {}
    for name, weight_of_legitimate in SETS.items():
        score, y, weight = scored(name, weight_of_legitimate)
        results[name] = compare(score, y, weight)
        show(name, score, y, weight, results[name])
    draw(results)
