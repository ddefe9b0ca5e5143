"""Draw the pictures of docs/uncertainty.md into docs/images.

python docs/pictures/uncertainty.py
"""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from trueodds import BetaCalibrator, HistogramCalibrator, TemperatureCalibrator
from trueodds.plots import ReliabilityDisplay

FOLDER = Path(__file__).parents[1] / "images"


def truth(p):
    """A model that is right below one half and hardly better than chance above."""
    return np.where(p < 0.5, p, 0.5 + 0.3 * (p - 0.5))


def draw_intervals():
    """Three methods on the same 500 rows."""
    rng = np.random.default_rng(0)
    p = rng.random(500)
    y = rng.random(500) < truth(p)
    grid = np.linspace(0.005, 0.995, 199)
    methods = {
        "temperature": TemperatureCalibrator(),
        "beta": BetaCalibrator(),
        "ten bins": HistogramCalibrator(n_bins=10),
    }
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.9), sharey=True, layout="constrained")
    for ax, (name, method) in zip(axes, methods.items(), strict=True):
        low, high = method.fit(p, y).predict_interval(grid, level=0.9)
        ax.fill_between(grid, low, high, color="#0072b2", alpha=0.25, label="90% interval")
        ax.plot(grid, method.map_(grid), color="#0072b2", label="point estimate")
        ax.plot(grid, truth(grid), "k--", linewidth=1.2, label="true curve")
        ax.set(title=name, xlabel="score", xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes[0].set_ylabel("probability")
    axes[0].legend(loc="upper left", frameon=False, fontsize="small")
    figure.savefig(FOLDER / "uncertainty-intervals.png", dpi=110)


def draw_band():
    """A calibrated model, and one that is overconfident."""
    rng = np.random.default_rng(0)
    p = rng.random(20_000)
    figure, axes = plt.subplots(1, 2, figsize=(10, 6.0), layout="constrained")
    models = {"calibrated": p, "overconfident": truth(p)}
    for ax, (name, happens) in zip(axes, models.items(), strict=True):
        y = rng.random(len(p)) < happens
        display = ReliabilityDisplay.from_predictions(
            y, {name: p}, strategy="corp", band="guaranteed", level=0.9
        )
        display.plot(ax)
    figure.savefig(FOLDER / "uncertainty-band.png", dpi=110, bbox_inches="tight")


if __name__ == "__main__":
    draw_intervals()
    draw_band()
