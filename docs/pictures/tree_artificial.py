"""The paper's artificial example (section 4.3, figure 4), and its tree.

A classifier that always predicts the class frequencies of the training data cannot be helped by a
global method: equal scores get equal probabilities. A calibration tree finds the regions by the
attributes and calibrates each by itself; here it is essentially a decision tree.

    python docs/pictures/tree_artificial.py [folder for the pictures]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.dummy import DummyClassifier

from trueodds import IsotonicCalibrator, LogisticCalibrator, TreeCalibrator
from trueodds.plots import TreeDisplay


def true_probability(X):
    """High in the upper left and the lower right, low elsewhere."""
    x, y = X[:, 0], X[:, 1]
    return np.select(
        [(x <= 0.4) & (y > 0.5), (x > 0.4) & (y <= 0.3), (x > 0.7) & (y > 0.8)],
        [0.9, 0.8, 0.65],
        0.1,
    )


def sample(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    return X, (rng.random(n) < true_probability(X)).astype(int)


def draw_regions(folder):
    """Scores that are wrong in a different way in each region, and the tree that finds out."""
    rng = np.random.default_rng(0)
    n = 6000
    X = pd.DataFrame({"age": rng.uniform(20, 80, n).round(), "plan": rng.choice(list("ABC"), n)})
    z = rng.normal(0, 1.5, n)
    true = np.select([X["age"] <= 40, X["plan"] == "B"], [0.4 * z - 1.5, 0.8 * z + 1.5], 1.5 * z)
    y = (rng.random(n) < 1 / (1 + np.exp(-true))).astype(int)
    tree = TreeCalibrator().fit(1 / (1 + np.exp(-z)), y, features=X)
    print(tree.export_text(decimals=1))
    TreeDisplay.from_calibrator(tree, decimals=0).plot().figure_.savefig(
        folder / "tree-regions.png", dpi=90
    )


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path.cwd()
    X, y = sample(1500, 0)
    X_test, y_test = sample(20000, 1)
    classifier = DummyClassifier(strategy="prior").fit(X, y)
    # Every row gets the same score, so scores of the training rows do not flatter it.
    scores = classifier.predict_proba(X)[:, 1]
    test_scores = classifier.predict_proba(X_test)[:, 1]
    brier = {"none": np.mean((test_scores - y_test) ** 2)}
    for method in (LogisticCalibrator(), IsotonicCalibrator()):
        p = method.fit(scores, y).predict_proba(test_scores)[:, 1]
        brier[type(method).__name__] = np.mean((p - y_test) ** 2)
    tree = TreeCalibrator().fit(scores, y, features=X)
    p = tree.predict_proba(test_scores, features=X_test)[:, 1]
    brier["TreeCalibrator"] = np.mean((p - y_test) ** 2)
    brier["truth"] = np.mean((true_probability(X_test) - y_test) ** 2)
    print("Brier score on new data")
    for name, value in brier.items():
        print(f"  {name:20}{value:.4f}")
    print(tree.export_text(decimals=2))

    side = np.linspace(0, 1, 200)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    panels = {
        "classifier": np.full(len(grid), y.mean()),
        "calibration tree": tree.predict_proba(np.full(len(grid), scores[0]), features=grid)[:, 1],
        "true probability": true_probability(grid),
    }
    figure, axes = plt.subplots(
        1, 3, figsize=(10.5, 3.6), sharex=True, sharey=True, layout="constrained"
    )
    for ax, (name, p) in zip(axes, panels.items(), strict=True):
        image = ax.imshow(
            p.reshape(200, 200), origin="lower", extent=(0, 1, 0, 1), vmin=0, vmax=1, cmap="cividis"
        )
        shown = slice(0, 400)
        ax.scatter(
            *X[shown].T,
            c=np.where(y[shown] == 1, "white", "black"),
            s=5,
            edgecolors="0.5",
            linewidths=0.3,
        )
        ax.set_title(name)
    figure.colorbar(image, ax=axes, label="probability of a positive (white)")
    figure.savefig(folder / "tree-artificial.png", dpi=110)
    draw_regions(folder)


if __name__ == "__main__":
    main()
