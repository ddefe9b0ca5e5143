"""Validates the ADNEX risk of malignancy on 894 patients, and draws both figures of the recipe.

The predictions are the file pred-ovarian-adnex.parquet (from the case study of Van Calster et al.)
in the folder that the environment variable TRUEODDS_DATA names.

    TRUEODDS_DATA=/path/to/data python docs/pictures/validation.py
"""

from __future__ import annotations

import os
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from trueodds.decisions import net_benefit
from trueodds.metrics import (
    curve_errors,
    validation_report,
)
from trueodds.model_selection import update_model
from trueodds.plots import DecisionCurveDisplay, ReliabilityDisplay

IMAGES = Path(__file__).parents[1] / "images"


def main() -> None:
    rows = pd.read_parquet(Path(os.environ["TRUEODDS_DATA"]) / "pred-ovarian-adnex.parquet")
    y, p = rows["y"].to_numpy(), rows["score"].to_numpy()
    print(validation_report(y, p).to_markdown())
    errors = curve_errors(y, p)
    print(f"ICI {errors.ici:.4f}, ECI {errors.eci:.4f}")
    print(f"net benefit at 0.1: {net_benefit(y, p, 0.1):.4f}")
    update = update_model(y, p)
    print(f"update: {update.method}, intercept {update.intercept:.3f}, slope {update.slope:.3f}")

    display = ReliabilityDisplay.from_predictions(
        y, {"ADNEX": p}, strategy="loess", band="confidence", level=0.95
    ).plot()
    display.figure_.savefig(IMAGES / "validation-calibration.png", dpi=100)
    plt.close("all")
    models = {"ADNEX": p, "updated": update.predict_proba(p)}
    thresholds = np.arange(1, 81) / 100
    display = DecisionCurveDisplay.from_predictions(y, models, thresholds=thresholds).plot()
    display.figure_.savefig(IMAGES / "validation-decisions.png", dpi=100)


if __name__ == "__main__":
    main()
