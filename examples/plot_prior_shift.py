"""
A different base rate than in training
======================================
The training set contains only as many negatives as positives. In production one row in fifty is
positive, so the predictions are far too high. No new labels are needed: the classes look the same,
and all odds change by the same factor.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from trueodds.decisions import adjust_prior, estimate_prior
from trueodds.plots import ReliabilityDisplay

rng = np.random.default_rng(0)


def draw(n, prior):
    """Two features that tell the classes apart, more or less."""
    y = rng.random(n) < prior
    return rng.normal(np.where(y, 1.2, 0.0)[:, None], 1, (n, 2)), y


X, y = draw(4000, 0.5)
X_field, y_field = draw(40_000, 0.02)
p = LogisticRegression().fit(X, y).predict_proba(X_field)[:, 1]

found = estimate_prior(p, old_prior=0.5)  # from scores alone
adjusted = adjust_prior(p, old_prior=0.5, new_prior=found)

figure, ax = plt.subplots(figsize=(6, 6), layout="constrained")
forecasts = {"as trained": p, f"moved to the rate of {found:.1%}": adjusted}
display = ReliabilityDisplay.from_predictions(y_field, forecasts, n_bins=12, random_state=0)
display.plot(ax=ax, scale="log")
