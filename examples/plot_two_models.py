"""
Two models in one diagram
=========================
No curve of a finite sample follows the diagonal exactly. The band shows where a calibrated model
would lie. One of the two models stays within it; the other deviates by more than chance.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from trueodds.metrics import calibration_test
from trueodds.plots import ReliabilityDisplay

rng = np.random.default_rng(0)
y = rng.random(6000) < 0.4
evidence = rng.normal(np.where(y, 1.0, -1.0), 1.3)
X = evidence[:, None] + rng.normal(0, 0.6, (6000, 5))  # five looks at the same evidence
models = {"logistic regression": LogisticRegression(), "naive Bayes": GaussianNB()}
forecasts = {
    name: model.fit(X[:3000], y[:3000]).predict_proba(X[3000:])[:, 1]
    for name, model in models.items()
}
ReliabilityDisplay.from_predictions(y[3000:], forecasts, n_bins=12, random_state=0).plot()

# %%
# Naive Bayes counts the five correlated features as independent evidence. A test gives the
# probability that a calibrated model deviates as much by chance:

{name: round(calibration_test(y[3000:], p).p_value, 3) for name, p in forecasts.items()}
