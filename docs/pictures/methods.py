"""Draw every method's map, for the pages of the methods.

At the left of the same 500 scores for all, at the right of 2,000 whose truth suits the method.

Usage: python docs/pictures/methods.py [folder, default docs/images]
"""

import sys
import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np
from scipy.special import expit, softmax

import trueodds
from trueodds.calibrators import PosteriorCalibrator
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
FURTHER = {
    "bayesian_smooth": "Bayesian smooth",
    "quadratic": "quadratic",
    "spline": "spline",
    "centered_isotonic": "centered isotonic",
    "smooth_isotonic": "smooth isotonic",
    "venn_abers": "Venn–Abers",
    "scaling_binning": "scaling and binning",
    "kernel": "kernel",
}
"""Methods with a picture of their own alone."""
GRID = np.linspace(0.001, 0.999, 999)
BLUE, GREEN, ORANGE, GRAY = "#0b5c94", "#4aa3a2", "#c8500a", "#777"


def truth(p):
    """Right below one half, too sure above it."""
    return np.where(p < 0.5, p, 0.5 + 0.6 * (p - 0.5))


def falls(p):
    """Most often in the middle: the ranking is wrong."""
    return 0.15 + 0.6 * np.exp(-(((p - 0.5) / 0.18) ** 2))


def steps(p):
    """Three levels."""
    return np.select([p < 0.3, p < 0.7], [0.1, 0.45], 0.85)


def steep(p):
    """Flat at both ends, and steep in the middle."""
    return 0.05 + 0.9 * expit(10 * (p - 0.5))


def half_sure(p):
    """Right below one half; above it the log-odds are three times too large."""
    z = np.log(p / (1 - p))
    return expit(np.where(z < 0, z, z / 3))


def bent(p):
    """The log-odds bend once."""
    z = np.log(p / (1 - p))
    return expit(0.25 * z**2 + z - 1)


SUITED = {
    "identity": ("right already", lambda p: p),
    "temperature": ("twice too sure", lambda p: expit(np.log(p / (1 - p)) / 2)),
    "logistic": ("too sure and too high", lambda p: expit(0.6 * np.log(p / (1 - p)) - 1)),
    "beta": ("too sure at one end", lambda p: p**0.4 / (p**0.4 + 2 * (1 - p) ** 1.6)),
    "quadratic": ("bent once", bent),
    **dict.fromkeys(("isotonic", "histogram", "bayesian_isotonic"), ("three levels", steps)),
    **dict.fromkeys(
        ("centered_isotonic", "smooth_isotonic", "venn_abers", "spline"),
        ("steep in the middle", steep),
    ),
    **dict.fromkeys(("charcoal_grill", "scaling_binning"), ("too sure at one end", half_sure)),
    **dict.fromkeys(
        ("enir", "bbq", "abb", "acp", "kernel", "bayesian_smooth"), ("wrong ranking", falls)
    ),
}
"""For each method, a truth that it is made for."""


def square(ax, title):
    """Make the axes of a map look alike everywhere."""
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.set_title(title, fontsize=10)
    ax.spines[["top", "right"]].set_visible(False)


def draw(ax, title, fitted, true=truth, *, band=False):
    """One method's map beside the truth; its band too, if it has one and there is room."""
    ax.plot(GRID, true(GRID), "--", color=GRAY, linewidth=1)
    if band and isinstance(fitted, PosteriorCalibrator):
        low, high = fitted.predict_interval(GRID, level=0.9)
        ax.fill_between(GRID, low, high, color=BLUE, alpha=0.15, linewidth=0)
    if band and hasattr(fitted, "predict_bounds"):
        ax.fill_between(
            GRID, *fitted.predict_bounds(GRID).T, color=BLUE, alpha=0.15, linewidth=0, step="mid"
        )
    ax.plot(GRID, fitted.predict_proba(GRID)[:, 1], color=BLUE, linewidth=1.8)
    square(ax, title)


def fit(name, scores, y):
    calibrator = trueodds.all_calibrators()[name]()
    if "random_state" in calibrator.get_params():
        calibrator.set_params(random_state=0)
    return calibrator.fit(scores, y)


def draw_classes(path, wrong, y, methods):
    """Reliability of each of three classes, before and after some methods."""
    panels = {"before": softmax(wrong, axis=1)}
    for title, method in methods.items():
        panels[title] = method.fit(wrong, y).predict_proba(wrong)
    figure, axes = plt.subplots(
        1, len(panels), figsize=(0.3 + 2.8 * len(panels), 3.2), sharey=True, layout="constrained"
    )
    for ax, (title, p) in zip(axes, panels.items(), strict=True):
        ax.plot([0, 1], [0, 1], "--", color=GRAY, linewidth=1)
        for k, color in enumerate((BLUE, GREEN, ORANGE)):
            curve = trueodds.metrics.reliability_curve(y == k, p[:, k], band=None)
            line = (curve.prob_pred, curve.prob_true)
            ax.plot(*line, "o-", color=color, markersize=3, label=f"class {k}")
        square(ax, title)
        ax.set_xlabel("probability given")
    axes[0].set_ylabel("frequency")
    axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=110)


