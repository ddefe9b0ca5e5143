"""The temperature fields and maps of 2 and 3 components, as in the paper's figure 7.

    python docs/pictures/charcoal_field.py

Draws docs/images/charcoal-field.png.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
from matplotlib import pyplot as plt
from scipy.special import expit, logit

from trueodds import CharcoalGrillCalibrator
from trueodds.plots import CalibrationMapDisplay

IMAGE = Path(__file__).parents[1] / "images" / "charcoal-field.png"


def main():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=1000)
    z = logit(p)
    y = (rng.uniform(size=1000) < expit(np.where(z > 0, z / 5, z))).astype(int)
    figure, axes = plt.subplots(2, 2, figsize=(9.5, 8.2), layout="constrained")
    grid = np.linspace(-6, 6, 401)
    for column, n_coals in enumerate((2, 3)):
        calibrator = CharcoalGrillCalibrator(n_components=n_coals, scale="logit").fit(z, y)
        grill = calibrator.map_
        top = axes[0, column]
        for mean, temperature, width in zip(
            grill.means, grill.temperatures, grill.widths, strict=True
        ):
            bump = temperature * np.exp(-((grid - mean) ** 2) / (2 * width**2))
            top.fill_between(grid, bump, alpha=0.25, lw=0)
        top.plot(grid, grill.temperature(grid), color="black", lw=1.8, label="T(z)")
        top.plot(grid, np.where(grid > 0, 5, 1), color="gray", ls="--", lw=1, label="true curve")
        top.set(xlabel="log-odds", ylabel="temperature", title=f"{n_coals} components")
        top.legend(frameon=False)
        CalibrationMapDisplay.from_calibrator(
            calibrator, scores=z, y=y, name=f"{n_coals} components", level=None
        ).plot(ax=axes[1, column])
    figure.savefig(IMAGE, dpi=100)


if __name__ == "__main__":
    main()
