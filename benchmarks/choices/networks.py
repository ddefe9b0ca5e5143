"""The default and other methods for several classes on the logits of four networks.

    TRUEODDS_DATA=folder python benchmarks/choices/networks.py

Each split calibrates on a random half of a network's 10,000 test rows and computes the log-loss of
the other half. Prints the default's mean log-loss and the others' mean differences from it, ± the
standard error over splits, and on how many splits the default's is lower than each of them.
"""

import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import trueodds
from trueodds.exceptions import TrueoddsWarning
from trueodds.metrics import log_loss

SPLITS = {
    "nn-cifar10-vgg16": 10,
    "nn-cifar10-wideresnet16-4": 10,
    "nn-mnist-mlp": 10,
    "nn-cifar100-densenet-bc100": 3,
}
METHODS = ["bayesian_structured", "charcoal_grill", "matrix", "vector", "temperature"]
METHODS += ["ensemble_temperature"]


def losses(logits, y, seed):
    """Log-loss of each method on one half of the rows, calibrated on the other."""
    known, new = np.array_split(np.random.default_rng(seed).permutation(len(y)), 2)
    for method in METHODS:
        calibrator = trueodds.all_calibrators()[method](scale="logit")
        yield log_loss(y[new], calibrator.fit(logits[known], y[known]).predict_proba(logits[new]))


def main():
    warnings.simplefilter("ignore", TrueoddsWarning)
    print("| network |", " | ".join(METHODS), "|")
    lower = np.zeros(len(METHODS) - 1, int)
    for name, n_splits in SPLITS.items():
        frame = pd.read_parquet(Path(os.environ["TRUEODDS_DATA"]) / f"{name}.parquet")
        y = frame.pop("y").to_numpy().astype(int)
        logits = frame.to_numpy(float)
        table = np.array([list(losses(logits, y, seed)) for seed in range(n_splits)])
        above = table[:, 1:] - table[:, :1]
        lower += (above > 0).sum(axis=0)
        error = above.std(axis=0, ddof=1) / np.sqrt(n_splits)
        cells = [f"{d:+.4f} ± {e:.4f}" for d, e in zip(above.mean(axis=0), error, strict=True)]
        print(f"| {name} | {table[:, 0].mean():.4f} |", " | ".join(cells), "|", flush=True)
    title = f"| splits with the lower log-loss, of {sum(SPLITS.values())} | |"
    print(title, " | ".join(map(str, lower)), "|")


if __name__ == "__main__":
    main()
