"""Charcoal Grill Scaling of real networks' outputs, beside the paper's Table 3.

    TRUEODDS_DATA=folder python benchmarks/charcoal_networks.py [splits] [set ...] [--only=a,b]

Each fit's log-loss goes to standard error as it comes; ``--only`` names methods to run.

Rows are shuffled and cut in half, to fit and to test, ``splits`` times (10 by default; the paper:
once). ECE in %, as in the paper: ten bins of equal width over all (row, class) pairs, weighted and
unweighted. Log-loss in nats; "− temperature" is the mean difference over splits with its standard
error. Substitutes: another network than the paper's for MNIST and CIFAR-100, two networks on
CIFAR-10 in place of SVHN.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from trueodds import (
    CharcoalGrillCalibrator,
    IdentityCalibrator,
    IsotonicCalibrator,
    MatrixCalibrator,
    TemperatureCalibrator,
    VectorCalibrator,
)
from trueodds.exceptions import TrueoddsWarning

# file, and the column of Table 3 that it stands beside
SETS = {
    "nn-mnist-mlp": "MNIST",
    "nn-cifar10-vgg16": "SVHN",
    "nn-cifar10-wideresnet16-4": "SVHN",
    "nn-cifar100-densenet-bc100": "CIFAR",
}
PAPER = {  # weighted and unweighted ECE
    "original": {"MNIST": (0.11, 2.94), "CIFAR": (0.37, 16.97), "SVHN": (0.26, 1.89)},
    "temperature": {"MNIST": (0.053, 2.42), "CIFAR": (0.024, 0.86), "SVHN": (0.16, 3.21)},
    "vector": {"MNIST": (0.053, 4.36), "CIFAR": (0.019, 0.79), "SVHN": (0.15, 2.92)},
    "matrix": {"MNIST": (0.13, 6.41), "CIFAR": (0.66, 35.68), "SVHN": (0.14, 2.84)},
    "isotonic": {"MNIST": (1.11, 14.45), "CIFAR": (0.27, 11.00), "SVHN": (1.06, 10.74)},
    "CGS-3-nobias": {"MNIST": (0.067, 5.11), "CIFAR": (0.024, 0.86), "SVHN": (0.14, 2.87)},
    "CGS-2-withbias": {"MNIST": (0.066, 4.38), "CIFAR": (0.018, 1.03), "SVHN": (0.14, 2.49)},
    "CGS-3-withbias": {"MNIST": (0.068, 4.71), "CIFAR": (0.014, 0.95), "SVHN": (0.13, 2.41)},
}
METHODS: dict[str, Callable[[], object]] = {
    "original": lambda: IdentityCalibrator(input="logit"),
    "temperature": lambda: TemperatureCalibrator(input="logit"),
    "vector": lambda: VectorCalibrator(input="logit"),
    "matrix": lambda: MatrixCalibrator(input="logit", ridge=0.0),
    "isotonic": lambda: IsotonicCalibrator(input="logit"),
    "CGS-3-nobias": lambda: CharcoalGrillCalibrator(n_coals=3, bias=False, input="logit"),
    "CGS-2-withbias": lambda: CharcoalGrillCalibrator(n_coals=2, input="logit"),
    "CGS-3-withbias": lambda: CharcoalGrillCalibrator(n_coals=3, input="logit"),
}


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    folder = os.environ.get("TRUEODDS_DATA")
    if not folder:
        sys.exit("TRUEODDS_DATA must name the folder that holds the data sets.")
    frame = pd.read_parquet(Path(folder) / f"{name}.parquet")
    return frame.drop(columns="y").to_numpy(np.float64), frame["y"].to_numpy()


def measure(p: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Log-loss, and weighted and unweighted ECE over all (row, class) pairs."""
    own = np.maximum(p[np.arange(len(y)), y], 1e-12)  # isotonic regression gives exact 0
    hit = np.zeros_like(p)
    hit[np.arange(len(y)), y] = 1
    bins = np.minimum((10 * p).astype(np.intp), 9).ravel()
    count = np.bincount(bins, minlength=10)
    gap = np.abs(np.bincount(bins, (p - hit).ravel(), 10))
    used = count > 0
    return -np.log(own).mean(), 100 * gap.sum() / p.size, 100 * (gap[used] / count[used]).mean()


def compare(name: str, splits: int, methods: list[str]) -> None:
    scores, y = read(name)
    column = SETS[name]
    rows: dict[str, list[tuple[float, ...]]] = {method: [] for method in methods}
    for split in range(splits):
        order = np.random.default_rng(split).permutation(len(y))
        fit, test = order[: len(y) // 2], order[len(y) // 2 :]
        for method in methods:
            begin = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TrueoddsWarning)
                calibrator = METHODS[method]().fit(scores[fit], y[fit])
            seconds = time.process_time() - begin
            measures = measure(calibrator.predict_proba(scores[test]), y[test])
            rows[method].append((*measures, seconds))
            print(
                f"{name}, split {split}, {method}: {measures[0]:.4f}, {seconds:.1f} s",
                file=sys.stderr,
                flush=True,
            )
    base = np.array(rows["temperature"])[:, 0]
    print(f"\n{name} (paper: {column}), {splits} splits")
    print(
        "| method | paper: weighted | unweighted | ours: weighted | unweighted | log-loss ", end=""
    )
    print("| − temperature | fit, CPU s |\n|---|---|---|---|---|---|---|---|")
    for method, values in rows.items():
        table = np.array(values)
        loss, weighted, unweighted, seconds = table.mean(axis=0)
        difference = table[:, 0] - base
        error = difference.std(ddof=1) / np.sqrt(splits) if splits > 1 else np.nan
        paper = PAPER[method][column]
        print(
            f"| {method} | {paper[0]:g} | {paper[1]:.2f} | {weighted:.3f} | {unweighted:.2f} "
            f"| {loss:.4f} | {difference.mean():+.4f} ± {error:.4f} | {seconds:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    only = [a.removeprefix("--only=") for a in sys.argv[1:] if a.startswith("--only=")]
    splits = int(arguments[0]) if arguments else 10
    for name in arguments[1:] or SETS:
        compare(name, splits, only[0].split(",") if only else list(METHODS))
