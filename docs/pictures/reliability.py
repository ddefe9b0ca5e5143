"""Draws the network and the naive Bayes pictures into docs/images.

The data sets are Parquet files in the folder that the environment variable TRUEODDS_DATA names.

    TRUEODDS_DATA=/path/to/data python docs/pictures/reliability.py
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from scipy.special import softmax
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import CategoricalNB

from trueodds import (
    BetaCalibrator,
    ENIRCalibrator,
    IsotonicCalibrator,
    LogisticCalibrator,
    TemperatureCalibrator,
)
from trueodds.metrics import (
    calibration_test,
    confidence_interval,
    debiased_calibration_error,
    expected_calibration_error,
    smooth_calibration_error,
)
from trueodds.plots import CalibrationMapDisplay, ReliabilityDisplay

IMAGES = Path(__file__).parents[1] / "images"


def read(name):
    folder = os.environ.get("TRUEODDS_DATA")
    if not folder:
        sys.exit("TRUEODDS_DATA must name the folder that holds the data sets.")
    frame = pd.read_parquet(Path(folder) / f"{name}.parquet")
    return frame.drop(columns="y"), frame["y"].to_numpy()


def coded(frame):
    """Every column as whole numbers from 0: categories as they are, numbers in twenty parts."""
    columns = []
    for name in frame:
        values = frame[name]
        if values.dtype.kind in "iuf":
            values = pd.qcut(values, 20, duplicates="drop")
        columns.append(values.astype("category").cat.codes.to_numpy() + 1)  # missing: 0
    return np.stack(columns, axis=1)


def save(figure, name):
    figure.savefig(IMAGES / f"{name}.png", dpi=110)
    plt.close(figure)
    print(f"docs/images/{name}.png")


def describe(name, y, p):
    error = confidence_interval(debiased_calibration_error, y, p, random_state=0)
    print(
        f"  {name}: ECE {expected_calibration_error(y, p):.4f}, "
        f"smECE {smooth_calibration_error(y, p):.4f}, debiased {error.estimate:.4f} "
        f"[{error.low:.4f}, {error.high:.4f}], "
        f"Spiegelhalter p = {calibration_test(y, p).p_value:.2g}"
    )


def network():
    """An overconfident network: DenseNet-BC-100 on the test images of CIFAR-100."""
    frame, y = read("nn-cifar100-densenet-bc100")
    logits = frame.to_numpy(np.float64)
    fit, test = train_test_split(np.arange(len(y)), test_size=0.5, random_state=0, stratify=y)
    raw = softmax(logits, axis=1)
    scaled = TemperatureCalibrator(scale="logit").fit(logits[fit], y[fit])
    models = {
        "DenseNet, as trained": raw[test],
        "after temperature scaling": scaled.predict_proba(logits[test]),
    }
    for name, p in models.items():
        describe(name, y[test], p)
    display = ReliabilityDisplay.from_predictions(
        y[test], models, strategy="uniform", random_state=0
    )
    save(display.plot_grid(style="gaps").figure_, "network-gaps")


def naive_bayes():
    """Naive Bayes on adult (income above 50,000), before and after four methods."""
    frame, label = read("adult")
    y = (label == ">50K").astype(int)
    X = coded(frame)
    X_model, X_rest, y_model, y_rest = train_test_split(X, y, test_size=0.6, random_state=0)
    X_fit, X_test, y_fit, y_test = train_test_split(X_rest, y_rest, test_size=0.5, random_state=0)
    model = CategoricalNB(min_categories=X.max(axis=0) + 1).fit(X_model, y_model)
    scores, test = (model.predict_proba(part)[:, 1] for part in (X_fit, X_test))
    models = {"naive Bayes": test}
    methods = {
        "logistic": LogisticCalibrator(),
        "beta": BetaCalibrator(),
        "isotonic": IsotonicCalibrator(label_smoothing="platt"),
        "ENIR": ENIRCalibrator(),
    }
    for name, method in methods.items():
        models[name] = method.fit(scores, y_fit).predict_proba(test)[:, 1]
    for name, p in models.items():
        describe(name, y_test, p)
    display = ReliabilityDisplay.from_predictions(y_test, models, random_state=0)
    save(display.plot_grid(n_columns=3).figure_, "naive-bayes")
    figure, axes = plt.subplots(1, 2, figsize=(9.5, 5.2), layout="constrained")
    for ax, name in zip(axes, ("beta", "isotonic"), strict=True):
        CalibrationMapDisplay.from_calibrator(
            methods[name], scores=scores, y=y_fit, name=f"{name} calibration", level=None
        ).plot(ax)
    save(figure, "naive-bayes-maps")


if __name__ == "__main__":
    IMAGES.mkdir(parents=True, exist_ok=True)
    network()
    naive_bayes()
