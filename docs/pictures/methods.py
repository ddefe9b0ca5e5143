"""Draw every method's calibration map, for the pages in docs/methods.

Methods of one score share three samples, methods of several classes share three others.

Usage: python docs/pictures/methods.py [folder, default docs/images]
"""

import sys
import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np
from scipy.special import expit, logit, softmax
from scipy.stats import binomtest

import trueodds
from trueodds.exceptions import TrueoddsWarning
from trueodds.metrics import log_loss

mpl.use("Agg")
import matplotlib.pyplot as plt

BLUE, ORANGE, GREEN, GRAY = "#0b5c94", "#c8500a", "#2f8f5b", "#888"
GRID = np.linspace(0.001, 0.999, 999)
ONE_SCORE = {  # title of the panel: rows, true probability of a score
    "overconfident, 300 rows": (300, lambda p: expit(logit(p) / 2.5)),
    "three levels, 1,000 rows": (
        1000,
        lambda p: np.select([p < 0.3, p < 0.7], [0.1, 0.45], 0.85),
    ),
    "wrong ranking, 1,000 rows": (1000, lambda p: 0.15 + 0.6 * np.exp(-(((p - 0.5) / 0.18) ** 2))),
}
CLASSES = {  # title of the panel: what the model makes of the true logits of three classes
    "all classes overconfident": lambda z: 2 * z,
    "one class overconfident": lambda z: z * [1, 1, 2] + [0, 0, 1],
    "two classes confused": lambda z: z @ np.array([[1, 0.6, 0], [0, 0.4, 0], [0, 0, 1]]),
}
JOINT = [
    *("vector", "matrix", "dirichlet", "structured_vector", "structured_matrix"),
    *("ensemble_temperature", "bayesian_structured"),
]
"""Methods whose point is several classes; the others of all_calibrators() get one score."""


def new_calibrator(name):
    calibrator = trueodds.all_calibrators()[name]()
    if "random_state" in calibrator.get_params():
        calibrator.set_params(random_state=0)
    return calibrator


def draw_frequencies(ax, p, y, *, bins=10, color="black"):
    """Observed frequencies in bins of equal count, with 90% intervals."""
    for rows in np.array_split(np.argsort(p), bins):
        k, n = int(y[rows].sum()), len(rows)
        interval = binomtest(k, n).proportion_ci(0.9, method="wilson")
        x = p[rows].mean()
        ax.plot([x, x], interval, color=color, linewidth=1, alpha=0.5, zorder=1)
        ax.plot(x, k / n, "o", color=color, markersize=3.5, zorder=2)


def square(ax, title, xlabel, note=""):
    """Make all panels look alike."""
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel=xlabel)
    ax.set_title(title, fontsize=10)
    ax.spines[["top", "right"]].set_visible(False)
    if note:
        ax.text(0.03, 0.97, note, transform=ax.transAxes, va="top", fontsize=8, color=BLUE)


def one_score_samples():
    rng = np.random.default_rng(0)
    for title, (n, true) in ONE_SCORE.items():
        scores = rng.beta(0.8, 0.8, n)
        yield title, scores, rng.random(n) < true(scores), true


def draw_one_score(ax, name, scores, y, true, title, *, small=False):
    """A method's map, the rows that it was fitted to, and the true probability."""
    calibrator = new_calibrator(name).fit(scores, y)
    if not small:
        draw_frequencies(ax, scores, y)
    ax.plot(GRID, true(GRID), "--", color=GRAY, linewidth=1.3, label="true probability")
    ax.plot(GRID, calibrator.predict_proba(GRID)[:, 1], color=BLUE, linewidth=1.8, label="map")
    off = calibrator.predict_proba(scores)[:, 1] - true(scores)
    note = f"error {np.sqrt(np.mean(off**2)):.3f}"
    square(ax, title, "" if small else "score", note)


def figure_of(n_panels):
    figure, axes = plt.subplots(
        1, n_panels, figsize=(0.4 + 2.9 * n_panels, 3.2), sharey=True, layout="constrained"
    )
    axes[0].set_ylabel("calibrated probability")
    return figure, axes


def save(figure, folder, name):
    figure.savefig(folder / f"method-{name.replace('_', '-')}.png", dpi=110)
    plt.close(figure)


def draw_joint(folder, name):
    """Reliability of each of three classes on new rows, before and after calibration."""
    rng = np.random.default_rng(0)
    logits = 1.5 * rng.normal(size=(6000, 3))
    p = softmax(logits, axis=1)
    y = (p.cumsum(axis=1) > rng.random((6000, 1))).argmax(axis=1)
    known, new = slice(0, 1000), slice(1000, None)
    figure, axes = figure_of(3)
    for ax, (title, spoil) in zip(axes, CLASSES.items(), strict=True):
        spoiled = softmax(spoil(logits), axis=1)
        q = new_calibrator(name).fit(spoiled[known], y[known]).predict_proba(spoiled[new])
        ax.plot([0, 1], [0, 1], "--", color=GRAY, linewidth=1.3)
        for k, color in enumerate((BLUE, ORANGE, GREEN)):
            means = [
                (spoiled[new][rows, k].mean(), (y[new][rows] == k).mean())
                for rows in np.array_split(np.argsort(spoiled[new][:, k]), 8)
            ]
            ax.plot(*np.transpose(means), "x", color=color, markersize=4.5, alpha=0.7)
            draw_frequencies(ax, q[:, k], y[new] == k, bins=8, color=color)
        losses = [log_loss(y[new], forecast) for forecast in (spoiled[new], q, p[new])]
        note = "log-loss {:.3f} → {:.3f}\nbest possible {:.3f}".format(*losses)
        square(ax, title, "predicted probability", note)
    axes[0].set_ylabel("observed frequency")
    axes[2].plot([], [], "x", color=GRAY, markersize=4, label="before")
    axes[2].plot([], [], "o", color=GRAY, markersize=3.5, label="after")
    axes[2].legend(frameon=False, fontsize=8, loc="lower right")
    save(figure, folder, name)


