"""Figures 1 to 3 of the beta paper drawn again, and two more."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from trueodds_studies._optional import need
from trueodds_studies._report import Figure
from trueodds_studies._study import Results, pick_rows
from trueodds_studies.papers.beta.claims import LOSSES, size_gaps
from trueodds_studies.papers.beta.extras import FIGURE_2, N_BINS, SIZES
from trueodds_studies.papers.beta.ranks import MODEL_NAMES

__all__ = ["beta_curves", "few_rows", "logistic_curves", "maps_of_two_sets", "score_densities"]

MIDPOINTS = (0.25, 0.5, 0.75)
COLORS = {"beta": "#c0392b", "isotonic": "#27864a", "logistic": "#2456a6"}
SHADES = ("#9ecae1", "#3182bd", "#08306b")
GRID = np.linspace(0.001, 0.999, 400)
MODEL_COLORS = {"naive-bayes": "#7b3294", "ada-o": "#c0392b", "ada-s-r": "#2456a6"}


def _square(ax: Any, title: str) -> None:
    ax.plot([0, 1], [0, 1], color="0.8", linewidth=0.8, zorder=0)
    ax.set(xlim=(0, 1), ylim=(0, 1), xticks=(0, 0.5, 1), yticks=(0, 0.5, 1), aspect="equal")
    ax.set_title(title, fontsize=9)
    ax.tick_params(labelsize=8)


def logistic_curves() -> Figure:
    """Figure 1."""
    pyplot = need("matplotlib.pyplot")
    figure, axes = pyplot.subplots(1, 3, figsize=(7.5, 2.9), layout="constrained")
    for ax, gamma in zip(axes, (1, 4, 20), strict=True):
        for m, shade in zip(MIDPOINTS, SHADES, strict=True):
            ax.plot(GRID, expit(gamma * (GRID - m)), color=shade, label=f"m = {m}")
        _square(ax, f"γ = {gamma}")
    axes[0].set(xlabel="score", ylabel="calibrated probability")
    axes[0].legend(fontsize=7, frameon=False)
    title = "Figure 1 again: logistic curves; none is the identity, and none an inverse sigmoid"
    return Figure.of("figure-1", title, figure)


def beta_curves() -> Figure:
    """Figure 3."""
    pyplot = need("matplotlib.pyplot")
    figure, axes = pyplot.subplots(3, 3, figsize=(7.5, 7.9), layout="constrained")
    for row, b in zip(axes, (0.2, 1, 5), strict=True):
        for ax, a in zip(row, (0.2, 1, 5), strict=True):
            for m, shade in zip(MIDPOINTS, SHADES, strict=True):
                c = b * np.log(1 - m) - a * np.log(m)
                eta = a * np.log(GRID) - b * np.log(1 - GRID) + c
                ax.plot(GRID, expit(eta), color=shade, label=f"m = {m}")
            _square(ax, f"a = {a}, b = {b}")
    axes[2, 0].set(xlabel="score", ylabel="calibrated probability")
    axes[0, 0].legend(fontsize=7, frameon=False)
    title = "Figure 3 again: beta curves; the identity in the middle, inverse sigmoids top left"
    return Figure.of("figure-3", title, figure)


def maps_of_two_sets(results: Results) -> list[Figure]:
    """Figure 2, if the maps were computed."""
    pyplot = need("matplotlib.pyplot")
    maps = pick_rows(results.frame, part="map")
    names = [name for name in FIGURE_2 if (maps["set"] == name).any()]
    if not names:
        return []
    figure, axes = pyplot.subplots(
        1, len(names), figsize=(3.9 * len(names), 4.2), layout="constrained", squeeze=False
    )
    for ax, name in zip(axes[0], names, strict=True):
        for method, color in COLORS.items():
            line = pick_rows(maps, set=name, method=method).groupby("score")["probability"].mean()
            ax.plot(line.index, line, color=color, label=method)
        dots = pick_rows(maps, set=name, method="empirical")[["score", "probability"]]
        dots = dots.groupby((dots["score"] * N_BINS).astype(int)).mean()
        ax.plot(dots["score"], dots["probability"], "ko", markersize=4, label="empirical")
        _square(ax, f"{name}, Ada-O")
    axes[0, 0].set(xlabel="uncalibrated score", ylabel="calibrated probability")
    axes[0, 0].legend(fontsize=8, frameon=False, loc="lower right")
    title = "Figure 2 again: calibration maps of AdaBoost's scores on two sets, means of the folds"
    return [Figure.of("figure-2", title, figure)]


def score_densities() -> Figure:
    """Why the family is called beta: two densities, and the map that they imply."""
    pyplot = need("matplotlib.pyplot")
    from scipy.stats import beta

    cases = (((0.6, 2.0), (1.4, 0.7)), ((2.0, 5.0), (5.0, 2.0)), ((0.5, 1.5), (1.5, 1.4)))
    figure, axes = pyplot.subplots(2, 3, figsize=(7.5, 4.9), layout="constrained")
    for (above, below), (negative, positive) in zip(axes.T, cases, strict=True):
        densities = [beta(*shape).pdf(GRID) for shape in (negative, positive)]
        for density, color, word in zip(densities, ("0.45", "#c0392b"), ("0", "1"), strict=True):
            above.plot(GRID, density, color=color, label=f"class {word}")
        above.set(xlim=(0, 1), ylim=(0, 4), xticks=(0, 0.5, 1))
        above.tick_params(labelsize=8)
        above.set_title(f"Beta{negative} and Beta{positive}", fontsize=9)
        below.plot(GRID, densities[1] / (densities[0] + densities[1]), color="#c0392b")
        a, b = positive[0] - negative[0], negative[1] - positive[1]
        _square(below, f"a = {a:.1f}, b = {b:.1f}")
    axes[0, 0].set_ylabel("density of scores")
    axes[0, 0].legend(fontsize=8, frameon=False)
    axes[1, 0].set(xlabel="score", ylabel="probability")
    title = "Section 3.1: scores of both classes with beta densities, and the map that follows"
    return Figure.of("densities", title, figure)


def few_rows(results: Results) -> list[Figure]:
    """Isotonic's loss less beta's by the rows to calibrate on, if it was computed."""
    pyplot = need("matplotlib.pyplot")
    if not len(pick_rows(results.frame, part="size")):
        return []
    figure, axes = pyplot.subplots(1, 2, figsize=(7.8, 3.3), layout="constrained")
    for ax, (loss, words) in zip(axes, LOSSES.items(), strict=True):
        gaps = size_gaps(results, loss)
        for model, color in MODEL_COLORS.items():
            part = gaps.xs(model, level="model")
            for _, line in part.iterrows():
                ax.plot(SIZES, line, color=color, alpha=0.2, linewidth=0.8)
            name = MODEL_NAMES.get(model, "Ada-S (SAMME.R)")
            ax.plot(SIZES, part.mean(), color=color, marker="o", markersize=3, label=name)
        ax.axhline(0, color="0.6", linewidth=0.8)
        ax.set_xscale("log")
        ax.set_xticks(SIZES, [str(n) for n in SIZES])
        ax.minorticks_off()
        ax.set(xlabel="rows to calibrate on", title=f"{words}: isotonic less beta")
        ax.title.set_fontsize(9)
        ax.tick_params(labelsize=8)
    axes[0].legend(fontsize=8, frameon=False)
    title = "Few rows: how much worse isotonic is than beta, on each large set and on average"
    return [Figure.of("few-rows", title, figure)]
