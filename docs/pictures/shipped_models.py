"""Ordinary models on the data that scikit-learn ships, with scores of rows that they never saw."""

from __future__ import annotations

import numpy as np
from scipy.stats import binomtest
from sklearn.datasets import load_diabetes, load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
BLUE, ORANGE, GRAY = "#0072b2", "#d55e00", "#777777"


def diabetes():
    """442 patients: did the disease progress more than the median within a year?"""
    X, progression = load_diabetes(return_X_y=True)
    return X, (progression > np.median(progression)).astype(int)


def digits():
    """1,797 handwritten digits: is it a 5 or more?"""
    X, digit = load_digits(return_X_y=True)
    return X, (digit >= 5).astype(int)


MODELS = {
    "Gaussian naive Bayes": (GaussianNB(), diabetes),
    "Boosted trees": (HistGradientBoostingClassifier(random_state=0), diabetes),
    "Neural network": (
        make_pipeline(StandardScaler(), MLPClassifier(max_iter=1000, random_state=0)),
        diabetes,
    ),
    "Random forest": (RandomForestClassifier(200, random_state=0), digits),
    "SVM": (make_pipeline(StandardScaler(), SVC()), digits),
    "Logistic regression": (make_pipeline(StandardScaler(), LogisticRegression()), diabetes),
}


def held_out_scores(name, method="predict_proba"):
    """Labels, and a score of each row from a model that was trained on other rows."""
    model, data = MODELS[name]
    X, y = data()
    scores = cross_val_predict(model, X, y, cv=FOLDS, method=method)
    return y, scores if scores.ndim == 1 else scores[:, 1]


def binned(y, p, n_bins):
    """Mean score, observed frequency, its 90% interval and rows of bins of equal mass."""
    order = np.argsort(p, kind="stable")
    cells = np.array_split(order, n_bins)
    intervals = [
        binomtest(int(y[cell].sum()), len(cell)).proportion_ci(0.9, method="wilson")
        for cell in cells
    ]
    return (
        np.array([p[cell].mean() for cell in cells]),
        np.array([y[cell].mean() for cell in cells]),
        np.array([(interval.low, interval.high) for interval in intervals]).T,
    )


def draw_reliability(ax, y, p, *, n_bins=8, color=BLUE):
    """Dots with intervals on the unit square, the diagonal, and the distribution of scores."""
    x, frequency, (low, high) = binned(y, p, n_bins)
    ax.plot([0, 1], [0, 1], color=GRAY, linestyle="--", linewidth=1)
    counts, edges = np.histogram(p, bins=20, range=(0, 1))
    ax.bar(edges[:-1], 0.16 * counts / counts.max(), np.diff(edges), align="edge", color="#cccccc")
    errors = np.maximum(0, [frequency - low, high - frequency])
    ax.errorbar(
        x, frequency, errors, color=color, marker="o", markersize=5, linewidth=1.5, elinewidth=1
    )
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    ax.set_xticks([0, 0.5, 1], ["0%", "50%", "100%"])
    ax.set_yticks([0, 0.5, 1], ["0%", "50%", "100%"])
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