def draw_tree(folder):
    """Two groups of rows: one curve for both, and the curve of each leaf."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 2000))
    groups = {"x ≤ 0": (-1.0, BLUE, lambda z: z), "x > 0": (1.0, ORANGE, lambda z: z / 4 + 1)}
    y = rng.random(2000) < expit(np.where(x > 0, groups["x > 0"][2](z), z))
    one = trueodds.LogisticCalibrator().fit(expit(z), y)
    tree = trueodds.TreeCalibrator().fit(expit(z), y, features=x[:, None])
    figure, axes = figure_of(2)
    for name, (place, color, true) in groups.items():
        rows = (x > 0) == (place > 0)
        q = tree.predict_proba(GRID, features=np.full((len(GRID), 1), place))[:, 1]
        for ax in axes:
            draw_frequencies(ax, expit(z[rows]), y[rows], color=color)
            ax.plot(GRID, expit(true(logit(GRID))), "--", color=color, linewidth=1.3)
        axes[1].plot(GRID, q, color=color, linewidth=1.8, label=name)
    axes[0].plot(GRID, one.predict_proba(GRID)[:, 1], color="black", linewidth=1.8)
    square(axes[0], "one logistic curve for all rows", "score")
    square(axes[1], "calibration tree: one curve per leaf", "score")
    axes[1].legend(frameon=False, fontsize=8, loc="lower right")
    save(figure, folder, "tree")


def draw_group(folder):
    """Shifts of twenty groups: from the rows of each alone, and pooled."""
    rng = np.random.default_rng(4)
    sizes = np.unique(np.geomspace(12, 500, 20).astype(int))
    true = rng.normal(0, 0.5, len(sizes))
    group = np.repeat(np.arange(len(sizes)), sizes)
    z = rng.normal(0, 1.2, len(group))
    y = rng.random(len(group)) < expit(z + true[group])
    fitted = trueodds.GroupCalibrator(categorical=[0]).fit(expit(z), y, features=group[:, None])
    effects = fitted.effects_.of("x0")
    m = logit(fitted.base_.predict_proba(expit(z))[:, 1])
    places = np.arange(len(sizes))
    alone = np.linspace(-4, 4, 801)
    best = [
        alone[np.argmax([(y[r] * (m[r] + a) - np.logaddexp(0, m[r] + a)).sum() for a in alone])]
        for r in (group == k for k in places)
    ]
    figure, axes = figure_of(2)
    for ax, title in zip(axes, ("each group alone", "pooled, with 90% intervals"), strict=True):
        ax.axhline(0, color=GRAY, linewidth=0.8)
        ax.plot(places, true - np.average(true, weights=sizes), "_", color="black", markersize=9)
        ax.set(title=title, xlabel="group (12 to 500 rows)", ylim=(-2.2, 2.2), xticks=[])
    axes[0].plot(places, best, "o", color=ORANGE, markersize=3.5)
    shift = np.array([e.shift for e in effects])
    ends = np.array([[e.shift - e.low, e.high - e.shift] for e in effects]).T
    axes[1].errorbar(places, shift, ends, fmt="o", color=BLUE, markersize=3.5, linewidth=1.2)
    axes[0].set_ylabel("shift of the log-odds")
    save(figure, folder, "group")


def draw_overview(folder, names):
    """All methods of one score on the first sample."""
    title, scores, y, true = next(one_score_samples())
    figure, axes = plt.subplots(3, 7, figsize=(12.5, 6.2), sharex=True, sharey=True)
    for ax, name in zip(axes.flat, names, strict=True):
        kind = trueodds.all_calibrators()[name]
        draw_one_score(ax, name, scores, y, true, kind.label or kind.title, small=True)
    figure.suptitle(title)
    figure.supxlabel("score")
    figure.supylabel("calibrated probability")
    figure.set_layout_engine("constrained")
    figure.savefig(folder / "methods.png", dpi=110)
    plt.close(figure)


def main(folder):
    warnings.simplefilter("ignore", TrueoddsWarning)
    others = {*JOINT, "group", "tree", "one_vs_rest"}
    one_score = sorted(
        (name for name in trueodds.all_calibrators() if name not in others),
        key=lambda name: (trueodds.all_calibrators()[name].complexity, name),
    )
    draw_overview(folder, one_score)
    for name in one_score:
        figure, axes = figure_of(3)
        for ax, (title, scores, y, true) in zip(axes, one_score_samples(), strict=True):
            draw_one_score(ax, name, scores, y, true, title)
        axes[0].legend(frameon=False, fontsize=8, loc="lower right")
        save(figure, folder, name)
    for name in JOINT:
        draw_joint(folder, name)
    draw_tree(folder)
    draw_group(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images"))