def draw_several_classes(folder):
    """One class over-confident, two mixed up, and labels that are sometimes arbitrary."""
    rng = np.random.default_rng(0)
    logits = 1.5 * rng.normal(size=(4000, 3))
    p = softmax(logits, axis=1)
    y = (p.cumsum(axis=1) > rng.random((4000, 1))).argmax(axis=1)
    vector = trueodds.VectorCalibrator(scale="logit")
    matrix = trueodds.MatrixCalibrator(scale="logit")
    one_too_sure = logits * [1, 1, 2] + [0, 0, 1]
    draw_classes(folder / "method-vector.png", one_too_sure, y, {"vector scaling": vector})
    mixed = logits @ np.array([[1, 0.8, 0], [0, 1, 0], [0, 0, 1]])
    both = {"vector scaling": vector, "matrix scaling": matrix}
    draw_classes(folder / "method-matrix.png", mixed, y, both)
    structured = {"Bayesian structured": trueodds.BayesianStructuredCalibrator(scale="logit")}
    draw_classes(folder / "method-bayesian-structured.png", mixed, y, both | structured)
    cooled = {"temperature": trueodds.TemperatureCalibrator(scale="logit")}
    for name, wrong, before, after in (
        ("structured-vector", one_too_sure, cooled, trueodds.StructuredVectorCalibrator),
        ("structured-matrix", mixed, cooled, trueodds.StructuredMatrixCalibrator),
        ("dirichlet", mixed, {"vector scaling": vector}, trueodds.DirichletCalibrator),
    ):
        methods = before | {after.label or after.title: after(scale="logit")}
        draw_classes(folder / f"method-{name}.png", wrong, y, methods)
    surprised = np.where(rng.random(4000) < 0.15, rng.integers(0, 3, 4000), y)
    mixtures = {
        "temperature": trueodds.TemperatureCalibrator(scale="logit"),
        "ensemble temperature": trueodds.EnsembleTemperatureCalibrator(scale="logit"),
    }
    draw_classes(folder / "method-ensemble-temperature.png", 2 * logits, surprised, mixtures)


def draw_robust(path, scores, y):
    """The same 500 scores, and 2,000 of which every fiftieth stands far on the wrong side."""
    rng = np.random.default_rng(0)
    z = rng.normal(0, 2, 2000)
    labels = rng.random(2000) < expit(z)
    z[:40], labels[:40] = -12, True
    figure, axes = plt.subplots(1, 2, figsize=(6.4, 3.4), sharey=True, layout="constrained")
    for ax, title, (x, labeled), true in (
        (axes[0], "robust logistic, 500 rows", (scores, y), truth),
        (axes[1], "2 % of 2,000 far on the wrong side", (expit(z), labels), lambda p: p),
    ):
        plain = fit("logistic", x, labeled).predict_proba(GRID)[:, 1]
        ax.plot(GRID, plain, color=ORANGE, linewidth=1.2, label="logistic")
        draw(ax, title, fit("robust_logistic", x, labeled), true)
        ax.lines[-1].set_label("robust logistic")
        ax.set_xlabel("score")
    axes[0].set_ylabel("calibrated probability")
    axes[1].legend(frameon=False, fontsize=8, loc="upper left")
    figure.savefig(path, dpi=110)


def draw_tree(path):
    """Two regions of an attribute: one curve for both, and the curve of each leaf."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 2000))
    regions = {"x ≤ 0": (-1.0, BLUE, lambda z: z), "x > 0": (1.0, ORANGE, lambda z: z / 4 + 1)}
    y = rng.random(2000) < expit(np.where(x > 0, regions["x > 0"][2](z), z))
    one = trueodds.LogisticCalibrator().fit(expit(z), y)
    tree = trueodds.TreeCalibrator().fit(expit(z), y, features=x[:, None])
    figure, axes = plt.subplots(1, 2, figsize=(6, 3.2), sharey=True, layout="constrained")
    for name, (place, color, true) in regions.items():
        for ax in axes:
            ax.plot(GRID, expit(true(np.log(GRID / (1 - GRID)))), "--", color=color, linewidth=1)
        q = tree.predict_proba(GRID, features=np.full((len(GRID), 1), place))[:, 1]
        axes[1].plot(GRID, q, color=color, linewidth=1.8, label=name)
    axes[0].plot(GRID, one.predict_proba(GRID)[:, 1], color="black", linewidth=1.8)
    for ax, title in zip(axes, ("one logistic curve", "calibration tree"), strict=True):
        square(ax, title)
        ax.set_xlabel("score")
    axes[0].set_ylabel("calibrated probability")
    axes[1].legend(frameon=False, fontsize=8, loc="lower right")
    figure.savefig(path, dpi=110)


def main(folder):
    warnings.simplefilter("ignore", TrueoddsWarning)
    rng = np.random.default_rng(0)
    scores = rng.beta(0.8, 0.8, 500)
    y = rng.random(500) < truth(scores)
    fitted = {name: fit(name, scores, y) for name in TITLES | FURTHER}
    figure, axes = plt.subplots(
        3, 4, figsize=(9, 7), sharex=True, sharey=True, layout="constrained"
    )
    for ax, name in zip(axes.flat, TITLES, strict=True):
        draw(ax, TITLES[name], fitted[name])
    figure.supxlabel("score")
    figure.supylabel("calibrated probability")
    figure.savefig(folder / "methods.png", dpi=110)
    more = rng.beta(0.8, 0.8, 2000)
    chance = rng.random(2000)
    for name, title in (TITLES | FURTHER).items():
        figure, axes = plt.subplots(1, 2, figsize=(6.4, 3.4), sharey=True, layout="constrained")
        draw(axes[0], f"{title}, 500 rows", fitted[name], band=True)
        words, true = SUITED[name]
        draw(axes[1], f"{words}, 2,000 rows", fit(name, more, chance < true(more)), true, band=True)
        axes[0].set_ylabel("calibrated probability")
        for ax in axes:
            ax.set_xlabel("score")
        figure.savefig(folder / f"method-{name.replace('_', '-')}.png", dpi=110)
    draw_robust(folder / "method-robust-logistic.png", scores, y)
    draw_several_classes(folder)
    draw_tree(folder / "method-tree.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images"))
