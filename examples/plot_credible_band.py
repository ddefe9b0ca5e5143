"""
How little two hundred rows determine
=====================================
Bayesian isotonic calibration averages over non-decreasing functions and shows how far they spread.
"""

import matplotlib.pyplot as plt
import numpy as np

from trueodds import BayesianIsotonicCalibrator

rng = np.random.default_rng(0)
figure, axes = plt.subplots(1, 2, figsize=(9, 4.5), sharey=True, layout="constrained")
grid = np.linspace(0.01, 0.99, 99)
for ax, n in zip(axes, (200, 5000), strict=True):
    scores = rng.random(n)
    y = rng.random(n) < scores**2
    calibrator = BayesianIsotonicCalibrator(random_state=0).fit(scores, y)
    low, high = calibrator.predict_interval(grid, level=0.9)
    ax.fill_between(grid, low, high, alpha=0.25, label="90% of the maps")
    ax.plot(grid, calibrator.map_(grid), label="their mean")
    ax.plot(grid, grid**2, "k--", linewidth=1, label="the truth")
    ax.set(title=f"{n} rows", xlabel="score", aspect="equal")
axes[0].set_ylabel("probability")
axes[0].legend()
