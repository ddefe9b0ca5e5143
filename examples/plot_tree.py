"""
Right on average, wrong in every group
======================================
A credit model does not use the country. It is calibrated over all customers, but too high in one
country and too low in the other. No function of the score can correct that; a calibration tree also
uses features.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from trueodds import TreeCalibrator
from trueodds.metrics import reliability_curve
from trueodds.plots import ReliabilityDisplay, TreeDisplay

rng = np.random.default_rng(0)
n = 12_000
customers = pd.DataFrame({"country": rng.choice(["CZ", "PT"], n), "age": rng.integers(18, 80, n)})
score = 1 / (1 + np.exp(-rng.normal(0, 1.5, n)))
odds = score / (1 - score) * np.where(customers["country"] == "CZ", 3.0, 1 / 3)
repaid = rng.random(n) < odds / (1 + odds)
old, new = slice(0, 6000), slice(6000, None)
tree = TreeCalibrator().fit(score[old], repaid[old], features=customers[old])
calibrated = tree.predict_proba(score[new], features=customers[new])[:, 1]

figure, axes = plt.subplots(1, 2, figsize=(9, 5.5), layout="constrained")
for ax, p, title in zip(axes, [score[new], calibrated], ["score", "tree"], strict=True):
    curves = [reliability_curve(repaid[new], p, n_bins=12, name="all", random_state=0)]
    for country in ("CZ", "PT"):
        rows = (customers["country"][new] == country).to_numpy()
        curves.append(
            reliability_curve(repaid[new][rows], p[rows], n_bins=12, name=country, band=None)
        )
    ReliabilityDisplay.from_curves(*curves).plot(ax=ax, histogram=False)
    ax.set_xlabel(f"probability by the {title}")

# %%
# The tree found the feature that matters:

display = TreeDisplay.from_calibrator(tree).plot()
