"""
The threshold that follows from costs
=====================================
If a miss costs nine times as much as a false alarm, act on every probability of 0.1 or more. This
needs calibrated probabilities: for naive Bayes the same threshold is far from the cheapest.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from trueodds import BetaCalibrator, CalibratedClassifier
from trueodds.decisions import cost_curve

X, y = make_classification(
    9000, n_features=20, n_informative=4, n_redundant=10, weights=[0.8], class_sep=0.6,
    random_state=0,
)  # fmt: skip
X, X_new, y, y_new = X[:3000], X[3000:], y[:3000], y[3000:]
models = {
    "naive Bayes": GaussianNB(),
    "calibrated": CalibratedClassifier(GaussianNB(), BetaCalibrator(), ensemble=False),
}
figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
for (name, model), color in zip(models.items(), ["#D55E00", "#0072B2"], strict=True):
    p = model.fit(X, y).predict_proba(X_new)[:, 1]
    curve = cost_curve(y_new, p, cost_fp=1, cost_fn=9)
    ax.step(curve.threshold[:-1], curve.cost[:-1], where="pre", color=color, label=name)
    ax.plot(curve.theoretical_threshold, curve.theoretical_cost, "o", color=color, ms=9)
    ax.plot(curve.empirical_threshold, curve.empirical_cost, "v", color=color, ms=9, mfc="none")
ax.plot([], [], "o", color="0.4", label="the threshold of the costs, 0.1")
ax.plot([], [], "v", color="0.4", mfc="none", label="the cheapest in hindsight")
ax.set(xscale="log", xlabel="threshold", ylabel="cost of a row", xlim=(1e-4, 1), ylim=(0, None))
ax.legend()
