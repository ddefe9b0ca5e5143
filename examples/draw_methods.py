"""Draw every method's map of the same 500 scores, for the pages of the methods.

Usage: python examples/draw_methods.py [folder, default docs/images]
"""

import sys
import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np

import trueodds
from trueodds.exceptions import TrueoddsWarning

mpl.use("Agg")
import matplotlib.pyplot as plt

TITLES = {
    "identity": "identity",
    "temperature": "temperature",
    "logistic": "logistic (Platt)",
    "beta": "beta",
    "histogram": "histogram",
    "isotonic": "isotonic",
    "bayesian_isotonic": "Bayesian isotonic",
    "charcoal_grill": "charcoal grill",
    "enir": "ENIR",
    "bbq": "BBQ",
    "abb": "ABB",
    "acp": "ACP",
}
OWN_PAGE = ("temperature", "logistic", "beta", "histogram", "isotonic")
GRID = np.linspace(0.001, 0.999, 999)


def truth(p):
    """Right below one half, too sure above it."""
    return np.where(p < 0.5, p, 0.5 + 0.6 * (p - 0.5))


def draw(ax, name, scores, y):
    calibrator = trueodds.all_calibrators()[name]()
    if "random_state" in calibrator.get_params():
        calibrator.set_params(random_state=0)
    fitted = calibrator.fit(scores, y)
    ax.plot(GRID, truth(GRID), "--", color="#777", linewidth=1)
    ax.plot(GRID, fitted.predict_proba(GRID)[:, 1], color="#0b5c94", linewidth=1.8)
    ax.set(title=TITLES[name], xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.title.set_fontsize(10)
    ax.spines[["top", "right"]].set_visible(False)


def draw_vector(path):
    """Three classes, one of them over-confident: reliability of each, before and after."""
    rng = np.random.default_rng(0)
    logits = 1.5 * rng.normal(size=(4000, 3))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) > rng.random((4000, 1))).argmax(axis=1)
    biased = logits * [1, 1, 2] + [0, 0, 1]
    raw = np.exp(biased) / np.exp(biased).sum(axis=1, keepdims=True)
    better = trueodds.VectorCalibrator().fit(raw, y).predict_proba(raw)
    figure, axes = plt.subplots(1, 2, figsize=(6, 3.2), sharey=True, layout="constrained")
    for ax, scores, title in zip(axes, (raw, better), ("before", "vector scaling"), strict=True):
        ax.plot([0, 1], [0, 1], "--", color="#777", linewidth=1)
        for k, color in enumerate(("#0b5c94", "#4aa3a2", "#c8500a")):
            curve = trueodds.metrics.reliability_curve(y == k, scores[:, k], band=None)
            ax.plot(
                curve.prob_pred,
                curve.prob_true,
                "o-",
                color=color,
                markersize=3,
                label=f"class {k}",
            )
        ax.set(title=title, xlabel="probability given", aspect="equal")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("frequency")
    axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=110)


def main(folder):
    warnings.simplefilter("ignore", TrueoddsWarning)
    rng = np.random.default_rng(0)
    scores = rng.beta(0.8, 0.8, 500)
    y = rng.random(500) < truth(scores)
    figure, axes = plt.subplots(
        3, 4, figsize=(9, 7), sharex=True, sharey=True, layout="constrained"
    )
    for ax, name in zip(axes.flat, TITLES, strict=True):
        draw(ax, name, scores, y)
    figure.supxlabel("score")
    figure.supylabel("calibrated probability")
    figure.savefig(folder / "methods.png", dpi=110)
    for name in OWN_PAGE:
        figure, ax = plt.subplots(figsize=(3.4, 3.4), layout="constrained")
        draw(ax, name, scores, y)
        ax.set(xlabel="score", ylabel="calibrated probability")
        figure.savefig(folder / f"method-{name}.png", dpi=110)
    draw_vector(folder / "method-vector.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images"))
