"""Figures of the Bayesian isotonic study, in the paper's numbering."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds import BetaCalibrator, ENIRCalibrator, IsotonicCalibrator, LogisticCalibrator
from trueodds.calibrators._bayesian_isotonic.bounds import isotonic_bounds
from trueodds_studies._diagrams import critical_difference_figure
from trueodds_studies._optional import need
from trueodds_studies._protocol import quietly
from trueodds_studies._report import Figure
from trueodds_studies.datasets import make_beta_mixture
from trueodds_studies.papers.bayes_isotonic.findings import (
    LOSSES,
    NINE,
    PAIRS,
    Findings,
    Ranking,
)
from trueodds_studies.papers.bayes_isotonic.numbers import SIZES
from trueodds_studies.papers.bayes_isotonic.synthetic import true_map

__all__ = ["figure_1", "figure_2", "figure_3", "figure_4", "figure_5", "figure_6", "figure_7"]

COLORS = {"over-over": "#c44e52", "over-under": "#cccccc", "under-under": "#4c72b0"}


def figure_1() -> Figure:
    """Draw figure 1 with synthetic rows; the paper does not name the data of its examples."""
    pyplot = need("matplotlib.pyplot")
    data = make_beta_mixture(100, random_state=0)
    grid = np.linspace(0, 1, 501)
    methods = {
        "isotonic": IsotonicCalibrator(),
        "ENIR": ENIRCalibrator(),
        "logistic": LogisticCalibrator(axis="raw", label_smoothing=None),
        "beta": BetaCalibrator(),
    }
    figure, axes = pyplot.subplots(1, 4, figsize=(9.5, 2.9), sharey=True, layout="constrained")
    for ax, (words, calibrator) in zip(axes, methods.items(), strict=True):
        for smoothing, label, style in ((None, "without", "-"), ("platt", "with", "--")):
            with quietly():
                fitted = calibrator.set_params(label_smoothing=smoothing).fit(data.scores, data.y)
            ax.plot(grid, fitted.predict_proba(grid)[:, 1], style, label=f"{label} correction")
        ax.plot(*true_map(), color="gray", lw=0.8, ls=":", label="true map")
        ax.set(title=words, xlabel="score", xlim=(0, 1), ylim=(-0.02, 1.02))
    axes[0].set_ylabel("probability")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3,
                  frameon=False)  # fmt: skip
    title = "Figure 1 again: maps with and without Platt's correction (100 synthetic rows)"
    return Figure.of("figure-1", title, figure)


def figure_2(found: Findings) -> Figure:
    """Shares of improved pairs, of four methods."""
    pyplot = need("matplotlib.pyplot")
    figure, axes = pyplot.subplots(1, 4, figsize=(9.5, 3), sharey=True, layout="constrained")
    for ax, method in zip(axes, PAIRS, strict=True):
        for i, (loss, words) in enumerate(LOSSES.items()):
            shares = [100 * found.improved(method, loss, n).mean() for n in SIZES]
            ax.bar(np.arange(3) + 0.4 * i, shares, 0.38, label=words, color=f"C{i}")
        ax.set_xticks(np.arange(3) + 0.2, [str(n) for n in SIZES])
        ax.axhline(50, color="black", lw=0.8, ls=":")
        ax.set(title=method, xlabel="rows", ylim=(0, 100))
    axes[0].set_ylabel("improved pairs, %")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2,
                  frameon=False)  # fmt: skip
    title = "Figure 2 again: pairs that Platt's correction improves"
    return Figure.of("figure-2", title, figure)


def figure_3(found: Findings, ranking: Ranking) -> Figure:
    """By the ranking of the model's scores, or of the map's probabilities."""
    pyplot = need("matplotlib.pyplot")
    figure, axes = pyplot.subplots(1, 3, figsize=(9.5, 3.4), sharey=True, layout="constrained")
    for ax, n in zip(axes, SIZES, strict=True):
        shares = 100 * found.ends(n, NINE, ranking)
        left = np.zeros(len(shares))
        for kind, color in COLORS.items():
            ax.barh(shares.index, shares[kind], left=left, color=color, label=kind)
            left += shares[kind].to_numpy()
        ax.set(title=f"{n} rows", xlabel="pairs, %", xlim=(0, 100))
    axes[0].invert_yaxis()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3,
                  frameon=False)  # fmt: skip
    words = "calibrated probabilities" if ranking else "the model's scores"
    title = f"Figure 3 again: over- and underconfidence at the two ends of the ranking by {words}"
    return Figure.of("figure-3-by-map" if ranking else "figure-3", title, figure)


def figure_4() -> Figure:
    """Draw the priors; one synthetic sample gives the limits."""
    from trueodds.kernels.bayesian_isotonic import draw_maps

    pyplot = need("matplotlib.pyplot")
    data = make_beta_mixture(100, random_state=0)
    y = data.y[np.argsort(data.scores)].astype(np.float64)
    bounds = isotonic_bounds(1 - y, y, "paper")
    sorted_uniform = np.sort(np.random.default_rng(0).random((200, 100)), axis=1)
    unbounded = (np.zeros(100), np.ones(100))
    panels = {
        "A: sorted uniform numbers": sorted_uniform,
        "B: the prior": draw_maps(*unbounded, np.arange(200), 0),
        "C: the prior between limits": draw_maps(*bounds, np.arange(200), 0),
    }
    figure, axes = pyplot.subplots(1, 3, figsize=(9.5, 3.2), sharey=True, layout="constrained")
    ranks = np.arange(100) / 99
    for ax, (words, maps) in zip(axes, panels.items(), strict=True):
        ax.plot(ranks, maps.T, color="C0", lw=0.4, alpha=0.4)
        ax.set(title=words, xlabel="relative rank", xlim=(0, 1), ylim=(0, 1))
    for bound in bounds:
        axes[2].plot(ranks, bound, color="C2", lw=2)
    axes[0].set_ylabel("probability")
    return Figure.of("figure-4", "Figure 4 again: 200 maps from each of three priors", figure)


def figure_5(curves: Any) -> Figure:
    """Maps of several samples."""
    pyplot = need("matplotlib.pyplot")
    figure, axes = pyplot.subplots(2, 3, figsize=(9.5, 5.6), sharex=True, sharey=True,
                                   layout="constrained")  # fmt: skip
    for ax, (method, lines) in zip(axes.flat, curves.groupby("method", sort=False), strict=True):
        for _, line in lines.groupby("replicate"):
            ax.plot(line["score"], line["probability"], color="C0", lw=0.8)
        ax.plot(*true_map(), color="C3", ls="--")
        ax.set(title=method, xlim=(0, 1), ylim=(0, 1))
    figure.supxlabel("score")
    figure.supylabel("probability")
    n = curves["replicate"].nunique()
    title = f"Figure 5 again: maps of {n} samples of 1000 (blue) and the true map (red)"
    return Figure.of("figure-5", title, figure)


def figure_6(runs: Any) -> Figure:
    """Maps of several runs on the same sample."""
    pyplot = need("matplotlib.pyplot")
    figure, axes = pyplot.subplots(1, 3, figsize=(9.5, 3.4), sharey=True, layout="constrained")
    for ax, (n, lines) in zip(axes, runs.groupby("n"), strict=True):
        for _, line in lines.groupby("run"):
            ax.plot(line["score"], line["probability"], color="C0", lw=0.8)
        for bound in ("lower", "upper"):
            ax.plot(line["score"], line[bound], color="C2")
        ax.plot(*true_map(), color="C3", ls="--")
        ax.set(title=f"{int(n)} rows", xlabel="score", xlim=(0, 1), ylim=(0, 1))
    axes[0].set_ylabel("probability")
    title = (
        f"Figure 6 again: {runs['run'].nunique()} runs of Bayes-Iso on the same data (blue), its "
        "limits (green), the true map (red)"
    )
    return Figure.of("figure-6", title, figure)


def figure_7(found: Findings) -> list[Figure]:
    """One figure for each loss."""
    figures = []
    for loss, words in LOSSES.items():
        panels = {f"{words}, {n} rows": found.panel(loss, n) for n in SIZES}
        name = f"figure-7-{loss.replace('_', '-')}"
        title = f"Figure 7 again: {words}, critical differences"
        figures.append(critical_difference_figure(name, title, panels))
    return figures
