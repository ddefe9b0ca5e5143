"""How strong the penalty of Dirichlet calibration should be by default.

    TRUEODDS_ARENA=folder python benchmarks/choices/dirichlet_strength.py

The folder is that of the accuracy benchmark, with multiclass/*.npz. Every other set of up to 12
classes and 3,000 rows is calibrated with each strength (off-diagonal = intercept). It prints the
mean log-loss on up to 3,000 new rows and the mean rank, also of structured matrix scaling.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from trueodds import DirichletCalibrator, StructuredMatrixCalibrator
from trueodds.exceptions import TrueoddsWarning

STRENGTHS = (0.0, 1e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1)
MOST_CLASSES, MOST_ROWS = 12, 3000


def normalized(p: np.ndarray) -> np.ndarray:
    p = p.astype(float)
    return p / p.sum(axis=1, keepdims=True)


def losses(path: Path) -> list[float] | None:
    data = np.load(path)
    p, y, new, truth = (data[name] for name in ("p_cal", "y_cal", "p_test", "y_test"))
    k = p.shape[1]
    if k > MOST_CLASSES or len(y) > MOST_ROWS:
        return None
    p, new, truth = normalized(p), normalized(new[:MOST_ROWS]), truth[:MOST_ROWS]
    labels = np.arange(k)
    methods = [
        DirichletCalibrator(off_diagonal_penalty=s, intercept_penalty=s, classes=labels)
        for s in STRENGTHS
    ]
    methods.append(StructuredMatrixCalibrator(classes=labels))
    found = (method.fit(p, y).predict_proba(new) for method in methods)
    rows = np.arange(len(truth))
    return [float(-np.log(np.maximum(q[rows, truth], 1e-15)).mean()) for q in found]


def main() -> None:
    warnings.simplefilter("ignore", TrueoddsWarning)
    paths = sorted((Path(os.environ["TRUEODDS_ARENA"]) / "multiclass").glob("*.npz"))[::2]
    table = np.array([row for row in map(losses, paths) if row is not None])
    print(f"{len(table)} sets")
    names = [f"strength {s:g}" for s in STRENGTHS] + ["structured matrix"]
    ranks = rankdata(table[:, : len(STRENGTHS)], axis=1).mean(axis=0)
    for i, name in enumerate(names):
        rank = f"{ranks[i]:8.2f}" if i < len(ranks) else ""
        print(f"{name:20}{table[:, i].mean():8.4f}{rank}")


if __name__ == "__main__":
    main()
