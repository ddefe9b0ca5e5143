"""
One temperature for a network of ten classes
============================================
A network that was trained too long is overconfident. Dividing its logits by one number, the
temperature, corrects most of the error and never changes which class comes first.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from trueodds import TemperatureCalibrator
from trueodds.metrics import log_loss
from trueodds.plots import ReliabilityDisplay

images, digits = load_digits(return_X_y=True)
images = images / 16 + np.random.default_rng(0).normal(0, 0.4, images.shape)  # a noisy scanner
X, X_rest, y, y_rest = train_test_split(images, digits, train_size=500, random_state=0)
X_fit, X_new, y_fit, y_new = train_test_split(X_rest, y_rest, test_size=0.6, random_state=0)
network = MLPClassifier(128, alpha=0, max_iter=500, random_state=0).fit(X, y)

# %%
# Logarithms of probabilities are logits, up to a constant that does not matter.

calibrator = TemperatureCalibrator(scale="logit").fit(network.predict_log_proba(X_fit), y_fit)
before = network.predict_proba(X_new)
after = calibrator.predict_proba(network.predict_log_proba(X_new))

# %%
# The hatched gaps show overconfidence:

forecasts = {"as trained": before, f"at temperature {calibrator.temperature_:.2f}": after}
display = ReliabilityDisplay.from_predictions(
    y_new, forecasts, strategy="uniform", n_bins=10, random_state=0
)
display.plot_grid(style="gaps").figure_.set_size_inches(9, 6)

# %%
# The log-loss before and after:

round(log_loss(y_new, before), 2), round(log_loss(y_new, after), 2)
