"""
Before and after
================
AdaBoost ranks handwritten digits well, but its probabilities all lie near 0.5. Beta calibration
corrects them. The band shows how far the points of a calibrated model stray by chance.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.ensemble import AdaBoostClassifier
from sklearn.model_selection import train_test_split

from trueodds import BetaCalibrator, CalibratedClassifier
from trueodds.plots import ReliabilityDisplay

digits, y = load_digits(return_X_y=True)
X, X_new, y, y_new = train_test_split(digits, y == 8, test_size=0.5, random_state=0)
boosted = AdaBoostClassifier(random_state=0)
raw = boosted.fit(X, y).predict_proba(X_new)[:, 1]
model = CalibratedClassifier(boosted, BetaCalibrator(), ensemble=False).fit(X, y)
calibrated = model.predict_proba(X_new)[:, 1]

figure, axes = plt.subplots(1, 2, figsize=(9, 4.5), layout="constrained")
ReliabilityDisplay.from_predictions(y_new, raw, name="AdaBoost").plot(ax=axes[0])
ReliabilityDisplay.from_predictions(y_new, calibrated, name="calibrated").plot(ax=axes[1])
