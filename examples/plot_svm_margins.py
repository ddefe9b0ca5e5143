"""
Decision values of a support vector machine
===========================================
A decision value has no fixed scale: +2 may mean anything. Platt scaling maps it to a probability.
It is fitted on held-out decision values with ``scale="raw"``.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import LinearSVC

from trueodds import LogisticCalibrator
from trueodds.plots import CalibrationMapDisplay

rng = np.random.default_rng(0)
y = rng.random(8000) < 0.4
X = rng.normal(np.where(y, 0.5, -0.5)[:, None], 1, (8000, 4))
svm = LinearSVC().fit(X[:2000], y[:2000])
margins, labels = svm.decision_function(X[2000:]), y[2000:]
calibrator = LogisticCalibrator(scale="raw").fit(margins, labels)

figure, (above, below) = plt.subplots(
    2, 1, figsize=(7, 7), sharex=True, height_ratios=[1, 2], layout="constrained"
)
bins = np.linspace(margins.min(), margins.max(), 60)
for label, name in enumerate(["negative", "positive"]):
    above.hist(margins[labels == label], bins, histtype="stepfilled", alpha=0.6, label=name)
above.set_ylabel("rows")
above.legend()
display = CalibrationMapDisplay.from_calibrator(calibrator, scores=margins, y=labels)
display.plot(ax=below, legend=False)
below.legend(loc="upper left")
below.set_xlabel("margin of the support vector machine")
