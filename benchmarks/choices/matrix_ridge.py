"""What the penalty of matrix scaling buys with 100 classes, and what it costs.

    TRUEODDS_DATA=folder python benchmarks/choices/matrix_ridge.py [--all]

The folder holds nn-cifar100-densenet-bc100.parquet: logits x0 … x99 and labels y. The first half
calibrates, the second judges. --all adds maximum likelihood, which takes a minute.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from pathlib import Path

import pandas as pd

from trueodds import IdentityCalibrator, MatrixCalibrator, TemperatureCalibrator, VectorCalibrator
from trueodds.exceptions import TrueoddsWarning
from trueodds.metrics import log_loss

NAME = "nn-cifar100-densenet-bc100.parquet"


def main() -> None:
    warnings.simplefilter("ignore", TrueoddsWarning)
    frame = pd.read_parquet(Path(os.environ["TRUEODDS_DATA"]) / NAME)
    y = frame.pop("y").to_numpy().astype(int)
    logits = frame.to_numpy(float)
    half = len(y) // 2
    kinds = [IdentityCalibrator, TemperatureCalibrator, VectorCalibrator, MatrixCalibrator]
    methods = [kind(scale="logit") for kind in kinds]
    if "--all" in sys.argv:
        methods.append(MatrixCalibrator(scale="logit", ridge=0.0))
    for method in methods:
        start = time.process_time()
        method.fit(logits[:half], y[:half])
        seconds = time.process_time() - start
        loss = log_loss(y[half:], method.predict_proba(logits[half:]))
        print(f"{method!s:55}{loss:8.4f}{seconds:8.2f} CPU s")


if __name__ == "__main__":
    main()
