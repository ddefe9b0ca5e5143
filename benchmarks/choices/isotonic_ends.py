"""Isotonic calibration that may say 0 and 1, and two ways to keep it from that.

    python benchmarks/choices/isotonic_ends.py FOLDER [EVERY]

The folder holds NPZ files with ``p`` (probabilities that a model gave to rows it had not seen) and
``y`` (0 or 1); every EVERY-th of them is used (default 6). The first n rows are calibrated on, at
most half of them, and the next 10,000 held out. Forecasts of 0 and 1 are clipped at 1e-6 for the
log-loss. Printed is the mean over files at each n, and the mean difference to
``tail_smoothing="laplace"`` with its standard error.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from trueodds import IsotonicCalibrator

SIZES = (100, 300, 1000, 3000, 10_000)
KINDS = {
    "None": IsotonicCalibrator(),
    "Platt's labels": IsotonicCalibrator(label_smoothing="platt"),
    "laplace": IsotonicCalibrator(tail_smoothing="laplace"),
}


def held_out_loss(calibrator: IsotonicCalibrator, p: np.ndarray, y: np.ndarray, n: int) -> float:
    """Log-loss on the rows after the first n."""
    test = slice(n, n + 10_000)
    q = calibrator.fit(p[:n], y[:n]).predict_proba(p[test])[:, 1]
    q = np.clip(q, 1e-6, 1 - 1e-6)
    return float(-np.log(np.where(y[test] == 1, q, 1 - q)).mean())


def main(folder: str, every: str = "6") -> None:
    losses: dict[int, list[list[float]]] = {n: [] for n in SIZES}
    for path in sorted(Path(folder).glob("*.npz"))[:: int(every)]:
        with np.load(path) as data:
            p, y = data["p"], data["y"]
        for n in SIZES:
            if n <= len(p) // 2 and 0 < y[:n].sum() < n:
                losses[n].append([held_out_loss(kind, p, y, n) for kind in KINDS.values()])
    print("| rows | sets | " + " | ".join(KINDS) + " |")
    print("|---|---|" + "---|" * len(KINDS))
    for n, rows in losses.items():
        if not rows:
            continue
        table = np.array(rows)
        difference = table - table[:, -1:]
        error = difference.std(axis=0) / np.sqrt(len(table))
        cells = [
            f"+{d:.4f} ± {e:.4f}" for d, e in zip(difference.mean(0)[:-1], error[:-1], strict=True)
        ]
        cells.append(f"{table[:, -1].mean():.4f}")
        print(f"| {n:,} | {len(table)} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main(*sys.argv[1:])
